#pragma once
// Clipped means of the gradients of persons' records, without a gradient of each person.
//
// The norm of a mean of outer products follows from inner products of its rows (inner_products.hpp), k^2 of them
// for k records, and the sum of all persons' clipped means is one product over the rows of a micro-batch, as of
// records. Opposite records cancel, so the error of float32 is not relative to the norm of the mean but to the
// norms of its terms: it is added to the norm that is clipped with.

#include <span>
#include <vector>

#include "objective/network/pass.hpp"

namespace dpmpi {

class MlpClippedMeans {
 public:
  /// Of losses without slopes().
  MlpClippedMeans(const MlpShape& shape, MlpPass& pass, MlpClippedGradient& gradient);
  /// As GradientMeans::add_clipped_means.
  std::span<const std::uint32_t> add(const Persons& persons, const MeanBound& bound, LatticeAccumulator& sum);

 private:
  void add_portion(const Records& records, const MeanBound& bound, LatticeAccumulator& sum);
  bool clip_mean(std::size_t first, std::size_t count, const MeanBound& bound);
  double clip_record(std::size_t row, const L2Bound& bound);
  double squared_norm_of_mean(std::size_t first, std::size_t count, double clip);
  double weighted_products(std::size_t layer, std::size_t first, std::size_t count);
  std::span<double> of_row(std::vector<double>& all, std::size_t row) const {
    return std::span(all).subspan(row * shape_.layers(), shape_.layers());
  }

  const MlpShape& shape_;
  MlpPass& pass_;
  MlpClippedGradient& gradient_;
  std::size_t most_records_;  ///< of a person who is taken
  std::vector<std::uint32_t> left_, together_, rows_;
  std::vector<double> squares_, factors_;  ///< of each row and layer: of the gradient, and what it is multiplied by
  std::vector<float> levels_, deltas_;     ///< inner products of a person's rows
};

}  // namespace dpmpi
