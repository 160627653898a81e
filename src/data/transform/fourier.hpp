#pragma once
// Discrete Fourier transforms of planes, in double. Only + - * of numbers that follow from the sizes: a plane's
// transform has the same bits whatever was transformed before it.

#include <cstddef>
#include <vector>

#include "core/aligned.hpp"

namespace dpmpi {

/// Complex numbers, real and imaginary parts apart.
struct ComplexValues {
  explicit ComplexValues(std::size_t count) : re(count), im(count) {}
  AlignedVector<double> re, im;
};

struct PlaneSize {
  std::size_t height = 0, width = 0;
  std::size_t count() const { return height * width; }
};

/// Transforms all columns of a matrix of `length` rows at once. Mixed radices, without reordering (Stockham's
/// scheme; Van Loan 1992, section 1.7).
class ColumnFourier {
 public:
  enum class Direction { forward, inverse };  ///< of the inverse, every sum is divided by `length`
  ColumnFourier(std::size_t length, Direction direction);
  /// Of `values`, length x width; `spare` has room for as many.
  void operator()(ComplexValues& values, ComplexValues& spare, std::size_t width) const;

 private:
  /// Sums of `radix` rows each, `parts` times. Numbers of a sum stand `parts` rows apart, and those of its results
  /// are beside one another, in groups of `together` rows.
  struct Stage {
    std::size_t radix, parts, together;
    std::vector<double> re, im;  ///< factor of row r in result k of part j: [j][k][r]
  };
  std::vector<Stage> stages_;
};

/// Transforms of height x width planes. Spectra stand the other way: width x height, so that half of the
/// transpositions are not needed.
class PlaneFourier {
 public:
  explicit PlaneFourier(const PlaneSize& size);
  const PlaneSize& size() const { return size_; }
  /// A plane becomes its spectrum: sum over y, x of plane[y][x] e^(-2 pi i (ky y / height + kx x / width)).
  void to_spectrum(ComplexValues& plane);
  /// And back.
  void to_plane(ComplexValues& spectrum);

 private:
  void transpose(ComplexValues& values, std::size_t rows, std::size_t columns);

  PlaneSize size_;
  ColumnFourier down_, across_, back_down_, back_across_;
  ComplexValues spare_;
};

}  // namespace dpmpi
