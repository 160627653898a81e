#include "data/records/stored_as.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "objective/copy_rows.hpp"
#include "support/shards.hpp"

namespace dpmpi::stored_as_test {
namespace {

// Every layout in every other: what a record is stays as it is, also of an empty slot.
TEST(StoredAs, FeaturesLabelsAndNormsStay) {
  for (const Storage from : {Storage::dense_f32, Storage::dense_u8, Storage::sparse_f32})
    for (const Storage to : {Storage::dense_f32, Storage::sparse_f32}) {
      Shard shard = test::random_shard({from, 23, 19, 1, LabelKind::sign}, 3);
      shard.blocks[1].records.label[2] = NAN;
      const Shard before = shard;
      store_as(to, shard);
      EXPECT_EQ(shard.facts.storage, to);
      for (std::size_t b = 0; b < shard.blocks.size(); ++b) {
        const Records &was = before.blocks[b].records, &is = shard.blocks[b].records;
        EXPECT_EQ(is.storage, to);
        EXPECT_EQ(is.count, was.count);
        EXPECT_EQ(is.norm, was.norm);
        EXPECT_EQ(is.bias, was.bias);
        EXPECT_EQ(std::isnan(is.label[2]), b == 1);
        for (std::size_t i = 0; i < is.count; ++i)
          for (std::size_t j = 0; j < is.features; ++j) EXPECT_EQ(feature_of(is, i, j), feature_of(was, i, j));
      }
    }
}

TEST(StoredAs, BytesStayBytes) {
  Shard shard = test::random_shard({Storage::dense_u8, 23, 19, 1, LabelKind::sign}, 3);
  const Shard before = shard;
  store_as(Storage::dense_u8, shard);
  for (std::size_t b = 0; b < shard.blocks.size(); ++b)
    EXPECT_EQ(shard.blocks[b].records.u8, before.blocks[b].records.u8);
  store_as(Storage::dense_f32, shard);
  EXPECT_THROW(store_as(Storage::dense_u8, shard), BugError);
}

}  // namespace
}  // namespace dpmpi::stored_as_test
