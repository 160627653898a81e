#pragma once
// Sweeps over tiles of records with points and coefficients in double. Private to the objectives.
//
// A record's margin is one chain of fused multiply-adds on 8 lanes in the order of the features, then one fixed
// tree; its multiple on the lattice is rounded coordinate by coordinate. Neither depends on the other rows of the
// tile. Compiled with -ffp-contract=fast.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/aligned.hpp"
#include "objective/linear/kernels.hpp"

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

  // A pass over tiles: begin(), advance() for each further tile, end(). Each reads a tile's rows from memory once,
  // and fetches those that come next (if any: count 0 is none) into the cache.

  /// Makes `tile` the one at hand. margin[r] = <x, (features, bias) of row r>, for the point that was set. Not
  /// finite if a feature is not.
  void begin(const Records& records, const Tile& tile, const Tile& next, double* margin);
  /// to[j] += the multiples of all rows of the tile at hand, dim entries; then `next` is at hand, with its margins.
  void advance(const LatticeFactors& factors, std::int64_t* to, const Tile& next, const Tile& after,
               double* margin);
  /// The same for the last tile.
  void end(const LatticeFactors& factors, std::int64_t* to);

  // Record i by itself, with the same bits.
  static double margin(const Records& records, std::size_t i, std::span<const double> x);
  /// x[j] -= quantum * multiple; the factors are those of row 0 of a tile.
  static void subtract(const Records& records, std::size_t i, const LatticeFactors& factors, double quantum,
                       std::span<double> x);

 private:
  void sweep(const Tile& next, const Tile& after, const LatticeFactors* factors, std::int64_t* to, double* margin);
  void add_sparse(const LatticeFactors& factors, std::int64_t* to) const;

  AlignedVector<double> point_;
  AlignedVector<float> zeros_;
  const Records* records_ = nullptr;
  Tile tile_;
};

}  // namespace dpmpi
