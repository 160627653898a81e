#include "objective/copy_rows.hpp"

#include <algorithm>

#include "core/errors.hpp"

namespace dpmpi {
namespace {

/// Features begin .. end - 1 of record i.
template <class T>
void gather_features(const Records& records, std::size_t i, std::size_t begin, std::size_t end, T* out) {
  const std::size_t count = end - begin;
  switch (records.storage) {
    case Storage::dense_f32:
      std::copy_n(records.row_f32(i) + begin, count, out);
      return;
    case Storage::dense_u8: {
      const std::uint8_t* byte = records.row_u8(i) + begin;
      const float scale = records.row_scale[i];
      for (std::size_t j = 0; j < count; ++j) out[j] = scale * static_cast<float>(byte[j]);
      return;
    }
    case Storage::sparse_f32:
      std::fill_n(out, count, T{0});
      for (std::uint64_t e = records.row_begin[i]; e < records.row_begin[i + 1]; ++e)
        if (records.column[e] >= begin && records.column[e] < end)
          out[records.column[e] - begin] = records.value[e];
      return;
  }
}

}  // namespace

template <class T>
void copy_rows(const Rows& rows, std::size_t stride, T* out, std::optional<std::size_t> left_out) {
  const Records& records = rows.records;
  const bool has_bias = records.bias != 0;
  const std::size_t features = records.features, before = left_out.value_or(features);
  verify(!left_out || before < features, "a feature that is left out is one of the records");
  const std::size_t kept = features - (left_out ? 1 : 0);
  verify(stride >= kept + (has_bias ? 1 : 0), "gathered rows are as wide as the records");
  for (const std::uint32_t i : rows.index) {
    gather_features(records, i, 0, before, out);
    if (left_out) gather_features(records, i, before + 1, features, out + before);
    std::fill(out + kept, out + stride, T{0});
    if (has_bias) out[kept] = records.bias;
    out += stride;
  }
}

float feature_of(const Records& records, std::size_t i, std::size_t j) {
  if (records.storage == Storage::dense_f32) return records.row_f32(i)[j];
  if (records.storage == Storage::dense_u8) return records.row_scale[i] * static_cast<float>(records.row_u8(i)[j]);
  const auto place = [&](std::uint64_t e) { return records.column.begin() + static_cast<std::ptrdiff_t>(e); };
  const auto end = place(records.row_begin[i + 1]);
  const auto found = std::lower_bound(place(records.row_begin[i]), end, static_cast<std::uint32_t>(j));
  if (found == end || *found != j) return 0;
  return records.value[static_cast<std::size_t>(found - records.column.begin())];
}

template void copy_rows(const Rows&, std::size_t, float*, std::optional<std::size_t>);
template void copy_rows(const Rows&, std::size_t, double*, std::optional<std::size_t>);

}  // namespace dpmpi
