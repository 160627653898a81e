// The exact sensitivity, in integers, of the sums that min-max methods release: for neighbouring datasets the
// lattice sums differ by a vector within the sensitivity that the ledger refers to.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "objective/minimax/saddle.hpp"
#include "objective/network/difference.hpp"
#include "objective/network/head.hpp"
#include "objective/network/mlp.hpp"
#include "privacy/curator/query.hpp"
#include "support/lattice_distance.hpp"
#include "support/shards.hpp"

namespace dpmpi::saddle_sensitivity_test {
namespace {

using test::distance;

enum class Sum { primal, dual, joint, difference };

struct Case {
  std::string name;
  Sum sum;
  std::string objective = "auc";
  std::vector<std::pair<std::string, std::string>> options = {};
  Storage storage = Storage::dense_f32;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  const std::vector<std::pair<std::string, std::string>> linear = {{"objective.prior", "0.3"},
                                                                   {"objective.output", "identity"}};
  const std::vector<std::pair<std::string, std::string>> images = {{"objective.image_rows", "3"},
                                                                   {"objective.image_columns", "11"},
                                                                   {"objective.generator", "9"},
                                                                   {"objective.critic", "19,7"}};
  const std::vector<std::pair<std::string, std::string>> network = {
      {"objective.prior", "0.3"}, {"objective.scorer", "mlp"}, {"objective.hidden", "19,7"}};
  const std::vector<std::pair<std::string, std::string>> value = {
      {"objective.value", "network"},
      {"objective.input", "1x4x4"},
      {"objective.layers", "conv 3 2x2, tanh, flatten, dense 5, softplus, dense 1"}};
  for (const Storage storage : {Storage::dense_f32, Storage::dense_u8, Storage::sparse_f32}) {
    const std::string suffix = std::array{"_f32", "_u8", "_sparse"}[static_cast<std::size_t>(storage)];
    for (const auto& [scorer, options] : {std::pair{"linear", linear}, {"network", network}})
      for (const auto& [sum, name] : {std::pair{Sum::primal, "primal_"},
                                      {Sum::dual, "dual_"},
                                      {Sum::joint, "joint_"},
                                      {Sum::difference, "difference_"}})
        all.push_back({name + std::string(scorer) + suffix, sum, "auc", options, storage});
    for (const auto& [sum, name] : {std::pair{Sum::primal, "primal_"},
                                    {Sum::dual, "dual_"},
                                    {Sum::joint, "joint_"},
                                    {Sum::difference, "difference_"}})
      all.push_back({name + std::string("value") + suffix, sum, "td", value, storage});
    all.push_back({"dual_critic" + suffix, Sum::dual, "wgan", images, storage});
  }
  return all;
}

constexpr SaddleClip joint_clip{.primal = 0.05, .dual = 0.3, .weight = 0.1};

/// What is summed, as a method would declare and run it.
struct Release {
  const Case& c;
  Objective& objective;
  SaddleObjective* saddle = objective.saddle();

