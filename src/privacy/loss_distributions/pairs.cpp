#include "privacy/loss_distributions/pairs.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <utility>

#include "core/errors.hpp"
#include "core/numbers/real.hpp"
#include "privacy/curves/strategy.hpp"
#include "privacy/events/group.hpp"
#include "privacy/loss_distributions/allocation_pair.hpp"
#include "privacy/loss_distributions/group_pair.hpp"
#include "privacy/loss_distributions/normal_sides.hpp"

namespace dpmpi {

namespace {

Sides mix(double q, Sides without, Sides with) {
  return {(1 - q) * without.above + q * with.above, (1 - q) * without.below + q * with.below};
}

LossCut join(Sides p, Sides q, double error) { return {p.above, p.below, q.above, q.below, error}; }

}  // namespace

LossPair gaussian_pair(double mu) {
  LossPair pair;
  pair.cut = [mu](double loss) {
    const double p = loss / mu - mu / 2, q = loss / mu + mu / 2;
    return join(normal_sides(p), normal_sides(q), normal_error(std::max(std::abs(p), std::abs(q))));
  };
  pair.loss_error = 0x1p-49 * mu * mu;
  return pair;
}

// The loss of x is (|x| - |x-1|) / scale: -1/scale below 0, 1/scale above 1, (2x - 1) / scale between.
LossPair laplace_pair(double scale) {
  const double most = 1 / scale, rare = std::exp(-most);
  LossPair pair;
  pair.atoms = {{-most, rare / 2, 0.5}, {most, 0.5, rare / 2}};
  pair.cut = [most](double loss) {
    const double l = std::clamp(loss, -most, most);
    // int_0^x e^((y-1)/scale) dy / (2 scale) and its mirror images
    const double right = (most - l) / 2, left = (l + most) / 2;  // (1-x) / scale, x / scale
    const Sides p{-std::expm1(-right) / 2, -std::exp(-right) * std::expm1(-left) / 2};
    const Sides q{-std::exp(-left) * std::expm1(-right) / 2, -std::expm1(-left) / 2};
    return join(p, q, 0x1p-49 * (1 + most));
  };
  pair.anchor = -most;
  pair.span = 2 * most;
  pair.narrowed = [](double span) { return laplace_pair(2 / span); };
  pair.loss_error = 0x1p-49 * most;
  return pair;
}

// The loss of an output is log(1 - q + q e^l), increasing in the loss l it has without sampling.
LossPair sampled_pair(const LossPair& base, double q) {
  const auto loss_of = [q](double l) { return std::log1p(q * std::expm1(l)); };
  LossPair pair;
  pair.cut = [q, base_cut = base.cut, all = base.cut(-infinity)](double loss) {
    const double ratio = std::expm1(loss) / q;
    if (ratio <= -1) return LossCut{mix(q, {all.q_above, 0}, {all.p_above, 0}).above, 0, all.q_above, 0, 0x1p-49};
    const LossCut cut = base_cut(std::log1p(ratio));
    const Sides without{cut.q_above, cut.q_below}, with{cut.p_above, cut.p_below};
    return join(mix(q, without, with), without, cut.error + 0x1p-50);
  };
  for (const LossAtom& atom : base.atoms)
    pair.atoms.push_back({loss_of(atom.loss), (1 - q) * atom.q + q * atom.p, atom.q});
  pair.anchor = pair.atoms.empty() ? std::log1p(-q) : pair.atoms.front().loss;
  if (pair.atoms.size() > 1) pair.span = pair.atoms.back().loss - pair.anchor;
  // Sampling keeps the order of divergences, and its span grows with that of the base, whose losses are +-l.
  if (base.narrowed && pair.atoms.size() > 1)
    pair.narrowed = [q, loss_of, narrowed = base.narrowed, widest = base.span / 2](double span) {
      double low = 0, high = widest;
      for (int i = 0; i < 100; ++i) {
        const double l = (low + high) / 2;
        (loss_of(l) - loss_of(-l) < span ? low : high) = l;
      }
      return sampled_pair(narrowed(2 * low), q);
    };
  // An error x in e^l = 1 + expm1(L)/q is one of q x / (1 - q + q e^l) in L; and dL/dl <= 1, |l| <= |L| - log q
  // above.
  pair.loss_error = base.loss_error + 0x1p-49 * (1 + 1 / (1 - q) - std::log(q));
  return pair;
}

// With t = e^(x/s^2), a = 1-q, c = q e^(-1/(2s^2)) the ratio is (a + c t) / (a + c/t); solved for t,
// x = s^2 (l/2 + asinh(a sinh(l/2) / c)).
LossPair opposite_gaussian_pair(double q, double s) {
  const double log_factor = std::log1p(-q) - std::log(q) + 1 / (2 * s * s);
  LossPair pair;
  pair.cut = [q, s, log_factor](double loss) {
    const double half = std::abs(loss) / 2;
    const double log_sinh = half < 1 ? std::log(std::sinh(half)) : half + std::log(-std::expm1(-2 * half) / 2);
    const double d = log_factor + log_sinh;
    const double asinh = d > 40 ? d + std::numbers::ln2 : std::asinh(std::exp(d));
    const double x = std::copysign(s * (half + asinh), loss);  // in units of s
    const Sides middle = normal_sides(x);
    return join(mix(q, middle, normal_sides(x - 1 / s)), mix(q, middle, normal_sides(x + 1 / s)),
                normal_error(std::abs(x) + 1 / s));
  };
  pair.loss_error = 0x1p-47 * (1 + 1 / (s * s) + std::abs(log_factor));
  return pair;
}

LossPair randomized_response_pair(double epsilon, double delta) {
  const double rare = (1 - delta) / (1 + std::exp(epsilon));
  const double likely = (1 - delta) / (1 + std::exp(-epsilon));
  LossPair pair;
  pair.atoms = {{-epsilon, rare, likely}, {epsilon, likely, rare}};
  pair.infinite = pair.vanished = delta;
  pair.anchor = -epsilon;
  pair.span = 2 * epsilon;
  pair.narrowed = [delta](double span) { return randomized_response_pair(span / 2, delta); };
  return pair;
}

// Losses in [t - epsilon, t] with E_P e^(-loss) = 1 spread most, in the convex order of e^(-loss), if they sit at
// both ends. H_gamma of that two-point law is largest over t at e^t = sqrt(gamma E), E = e^epsilon:
//
//   H_gamma <= (sqrt(E) - sqrt(gamma))^2 / (E - 1)   for 1/E <= gamma <= E.
//
// The right side is convex in gamma, so it is the profile of a pair: Q{above} is minus its derivative and
// P{above} = H + gamma Q{above}.
LossPair bounded_range_pair(double epsilon) {
  LossPair pair;
  pair.cut = [epsilon](double loss) {
    const double up = (epsilon - std::clamp(loss, -epsilon, epsilon)) / 2, down = epsilon - up;
    // expm1(up) / expm1(epsilon) and the like, with the exponentials taken out
    const double whole = -std::expm1(-epsilon);
    const double low = -std::expm1(-up) / whole, high = -std::expm1(-down) / whole;
    return join({low, std::exp(-up) * high}, {std::exp(-down) * low, high}, 0x1p-49 * (1 + epsilon));
  };
  pair.anchor = -epsilon;
  pair.span = 2 * epsilon;
  return pair;
}

LossPair reversed(const LossPair& pair) {
  LossPair result = pair;
  std::swap(result.infinite, result.vanished);
  if (pair.cut)
    result.cut = [cut = pair.cut](double loss) {
      const LossCut c = cut(-loss);
      return LossCut{c.q_below, c.q_above, c.p_below, c.p_above, c.error};
    };
  for (LossAtom& atom : result.atoms) atom = {-atom.loss, atom.q, atom.p};
  result.anchor = -pair.anchor;
  result.span = -pair.span;
  if (pair.narrowed) result.narrowed = [narrowed = pair.narrowed](double span) { return reversed(narrowed(span)); };
  return result;
}

// Both orders agree on H_1, and the slope jumps there: what lies in neither half has the loss 0. Cuts below 0 hold
// it, those at 0 and above do not, and a grid with a point at 0 gives it that point.
LossPair in_worse_order(const LossPair& pair) {
  verify(pair.atoms.empty() && pair.infinite == 0, "a pair without atoms and infinite losses");
  LossPair result;
  result.cut = [forward = pair.cut, backward = reversed(pair).cut](double loss) {
    return loss < 0 ? backward(loss) : forward(loss);
  };
  result.loss_error = pair.loss_error;
  return result;
}

std::optional<double> gaussian_mu(const Mechanism& mechanism) {
  if (const auto* m = std::get_if<Gaussian>(&mechanism)) return 1 / m->noise_multiplier;
  if (const auto* m = std::get_if<PoissonGaussian>(&mechanism); m && m->sampling_rate == 1)
    return 1 / m->noise_multiplier;
  if (const auto* m = std::get_if<PoissonGaussianGroup>(&mechanism); m && m->sampling_rate == 1)
    return gaussian_mu(drawn_together(*m));
  if (const auto* m = std::get_if<Tree>(&mechanism)) return tree_mu(*m);
  if (const auto* m = std::get_if<Gdp>(&mechanism)) return m->mu;
  return {};
}

namespace {

[[noreturn]] void refuse(const Mechanism& mechanism, Adjacency adjacency, const char* reason) {
  throw PrivacyError("event " + std::string(name(mechanism)) + " under " + std::string(name(adjacency)) +
                     ": accountant pld has no dominating pair: " + reason);
}

struct Pairs {
  const Mechanism& mechanism;
  Adjacency adjacency;

