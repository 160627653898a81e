// Compiled with -ffp-contract=fast: multiply-adds of its vectors fuse.
#include "objective/linear/row_products.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include "objective/math/dot.hpp"

namespace dpmpi {
namespace {

constexpr std::size_t lanes = 8;
using Integers = std::uint64_t __attribute__((vector_size(64)));  // unsigned: they wrap

// A double in [2^52, 2^53) has the unit 1: adding this rounds to an integer, which is left in the low bits.
constexpr double shifter = 0x1.8p52;
constexpr auto shifter_bits = std::bit_cast<std::uint64_t>(shifter);

// g++ 12 takes the generic forms apart, into four times as many instructions.
inline Eight widen(const float* from) {
#if defined(__AVX512F__)
  return reinterpret_cast<Eight>(_mm512_maskz_cvtps_pd(0xff, _mm256_loadu_ps(from)));
#else
  Eight to;
  load(from, to);
  return to;
#endif
}
inline Eight widen(const std::uint8_t* from) {
#if defined(__AVX512F__)
  const __m256i words = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)));
  return reinterpret_cast<Eight>(_mm512_maskz_cvtepi32_pd(0xff, words));
#else
  std::uint8_t __attribute__((vector_size(8))) bytes;
  std::memcpy(&bytes, from, sizeof bytes);
  using Words = std::int32_t __attribute__((vector_size(32)));
  return __builtin_convertvector(__builtin_convertvector(bytes, Words), Eight);
#endif
}
inline double widen_one(float x) { return static_cast<double>(x); }
inline double widen_one(std::uint8_t x) { return static_cast<double>(x); }

inline Integers bits(const Eight& v) { return reinterpret_cast<const Integers&>(v); }

/// 2^shift round(factor * x), one rounding.
inline std::int64_t multiple(double factor, double x, int shift) {
  const std::uint64_t rounded = std::bit_cast<std::uint64_t>(std::fma(factor, x, shifter)) - shifter_bits;
  return static_cast<std::int64_t>(rounded << shift);
}

/// sum += a * b, one rounding: between multiplication and addition stands nothing that could keep a compiler from
/// fusing them, like a sanitizer's look at the address of the sum.
inline void add_product(Eight& sum, const Eight& a, const Eight& b) {
  const Eight before = sum, x = a, y = b;
  sum = before + x * y;
}

inline double total(const Eight& sum) {
  return ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
}

template <class T>
using RowPointers = std::array<const T*, tile_rows>;

RowPointers<float> float_rows(const Records& records, const Tile& tile) {
  RowPointers<float> row;
  for (std::size_t r = 0; r < tile_rows; ++r) row[r] = records.row_f32(tile.row[r]);
  return row;
}
RowPointers<std::uint8_t> byte_rows(const Records& records, const Tile& tile) {
  RowPointers<std::uint8_t> row;
  for (std::size_t r = 0; r < tile_rows; ++r) row[r] = records.row_u8(tile.row[r]);
  return row;
}

/// <x, row> for a point that is not padded, with the bits of a sweep over tiles.
template <class T>
double row_dot(const T* row, std::span<const double> x, std::size_t features) {
  Eight sum = {}, at;
  std::size_t j = 0;
  for (; j + lanes <= features; j += lanes) {
    load(x.data() + j, at);
    add_product(sum, widen(row + j), at);
  }
  if (j < features) {
    double rest[lanes] = {};
    std::copy_n(x.data() + j, features - j, rest);
    load(rest, at);
    add_product(sum, widen(row + j), at);
  }
  return total(sum);
}

/// to[0 .. 8) plus the multiples of 8 entries of all rows.
template <class T>
inline Integers with_multiples(Integers to, const RowPointers<T>& row, const Eight* factor, std::size_t j,
                               int shift) {
  Integers sum = Integers{} - tile_rows * shifter_bits;
#pragma GCC unroll 8
  for (std::size_t r = 0; r < tile_rows; ++r) sum += bits(factor[r] * widen(row[r] + j) + (Eight{} + shifter));
  return to + (sum << shift);
}

/// What one sweep goes over, at the same time: rows whose multiples are added, rows whose dot products are taken,
/// and rows that are fetched for the next sweep.
template <class T>
struct Tiles {
  RowPointers<T> row, next, after;
  std::size_t features, stride;  ///< rows are padded with zeros to stride, a multiple of 2 * lanes
};

