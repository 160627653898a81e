#include "privacy/promise/calibrate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/console/progress.hpp"
#include "core/errors.hpp"
#include "privacy/accountants/accountant.hpp"
#include "privacy/accountants/pld.hpp"
#include "privacy/curves/rdp_conversion.hpp"

namespace dpmpi {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

constexpr Unknown known_unknowns[] = {
    {.name = "noise_multiplier", .least = 1e-3, .most = 1e7},
    {.name = "scale", .least = 1e-3, .most = 1e7},
    {.name = "count", .protects = false, .whole = true, .least = 1, .most = 0x1p53},
    {.name = "sampling_rate", .protects = false, .least = 1e-9, .most = 1, .start = 0.01},
    {.name = "mu", .protects = false, .least = 1e-7, .most = 1e3},
    {.name = "rho", .protects = false, .least = 1e-12, .most = 1e6},
};

using EpsilonOf = std::function<double(double)>;

// One search: along log(x), because epsilon is nearly a power of the unknown.
class Search {
 public:
  static constexpr double fine = 5e-8;  ///< a part of the last printed digit

  Search(const Unknown& unknown, const EpsilonOf& epsilon_of, double epsilon, double resolution = fine)
      : unknown_(unknown), epsilon_of_(epsilon_of), epsilon_(epsilon), resolution_(resolution) {}

  /// The tightest value that keeps the target, found outward from `start` by steps that grow from a factor
  /// e^stride or less. Empty if there is none.
  std::optional<double> tightest(double start, double stride) {
    if (!bracket(start, stride)) return std::nullopt;
    if (breaks_) narrow();
    if (unknown_.whole || keeps_->x == bound(false)) return keeps_->x;
    // A printable value between the two ends may keep the target, too.
    const double before = on_grid(keeps_->x, -1);
    const bool open = breaks_ && (unknown_.protects ? before > breaks_->x : before < breaks_->x);
    for (double steps = open && inside(before) ? -1 : 0; inside(on_grid(keeps_->x, steps)); ++steps)
      if (const double x = on_grid(keeps_->x, steps); epsilon_of_(x) <= epsilon_) return x;
    return std::nullopt;
  }

 private:
  // excess: log(epsilon / target), at most 0 exactly where the target is kept.
  struct Point {
    double x, excess;
  };

  double bound(bool private_end) const { return private_end == unknown_.protects ? unknown_.most : unknown_.least; }
  bool inside(double x) const { return x >= unknown_.least && x <= unknown_.most; }

  Point at(double x) const {
    const double e = epsilon_of_(x);
    const double excess = std::log(std::max(e, 1e-300) / epsilon_);
    return {x, e <= epsilon_ ? std::min(0.0, excess) : std::max(excess, std::numeric_limits<double>::min())};
  }

  // x moved by a factor e^stride towards more privacy (stride > 0) or less.
  double moved(double x, double stride) const {
    double y = x * std::exp(unknown_.protects ? stride : -stride);
    if (unknown_.whole) y = y > x ? std::max(std::floor(y), x + 1) : std::min(std::floor(y), x - 1);
    return std::clamp(y, unknown_.least, unknown_.most);
  }

  // Sets keeps_ and breaks_; breaks_ stays empty if nothing breaks the target. False if nothing keeps it.
  bool bracket(double start, double stride) {
    Point p = at(std::clamp(start, unknown_.least, unknown_.most));
    // Epsilon falls at least as fast as 1/noise in most cases: this step is just long enough.
    stride = std::min(stride, 1.05 * std::abs(p.excess) + 1e-6);
    for (; p.excess > 0; stride *= 4) {
      breaks_ = p;
      if (p.x == bound(true)) return false;
      p = at(moved(p.x, stride));
    }
    keeps_ = p;
    for (; !breaks_ && keeps_->x != bound(false); stride *= 4) {
      p = at(moved(keeps_->x, -stride));
      (p.excess > 0 ? breaks_ : keeps_) = p;
    }
    return true;
  }

  // Illinois regula falsi, with a bisection where it is slow.
  void narrow() {
    Point keeps = *keeps_, breaks = *breaks_;  // with the weights that the method gives to ends that stay
    for (int i = 0; !adjacent(keeps.x, breaks.x); ++i) {
      const double from = std::log(breaks.x), to = std::log(keeps.x), width = to - from;
      double x = from + width * breaks.excess / (breaks.excess - keeps.excess);
      if (!std::isfinite(x) || i % 4 == 3) x = from + width / 2;
      const Point p = at(between(std::exp(x), keeps.x, breaks.x));
      if (p.excess <= 0) {
        keeps = p, breaks.excess /= 2;
      } else {
        breaks = p, keeps.excess /= 2;
      }
    }
    keeps_ = keeps, breaks_ = breaks;
  }