  DominatingPair operator()(const PoissonGaussian& m) const {
    if (adjacency == Adjacency::add_remove)
      return {sampled_pair(gaussian_pair(1 / m.noise_multiplier), m.sampling_rate), false};
    // In units of the clipping radius: the multiplier is relative to twice that.
    return {opposite_gaussian_pair(m.sampling_rate, 2 * m.noise_multiplier)};
  }
  // Under replace_one nothing better is proven than that all of the group are drawn if one is. A group may differ
  // in one record.
  DominatingPair operator()(const PoissonGaussianGroup& m) const {
    if (adjacency == Adjacency::add_remove) return {group_pair(m), false};
    return {(*this)(drawn_together(m)).pair, true,
            (*this)(PoissonGaussian{m.sampling_rate, m.noise_multiplier}).pair};
  }
  DominatingPair operator()(const Laplace& m) const { return {laplace_pair(m.scale)}; }
  DominatingPair operator()(const PoissonLaplace& m) const {
    if (m.sampling_rate == 1) return {laplace_pair(m.scale)};
    if (adjacency != Adjacency::add_remove)
      refuse(mechanism, adjacency, "none is proven for Laplace noise on samples that differ by a replacement");
    return {sampled_pair(laplace_pair(m.scale), m.sampling_rate), false};
  }
  DominatingPair operator()(const Exponential& m) const {
    return {bounded_range_pair(m.epsilon), true, randomized_response_pair(m.epsilon / 2, 0)};
  }
  DominatingPair operator()(const ApproxDp& m) const { return {randomized_response_pair(m.epsilon, m.delta)}; }