// Memory delivers at an even pace if each row is fetched shortly before it is used, eight streams at once that the
// processor fetches ahead of, too. Less than this shows memory's latency; more does not stay in the first level.
constexpr std::size_t fetch_distance = 512;  // bytes

/// Either part may be left out. x is padded like rows.
template <bool adds, bool dots, class T>
void sweep(const Tiles<T>& rows, const LatticeFactors& factors, std::int64_t* to, const double* x, double* out) {
  Eight factor[tile_rows], dot[tile_rows] = {}, at;
  for (std::size_t r = 0; r < tile_rows; ++r) factor[r] = Eight{} + factors.raw[r];
  const auto add_dots = [&](std::size_t j) {
    load(x + j, at);
#pragma GCC unroll 8
    for (std::size_t r = 0; r < tile_rows; ++r) add_product(dot[r], widen(rows.next[r] + j), at);
  };
  const auto add_multiples = [&](std::size_t j) {
    Integers sum;
    std::memcpy(&sum, to + j, sizeof sum);
    sum = with_multiples(sum, rows.row, factor, j, factors.shift);
    std::memcpy(to + j, &sum, sizeof sum);
  };
  const auto columns = [&](std::size_t begin, std::size_t end, const RowPointers<T>& ahead, std::size_t offset) {
    for (std::size_t j = begin; j < end; j += lanes) {
      if (dots && j % (cache_line / sizeof(T)) == 0)
#pragma GCC unroll 8
        for (std::size_t r = 0; r < tile_rows; ++r) __builtin_prefetch(ahead[r] + (j + offset), 0, 3);
      if (dots) add_dots(j);
      if (adds) add_multiples(j);
    }
  };
  const std::size_t whole = rows.features / lanes * lanes,
                    ahead = std::min(fetch_distance / sizeof(T), rows.stride);
  const std::size_t turn = std::min(whole, rows.stride - ahead);  // from here on the rows after are fetched
  columns(0, turn, rows.next, ahead);
  columns(turn, whole, rows.after, ahead - rows.stride);
  if (dots && whole < rows.features) add_dots(whole);
  if (dots)
    for (std::size_t r = 0; r < tile_rows; ++r) out[r] = total(dot[r]);
  if (adds)
    for (std::size_t j = whole; j < rows.features; ++j)
      for (std::size_t r = 0; r < tile_rows; ++r)
        to[j] += multiple(factors.raw[r], widen_one(rows.row[r][j]), factors.shift);
}

/// A sparse record's entries.
struct Entries {
  const std::uint32_t* column;
  const float* value;
  std::size_t count;
};
Entries entries(const Records& records, std::size_t i) {
  const std::uint64_t first = records.row_begin[i];
  return {records.column.data() + first, records.value.data() + first, records.row_begin[i + 1] - first};
}

/// Four chains, so that the additions of a row do not wait for one another.
double sparse_dot(const Entries& row, const double* x) {
  double sum[4] = {};
  std::size_t e = 0;
  for (; e + 4 <= row.count; e += 4)
#pragma GCC unroll 4
    for (std::size_t i = 0; i < 4; ++i)
      sum[i] = std::fma(static_cast<double>(row.value[e + i]), x[row.column[e + i]], sum[i]);
  for (std::size_t i = 0; e < row.count; ++e, ++i)
    sum[i] = std::fma(static_cast<double>(row.value[e]), x[row.column[e]], sum[i]);
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

double with_constant_column(const Records& records, std::size_t i, double raw, double coefficient) {
  const double scaled = records.storage == Storage::dense_u8 ? raw * records.row_scale[i] : raw;
  return std::fma(static_cast<double>(records.bias), coefficient, scaled);
}

}  // namespace

void RowSweeps::set_point(std::span<const double> x) {
  point_.resize(round_up(x.size(), 64), 0.0);
  std::copy(x.begin(), x.end(), point_.begin());
}

