#pragma once
// What searches in a public box have in common: its settings, points, plan, and the noisy mean losses.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/options.hpp"
#include "method/method.hpp"
#include "objective/values/clipped_losses.hpp"

namespace dpmpi {

struct BoxSearch {
  double low = -1, high = 1, clip = 1;

  void declare(Options& options);
  void validate(std::vector<std::string>& problems) const;

  /// Shares of point number `number` of the public points of a seed: uniform in (0, 1).
  static void draw(std::uint64_t seed, std::uint64_t number, std::span<double> shares);
  /// The point at these shares of the box's sides: uniform in the box for uniform shares in (0, 1).
  void place(std::span<const double> shares, std::span<float> point) const;
};

/// Plan of a search that asks for nothing but mean losses: sums of clipped losses at a few points over all records,
/// one vector a step. The noise multiplier of queries() is that of all steps as one vector, 1 / mu.
class BoxSearchPlan : public MethodPlan {
 public:
  std::vector<QuerySpec> queries(double noise_multiplier) const override;

 protected:
  /// Throws ConfigError for objectives whose losses are not those of single records.
  BoxSearchPlan(const BoxSearch& box, const PublicFacts& facts, std::size_t points, std::uint64_t count);

  /// What plans say of it: `count` is the source's symbol for the number of evaluations.
  Derived quantities(const char* count, const Query& losses) const;

  QuerySpec losses_;  ///< without noise
  double clip_;
};
/// Deviation of the noise on a mean loss.
double mean_noise(const Query& losses);

/// The noisy mean losses of such a plan at points that a search chooses.
class NoisyLosses {
 public:
  NoisyLosses(const BoxSearch& box, Objective& objective, const Query& losses);

  /// Where point j of a step is written.
  std::span<float> point(std::size_t j) { return losses_.point(j); }
  /// Step t at these points, the public regulariser included. Records that are not finite count as C/2. Collective.
  std::span<const double> measure(Curator& curator, std::uint64_t t);

 private:
  Objective& objective_;
  Query query_;
  ClippedLosses losses_;
  double clip_;
  std::vector<double> means_;
};

}  // namespace dpmpi