  bool adjacent(double a, double b) const {
    return unknown_.whole ? std::abs(a - b) <= 1 : std::abs(std::log(a / b)) <= resolution_;
  }
  double between(double x, double a, double b) const {
    const double low = std::min(a, b), high = std::max(a, b), margin = 0.4 * resolution_;
    return unknown_.whole ? std::clamp(std::floor(x), low + 1, high - 1)
                          : std::clamp(x, low * (1 + margin), high * (1 - margin));
  }

  // Printed values have 6 decimals, or more where x has fewer than 7 significant digits by then.
  static double decimal_unit(double x) { return std::pow(10.0, std::max(6.0, 6 - std::floor(std::log10(x)))); }

  // x or the next such value, `steps` of them away from it in the direction of more privacy.
  double on_grid(double x, double steps) const {
    const double unit = decimal_unit(x), whole = unknown_.protects ? std::ceil(x * unit) : std::floor(x * unit);
    return (unknown_.protects ? whole + steps : whole - steps) / unit;
  }

  const Unknown& unknown_;
  const EpsilonOf& epsilon_of_;
  double epsilon_, resolution_;
  std::optional<Point> keeps_, breaks_;  // neighbours of which one keeps and one breaks the target
};

constexpr double first_stride = 0.7;

struct Problem {
  const Unknown& unknown;
  const EventsOf& events;
  const PrivacyTarget& target;

  /// A value that keeps the target, and the tightest up to a relative `resolution`.
  std::optional<double> solve(const EpsilonOf& epsilon_of, std::optional<double> near,
                              double resolution = Search::fine) const {
    return Search(unknown, epsilon_of, target.epsilon, resolution)
        .tightest(near.value_or(unknown.start), first_stride);
  }
};

RdpAccountant composed(const Problem& problem, double x, std::vector<double> orders) {
  RdpAccountant accountant(problem.target.adjacency, std::move(orders));
  accountant.compose(problem.events(x));
  return accountant;
}

// Fewer orders give a larger epsilon, hence a value that keeps the target. Solve on a coarse grid, then around the
// order that is best on the full one, until that order is among those solved for.
std::optional<double> solve_by_rdp(const Problem& problem) {
  const auto solve = [&](const std::vector<double>& orders, std::optional<double> near) {
    return problem.solve([&](double x) { return composed(problem, x, orders).epsilon(problem.target.delta); },
                         near);
  };
  const std::vector<double>& all = rdp_orders();
  std::vector<double> orders;
  for (std::size_t i = 0; i < all.size(); i += 1 + i / 8) orders.push_back(all[i]);
  orders.push_back(all.back());
  auto x = solve(orders, std::nullopt);
  if (!x) return solve(all, std::nullopt);
  for (int round = 0; round < 8; ++round) {
    const double best = composed(problem, *x, all).best_order(problem.target.delta);
    if (std::find(orders.begin(), orders.end(), best) != orders.end()) break;
    const auto at = std::find(all.begin(), all.end(), best) - all.begin();
    if (at == std::ssize(all)) break;  // a real order: linear curves are converted without a grid
    orders.assign(all.begin() + std::max<std::ptrdiff_t>(0, at - 4),
                  all.begin() + std::min<std::ptrdiff_t>(std::ssize(all), at + 5));
    x = solve(orders, x);
  }
  return x;
}

// Epsilon by one accountant; infinity where it has no bound for the events. Remembers, because convolutions are
// costly. Those of neighbouring values end on the same grid: after the first value the bound of that grid alone is
// asked for, at a third of the work.
//
// The accountant may need grids with more points than a search has time for. Then the search has smaller ones, and
// need not find the last digit: on the largest grids epsilon is hardly better known. The accountant is asked for
// the value that was found.
class Epsilons {
 public:
  Epsilons(const Problem& problem, std::string_view accountant, bool one_grid = true)
      : problem_(problem), accountant_(accountant), one_grid_(one_grid && accountant == "pld") {}

  double operator()(double x) {
    const auto known = known_.find(x);
    return known != known_.end() ? known->second : known_[x] = compute(x);
  }

