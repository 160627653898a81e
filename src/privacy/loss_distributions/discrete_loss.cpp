#include "privacy/loss_distributions/discrete_loss.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include <boost/math/tools/toms748_solve.hpp>

#include "core/numbers/real.hpp"

namespace dpmpi {

namespace {

constexpr double unit = 0x1p-53;
constexpr double negligible = 1e-290;
constexpr double grid_tail = 1e-40;

// An interval within [0, high] that holds the zero of a decreasing function with f(0) > 0 >= f(high).
template <class F>
std::pair<double, double> crossing(F f, double high) {
  std::uintmax_t steps = 200;
  return boost::math::tools::toms748_solve(f, 0.0, high, boost::math::tools::eps_tolerance<double>(50), steps);
}

double floored_log(double x) { return std::log(std::max(x, std::numeric_limits<double>::denorm_min())); }
double log_ratio(double x, double y) { return floored_log(x) - floored_log(y); }

}  // namespace

// Sorts, and merges atoms of the same loss: sums of the same terms in another order differ by rounding only.
LossLaw LossLaw::of(std::vector<Atom> atoms) {
  std::sort(atoms.begin(), atoms.end(), [](const Atom& x, const Atom& y) { return x.loss > y.loss; });
  LossLaw law;
  const double same = 8 * unit * std::max(std::abs(atoms.front().loss), std::abs(atoms.back().loss));
  for (const Atom& atom : atoms) {
    if (!law.atoms_.empty() && law.atoms_.back().loss - atom.loss <= same)
      law.atoms_.back().mass += atom.mass;
    else
      law.atoms_.push_back(atom);
  }
  law.loss_error_ = same;
  return law;
}

// The binomial law by the ratios of its neighbours, outwards from its mode, then divided by its sum: no factorials,
// whose logarithms would lose all digits for large counts.
LossLaw LossLaw::randomized_response(double epsilon, std::uint64_t count) {
  if (epsilon == 0) count = 0;  // its loss is always 0
  const auto n = static_cast<double>(count);
  const double odds = std::exp(-epsilon);  // of -epsilon; of +epsilon e^epsilon, which can overflow
  const double mode = std::min(n, std::floor((n + 1) / (1 + odds)));

  std::vector<Atom> above, below;
  double left_out = 0, total = 1;
  double mass = 1;
  for (double k = mode; k < n; ++k) {  // k uses lose +epsilon
    if (odds == 0) break;              // mode = n then
    const double ratio = (n - k) / ((k + 1) * odds);
    if (mass < negligible && ratio < 1) {
      left_out += mass * ratio / (1 - ratio);  // ratios decrease
      break;
    }
    total += mass *= ratio;
    above.push_back({epsilon * (2 * (k + 1) - n), mass});
  }
  mass = 1;
  for (double k = mode; k > 0; --k) {
    const double ratio = k * odds / (n - k + 1);
    if (mass < negligible && ratio < 1) {
      left_out += mass * ratio / (1 - ratio);
      break;
    }
    total += mass *= ratio;
    below.push_back({epsilon * (2 * (k - 1) - n), mass});
  }

  LossLaw law;
  law.atoms_.assign(above.rbegin(), above.rend());
  law.atoms_.push_back({epsilon * (2 * mode - n), 1});
  law.atoms_.insert(law.atoms_.end(), below.begin(), below.end());
  for (Atom& atom : law.atoms_) atom.mass /= total;
  law.left_out_ = left_out / total;
  law.mass_error_ = 8 * unit * static_cast<double>(law.atoms_.size() + 4);
  law.loss_error_ = n > 1 ? unit * epsilon * n : 0;  // +-epsilon is not rounded
  return law;
}

// Every atom is split between the ends of its cell so that its masses under P and under Q stay what they are: the
// likelihood ratio is spread with its mean kept, which raises every hockey-stick divergence. The upper tail is left
// out; the lower one moves up to the end of the grid.
LossLaw LossLaw::on_grid(std::size_t most) const {
  if (atoms_.size() <= most) return *this;
  LossLaw law;
  auto first = atoms_.begin();
  for (double tail = 0; (tail += first->mass) < grid_tail; ++first) law.left_out_ = tail;
  auto last = atoms_.end() - 1;
  for (double tail = 0; (tail += last->mass) < grid_tail;) --last;
  const double high = first->loss, step = (high - last->loss) / static_cast<double>(most - 1);
  std::vector<Atom> grid(most);
  for (std::size_t i = 0; i < most; ++i) grid[i] = {high - step * static_cast<double>(i), 0};

  for (auto atom = first; atom != atoms_.end(); ++atom) {
    const double loss = std::max(atom->loss, grid.back().loss);
    const auto cell = std::min(most - 2, static_cast<std::size_t>((high - loss) / step));
    const double height = std::clamp(loss - grid[cell + 1].loss, 0.0, step);
    const double share = std::expm1(-height) / std::expm1(-step);
    grid[cell].mass += atom->mass * share;
    grid[cell + 1].mass += atom->mass * (1 - share);
  }
  std::erase_if(grid, [](const Atom& atom) { return atom.mass == 0; });
  law.atoms_ = std::move(grid);
  law.left_out_ += left_out_;
  law.mass_error_ = mass_error_ + 2 * unit * static_cast<double>(atoms_.size());
  law.loss_error_ = loss_error_ + 8 * unit * std::max(std::abs(high), std::abs(last->loss));
  law.exact_ = false;
  return law;
}

LossLaw operator+(const LossLaw& x, const LossLaw& y) {
  const std::size_t smaller = std::min(x.atoms_.size(), y.atoms_.size());
  if (smaller * std::max(x.atoms_.size(), y.atoms_.size()) > LossLaw::most_atoms) {
    const std::size_t most = LossLaw::most_atoms / std::min<std::size_t>(smaller, 1024);
    return x.on_grid(most) + y.on_grid(most);
  }
  std::vector<LossLaw::Atom> atoms;
  atoms.reserve(x.atoms_.size() * y.atoms_.size());
  for (const auto& a : x.atoms_)
    for (const auto& b : y.atoms_) atoms.push_back({a.loss + b.loss, a.mass * b.mass});
  LossLaw law = LossLaw::of(std::move(atoms));
  law.left_out_ = x.left_out_ + y.left_out_;
  law.mass_error_ =
      x.mass_error_ + y.mass_error_ + 2 * unit * static_cast<double>(1 + smaller);  // most atoms that merge
  law.loss_error_ += x.loss_error_ + y.loss_error_;
  law.exact_ = x.exact_ && y.exact_;
  return law;
}

double LossLaw::hockey_stick(double epsilon) const {
  double sum = 0;
  for (const Atom& atom : atoms_) {
    if (atom.loss <= epsilon) break;
    sum -= atom.mass * std::expm1(epsilon - atom.loss);
  }
  return sum;
}

// A sum of positive terms rounds as often as it has terms.
double LossLaw::error() const { return mass_error_ + 4 * unit * static_cast<double>(atoms_.size() + 4); }

double LossLaw::delta(double epsilon) const {
  return std::min(1.0, left_out_ + hockey_stick(epsilon - loss_error_) * (1 + error()));
}

double LossLaw::least_delta(double epsilon) const {
  return exact_ ? hockey_stick(epsilon + loss_error_) * (1 - error()) : 0;
}

double LossLaw::epsilon(double delta) const {
  if (this->delta(0) <= delta) return 0;
  const double high = atoms_.front().loss + 2 * loss_error_;
  if (this->delta(high) > delta) return infinity;
  return crossing([&](double e) { return log_ratio(this->delta(e), delta); }, high).second;
}

double LossLaw::least_epsilon(double delta) const {
  if (least_delta(0) <= delta) return 0;
  return crossing([&](double e) { return log_ratio(least_delta(e), delta); }, atoms_.front().loss).first;
}

}  // namespace dpmpi
