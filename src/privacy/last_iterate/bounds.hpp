#pragma once
// What is proven about runs whose iterates stay hidden (event hidden_state): composition, the last step alone, and
// the coupling of two runs that come together before the model is released. docs/theory/last_iterate.md, has
// the proofs. All lengths are in units of s, as in the event.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "privacy/events/event.hpp"
#include "privacy/last_iterate/coupling.hpp"

namespace dpmpi {

/// The steps begin .. end-1 between two releases, of which the last `isotropic` have isotropic noise.
struct Stretch {
  std::uint64_t begin = 0, end = 0, isotropic = 0;
  std::uint64_t steps() const { return end - begin; }
};
std::vector<Stretch> stretches(const HiddenState& run);

/// At how many of the steps begin .. end-1 one record can take part.
std::uint64_t visits(const HiddenState& run, std::uint64_t begin, std::uint64_t end);

/// The whole run is mu-GDP for somebody who sees every iterate; not for runs that sample. Rounded up.
double composition_mu(const HiddenState& run);
/// The end of a stretch is, by the noise of its last step alone; infinity if that has no isotropic noise. Rounded
/// up.
double last_step_mu(const HiddenState& run, const Stretch& stretch);
/// It is, outside of the event behind `growth`, if the two runs are brought together in the last `window` steps,
/// 1 <= window <= isotropic. Not for runs that sample. Rounded up.
double coupling_mu(const HiddenState& run, const Stretch& stretch, std::uint64_t window, const Growth& growth);

/// The factors that two runs with the same frames obey.
StepMap step_map(const HiddenState& run);

/// How a stretch is accounted for.
enum class HiddenBound { composition, last_step, chain, beta, bernstein };
std::string_view name(HiddenBound bound);
struct StretchBound {
  Stretch stretch;
  HiddenBound bound = HiddenBound::composition;
  double mu = 0;             ///< of the bound; runs that sample: of the Gaussian with its divergence at `order`
  std::uint64_t window = 0;  ///< N, of the couplings
  double theta = 0;          ///< chain only
  Growth growth = {};        ///< of the couplings
  double failure = 0;        ///< probability that the coupling fails; 0 for the other bounds
};

/// The best coupling by one way of bounding the factors. The search decides about tightness only. mu is infinity if
/// the stretch has no step before the window, or no isotropic noise.
StretchBound best_coupling(const HiddenState& run, const Stretch& stretch, double failure, HiddenBound factors);

/// A run with every stretch accounted for by its best bound. Outside of an event of probability `failure`
/// (couplings that use up to the failure asked for, and active clips), the run is mu-GDP.
struct HiddenTotal {
  std::vector<StretchBound> stretches;
  double mu = 0;  ///< rounded up
  double failure = 0;
};
HiddenTotal hidden_total(const HiddenState& run, double failure);

/// The same for runs that sample: their Renyi curve outside of the failures. `delta` guides the search.
struct HiddenCurve {
  std::vector<StretchBound> stretches;
  std::vector<double> curve;
  double failure = 0;
};
HiddenCurve hidden_curve(const HiddenState& run, double failure, double delta, std::span<const double> orders);
/// Renyi curve of a run that samples, for somebody who sees every iterate.
std::vector<double> sampled_composition_curve(const HiddenState& run, std::span<const double> orders);

/// Renyi curve of a stretch by the coupling with these factors, at every order with its best window. Outside of the
/// event behind `growth`.
std::vector<double> sampled_coupling_curve(const HiddenState& run, const Stretch& stretch, const Growth& growth,
                                           std::span<const double> orders);

/// Renyi curve of a Gaussian at distance mu (over its deviation) on a fresh sample without replacement at rate
/// q, replace_one: (a-1) eps(a) = log(1 + int_{mu/2}^inf phi(x) (1 - X^{1-a}) (X^a - 1) dx), X = 1 - q + q exp(mu x
/// - mu^2/2). Rounded up.
std::vector<double> sampled_gaussian_curve(double rate, double mu, std::span<const double> orders);

/// Everything that a certificate says about one run alone, at one delta.
struct HiddenExplanation {
  double delta = 0, epsilon = 0;  ///< the smallest of the three epsilons that hold
  std::string used = {};          ///< "hidden", "composition" or "last_step"
  double hidden_epsilon = 0;      ///< every stretch by its best bound; infinity if no coupling helps
  double composition_epsilon = 0;
  double last_step_epsilon = 0;  ///< every stretch by its last step
  double mu = 0;                 ///< of the hidden bound; 0 for runs that sample
  double coupling_failure = 0;   ///< parts of delta that the hidden bound uses
  double clip_failure = 0;
  std::vector<StretchBound> stretches = {};  ///< of the hidden bound
};
/// Throws PrivacyError as the accountants do.
HiddenExplanation explain(const HiddenState& run, Adjacency adjacency, double delta);

/// The part of delta that couplings may use.
inline constexpr double failure_share = 0.1;

/// How to split noise of a given energy between directions and all coordinates.
struct HiddenDesign {
  std::uint64_t window = 0;  ///< N: make this many last steps hybrid; 0: no coupling helps
  double theta = 0;
  double share = 1;      ///< f*, the part of the variance on the directions in these steps
  double energy_mu = 0;  ///< mu times the noise energy sqrt(K s1^2 + d s2^2) / s; for runs that sample an estimate
};
/// For the last stretch of a run; its multipliers and `hybrid` are not looked at.
HiddenDesign design(const HiddenState& run, double failure);

/// The clip (of each coordinate, or of the norm of all if joint) that no record, direction and step of both coupled
/// runs exceeds, except with probability `failure`: Delta_hp, or C_hp if joint. Differences have the Lipschitz
/// constant `lipschitz` and an error of at most `error` each.
double high_probability_clip(double failure, bool joint, double lipschitz, double error, std::uint64_t directions,
                             std::uint64_t dimension, double evaluations);

/// kappa: the part of the isotropic noise's component in the span of U that a step must keep,
///   U g + (I - (1 - kappa) U U^T) z,
/// where g is rounded to a lattice whose quantum is `quantum` in the same units as z's deviation. Noise on a
/// lattice alone would leave the iterate's bits below a quantum bare. With this dither of four quanta the sum has
/// the density of Gaussian noise plus an independent uniform variable, up to a factor 1 +- 1e-130
/// (docs/theory/last_iterate.md). Throws PrivacyError if the quantum is not small against z.
double dither_share(double quantum, double isotropic_std);

}  // namespace dpmpi
