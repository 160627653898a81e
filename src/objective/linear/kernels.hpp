#pragma once
// The hot loops of generalised linear models: margins <x, p> of a tile of 8 records with a point p, and the sum of
// scaled records on the integer lattice. They know no loss and no clip.
//
// Row invariance (N2): a tile always has 8 rows (missing ones repeat the last, and cost nothing); a margin is one
// chain of fused multiply-adds on 16 lanes in the order of the features, then one fixed tree over the lanes,
// whatever the instruction set and whichever rows go along.

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "core/aligned.hpp"
#include "data/records/records.hpp"
#include "objective/math/losses.hpp"

namespace dpmpi {

/// Positions of the records of one tile inside their block. `count` of them are real, the rest repeat the last.
struct Tile {
  std::array<std::uint32_t, tile_rows> row{};
  std::size_t count = 0;
  /// The rows from place `first` of the micro-batch on; count 0 beyond its end.
  static Tile of(const Rows& rows, std::size_t first);
};

/// A point in the space of the features, in the layout that the kernels of a storage want. The bias is not part of
/// it.
class GlmPoint {
 public:
  GlmPoint(Storage storage, std::size_t features);
  /// values: one a feature. For sparse records they are not copied: they must stay valid and unchanged. Allocates
  /// at the first call only.
  void set(std::span<const float> values);
  /// For dense records padded with zeros.
  const float* data() const { return data_; }

 private:
  bool copied_;
  std::size_t padded_;
  AlignedVector<float> values_;
  const float* data_ = nullptr;
};

/// What a row is multiplied by before it is rounded to the lattice: raw entries (bytes in dense_u8) and the bias
/// column.
struct RowFactors {
  std::array<float, tile_rows> raw{}, bias{};
};

/// Works on one tile at a time: load(), then margins(), then accumulate().
class GlmKernel {
 public:
  virtual ~GlmKernel() = default;

  /// Makes `tile` the tile at hand; the sweeps over it will fetch the rows of `next` (if any) into the cache.
  virtual void load(const Records& records, const Tile& tile, const Tile& next) = 0;

  /// out[r] = sum over j of feature (r, j) times coordinate j of the point. Not finite if a feature is not.
  virtual void margins(const GlmPoint& point, double* out) = 0;

  /// hot[j] += lrint(raw[r] x_rj) and hot[features] += lrint(bias[r] * records.bias), summed over the rows. A row
  /// with factors 0 is not read: it may hold anything.
  virtual void accumulate(const RowFactors& factors, std::int32_t* hot) = 0;
};

std::unique_ptr<GlmKernel> make_glm_kernel(Storage storage, std::size_t features);

}  // namespace dpmpi
