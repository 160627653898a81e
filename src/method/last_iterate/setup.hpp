#pragma once
// What the settings of zo-hidden come to for one problem: every constant of its step and of its guarantee. All
// values are public; none is measured on records.

#include <cstdint>
#include <optional>
#include <string>

#include "method/last_iterate/options.hpp"
#include "method/method.hpp"
#include "objective/values/projected_differences.hpp"
#include "objective/values/smoothness.hpp"
#include "privacy/curator/query.hpp"
#include "privacy/events/event.hpp"

namespace dpmpi {

/// Symbols as in docs/methods/zo-hidden.md. z is the noise multiplier of the run: the noise along the directions
/// of a step with f = 1 over the shift of one record.
struct HiddenSetup {
  SamplingRule sampling;
  std::uint64_t records = 0, steps = 0;  ///< n, T
  std::uint64_t batch = 0;               ///< b, what sums are divided by
  double d = 0, K = 0;
  bool linear = false;  ///< differences come from margins, not from 2 K evaluations
  double slack = 0;     ///< of the kernel
  double length = 1;    ///< of a direction: 1, or sqrt(d) (gauss: on average)
  double eta = 0;
  double xi = 0;
  double R = 0;         ///< infinity: no projection
  double clip = 0;      ///< C, bound on the norm of a record's K differences (coordinate clip: Delta sqrt(K))
  double omega = 0;     ///< what the public regulariser takes from a regularised coordinate in a step
  double f = 1;         ///< share of the noise's energy along the directions, in the window
  std::uint64_t N = 0;  ///< steps of the window; before it f = 1
  std::optional<Smoothness> smoothness;
  double c = 0, zeta = 1;            ///< the step is a contraction by c zeta along the directions, zeta across them
  double error = 0;                  ///< e, of one central difference
  std::optional<HiddenState> event;  ///< accounting = hidden: the run, for z = 1
  double rounding = 0;               ///< LastIterateRun::rounding

  double h() const { return eta / K; }
  double shift() const { return 2 * h() * clip / static_cast<double>(batch); }  ///< s, replacing one record
  /// Deviation per coordinate of the noise across the directions at step t, over the deviation of the sum's noise
  /// that z promises (Query::noise_std where f = 1).
  double across(std::uint64_t t) const;
  /// Deviation of the noise along the directions over that, where accounting is by composition with constant f.
  double along() const;
  /// kappa, the part of the noise across that stays in the span; 0 without a window. Throws PrivacyError if the
  /// lattice is too coarse for that noise.
  double dither(const Query& query) const;
  QuerySpec query(const PublicFacts& facts, double z) const;
  DifferenceRule rule(const HiddenOptions& options) const;
  Derived report_quantities(const Query& query) const;
  /// What the bound for hidden iterates takes for granted; empty if it is not used.
  std::vector<std::string> assumptions() const;
};

/// Throws ConfigError for settings that do not fit, PrivacyError (HS-01 .. HS-10, with what composition gives) for
/// what the bound for hidden iterates does not cover.
HiddenSetup set_up(const HiddenOptions& options, const PublicFacts& facts);

/// Why accounting = hidden is refused before its constants are known: by the settings alone. Empty: not.
std::string hidden_refusal(const HiddenOptions& options, const PublicFacts& facts);

}  // namespace dpmpi
