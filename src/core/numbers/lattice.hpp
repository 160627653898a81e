#pragma once
// The integer lattice on which all sums over records are formed (numerics contract N3, N4).
//
// A contribution is scaled by 2^k, rounded to the nearest integer and added as an integer, so that the sum has the
// same bits in every order and on every number of ranks. Sums live in int64; the hot accumulator is int32 (half the
// memory traffic) and is spilled into int64 before it could overflow, which changes no bit.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "core/aligned.hpp"

namespace dpmpi {

/// The lattice 2^-k Z. All choices come from public values.
struct Lattice {
  int k = 0;
  double scale() const;    ///< 2^k
  double quantum() const;  ///< 2^-k

  /// The lattice for sums of vectors of dimension `dim`, each of norm <= bound, released with Gaussian noise of
  /// deviation `noise_std`: fine enough that rounding adds at most 2^-11 of the bound to the sensitivity (N4),
  /// coarse enough that 256 records fit the int32 accumulator and that a double fills it: 2^-k >= 2^-36 noise_std
  /// (N3). Where these conflict the coarser wins, and the slack says what it costs. Throws ConfigError if
  /// `largest_batch` records could sum to 2^62.
  static Lattice choose(std::size_t dim, double bound, double noise_std, std::uint64_t largest_batch);
  /// For sums of few coordinates that must be precise: as fine as the noise fills (2^-36 noise_std <= 2^-k < 2^-35
  /// noise_std) where int64 has the room, whatever int32 holds. Takes an accumulator with Width::int64. Without
  /// noise: at most 2^-40 of the bound.
  static Lattice finest(double bound, double noise_std, std::uint64_t largest_batch);
  /// For sums that no noise joins: as fine as int64 has room for `count` vectors bounded by `bound`, with k
  /// at most 100. Takes an accumulator with Width::int64.
  static Lattice roomiest(double bound, std::uint64_t count);
};

/// What contributions are added up in before they reach the exact sum.
enum class Width {
  int32,  ///< half the memory traffic: for long sums
  int64   ///< for lattices on which few records fill int32: Lattice::finest
};

/// Sums of lattice points for one rank. Reused over steps: nothing is allocated after construction.
class LatticeAccumulator {
 public:
  /// `bound`: upper bound of every coordinate of one record's contribution (its norm bound with slack).
  /// `extra` words follow the sum in message(): small integers that travel in the same reduction.
  LatticeAccumulator(std::size_t dim, Lattice lattice, double bound, std::size_t extra = 0,
                     Width width = Width::int32);

  std::size_t dim() const { return dim_; }
  Lattice lattice() const { return lattice_; }
  float scale() const { return scale_; }
  Width width() const { return width_; }
  /// Nothing was announced since clear().
  bool empty() const { return fresh_ && pending_ == 0; }

  /// Starts a new sum: all zero.
  void clear();
  /// The same at 2^-k of another k, for contributions that are larger or smaller by the ratio of the quanta, so
  /// that the room stays what it was.
  void clear(Lattice lattice);

  /// Announces contributions of `rows` records; must come before they are added. `rows` <= rows_at_once().
  void begin(std::size_t rows);
  std::size_t rows_at_once() const { return capacity_; }

  /// Adds round(2^k values[j]) to coordinate offset + j. `values` is a float32 sum over announced records, or one
  /// record.
  void add(std::size_t offset, std::span<const float> values);
  void add(std::size_t offset, std::span<const double> values);

  /// The int32 accumulator (dim() entries, 64-byte-aligned), for kernels that round and add in their own sweep:
  /// int32_scratch()[j] += lrintf(coefficient * scale() * x[j]). Whole vectors: it is padded to a multiple of 16,
  /// where only 0 may be added. Not there with Width::int64.
  std::int32_t* int32_scratch() { return hot_.data(); }

  /// The exact sum itself, with Width::int64: dim() entries to add multiples of 2^-k to. Else null.
  std::int64_t* wide() { return width_ == Width::int64 ? total_.data() : nullptr; }

  /// The exact sum so far, in units of 2^-k. Local.
  std::span<std::int64_t> totals();
  /// Calls on_chunk(coordinate, exact sums) for pieces of coordinates first .. last-1 while they are in the cache,
  /// to change them in place: adding noise in a pass of its own would cost as much memory traffic as the sum
  /// itself. `first` is a multiple of 8, and so are all coordinates at which pieces begin. Once for a sum, after
  /// its last contribution.
  void finish(std::size_t first, std::size_t last,
              const std::function<void(std::size_t, std::span<std::int64_t>)>& on_chunk);
  /// totals() followed by the extra words (which clear() zeroes): what is summed over ranks.
  std::span<std::int64_t> message();
  std::span<std::int64_t> extra() { return std::span(total_).subspan(dim_); }
  /// The front of the exact sum as int32, half as long, as far as it still fits: all of it, or what is before the
  /// coordinates of finish(), or nothing.
  std::span<const std::int32_t> narrow() const {
    return fresh_ && width_ == Width::int32 ? std::span(hot_).first(wide_from_) : std::span<const std::int32_t>();
  }
  /// The rest of message().
  std::span<std::int64_t> behind_narrow();

 private:
  template <class T>
  void add_wide(std::size_t offset, std::span<const T> values);
  void spill() { spill(0, wide_from_), spilled(); }
  void spill(std::size_t first, std::size_t last);
  void spilled() { pending_ = 0, fresh_ = false, wide_from_ = dim_; }

  Lattice lattice_;
  float scale_;
  std::size_t capacity_;     // records whose sum surely fits int32
  std::size_t pending_ = 0;  // records announced since the last spill
  bool fresh_ = true;        // nothing spilled since clear(): the next spill overwrites
  Width width_;
  std::size_t dim_;
  AlignedVector<std::int32_t> hot_;
  AlignedVector<std::int64_t> total_;
  std::size_t wide_from_ = dim_;  // finish() has spilled the coordinates from here on
};

}  // namespace dpmpi
