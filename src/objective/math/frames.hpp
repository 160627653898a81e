#pragma once
// Random frames of K directions in d dimensions, the same on every rank, formed tile by tile.
//
// A frame is a function of (key, step) alone: Philox normals G (d x K) and, for the Haar law, U = G R^-1 with
// R = chol(G^T G). Every rank forms it where it needs it; d K numbers are neither sent nor, unless they are few,
// stored: begin() reads the normals once to find R (K x K), and tile() makes rows of U again from the normals and
// R. Only + - * /, sqrt and fused multiply-adds in a fixed order: the same bits on every machine, for any tile
// size.

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/aligned.hpp"
#include "core/numbers/random.hpp"
#include "objective/math/chain_product.hpp"

namespace dpmpi {

enum class DirectionLaw {
  stiefel,       ///< K orthonormal columns, Haar distributed; K = 1: uniform on the unit sphere
  sphere_iid,    ///< independent columns, uniform on the unit sphere
  sphere_sqrtd,  ///< independent columns, uniform on the sphere of radius sqrt(d)
  gauss          ///< independent N(0, I_d) columns
};

class Frames {
 public:
  /// `count` = K directions of `dim` = d coordinates; stiefel: K <= d. `key` is public but, where privacy rests on
  /// the directions being random, must be drawn after the data is fixed. Memory: `tile_bytes` for the d x K frame
  /// if it fits (all of it is then one tile, formed once a step), else an eighth of that for a tile, and a few K x
  /// K matrices. Throws ConfigError.
  Frames(DirectionLaw law, std::size_t dim, std::size_t count, std::uint64_t key,
         std::size_t tile_bytes = std::size_t{32} << 20);

  DirectionLaw law() const { return law_; }
  std::size_t dim() const { return dim_; }
  std::size_t count() const { return count_; }

  /// Turns to the frame of this step (counted in 32 bits).
  void begin(std::uint64_t step);

  /// Coordinates of a tile (the last one may have fewer) and number of tiles.
  std::size_t tile_rows() const { return tile_rows_; }
  std::size_t tiles() const { return (dim_ + tile_rows_ - 1) / tile_rows_; }
  /// Rows first .. first + rows - 1 of U, rows x K, row-major; `first` is a multiple of 4, rows <= tile_rows().
  /// Valid until the next call of any member.
  const double* tile(std::size_t first, std::size_t rows);

  /// along = U^T v (K numbers), each one chain of fused multiply-adds over the coordinates.
  void project(std::span<const double> v, std::span<double> along);
  /// v += U along.
  void add(std::span<const double> along, std::span<double> v);
  /// The part of either that rows first .. first + v.size() - 1 of U have (rows as for tile()): along += U^T v in
  /// the same chains, and v += U along.
  void project_rows(std::size_t first, std::span<const double> v, std::span<double> along);
  void add_rows(std::size_t first, std::span<const double> along, std::span<double> v);

 private:
  bool kept() const { return tile_rows_ == dim_; }
  void start();
  void draw(std::size_t first, std::size_t rows);
  void measure_columns();
  bool orthonormalise();
  void form_gram();
  void apply(std::size_t factor, std::size_t rows);
  template <class Visit>
  void for_each_tile(Visit&& visit);

  DirectionLaw law_;
  std::size_t dim_, count_, tile_rows_, stride_;
  PublicCounter bits_;
  std::uint32_t step_ = 0, attempt_ = 0;
  AlignedVector<double> values_;          // the tile: rows x K
  AlignedVector<double> column_scale_;    // laws of independent columns: 1 / |g_k|, or sqrt(d) / |g_k|
  AlignedVector<double> gram_, inverse_;  // stiefel: K x stride
  AlignedVector<double> product_;         // some rows of values_ times a factor
  Panels columns_;                        // some rows of values_, packed
  Panels factors_[2];                     // R^-1, and that of the second pass
  std::size_t passes_ = 0;                // factors that make U of G
};

}  // namespace dpmpi
