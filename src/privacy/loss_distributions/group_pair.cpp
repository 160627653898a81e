#include "privacy/loss_distributions/group_pair.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <vector>

#include "core/errors.hpp"
#include "core/numbers/real.hpp"
#include "privacy/loss_distributions/normal_sides.hpp"

namespace dpmpi {
namespace {

/// How many records of the group are drawn, at least one.
struct Drawn {
  double records;
  Real chance;
  double log_chance;
};

/// The law of that number, or one that gives j and more no smaller chance for any j: its mixture dominates. The
/// chances of all do not exceed 1; what is missing is that of none.
class DrawnLaw {
 public:
  explicit DrawnLaw(const PoissonGaussianGroup& group) {
    const Real q = group.sampling_rate, k = static_cast<Real>(group.records), mean = k * q;
    const Real log_drawn = std::log(q), log_left = std::log1p(-q);
    const Real past_rounding = 1 + 0x1p-52L + 0x1p-61L * k * (4 - log_drawn - log_left);
    Real log_ways = 0, carried = 0;
    std::vector<Drawn> ascending;
    for (Real j = 1; j <= k; ++j) {
      log_ways += std::log((k - j + 1) / j);
      const Real chance = past_rounding * std::exp(log_ways + j * log_drawn + (k - j) * log_left) + carried;
      carried = 0;
      if (chance >= unlikely || j == k) {
        ascending.push_back({static_cast<double>(j), chance, 0});
      } else if (j < mean) {
        carried = chance;
      } else {  // from here on chances fall: no more than this one for each number that is left
        ascending.push_back({static_cast<double>(k), chance * (k - j + 1), 0});
        break;
      }
    }
    take(std::move(ascending));
  }

  static constexpr Real unlikely = 1e-150L;  ///< numbers of a smaller chance are taken for larger ones

  const std::vector<Drawn>& some() const { return some_; }  ///< ascending
  Real chance_of_some() const { return total_; }
  Real chance_of_none() const { return 1 - total_; }

 private:
  static constexpr Real negligible = 1e-12L;

  void take(std::vector<Drawn> ascending) {
    for (auto at = ascending.rbegin(); at != ascending.rend(); ++at)
      total_ += at->chance = std::min(at->chance, 1 - total_);
    if (1 - total_ < negligible) ascending.front().chance += 1 - total_, total_ = 1;
    std::erase_if(ascending, [](const Drawn& d) { return !(d.chance > 0); });
    for (Drawn& d : ascending) d.log_chance = static_cast<double>(std::log(d.chance));
    some_ = std::move(ascending);
  }

  std::vector<Drawn> some_;
  Real total_ = 0;
};

/// Masses of a mixture of normals above and below a point, and bounds on their errors.
struct MixedSides {
  Real above = 0, below = 0, above_error = 0, below_error = 0;

  void add(Real chance, double t) {
    const Sides sides = normal_sides(t);
    const double small = normal_error(t) * std::min(sides.above, sides.below);
    above += chance * static_cast<Real>(sides.above), below += chance * static_cast<Real>(sides.below);
    above_error += chance * static_cast<Real>(t > 0 ? small : small + 0x1p-53);
    below_error += chance * static_cast<Real>(t > 0 ? small + 0x1p-53 : small);
  }
  /// Whether what is left of the mixture, a mass of `left`, is nothing beside its sides; an error it is.
  bool settled(Real left) {
    if (!(left < 0x1p-60L * std::min(above, below))) return false;
    above_error += left, below_error += left;
    return true;
  }
  double relative_error() const {
    const auto of = [](Real error, Real mass) { return mass > 0 ? static_cast<double>(error / mass) : 0; };
    return std::max(of(above_error, above), of(below_error, below)) + 0x1p-52;
  }
};

/// The pair in units of the noise: an output y has the loss log(chance_of_none + ratio(y)), where ratio(y) is
///   sum_{j >= 1} chance_j e^(j y / z - j^2 / (2 z^2)).
class GroupPair {
 public:
  explicit GroupPair(const PoissonGaussianGroup& group) : law_(group), z_(group.noise_multiplier) {
    double rarest = 0, most = 1;
    for (const Drawn& d : law_.some())
      if (d.chance >= DrawnLaw::unlikely) rarest = std::max(rarest, -d.log_chance), most = d.records;
    magnitude_ = 4 + rarest + most / z_ * (40 + most / z_);
    by_chance_ = law_.some();
    std::ranges::sort(by_chance_, std::greater<>(), &Drawn::chance);
    left_.resize(by_chance_.size());
    Real left = 0;
    for (std::size_t i = by_chance_.size(); i-- > 0;) left_[i] = left += by_chance_[i].chance;
  }

  LossCut cut(double loss) const {
    const Real none = law_.chance_of_none(), some = law_.chance_of_some();
    const Real exact = std::min<Real>(loss, 11000);
    const Real ratio = none < 0.5L ? std::exp(exact) - none : std::expm1(exact) + some;
    if (!(ratio > 0)) return {1, 0, 1, 0, 0x1p-52};
    const double y = output(static_cast<double>(std::log(ratio)));
    MixedSides p, q;
    p.add(none, y);
    for (std::size_t i = 0; i < by_chance_.size() && !p.settled(left_[i]); ++i)
      p.add(by_chance_[i].chance, y - by_chance_[i].records / z_);
    q.add(1, y);
    return {static_cast<double>(p.above), static_cast<double>(p.below), static_cast<double>(q.above),
            static_cast<double>(q.below), std::max(p.relative_error(), q.relative_error())};
  }

  double anchor() const {
    const Real none = law_.chance_of_none();
    return none > 0 ? static_cast<double>(std::log(none)) : 0;
  }
  double loss_error() const { return 0x1p-49 * magnitude_; }

 private:
  /// The y at which the logarithm of the ratio is `wanted`.
  double output(double wanted) const {
    // At the smallest y at which one of the terms is as large as the ratio, none is larger.
    double above = infinity;
    for (const Drawn& d : law_.some()) {
      const double shift = d.records / z_;
      above = std::min(above, (wanted - d.log_chance) / shift + shift / 2);
    }
    // From there down by Newton's steps: the logarithm of the sum is convex in y, with slopes of at least 1 / z.
    double y = above;
    for (int i = 0; i < 60; ++i) {
      double sum = 0, slope = 0;
      for (const Drawn& d : law_.some()) {
        const double shift = d.records / z_, exponent = d.log_chance + shift * (y - shift / 2) - wanted;
        if (exponent < -46) continue;
        const double term = std::exp(exponent);
        sum += term, slope += shift * term;
      }
      y -= std::log(sum) * sum / slope;
      if (std::abs(std::log(sum)) <= 0x1p-50 * magnitude_) break;
    }
    return y;
  }

  DrawnLaw law_;
  double z_;
  std::vector<Drawn> by_chance_;  // the likeliest first
  std::vector<Real> left_;        // the chance of this one and all behind it
  double magnitude_ = 0;          // of the exponents above, where masses are not far below any delta
};

}  // namespace

LossPair group_pair(const PoissonGaussianGroup& group) {
  verify(group.sampling_rate < 1, "a group whose sample is not everybody");
  const auto of_group = std::make_shared<const GroupPair>(group);
  LossPair pair;
  pair.cut = [of_group](double loss) { return of_group->cut(loss); };
  pair.anchor = of_group->anchor();
  pair.loss_error = of_group->loss_error();
  return pair;
}

}  // namespace dpmpi