  std::size_t dim() const {
    if (c.sum == Sum::dual) return saddle->dual_dim();
    if (c.sum == Sum::joint) return objective.dim();
    return saddle->primal_dim();
  }
  double clip() const {
    if (c.sum == Sum::joint) return joint_clip.norm();
    return c.sum == Sum::dual ? 0.3 : c.sum == Sum::primal ? 0.05 : 1e-3;
  }
  NumericSlack slack() const {
    if (c.sum == Sum::difference) return saddle->primal()->primal_difference_slack();
    if (c.sum == Sum::joint) return saddle->primal()->saddle_gradient_slack();
    return c.sum == Sum::dual ? saddle->dual_gradient_slack() : saddle->primal()->primal_gradient_slack();
  }
  Kernel kernel(std::span<const float> w, std::span<const float> v) const {
    if (c.sum == Sum::difference) return clipped_primal_differences(*saddle, w, v);
    if (c.sum == Sum::joint) return clipped_saddle_gradients(*saddle, w, joint_clip);
    return c.sum == Sum::dual ? clipped_dual_gradients(*saddle, w) : clipped_primal_gradients(*saddle, w);
  }
};

std::vector<std::int64_t> lattice_sum(const Objective& objective, const Query& query, const Records& records,
                                      const std::vector<std::uint32_t>& batch, const Kernel& kernel) {
  LatticeAccumulator sum(query.dim, query.lattice, query.bound.clip * (1 + query.eta));
  MicroBatching batching = MicroBatching::plan(objective.micro_batch_rows(), records.count, 0.5);
  sum.clear();
  batching.for_each(records, batch, [&](const Rows& rows) { kernel(rows, query.bound, sum); });
  const auto total = sum.totals();
  return {total.begin(), total.end()};
}

/// Another record in the same slot: its features mirrored, or its label; where labels have no part in the loss,
/// other features in any storage.
void replace_record(Records& r, std::uint32_t i, bool labels_count) {
  if (r.storage == Storage::dense_f32)
    for (std::size_t j = 0; j < r.features; ++j) r.f32[i * r.stride + j] *= -1;
  else if (labels_count)
    r.label[i] = -r.label[i];
  else if (r.storage == Storage::dense_u8)
    for (std::size_t j = 0; j < r.features; ++j)
      r.u8[i * r.stride + j] = static_cast<std::uint8_t>(255 - r.u8[i * r.stride + j]);
  else
    for (std::uint64_t e = r.row_begin[i]; e < r.row_begin[i + 1]; ++e) r.value[e] *= -1;
}

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class SaddleSensitivity : public ::testing::TestWithParam<Case> {};

// 40 released points and removed or replaced records for each of the sums.
// A16 of min-max methods.
TEST_P(SaddleSensitivity, NeighboursDifferByAtMostTheSensitivity) {
  const Case& c = GetParam();
  const test::RecordsShape shape{c.storage, 500, 33, 1, LabelKind::sign};
  const auto objective = test::make_objective(c.objective, {33, c.storage, 1}, c.options);
  const Release release{c, *objective};
  const Records records = test::random_records(shape, 5);
  std::vector<float> start(objective->dim()), w(start), v(start);
  objective->initialise(PublicStream(3, "start"), start);

  SecretStream stream(SecretKey::from_seed(6));
  double largest[2] = {0, 0};
  for (std::uint64_t t = 0; t < 40; ++t) {
    const bool removal = t % 2 == 0;
    const Query query = Query::declare({.name = "g",
                                        .dim = release.dim(),
                                        .sampling = Poisson{0.6},
                                        .bound = {release.clip()},
                                        .slack = release.slack(),
                                        .noise_multiplier = 1,
                                        .steps = 40},
                                       0, removal ? Adjacency::add_remove : Adjacency::replace_one, shape.count);
    const PublicStream at_w(10 + t, "w"), at_v(10 + t, "v");
    const double step = std::pow(10.0, -static_cast<double>(t % 5));
    for (std::size_t j = 0; j < w.size(); ++j) {
      w[j] = start[j] + static_cast<float>(at_w.uniform(j) - 0.3);
      v[j] = w[j] + static_cast<float>(step * (at_v.uniform(j) - 0.5));
    }
    const Kernel kernel = release.kernel(w, v);
    std::vector<std::uint32_t> batch;
    select(query.sampling, 0, records.count, stream, 0, t, 0, batch);
    const std::uint32_t i = batch[(17 * t) % batch.size()];
    const auto with = lattice_sum(*objective, query, records, batch, kernel);
    Records neighbour = records;
    removal ? test::remove_record(neighbour, i) : replace_record(neighbour, i, c.objective == "auc");
    // Absent: also the batch without its index, whose micro-batches may be cut elsewhere.
    std::vector<std::uint32_t> without = batch;
    if (removal) std::erase(without, i);
    const double moved =
        std::max(distance(with, lattice_sum(*objective, query, neighbour, batch, kernel), query.lattice),
                 distance(with, lattice_sum(*objective, query, neighbour, without, kernel), query.lattice));
    ASSERT_LE(moved, query.sensitivity) << name(query.adjacency) << " step " << t;
    largest[removal ? 0 : 1] = std::max(largest[removal ? 0 : 1], moved / query.sensitivity);
  }
  EXPECT_GT(largest[0], 0.6) << "the test must come near the bound";
  // Mirrored features turn a gradient around, another label only changes it.
  EXPECT_GT(largest[1], c.storage == Storage::dense_f32 && c.sum != Sum::dual ? 0.4 : 0.2);
}

INSTANTIATE_TEST_SUITE_P(Sums, SaddleSensitivity, ::testing::ValuesIn(cases()),
                         [](const auto& param) { return param.param.name; });

// A micro-batch of 128 rows is one float32 sum, rounded once, of differences as of gradients. Equal records whose
// contributions are 0.9 quanta in all show it: two sums would lose 0.45 quanta a coordinate each.
TEST(SaddleSlack, CountsEachRoundingOfAMicroBatch) {
  const std::size_t rows = 128, features = 40;
  const MlpShape shape{{features, 1}, 0, Activation::relu, Head::squared};
  const auto objective = make_mlp(shape);
  MlpHead head(shape.head, 1);
  MlpDifference difference(shape, head);
  Records records = test::random_records({Storage::dense_f32, rows, features, 0, LabelKind::real});
  std::fill(records.f32.begin(), records.f32.end(), 0.0F);
  std::fill(records.label.begin(), records.label.end(), 0.0F);
  for (std::size_t i = 0; i < rows; ++i)
    std::fill_n(records.f32.begin() + static_cast<std::ptrdiff_t>(i * records.stride), features, 1.0F);
  const Lattice lattice{10};
  std::vector<float> w(features, 0), v(features, 0);
  w[0] = static_cast<float>(0.9 / 128 * lattice.quantum());  // the difference of the gradients, in every coordinate
  std::vector<std::uint32_t> all(rows);
  std::iota(all.begin(), all.end(), 0U);
  const auto error = [&](const Kernel& kernel) {
    LatticeAccumulator sum(features, lattice, 1);
    sum.clear();
    kernel({records, all}, {.clip = 1}, sum);
    double square = 0;
    for (std::int64_t total : sum.totals()) square += std::pow(static_cast<double>(total) - 0.9, 2);
    return std::sqrt(square / static_cast<double>(features));
  };
  EXPECT_NEAR(error(clipped_gradients(*objective, w)), 0.1, 1e-3);  // 0.9 is rounded to 1
  difference.prepare(w, v);
  EXPECT_NEAR(error([&](const Rows& batch, const L2Bound& bound, LatticeAccumulator& sum) {
                difference.add(batch, bound, sum);
              }),
              0.1, 1e-3);
  // The slack has a half quantum for each of the 1 + 2 sums of two neighbours.
  NumericSlack rounding = MlpDifference::slack();
  EXPECT_EQ(rounding.summed_rows, rows);
  rounding.clip = rounding.magnification = 0;
  EXPECT_DOUBLE_EQ(relative_slack(rounding, features, 1, lattice), 1.5 * std::sqrt(40.0) * lattice.quantum());
}

// What float32 sums of differences really err by stays within what is charged for them.
TEST(SaddleSlack, CoversTheErrorOfFloatSums) {
  const test::RecordsShape shape{Storage::dense_f32, 128, 60, 1, LabelKind::sign};
  const Records records = test::random_records(shape, 7);
  const auto objective = test::make_objective(
      "auc", {60, Storage::dense_f32, 1},
      {{"objective.prior", "0.4"}, {"objective.scorer", "mlp"}, {"objective.hidden", "30,20"}});
  auto& saddle = *objective->saddle();
  std::vector<float> w(saddle.dim()), v;
  saddle.initialise(PublicStream(3, "start"), w);
  v = w;
  for (std::size_t j = 0; j < w.size(); ++j)
    v[j] += 1e-3F * static_cast<float>(PublicStream(4, "v").uniform(j) - 0.5);
  const double clip = 1e-4;  // every difference is clipped
  const Kernel kernel = clipped_primal_differences(saddle, w, v);
  const Lattice lattice{static_cast<int>(std::floor(std::log2(2147483647.0 / (130 * clip))))};
  LatticeAccumulator sum(saddle.primal_dim(), lattice, clip * 1.01);
  std::vector<std::uint32_t> all(records.count);
  std::iota(all.begin(), all.end(), 0U);
  const auto total_of = [&](std::size_t at_once) {
    sum.clear();
    for (std::size_t i = 0; i < all.size(); i += at_once)
      kernel({records, std::span(all).subspan(i, at_once)}, {.clip = clip}, sum);
    const auto total = sum.totals();
    return std::vector<std::int64_t>(total.begin(), total.end());
  };
  const double error = distance(total_of(128), total_of(1), lattice);
  const double rounding = (1 + 128) / 2.0 * std::sqrt(static_cast<double>(saddle.primal_dim())) * lattice.quantum();
  const NumericSlack slack = saddle.primal()->primal_difference_slack();
  const double charged = slack.magnification * 128 * 130 * 0x1p-24 * clip;
  EXPECT_LE(error, charged + rounding);
  EXPECT_LE(
      relative_slack(slack, saddle.primal_dim(), clip, Lattice::choose(saddle.primal_dim(), clip, clip, 60000)),
      6e-3);
}

}  // namespace
}  // namespace dpmpi::saddle_sensitivity_test
