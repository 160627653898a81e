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
  std::span<double> law();
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
  friend class KeptTransforms;
  // A frequency of the product, of size e^log_size: it is at most e^log_bound, its error that times `relative`.
  struct Power {
    double log_size = 0, angle = 0, log_bound = 0, relative = 0;
    bool vanishes() const { return log_bound < -750; }
  };
  struct Arrays;
  std::size_t size_;
  std::unique_ptr<Arrays> arrays_;
  double law_error_;  // of an element of a law's transform, per use
};

/// While one of these lives, what transforms of one size need is kept for the next one of this thread. For whoever
/// asks for many: arrays and roots of unity take as long to make as a transform.
class KeptTransforms {
 public:
  KeptTransforms();
  ~KeptTransforms();
  KeptTransforms(const KeptTransforms&) = delete;
  KeptTransforms& operator=(const KeptTransforms&) = delete;

 private:
  friend class CircularPowers;
  struct Store;
  static Store& store();
};

}  // namespace dpmpi
