#pragma once
// Records for the property tests: random ones in every storage, and the ways in which one can go bad.

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include "data/records/records.hpp"

namespace dpmpi::test {

/// Feature (i, j) as a real number.
inline double feature(const Records& r, std::size_t i, std::size_t j) {
  if (r.storage == Storage::dense_f32) return r.row_f32(i)[j];
  if (r.storage == Storage::dense_u8) return static_cast<double>(r.row_scale[i]) * r.row_u8(i)[j];
  for (std::uint64_t e = r.row_begin[i]; e < r.row_begin[i + 1]; ++e)
    if (r.column[e] == j) return r.value[e];
  return 0;
}

/// Smallest float >= x.
inline float rounded_up(double x) {
  const auto nearest = static_cast<float>(x);
  return static_cast<double>(nearest) < x ? std::nextafter(nearest, std::numeric_limits<float>::infinity())
                                          : nearest;
}

/// Sets norm[i] from the features as they are now (NaN or infinite for a record that is).
inline void update_norm(Records& r, std::size_t i) {
  double square = static_cast<double>(r.bias) * r.bias;
  for (std::size_t j = 0; j < r.features; ++j) square += feature(r, i, j) * feature(r, i, j);
  r.norm[i] = rounded_up(std::sqrt(square) * (1 + 1e-12));
}

struct RecordsShape {
  Storage storage = Storage::dense_f32;
  std::size_t count = 37;
  std::size_t features = 17;
  float bias = 1;
  LabelKind labels = LabelKind::sign;
  std::size_t classes = 0;
};

/// `count` records with features of unit scale (so that norms are about sqrt(features)); the same for the same
/// seed.
inline Records random_records(const RecordsShape& shape, unsigned seed = 1) {
  std::mt19937 bits(seed);
  std::normal_distribution<double> normal;
  Records r;
  r.storage = shape.storage;
  r.count = shape.count;
  r.features = shape.features;
  r.bias = shape.bias;
  r.stride = round_up(shape.features, shape.storage == Storage::dense_u8 ? 64 : 16);
  if (shape.storage == Storage::dense_f32) r.f32.assign(r.count * r.stride, 0.0F);
  if (shape.storage == Storage::dense_u8) r.u8.assign(r.count * r.stride, 0);
  r.row_begin.push_back(0);
  for (std::size_t i = 0; i < r.count; ++i) {
    if (shape.storage == Storage::dense_u8)
      r.row_scale.push_back(static_cast<float>(0.004 + 0.002 * static_cast<double>(bits() % 3)));
    for (std::size_t j = 0; j < r.features; ++j) {
      if (shape.storage == Storage::dense_f32) r.f32[i * r.stride + j] = static_cast<float>(normal(bits));
      if (shape.storage == Storage::dense_u8) r.u8[i * r.stride + j] = static_cast<std::uint8_t>(bits());
      if (shape.storage == Storage::sparse_f32 && bits() % 3 == 0) {
        r.column.push_back(static_cast<std::uint32_t>(j));
        r.value.push_back(static_cast<float>(normal(bits)));
      }
    }
    r.row_begin.push_back(r.column.size());
    switch (shape.labels) {
      case LabelKind::real:
        r.label.push_back(static_cast<float>(normal(bits)));
        break;
      case LabelKind::sign:
        r.label.push_back(bits() % 2 == 0 ? -1.0F : 1.0F);
        break;
      case LabelKind::count:
        r.label.push_back(static_cast<float>(bits() % 9));
        break;
      case LabelKind::class_:
        r.label.push_back(static_cast<float>(bits() % shape.classes));
        break;
    }
  }
  r.norm.resize(r.count);
  for (std::size_t i = 0; i < r.count; ++i) update_norm(r, i);
  return r;
}

/// The same records in another order: record i of the result is record order[i] of `from`.
inline Records permuted(const Records& from, std::span<const std::uint32_t> order) {
  Records to = from;
  to.row_begin.assign(1, 0);
  to.column.clear();
  to.value.clear();
  for (std::size_t i = 0; i < from.count; ++i) {
    const std::size_t k = order[i];
    to.label[i] = from.label[k];
    to.norm[i] = from.norm[k];
    const auto place = [&](auto& rows, const auto& source) {
      if (source.empty()) return;
      std::copy_n(source.begin() + static_cast<std::ptrdiff_t>(k * from.stride), from.stride,
                  rows.begin() + static_cast<std::ptrdiff_t>(i * from.stride));
    };
    place(to.f32, from.f32);
    place(to.u8, from.u8);
    if (!from.row_scale.empty()) to.row_scale[i] = from.row_scale[k];
    if (!from.weight.empty()) to.weight[i] = from.weight[k];
    if (!from.offset.empty()) to.offset[i] = from.offset[k];
    for (std::uint64_t e = from.row_begin[k]; e < from.row_begin[k + 1]; ++e) {
      to.column.push_back(from.column[e]);
      to.value.push_back(from.value[e]);
    }
    to.row_begin.push_back(to.column.size());
  }
  return to;
}

/// Empties the slot of record i, as an absent record is held in memory.
inline void empty_slot(Records& r, std::size_t i) {
  r.label[i] = std::numeric_limits<float>::quiet_NaN();
  r.norm[i] = 0;
}

/// Puts `bad` (NaN, infinity) or a huge value into a feature of record i. False if it has none (an empty sparse
/// row).
inline bool spoil_feature(Records& r, std::size_t i, float bad) {
  if (r.storage == Storage::dense_f32) r.f32[i * r.stride + r.features / 2] = bad;
  if (r.storage == Storage::dense_u8) r.row_scale[i] = bad;
  if (r.storage == Storage::sparse_f32) {
    if (r.row_begin[i] == r.row_begin[i + 1]) return false;
    r.value[r.row_begin[i]] = bad;
  }
  update_norm(r, i);
  return true;
}

inline std::vector<std::uint32_t> all_rows(const Records& r) {
  std::vector<std::uint32_t> index(r.count);
  std::iota(index.begin(), index.end(), 0U);
  return index;
}

}  // namespace dpmpi::test
