#pragma once
// What the settings of zo-hidden come to for one problem: every constant of its step and of its guarantee. All
// values are public; none is measured on records.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "method/last_iterate/settings.hpp"
#include "method/method.hpp"
#include "objective/values/smoothness.hpp"
#include "privacy/curator/query.hpp"
#include "privacy/events/event.hpp"

namespace dpmpi {

// Symbols as in docs/methods/zo-hidden.md. z is the noise multiplier of the run: the noise along the directions of
// a step with f = 1 over the shift of one record.

/// What is given.
struct LastIterateProblem {
  SamplingRule sampling;
  std::uint64_t records = 0, steps = 0;  ///< n, T
  std::uint64_t batch = 0;               ///< b, what sums are divided by
  double d = 0, K = 0;
  bool linear = false;  ///< differences come from margins, not from 2 K evaluations
  double length = 1;    ///< of a direction: 1, or sqrt(d) (gauss: on average)
  double R = 0;         ///< infinity: no projection
};

/// How far the loss is looked at from the iterate, and what is known of it there.
struct Probing {
  double xi = 0;
  std::optional<Smoothness> smoothness = {};
  double error = 0;  ///< e, of one central difference
};

struct LastIterateStep : LastIterateProblem, Probing {
  double eta = 0;
  double omega = 0;  ///< what the public regulariser takes from a regularised coordinate in a step
  double clip = 0;   ///< C, bound on the norm of a record's K differences (coordinate clip: Delta sqrt(K))

  double h() const { return eta / K; }
  double shift() const { return 2 * h() * clip / static_cast<double>(batch); }  ///< s, replacing one record
};

struct LastIterateNoise {
  double f = 1;                           ///< share of the noise's energy along the directions, in the window
  std::uint64_t N = 0;                    ///< steps of the window; before it f = 1
  std::optional<HiddenState> event = {};  ///< hidden iterates: the run, for z = 1
  double rounding = 0;                    ///< LastIterateRun::rounding
};

struct LastIterateSetup : LastIterateStep, LastIterateNoise {
  /// Deviation per coordinate of the noise across the directions at step t, over the deviation of the sum's noise
  /// that z promises (Query::noise_std where f = 1).
  double across(std::uint64_t t) const;
  /// Deviation of the noise along the directions over that, where accounting is by composition with constant f.
  double along() const;
  /// kappa, the part of the noise across that stays in the span; 0 without a window. Throws PrivacyError if the
  /// lattice is too coarse for that noise.
  double dither(const Query& query) const;
  QuerySpec query(double z) const;
  Derived report_quantities(const Query& query) const;
  /// What the bound for hidden iterates takes for granted; empty if it is not used.
  std::vector<std::string> assumptions() const;
};

/// Throws ConfigError for settings that do not fit, PrivacyError (HS-01 .. HS-09, with what composition gives) for
/// what the bound for hidden iterates does not cover.
LastIterateSetup set_up(const LastIterateSettings& settings, const PublicFacts& facts);

}  // namespace dpmpi
