#pragma once
// A Gaussian process over a fixed set of public points, given noisy values at some of them (Rasmussen and Williams
// 2006, chapter 2). Only public and released numbers go in; all ranks compute it, by arithmetic that has the same
// bits everywhere.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace dpmpi {

enum class SurrogateKernel { rbf, matern52 };

struct SurrogatePrior {
  SurrogateKernel kernel = SurrogateKernel::matern52;
  double lengthscale = 0.3;  ///< in the points' own units
  double deviation = 1;      ///< of the function around its prior mean, 0
  double noise = 0;          ///< deviation of a value's noise
};

class LossSurrogate {
 public:
  /// points: point after point, dim numbers each.
  LossSurrogate(const SurrogatePrior& prior, std::size_t dim, std::vector<double> points);

  std::size_t size() const { return mean_.size(); }
  std::span<const double> point(std::size_t j) const { return std::span(points_).subspan(j * dim_, dim_); }

  /// Takes in a value at point number i, also one that has values already. O(size() (dim + values so far)).
  void observe(std::uint32_t i, double value);

  double mean(std::size_t j) const { return mean_[j]; }  ///< posterior, at point j
  double deviation(std::size_t j) const;                 ///< likewise, of the function
  /// The number of the point with the smallest mean - width * deviation; of equal ones the first.
  std::uint32_t lowest(double width) const;

 private:
  double covariance(std::span<const double> x, std::span<const double> y) const;

  SurrogatePrior prior_;
  std::size_t dim_ = 1;
  std::vector<double> points_, mean_, variance_;
  // With K = L L^T the values' covariance: L^-1 values, and the rows of L^-1 times their covariance with all
  // points.
  std::vector<double> white_values_;
  std::vector<std::vector<double>> white_rows_;
};

}  // namespace dpmpi
