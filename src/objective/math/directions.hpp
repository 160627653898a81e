#pragma once
// Random directions of zeroth-order estimators, tile by tile.
//
// Direction j of a slot is a function of (seed, step, slot, j) alone, so that every rank can form it and none has
// to store or send it: Philox with the key (low word of the seed, high word xor 1) and the counter (block q, j,
// slot, step) gives the normals of coordinates 4q .. 4q+3. Only + - * / and sqrt: the same bits on every machine.

#include <cstddef>
#include <cstdint>

#include "core/aligned.hpp"
#include "core/numbers/random.hpp"

namespace dpmpi {

enum class DirectionScheme {
  iid,   ///< independent, uniform on the unit sphere
  haar,  ///< the columns of a Haar-distributed orthogonal matrix: dim() of them, or a multiple
  block  ///< independent groups of `block` orthonormal directions (1: iid; all coordinates: haar)
};

/// Directions first .. first + count - 1 of one slot: unit vectors, `stride` apart, zeros behind the dimension.
struct DirectionTile {
  const double* values = nullptr;
  std::size_t first = 0, count = 0, stride = 0;
  const double* row(std::size_t j) const { return values + j * stride; }
};

class Directions {
 public:
  static constexpr std::size_t largest_group = 4096;  ///< 128 MB, and 40 seconds a record

  /// `count` directions of `dim` coordinates a slot. haar: count is a multiple of dim (dim: one matrix); block:
  /// `block` <= dim divides count; both: groups of at most 4096. Throws ConfigError otherwise. Memory: a tile of 64
  /// directions, or one group if that is more (haar: dim x dim).
  Directions(DirectionScheme scheme, std::size_t dim, std::size_t count, std::size_t block, std::uint64_t seed);

  std::size_t count() const { return count_; }
  /// Directions that are made orthonormal together: 1 (iid), block, dim (haar).
  std::size_t group() const { return group_; }
  std::size_t stride() const { return stride_; }
  std::size_t tile_count() const { return tile_; }  ///< directions of a tile at most
  /// The tile that begins at direction `first` (where the last one ended). Valid until the next call.
  DirectionTile tile(std::uint32_t step, std::uint32_t slot, std::size_t first);

 private:
  std::size_t dim_, count_, group_, stride_, tile_;
  PublicCounter bits_;
  AlignedVector<double> normals_, values_, along_;
};

}  // namespace dpmpi
