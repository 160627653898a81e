#pragma once
// What searches in a public box have in common: its options, points, and the query of noisy mean losses.

#include <cstddef>
#include <cstdint>
#include <limits>
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

  /// Sums of clipped losses at `points` points over all records, one vector a step. Throws ConfigError for
  /// objectives whose losses are not those of single records.
  QuerySpec query(const PublicFacts& facts, std::size_t points, std::uint64_t steps, double noise_multiplier) const;
  /// The noisy mean loss of a noisy sum, with the public regulariser. Records that are not finite count as C/2.
  double mean_loss(const Objective& objective, double noisy_sum, std::uint64_t records,
                   std::span<const float> point) const;
};

/// The best point so far, by the noisy means.
class BestPoint {
 public:
  void start(std::size_t dim) { point_.assign(dim, 0.0F); }
  void offer(double score, std::span<const float> point);
  std::span<const float> point() const { return point_; }
  double score() const { return score_; }
  void archive(Archive& archive);

 private:
  double score_ = std::numeric_limits<double>::infinity();
  AlignedVector<float> point_;
};

}  // namespace dpmpi
