#pragma once
// Sweeps over tiles of records with points and coefficients in double. Private to the objectives.
//
// A record's margin is one chain of fused multiply-adds on 8 lanes in the order of the features, then one fixed
// tree; its multiple on the lattice is rounded coordinate by coordinate. Neither depends on the other rows of the
// tile. Compiled with -ffp-contract=fast.

#include <array>
#include <cstdint>
#include <span>

#include "dpmpi/core/aligned.hpp"
#include "dpmpi/objective/glm_kernels.hpp"
#include "read_ahead.hpp"

namespace dpmpi {

/// Multiples of a tile's records: 2^shift round(factor[r] * feature). The exact product is rounded, to the nearest
/// integer, ties to even; |factor * feature| <= 2^51. A row with factor 0 is not read.
struct LatticeFactors {
  std::array<double, tile_rows> raw{};   ///< of raw entries: the factor, times the row scale of bytes
  std::array<double, tile_rows> bias{};  ///< of the constant column: the factor
  int shift = 0;
};

class RowSweeps {
 public:
  /// x: features, then the coefficient of the constant column, if there is one. Allocates only at the first call.
  void set_point(std::span<const double> x);

  /// Makes `tile` the one at hand; the sweeps over it will fetch the rows of `next` (if any) into the cache.
  void load(const Records& records, const Tile& tile, const Tile& next);

  /// margin[r] = <x, (features, bias) of row r>, for the point that was set. Not finite if a feature is not.
  void margins(double* margin);

  /// to[j] += the multiples of all rows, dim entries.
  void accumulate(const LatticeFactors& factors, std::int64_t* to);

  // One row, the first of the tile, with the same bits.
  double margin(std::span<const double> x) const;
  /// x[j] -= quantum * multiple.
  void subtract(const LatticeFactors& factors, double quantum, std::span<double> x) const;

 private:
  AlignedVector<double> point_;
  AlignedVector<float> zeros_;
  const Records* records_ = nullptr;
  Tile tile_;
  ReadAhead ahead_;
};

}  // namespace dpmpi
