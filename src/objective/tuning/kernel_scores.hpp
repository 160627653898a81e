#pragma once
// Sums of Gaussian kernels around the records of a public set, with a length for each feature:
//
//   score(x) = offset + sum_t coefficient_t exp(-(1/2) sum_j weight_j (x_j - x_tj)^2)
//
// A model holds weights and coefficients; the records stand in the set, once for all models. Private to the
// objectives.

#include <cstddef>
#include <span>

#include "core/aligned.hpp"
#include "objective/math/losses.hpp"
#include "objective/tuning/public_records.hpp"

namespace dpmpi {

class KernelScores {
 public:
  /// The numbers of a model, by what they are.
  struct Parts {
    explicit Parts(std::span<double> model, const PublicSet& set);
    double* offset;
    double* weight;       ///< features
    double* square;       ///< stride: sum_j weight_j x_tj^2
    double* coefficient;  ///< stride: 0 beyond count
  };

  /// `set` must outlive it.
  explicit KernelScores(const PublicSet& set) : set_(set), weighted_(tile_rows * set.features) {}
  const PublicSet& set() const { return set_; }
  std::size_t size() const { return 1 + set_.features + 2 * set_.stride; }

  /// Clears the model and sets its weights to scale / length_j^2.
  void begin(std::span<const double> length, double scale, std::span<double> model) const;
  /// The kernel between all records of the set: row i stands at gram[i * stride], `count` rows; columns beyond
  /// count are without meaning.
  void gram(std::span<double> model, double* gram);
  /// See TunedModel::predict.
  void predict(std::span<const double> model, const double* rows, std::size_t stride, double* out);

 private:
  void weigh(const double* weight, const double* rows, std::size_t stride);
  template <class Use>
  void for_each_tile(const double* square, const Use& use) const;

  const PublicSet& set_;
  AlignedVector<double> weighted_;  // tile_rows x features
  double half_[8] = {};             // sum_j weight_j x_j^2 / 2 of these rows
};

}  // namespace dpmpi