// One sweep over the tile at hand (for its multiples), `next` (for its margins) and `after` (to fetch it), of which
// none has to be.
void RowSweeps::sweep(const Tile& next, const Tile& after, const LatticeFactors* factors, std::int64_t* to,
                      double* margin) {
  const Records& r = *records_;
  const auto dense = [&]<class T>(RowPointers<T> row, const RowPointers<T>& of_next,
                                  const RowPointers<T>& of_after) {
    const Tiles<T> rows{row, of_next, of_after, r.features, r.stride};
    if (factors == nullptr) return dpmpi::sweep<false, true>(rows, {}, to, point_.data(), margin);
    if (margin == nullptr) return dpmpi::sweep<true, false>(rows, *factors, to, point_.data(), margin);
    dpmpi::sweep<true, true>(rows, *factors, to, point_.data(), margin);
  };
  const Tile& fetched = after.count > 0 ? after : next;
  switch (r.storage) {
    case Storage::dense_f32: {
      auto row = float_rows(r, tile_);
      zeros_.resize(r.stride, 0.0F);
      for (std::size_t i = 0; i < tile_rows; ++i)
        if (factors != nullptr && factors->raw[i] == 0) row[i] = zeros_.data();  // 0 times a NaN is a NaN
      dense(row, float_rows(r, next), float_rows(r, fetched));
      break;
    }
    case Storage::dense_u8:
      dense(byte_rows(r, tile_), byte_rows(r, next), byte_rows(r, fetched));
      break;
    case Storage::sparse_f32:
      if (factors != nullptr) add_sparse(*factors, to);
      for (std::size_t i = 0; margin != nullptr && i < tile_rows; ++i)
        margin[i] = sparse_dot(entries(r, next.row[i]), point_.data());
      break;
  }
  for (std::size_t i = 0; r.bias != 0 && factors != nullptr && i < tile_rows; ++i)
    to[r.features] += multiple(factors->bias[i], widen_one(r.bias), factors->shift);
  tile_ = next;
  const double coefficient = r.bias != 0 ? point_[r.features] : 0.0;
  for (std::size_t i = 0; margin != nullptr && i < tile_rows; ++i)
    margin[i] = with_constant_column(r, tile_.row[i], margin[i], coefficient);
}

void RowSweeps::begin(const Records& records, const Tile& tile, const Tile& next, double* margin) {
  records_ = &records;
  sweep(tile, next, nullptr, nullptr, margin);
}

void RowSweeps::advance(const LatticeFactors& factors, std::int64_t* to, const Tile& next, const Tile& after,
                        double* margin) {
  sweep(next, after, &factors, to, margin);
}

void RowSweeps::end(const LatticeFactors& factors, std::int64_t* to) { sweep(tile_, {}, &factors, to, nullptr); }

void RowSweeps::add_sparse(const LatticeFactors& factors, std::int64_t* to) const {
  for (std::size_t i = 0; i < tile_rows; ++i) {
    if (factors.raw[i] == 0) continue;
    const Entries row = entries(*records_, tile_.row[i]);
    for (std::size_t e = 0; e < row.count; ++e)
      to[row.column[e]] += multiple(factors.raw[i], widen_one(row.value[e]), factors.shift);
  }
}

double RowSweeps::margin(const Records& r, std::size_t i, std::span<const double> x) {
  double raw = 0;
  switch (r.storage) {
    case Storage::dense_f32:
      raw = row_dot(r.row_f32(i), x, r.features);
      break;
    case Storage::dense_u8:
      raw = row_dot(r.row_u8(i), x, r.features);
      break;
    case Storage::sparse_f32:
      raw = sparse_dot(entries(r, i), x.data());
      break;
  }
  return with_constant_column(r, i, raw, r.bias != 0 ? x[r.features] : 0.0);
}

void RowSweeps::subtract(const Records& r, std::size_t i, const LatticeFactors& factors, double quantum,
                         std::span<double> x) {
  const auto move = [&](std::size_t j, double factor, double feature) {
    x[j] = x[j] - quantum * static_cast<double>(multiple(factor, feature, factors.shift));
  };
  const double factor = factors.raw[0];
  if (factor != 0) {
    if (r.storage == Storage::dense_f32)
      for (std::size_t j = 0; j < r.features; ++j) move(j, factor, widen_one(r.row_f32(i)[j]));
    if (r.storage == Storage::dense_u8)
      for (std::size_t j = 0; j < r.features; ++j) move(j, factor, widen_one(r.row_u8(i)[j]));
    if (r.storage == Storage::sparse_f32) {
      const Entries row = entries(r, i);
      for (std::size_t e = 0; e < row.count; ++e) move(row.column[e], factor, widen_one(row.value[e]));
    }
  }
  if (r.bias != 0) move(r.features, factors.bias[0], widen_one(r.bias));
}

}  // namespace dpmpi
