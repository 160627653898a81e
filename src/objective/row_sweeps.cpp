// Compiled with -ffp-contract=fast: multiply-adds of its vectors fuse.
#include "row_sweeps.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include "dpmpi/objective/dot.hpp"

namespace dpmpi {
namespace {

constexpr std::size_t lanes = 8;
using Integers = std::uint64_t __attribute__((vector_size(64)));  // unsigned: they wrap

// A double in [2^52, 2^53) has the unit 1: adding this rounds to an integer, which is left in the low bits.
constexpr double shifter = 0x1.8p52;
constexpr auto shifter_bits = std::bit_cast<std::uint64_t>(shifter);

inline Eight widen(const float* from) {
  Eight to;
  load(from, to);
  return to;
}
inline Eight widen(const std::uint8_t* from) {
#if defined(__AVX512F__)  // g++ 12 takes the generic form apart
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

/// Rows are padded with zeros to 16, the point to as many.
template <class T>
void tile_dots(const RowPointers<T>& row, const double* x, std::size_t features, ReadAhead& ahead, double* out) {
  Eight sum[tile_rows] = {}, at;
  for (std::size_t j = 0; j < features; j += 2 * lanes) {
    ahead.step();
#pragma GCC unroll 2
    for (std::size_t half = 0; half < 2 * lanes; half += lanes) {
      load(x + j + half, at);
#pragma GCC unroll 8
      for (std::size_t r = 0; r < tile_rows; ++r) sum[r] += widen(row[r] + j + half) * at;
    }
  }
  for (std::size_t r = 0; r < tile_rows; ++r) out[r] = total(sum[r]);
}

/// The same for one row and a point that is not padded.
template <class T>
double row_dot(const T* row, std::span<const double> x, std::size_t features) {
  Eight sum = {}, at;
  std::size_t j = 0;
  for (; j + lanes <= features; j += lanes) {
    load(x.data() + j, at);
    sum += widen(row + j) * at;
  }
  if (j < features) {
    double rest[lanes] = {};
    std::copy_n(x.data() + j, features - j, rest);
    load(rest, at);
    sum += widen(row + j) * at;
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

template <class T>
void tile_multiples(const RowPointers<T>& row, const LatticeFactors& factors, std::size_t features,
                    ReadAhead& ahead, std::int64_t* to) {
  Eight factor[tile_rows];
  for (std::size_t r = 0; r < tile_rows; ++r) factor[r] = Eight{} + factors.raw[r];
  std::size_t j = 0;
  Integers sum;
  for (; j + lanes <= features; j += lanes) {
    if (j % (2 * lanes) == 0) ahead.step();
    std::memcpy(&sum, to + j, sizeof sum);
    sum = with_multiples(sum, row, factor, j, factors.shift);
    std::memcpy(to + j, &sum, sizeof sum);
  }
  for (; j < features; ++j)
    for (std::size_t r = 0; r < tile_rows; ++r)
      to[j] += multiple(factors.raw[r], widen_one(row[r][j]), factors.shift);
  ahead.rest();
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

void RowSweeps::load(const Records& records, const Tile& tile, const Tile& next) {
  records_ = &records;
  tile_ = tile;
  if (next.count == 0 || records.storage == Storage::sparse_f32) return ahead_.rest();
  std::array<const void*, tile_rows> wanted;
  const bool floats = records.storage == Storage::dense_f32;
  for (std::size_t r = 0; r < tile_rows; ++r)
    wanted[r] = floats ? static_cast<const void*>(records.row_f32(next.row[r])) : records.row_u8(next.row[r]);
  ahead_.aim(wanted, records.stride * (floats ? sizeof(float) : 1));
}

void RowSweeps::margins(double* margin) {
  const Records& r = *records_;
  switch (r.storage) {
    case Storage::dense_f32:
      tile_dots(float_rows(r, tile_), point_.data(), r.features, ahead_, margin);
      break;
    case Storage::dense_u8:
      tile_dots(byte_rows(r, tile_), point_.data(), r.features, ahead_, margin);
      break;
    case Storage::sparse_f32:
      for (std::size_t i = 0; i < tile_rows; ++i) margin[i] = sparse_dot(entries(r, tile_.row[i]), point_.data());
      break;
  }
  const double coefficient = r.bias != 0 ? point_[r.features] : 0.0;
  for (std::size_t i = 0; i < tile_rows; ++i)
    margin[i] = with_constant_column(r, tile_.row[i], margin[i], coefficient);
}

double RowSweeps::margin(std::span<const double> x) const {
  const Records& r = *records_;
  const std::size_t i = tile_.row[0];
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

void RowSweeps::accumulate(const LatticeFactors& factors, std::int64_t* to) {
  const Records& r = *records_;
  switch (r.storage) {
    case Storage::dense_f32: {
      auto row = float_rows(r, tile_);
      zeros_.resize(r.stride, 0.0F);
      for (std::size_t i = 0; i < tile_rows; ++i)
        if (factors.raw[i] == 0) row[i] = zeros_.data();  // 0 times a NaN is a NaN
      tile_multiples(row, factors, r.features, ahead_, to);
      break;
    }
    case Storage::dense_u8:
      tile_multiples(byte_rows(r, tile_), factors, r.features, ahead_, to);
      break;
    case Storage::sparse_f32:
      for (std::size_t i = 0; i < tile_rows; ++i) {
        if (factors.raw[i] == 0) continue;
        const Entries row = entries(r, tile_.row[i]);
        for (std::size_t e = 0; e < row.count; ++e)
          to[row.column[e]] += multiple(factors.raw[i], widen_one(row.value[e]), factors.shift);
      }
      break;
  }
  if (r.bias == 0) return;
  for (std::size_t i = 0; i < tile_rows; ++i)
    to[r.features] += multiple(factors.bias[i], widen_one(r.bias), factors.shift);
}

void RowSweeps::subtract(const LatticeFactors& factors, double quantum, std::span<double> x) const {
  const Records& r = *records_;
  const std::size_t i = tile_.row[0];
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
