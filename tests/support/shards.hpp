#pragma once
// Small shards and objectives for tests of the curator and of methods.

#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "data/records/blocks.hpp"
#include "objective/objective.hpp"
#include "objective/random_records.hpp"

namespace dpmpi::test {

/// The blocks that `rank` of `size` owns of random records of this shape: the same records for every size.
inline Shard random_shard(const test::RecordsShape& shape, std::uint32_t blocks, int rank = 0, int size = 1,
                          unsigned seed = 1) {
  Shard shard;
  shard.facts = {shape.count, shape.features, shape.storage};
  shard.layout = BlockLayout::of(shard.facts, blocks);
  const Ownership ownership = Ownership::even(blocks, size);
  for (std::uint32_t b = ownership.begin(rank); b < ownership.end(rank); ++b) {
    test::RecordsShape part = shape;
    part.count = shard.layout.size(b);
    shard.blocks.push_back({b, shard.layout.begin(b), test::random_records(part, seed + 100 * b)});
  }
  return shard;
}

/// All records in one block.
inline Shard one_block(Records r) {
  Shard shard;
  shard.facts = {r.count, r.features, r.storage};
  shard.layout = BlockLayout::of(shard.facts, 1);
  shard.blocks.push_back({0, 0, std::move(r)});
  return shard;
}

/// Makes slot i of the records empty, as if that record had never been there.
inline void remove_record(Records& r, std::size_t i) {
  r.label[i] = std::numeric_limits<float>::quiet_NaN();
  r.norm[i] = 0;
  if (r.storage == Storage::dense_f32)
    std::fill_n(r.f32.begin() + static_cast<std::ptrdiff_t>(i * r.stride), r.stride, 0.0f);
  if (r.storage == Storage::dense_u8)
    std::fill_n(r.u8.begin() + static_cast<std::ptrdiff_t>(i * r.stride), r.stride, std::uint8_t{0});
  if (r.storage == Storage::sparse_f32)
    for (auto e = r.row_begin[i]; e < r.row_begin[i + 1]; ++e) r.value[e] = 0;
}

/// An objective by name with options like {"objective.hidden", "5"}.
inline std::unique_ptr<Objective> make_objective(
    const std::string& name, const ObjectiveFacts& facts,
    const std::vector<std::pair<std::string, std::string>>& settings = {}) {
  for (const auto& entry : objectives()) {
    if (entry.name != name) continue;
    const auto builder = entry.builder();
    Options options("objective");
    builder->declare(options);
    dpmpi::Settings values;
    for (const auto& [key, value] : settings) values[key] = {value, "test"};
    std::vector<std::string> problems;
    options.read(values, problems);
    EXPECT_TRUE(problems.empty()) << problems.front();
    return builder->make(facts);
  }
  ADD_FAILURE() << "no objective " << name;
  return nullptr;
}

}  // namespace dpmpi::test
