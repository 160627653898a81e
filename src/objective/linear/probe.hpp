#pragma once
// One record of a linear model and its margins with two points, in double: what zeroth-order estimators read.

#include <span>
#include <vector>

#include "core/aligned.hpp"
#include "data/records/records.hpp"
#include "objective/math/losses.hpp"

namespace dpmpi {

class LinearProbe {
 public:
  /// dim: features and the constant column, if there is one.
  explicit LinearProbe(std::size_t dim);
  /// Copies the points; y empty: one point.
  void prepare(std::span<const double> x, std::span<const double> y);
  /// Takes the one record of `row`.
  void load(const Rows& row);

  const double* record() const { return record_.data(); }  ///< z, zero-padded to a multiple of 16
  double norm() const { return norm_; }                    ///< |z|

  /// up[j] = phi(<x, z> + step * along[j]), and down[j] = phi(<y, z> + step * along[j]), or
  /// phi(<x, z> - step * along[j]) with one point. NaN if a margin of the record is not finite.
  void losses(const ScalarLoss& phi, double step, std::span<const double> along, std::span<double> up,
              std::span<double> down) const;

 private:
  std::size_t dim_;
  bool pair_ = false;
  AlignedVector<double> x_, y_, record_;
  double at_x_ = 0, at_y_ = 0, norm_ = 0, label_ = 0;
};

}  // namespace dpmpi