  /// A value to begin with in place of `near`, found on small grids: far from the target the accountant may need
  /// much finer grids than near it, or tell nothing. Forgets the grids at `near`.
  std::optional<double> closer(std::optional<double> near) {
    if (!one_grid_) return near;
    grids_ = {}, costly_ = false, known_.clear();
    const auto rough = [&](double x) {
      return by_losses(x, [&](const PldAccountant& a) { return a.rough_epsilon(problem_.target.delta); });
    };
    const auto x = problem_.solve(rough, near, 0.01);
    return x ? x : near;
  }

  /// Whether the value is the accountant's own: its answer there ends on the grid that was used; or the grids are
  /// costly, and its answer is below the target and not far below. If not, what is computed from now on is by the
  /// grids there, or what they say corrected by the accountant's answers.
  bool confirmed(double x) {
    if (grids_.points() == 0) return true;
    if (costly_) return answered(x);
    const auto used = std::exchange(grids_, {});
    known_.clear();
    (*this)(x);
    return !costly_ && grids_ == used;
  }

  /// The value found: x, or of costly grids the best for which the accountant's answer was below the target.
  double found(double x) const { return costly_ ? kept_.value_or(x) : x; }

  bool costly() const { return costly_; }

 private:
  template <class F>
  double by_losses(double x, F f) const {
    try {
      PldAccountant a(problem_.target.adjacency);
      a.compose(problem_.events(x));
      return f(a);
    } catch (const PrivacyError&) {
      return infinity;
    }
  }

  double compute(double x) {
    if (one_grid_) return by_losses(x, [&](const PldAccountant& a) { return on_grids(a, x); });
    try {
      const auto a = make_accountant(accountant_, problem_.target.adjacency);
      a->compose(problem_.events(x));
      return a->epsilon(problem_.target.delta);
    } catch (const PrivacyError&) {
      return infinity;
    }
  }

  double on_grids(const PldAccountant& a, double x) {
    const double delta = problem_.target.delta;
    if (grids_.points() == 0) {
      const auto grids = a.grids_within(most, delta);
      costly_ = !grids;
      grids_ = grids.value_or(PldAccountant::Grids{most, most});
      if (grids) return a.epsilon(delta);
    }
    return a.epsilon_on(grids_, delta) * (costly_ ? correction_.at(std::log(x)) : 1);
  }

  // Of costly grids.
  bool answered(double x) {
    const double target = problem_.target.epsilon, by_grids = known_.at(x) / correction_.at(std::log(x));
    PldAccountant::Grids ended;
    const double epsilon = by_losses(x, [&](const PldAccountant& a) {
      ended = a.grids(problem_.target.delta);
      return a.epsilon(problem_.target.delta);
    });
    known_.clear();
    if (std::max(ended.forward, ended.backward) <= most) {  // not as costly here
      grids_ = ended, costly_ = false, known_ = {{x, epsilon}};
      return false;
    }
    ++answers_;
    if (epsilon <= target && epsilon > kept_epsilon_) kept_ = x, kept_epsilon_ = epsilon;
    if (kept_epsilon_ >= (1 - (answers_ == 1 ? far_below : 3 * far_below)) * target) return true;
    correction_.learn(std::log(x), std::log(epsilon / by_grids) + far_below / 4);
    return answers_ == most_answers && kept_.has_value();
  }

  // The accountant's epsilon over that of costly grids: its logarithm along that of the unknown, through the last
  // two answers.
  struct Correction {
    double x = 0, value = 0, slope = 0;
    bool any = false;
    double at(double log_x) const { return std::exp(value + slope * (log_x - x)); }
    void learn(double log_x, double log_ratio) {
      if (any && std::abs(log_x - x) > 1e-3) slope = (log_ratio - value) / (log_x - x);
      x = log_x, value = log_ratio, any = true;
    }
  };