  DominatingPair operator()(const Zcdp&) const {
    refuse(mechanism, adjacency, "a bound on Renyi divergences fixes no law of losses");
  }
  DominatingPair operator()(const RepeatAndSelect&) const {
    refuse(mechanism, adjacency, "the best of several outputs has a bound on Renyi divergences only");
  }
  // A record that takes the drawn one's place may be as far from it as the other value is, and in one use from this
  // value, in the next from that one. Where it always is on one side, one order counts.
  DominatingPair operator()(const WorGaussian& m) const {
    if (adjacency != Adjacency::replace_one)
      refuse(mechanism, adjacency, "n and the size of a sample are the same in both datasets");
    const LossPair full = gaussian_pair(1 / m.noise_multiplier);
    if (m.batch == m.population) return {full};
    const LossPair drawn = sampled_pair(full, static_cast<double>(m.batch) / static_cast<double>(m.population));
    return {in_worse_order(drawn), true, drawn, true};
  }
  // Where a secret step is not known to hide anything: the pair of who knows it, and that of the sum of all steps.
  DominatingPair operator()(const RandomAllocationGaussian& m) const {
    if (adjacency == Adjacency::add_remove && least_allocation_noise <= m.noise_multiplier &&
        m.noise_multiplier <= most_allocation_noise)
      return allocation_pair(m);
    const double known = 1 / m.noise_multiplier, summed = known / std::sqrt(static_cast<double>(m.steps));
    return {gaussian_pair(known), true, gaussian_pair(summed), true};
  }
  DominatingPair operator()(const CyclicPoissonGaussian&) const {
    refuse(mechanism, adjacency, "its rounds have one each");
  }
  DominatingPair operator()(const HiddenState&) const {
    refuse(mechanism, adjacency, "its bounds hold outside of an event that takes a part of delta");
  }
  template <class Other>
  DominatingPair operator()(const Other&) const {
    refuse(mechanism, adjacency, "its losses depend on the query's values on the lattice");
  }
};

}  // namespace

DominatingPair dominating_pair(const Mechanism& mechanism, Adjacency adjacency) {
  verify(!gaussian_mu(mechanism), "not a Gaussian, which merge");
  return std::visit(Pairs{mechanism, adjacency}, mechanism);
}

}  // namespace dpmpi
