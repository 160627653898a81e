#pragma once
// Convolution powers on a circle by fast Fourier transforms, with a proven bound on their rounding errors.

#include <memory>
#include <span>
#include <vector>

namespace dpmpi {

/// The circular convolution of count-fold powers of laws on 0, 1, ..., size-1. Deterministic: plans are chosen
/// without measuring. Not for use by several threads at once (FFTW plans).
class CircularPowers {
 public:
  explicit CircularPowers(std::size_t size);  ///< a power of two, >= 2
  ~CircularPowers();
  CircularPowers(const CircularPowers&) = delete;
  CircularPowers& operator=(const CircularPowers&) = delete;

  /// Multiplies by the count-th power of a law: nonnegative, of total 1 up to rounding. Overwrites the array.
  std::span<double> law() { return {real_, size_}; }
  void multiply(double count);

  /// The product, and bounds on the errors of its elements (which may be slightly negative): of each of them, and
  /// of the root of the sum of their squares. The second is far below the first times the number of elements where
  /// frequencies do not vanish: errors of all frequencies cannot add up in every element. Once.
  struct Product {
    std::vector<double> mass;
    double error = 0, norm_of_errors = 0;
  };
  Product product();

 private:
  struct Plans;
  std::size_t size_;
  double* real_;
  std::unique_ptr<Plans> plans_;
  double law_error_;                          // of an element of a law's transform, per use
  std::vector<double> log_size_, angle_;      // of the product's transform
  std::vector<double> log_bound_, relative_;  // it is at most e^log_bound, its error that times relative
};

}  // namespace dpmpi
