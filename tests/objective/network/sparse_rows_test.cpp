// Networks on sparse records: they take less time, and no bit tells them from dense ones.
#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "objective/network/mlp.hpp"
#include "objective/property_case.hpp"

namespace dpmpi::test::sparse_rows_test {
namespace {

/// The same records with all their zeros.
Records filled(const Records& sparse) {
  Records dense = sparse;
  dense.storage = Storage::dense_f32;
  dense.stride = round_up(sparse.features, 16);
  dense.f32.assign(sparse.count * dense.stride, 0.0F);
  for (std::size_t i = 0; i < sparse.count; ++i)
    for (std::uint64_t e = sparse.row_begin[i]; e < sparse.row_begin[i + 1]; ++e)
      dense.f32[i * dense.stride + sparse.column[e]] = sparse.value[e];
  dense.row_begin.clear(), dense.column.clear(), dense.value.clear();
  return dense;
}

Records records_of(const MlpShape& shape, std::size_t count = 150) {
  return random_records({.storage = Storage::sparse_f32,
                         .count = count,
                         .features = shape.features(),
                         .bias = shape.input_bias,
                         .labels = labels_of(shape.head),
                         .classes = shape.units.back()});
}

/// One entry in 25.
Records thinned(const Records& from) {
  Records thin = from;
  thin.row_begin.assign(1, 0), thin.column.clear(), thin.value.clear();
  for (std::size_t i = 0; i < from.count; ++i) {
    for (std::uint64_t e = from.row_begin[i]; e < from.row_begin[i + 1]; ++e)
      if (from.column[e] % 25 == i % 25) thin.column.push_back(from.column[e]), thin.value.push_back(from.value[e]);
    thin.row_begin.push_back(thin.column.size());
  }
  for (std::size_t i = 0; i < thin.count; ++i) update_norm(thin, i);
  return thin;
}

struct Found {
  std::vector<double> losses, norms;
  std::vector<float> scores;
  std::vector<std::int64_t> sum;
};

Found look(const MlpShape& shape, const Records& records, std::span<const std::uint32_t> index, double clip) {
  const auto objective = make_mlp(shape);
  std::vector<float> w(objective->dim());
  PublicStream(3, "weights").normals(0, w);
  for (float& x : w) x *= 0.3F;
  const Rows rows{records, index};
  Found found{std::vector<double>(rows.size()),
              std::vector<double>(rows.size()),
              std::vector<float>(rows.size() * objective->outputs()),
              {}};
  auto at = objective->at(w);
  at.losses(rows, found.losses);
  at.scores(rows, found.scores);
  at.gradient_norms(rows, found.norms);
  found.sum = contributions(*objective, clipped_gradients(*objective, w), records, index, {.clip = clip},
                            test_lattice(clip));
  return found;
}

struct SparseCase {
  std::string name;
  MlpShape shape;
};
std::ostream& operator<<(std::ostream& out, const SparseCase& c) { return out << c.name; }

class SparseNetworks : public testing::TestWithParam<SparseCase> {};

TEST_P(SparseNetworks, HaveTheBitsOfDenseRecords) {
  const MlpShape& shape = GetParam().shape;
  const Records many = records_of(shape);
  for (const Records& sparse : {many, thinned(many)}) {
    const Records dense = filled(sparse);
    const auto index = all_rows(sparse);
    for (const std::size_t rows : {index.size(), std::size_t{3}})
      for (const double clip : {0.1, 1000.0}) {
        const auto some = std::span(index).first(rows);
        const Found a = look(shape, sparse, some, clip), b = look(shape, dense, some, clip);
        EXPECT_EQ(a.losses, b.losses);
        EXPECT_EQ(a.scores, b.scores);
        EXPECT_EQ(a.norms, b.norms);
        EXPECT_EQ(a.sum, b.sum);
        EXPECT_GT(std::ranges::count_if(a.sum, [](std::int64_t x) { return x != 0; }), 0);
      }
  }
}

TEST_P(SparseNetworks, KnowNothingOfOtherRows) {
  const MlpShape& shape = GetParam().shape;
  const Records records = records_of(shape, 40);
  const auto index = all_rows(records);
  const Found all = look(shape, records, index, 1);
  for (const std::uint32_t i : index) {
    const Found one = look(shape, records, std::span(index).subspan(i, 1), 1);
    EXPECT_EQ(one.losses[0], all.losses[i]);
    EXPECT_EQ(one.norms[0], all.norms[i]);
  }
}

TEST_P(SparseNetworks, ARecordThatIsNotFiniteAddsNothing) {
  const MlpShape& shape = GetParam().shape;
  Records records = records_of(shape, 20);
  const auto index = all_rows(records);
  std::vector<std::uint32_t> others(index.begin(), index.end());
  std::erase(others, 7U);
  ASSERT_TRUE(spoil_feature(records, 7, std::numeric_limits<float>::infinity()));
  EXPECT_EQ(look(shape, records, index, 1).sum, look(shape, records, others, 1).sum);
}

INSTANTIATE_TEST_SUITE_P(
    Networks, SparseNetworks,
    testing::Values(SparseCase{"one_layer", {{300, 4}}}, SparseCase{"hidden", {{131, 70, 3}}},
                    SparseCase{"narrow_without_bias", {{50, 5, 1}, 0, Activation::tanh, Head::logistic}},
                    SparseCase{"three_layers", {{200, 17, 33, 1}, 1, Activation::softplus, Head::squared}},
                    SparseCase{"left_out", {.units = {99, 20, 2}, .left_out = 17}}),
    [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace dpmpi::test::sparse_rows_test
