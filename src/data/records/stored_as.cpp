#include "data/records/stored_as.hpp"

#include <cstddef>
#include <utility>
#include <vector>

#include "core/aligned.hpp"
#include "core/errors.hpp"

namespace dpmpi {
namespace {

/// Calls visit(column, value) for the features of row i that may be other than 0.
template <class Visit>
void for_each_value(const Records& r, std::size_t i, Visit&& visit) {
  if (r.storage == Storage::sparse_f32) {
    for (std::uint64_t e = r.row_begin[i]; e < r.row_begin[i + 1]; ++e) visit(r.column[e], r.value[e]);
    return;
  }
  for (std::uint32_t j = 0; j < r.features; ++j)
    visit(j,
          r.storage == Storage::dense_f32 ? r.row_f32(i)[j] : r.row_scale[i] * static_cast<float>(r.row_u8(i)[j]));
}

Records dense(Records r) {
  const std::size_t stride = round_up(r.features, cache_line / sizeof(float));
  AlignedVector<float> rows(r.count * stride);
  for (std::size_t i = 0; i < r.count; ++i)
    for_each_value(r, i, [row = rows.data() + i * stride](std::uint32_t j, float x) { row[j] = x; });
  r.storage = Storage::dense_f32;
  r.stride = stride;
  r.f32 = std::move(rows);
  r.u8 = {};
  r.row_scale = {};
  r.row_begin = {};
  r.column = {};
  r.value = {};
  return r;
}

Records sparse(Records r) {
  std::vector<std::uint64_t> row_begin(r.count + 1, 0);
  std::vector<std::uint32_t> column;
  std::vector<float> value;
  for (std::size_t i = 0; i < r.count; ++i) {
    for_each_value(r, i, [&](std::uint32_t j, float x) {
      if (x == 0) return;
      column.push_back(j);
      value.push_back(x);
    });
    row_begin[i + 1] = column.size();
  }
  r.storage = Storage::sparse_f32;
  r.stride = 0;
  r.f32 = {};
  r.u8 = {};
  r.row_scale = {};
  r.row_begin = std::move(row_begin);
  r.column = std::move(column);
  r.value = std::move(value);
  return r;
}

}  // namespace

void store_as(Storage storage, Shard& shard) {
  if (shard.facts.storage == storage) return;
  verify(storage != Storage::dense_u8, "floats do not become bytes");
  for (Block& block : shard.blocks)
    if (block.records.storage != storage)
      block.records =
          storage == Storage::dense_f32 ? dense(std::move(block.records)) : sparse(std::move(block.records));
  shard.facts.storage = storage;
}

}  // namespace dpmpi