  const Problem& problem_;
  std::string accountant_;
  bool one_grid_;
  PldAccountant::Grids grids_;  // those that values are computed on
  bool costly_ = false;         // these are not the accountant's
  Correction correction_;
  int answers_ = 0;             // of the accountant, where its grids are costly
  std::optional<double> kept_;  // the value with the largest of those below the target
  double kept_epsilon_ = 0;
  // Many uses: on smaller grids the bound may lie far above the accountant's. A later answer may be farther below.
  static constexpr double far_below = 0.01;
  static constexpr int most_answers = 4;
  static constexpr std::size_t most = 1u << 17;
  std::map<double, double> known_;
};

std::optional<double> search(const Problem& problem, Epsilons& epsilon_of, std::string_view accountant,
                             std::optional<double> near) {
  near = epsilon_of.closer(near);
  for (int round = 0; round < 6; ++round) {
    if (near) epsilon_of(*near);
    const auto x = problem.solve(std::ref(epsilon_of), near, epsilon_of.costly() ? 1e-3 : Search::fine);
    if (!x) return x;
    if (epsilon_of.confirmed(*x)) return epsilon_of.found(*x);
    near = x;
  }
  return problem.solve(Epsilons(problem, accountant, false), near, epsilon_of.costly() ? 1e-2 : Search::fine);
}

std::optional<double> rdp_or_nothing(const Problem& problem) {
  try {
    return solve_by_rdp(problem);
  } catch (const PrivacyError&) {  // no Renyi bound for these events
    return std::nullopt;
  }
}

// Each accountant's bound is valid by itself, so the best value is the best of theirs. RDP is the cheapest to
// search with; another one is asked to search only if it can confirm the best value so far, the costly
// convolutions last.
std::optional<double> solve(const Problem& problem, std::string_view accountant) {
  const auto by_rdp = rdp_or_nothing(problem);
  if (accountant == "rdp") return by_rdp;
  if (accountant != "best") {
    Epsilons epsilon_of(problem, accountant);
    return search(problem, epsilon_of, accountant, by_rdp);
  }

  std::vector<std::string> others;
  for (const std::string& name : accountant_names())
    if (name != "best" && name != "rdp") others.push_back(name);
  std::stable_partition(others.begin(), others.end(), [](const auto& name) { return name != "pld"; });
  auto best = by_rdp;
  for (const std::string& name : others) {
    Epsilons epsilon_of(problem, name);
    if (!best || epsilon_of(*best) <= problem.target.epsilon)
      if (const auto x = search(problem, epsilon_of, name, best)) best = x;
  }
  return best;
}

[[noreturn]] void unreachable(const Problem& problem, std::string_view accountant) {
  const Unknown& u = problem.unknown;
  const double end = u.protects ? u.most : u.least;
  const auto a = make_accountant(accountant, problem.target.adjacency);
  a->compose(problem.events(end));  // says why, if no accountant has a bound at all
  throw PrivacyError(fmt::format(
      "epsilon {} at delta {} under {} cannot be reached (accountant {}): with {} {} epsilon is still {:.6g}. Part "
      "of the events does not get more private with it, or delta is too small for such an epsilon",
      problem.target.epsilon, problem.target.delta, name(problem.target.adjacency), accountant, u.name, end,
      a->epsilon(problem.target.delta)));
}

}  // namespace

std::span<const Unknown> unknowns() { return known_unknowns; }

bool assign(Event& event, std::string_view member, double value) {
  if (member == "count") return event.count = static_cast<std::uint64_t>(value), true;
  return std::visit(
      [&](auto& m) {
        if constexpr (requires { m.noise_multiplier; })
          if (member == "noise_multiplier") return m.noise_multiplier = value, true;
        if constexpr (requires { m.sampling_rate; })
          if (member == "sampling_rate") return m.sampling_rate = value, true;
        if constexpr (requires { m.scale; })
          if (member == "scale") return m.scale = value, true;
        if constexpr (requires { m.mu; })
          if (member == "mu") return m.mu = value, true;
        if constexpr (requires { m.rho; })
          if (member == "rho") return m.rho = value, true;
        return false;
      },
      event.mechanism);
}

double calibrate(const Unknown& unknown, const EventsOf& events, const PrivacyTarget& target,
                 std::string_view accountant) {
  if (!(std::isfinite(target.epsilon) && target.epsilon > 0))
    throw PrivacyError(fmt::format("target epsilon is {}, allowed: a finite number > 0", target.epsilon));
  if (!(target.delta > 0 && target.delta < 1))
    throw PrivacyError(fmt::format("target delta is {}, allowed: a number in (0, 1)", target.delta));
  make_accountant(accountant, target.adjacency);  // an unknown name is no refusal of events

  Progress progress(fmt::format("searching {}", unknown.name), 0, "values");
  const EventsOf counted = [&](double x) { return progress.add(), events(x); };
  const Problem problem{unknown, counted, target};
  const auto x = solve(problem, accountant);
  if (!x) unreachable(problem, accountant);
  return *x;
}

double calibrate_noise(const EventsOf& events, const PrivacyTarget& target, std::string_view accountant) {
  return calibrate(known_unknowns[0], events, target, accountant);
}

double smallest_noise(const EpsilonOf& epsilon_of, double epsilon, double low, double high) {
  const Unknown noise{.name = "noise_multiplier", .least = low, .most = high};
  return Search(noise, epsilon_of, epsilon).tightest(1, first_stride).value_or(infinity);
}

}  // namespace dpmpi
