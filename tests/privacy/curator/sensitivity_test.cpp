// The first of the three tests of every privacy claim: the exact sensitivity, in integers. For neighbouring
// datasets the lattice sums that the curator would form differ by a vector whose norm, computed without rounding,
// is within the sensitivity that the ledger's noise multiplier refers to. Weights of classes and of records, and
// exposures, change nothing of that, whatever they are: the clip comes after them.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "data/records/options.hpp"
#include "objective/class_weights.hpp"
#include "privacy/curator/query.hpp"
#include "support/lattice_distance.hpp"
#include "support/shards.hpp"

namespace dpmpi::sensitivity_test {
namespace {

using test::distance;

struct Case {
  std::string objective;
  std::vector<std::pair<std::string, std::string>> options;
  test::RecordsShape shape;
  Clipping clipping = Clipping::flat;
  std::string weights = {};  ///< of classes
  bool factors = false;      ///< adversarial weights of records, and exposures where there are any
  std::string variant = {};  ///< of the objective, for the test's name
};

/// What no table could hold among what one could.
void add_factors(Records& records, bool exposures) {
  const std::vector<float> weights{1,
                                   0,
                                   0.5F,
                                   1e30F,
                                   -7,
                                   1e-38F,
                                   std::numeric_limits<float>::quiet_NaN(),
                                   std::numeric_limits<float>::infinity()},
      offsets{0, 3, -3, 90, -90, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()};
  for (std::size_t i = 0; i < records.count; ++i) {
    records.weight.push_back(weights[i % weights.size()]);
    if (exposures) records.offset.push_back(offsets[i % offsets.size()]);
  }
}

std::vector<Case> cases() {
  using enum LabelKind;
  std::vector<Case> all;
  for (const Storage storage : {Storage::dense_f32, Storage::dense_u8, Storage::sparse_f32}) {
    all.push_back({"logistic", {}, {storage, 700, 33, 1, sign}});
    all.push_back({"phase_retrieval", {}, {storage, 700, 33, 1, real}});
    all.push_back({"softmax", {{"objective.classes", "5"}}, {storage, 700, 33, 1, class_, 5}});
    for (const Clipping clipping : {Clipping::flat, Clipping::per_layer})
      all.push_back({"mlp",
                     {{"objective.classes", "5"}, {"objective.hidden", "19,7"}, {"objective.activation", "tanh"}},
                     {storage, 700, 33, 1, class_, 5},
                     clipping});
    for (const Clipping clipping : {Clipping::flat, Clipping::per_layer})
      all.push_back(
          {"network",
           {{"objective.classes", "5"},
            {"objective.input", "3x11x1"},
            {"objective.layers", "conv 7 3x1, groupnorm 7, tanh, maxpool 2x1 stride 2, flatten, dense 5"}},
           {storage, 700, 33, 1, class_, 5},
           clipping});
  }
  for (const Clipping clipping : {Clipping::flat, Clipping::per_layer})
    all.push_back({"network",
                   {{"objective.classes", "5"},
                    {"objective.layers", "dense 9, tanh, dense 8, softplus, dense 7, tanh, dense 5"},
                    {"objective.train_layers", "3,7"}},
                   {Storage::dense_f32, 700, 33, 1, class_, 5},
                   clipping});
  for (const auto& [variant, layers] : std::initializer_list<std::pair<const char*, const char*>>{
           {"_groups", "conv 6 3x1 groups 3, tanh, conv 6 2x1 pad 0 groups 6, flatten, dense 5"},
           {"_standardised", "conv 6 3x1 groups 3 standardised, tanh, flatten, dense 5 standardised"},
           {"_dropout", "conv 6 3x1, tanh, dropout 0.3, flatten, dense 5"},
           {"_embedding", "flatten, embedding 2 of 2-9 11-30, dense 5"},
           {"_adapters", "conv 6 3x1 adapter 1, tanh, flatten, dense 9 adapter 2, tanh, dense 5"}})
    all.push_back({"network",
                   {{"objective.classes", "5"}, {"objective.input", "3x11x1"}, {"objective.layers", layers}},
                   {Storage::dense_f32, 700, 33, 1, class_, 5},
                   Clipping::flat,
                   {},
                   false,
                   variant});
  const std::size_t plain = all.size();
  for (std::size_t i = 0; i < plain; ++i) {
    if (all[i].shape.labels == real) continue;
    Case weighted = all[i];
    weighted.weights = all[i].shape.labels == sign ? "-1:0.5,1:4" : "0:0.5,1:4,3:2";
    all.push_back(weighted);
  }
  for (std::size_t i = 0; i < plain; ++i) {
    Case with_factors = all[i];
    with_factors.factors = true;
    all.push_back(with_factors);
    if (all[i].objective != "logistic") continue;
    with_factors.objective = "poisson", with_factors.shape.labels = count;
    all.push_back(with_factors);
  }
  return all;
}

std::unique_ptr<Objective> objective_of(const Case& c) {
  const ObjectiveFacts facts{c.shape.features, c.shape.storage, c.shape.bias};
  if (c.weights.empty()) return test::make_objective(c.objective, facts, c.options);
  const auto entry = std::ranges::find(objectives(), c.objective, &ObjectiveEntry::name);
  const auto builder = entry->builder();
  Options options("objective");
  builder->declare(options);
  Settings settings{{"objective.class_weights", {c.weights, "test"}}};
  for (const auto& [key, value] : c.options) settings[key] = {value, "test"};
  std::vector<std::string> problems;
  options.read(settings, problems);
  builder->class_weight_option()->resolve({}, c.shape.labels, c.shape.classes, problems);
  EXPECT_TRUE(problems.empty());
  auto objective = builder->make(facts);
  EXPECT_FALSE(objective->class_weights().empty());
  return objective;
}

std::vector<std::int64_t> lattice_sum(Objective& objective, const Query& query, const Records& records,
                                      const std::vector<std::uint32_t>& batch, std::span<const float> w,
                                      double scale = 1) {
  LatticeAccumulator sum(query.dim, query.lattice, query.bound.clip * (1 + query.eta));
  MicroBatching batching = MicroBatching::plan(objective.micro_batch_rows(), records.count, 0.5);
  sum.clear();
  const AtPoint at = objective.at(w);
  const L2Bound bound{query.bound.clip * scale, query.bound.clipping};
  batching.for_each(records, batch, [&](const Rows& rows) { at.add_clipped_gradients(rows, bound, sum); });
  const auto total = sum.totals();
  return {total.begin(), total.end()};
}

/// Parameters to begin with. What is not trained is made up, too.
std::vector<float> start_of(Objective& objective) {
  std::vector<float> w(objective.dim());
  std::size_t numbers = 0;
  for (const ParameterGroup& group : objective.model_groups()) numbers += group.size();
  if (numbers > w.size()) {
    std::vector<float> model(numbers);
    PublicStream(3, "model").normals(0, model);
    for (float& x : model) x *= 0.3F;
    objective.start_from(std::move(model));
  }
  objective.start_point(PublicStream(3, "start"), w);
  return w;
}

class Sensitivity : public ::testing::TestWithParam<Case> {};

TEST_P(Sensitivity, NeighboursDifferByAtMostTheSensitivity) {
  const Case& c = GetParam();
  const auto objective = objective_of(c);
  std::vector<float> w = start_of(*objective);
  for (std::size_t j = 0; j < w.size(); ++j)
    w[j] += 0.3f * static_cast<float>(PublicStream(4, "shift").uniform(j) - 0.5);
  Records records = test::random_records(c.shape, 5);
  if (c.factors) add_factors(records, c.shape.labels == LabelKind::count);
  const double clip = 0.05;  // nearly every record is clipped: the bound is met, not just kept

  SecretStream stream(SecretKey::from_seed(6));
  double largest_removal = 0, largest_replacement = 0;
  for (const Adjacency adjacency : {Adjacency::add_remove, Adjacency::replace_one}) {
    const Query query = Query::declare({.name = "g",
                                        .dim = objective->dim(),
                                        .sampling = Poisson{0.5},
                                        .bound = {clip, c.clipping},
                                        .slack = objective->gradients()->gradient_slack(),
                                        .noise_multiplier = 1,
                                        .steps = 10},
                                       0, adjacency, c.shape.count);
    EXPECT_LE(query.eta, 1e-2);
    for (std::uint64_t t = 0; t < 10; ++t) {
      std::vector<std::uint32_t> batch;
      select(query.sampling, 0, records.count, stream, 0, t, 0, batch);
      const std::uint32_t i = batch[(17 * t) % batch.size()];
      const auto with = lattice_sum(*objective, query, records, batch, w);
      Records neighbour = records;
      if (adjacency == Adjacency::add_remove) {
        test::remove_record(neighbour, i);
      } else if (c.shape.storage == Storage::dense_f32) {
        for (std::size_t j = 0; j < records.features; ++j) neighbour.f32[i * records.stride + j] *= -1;
      } else {
        neighbour.label[i] =
            c.shape.labels == LabelKind::class_ ? std::fmod(records.label[i] + 1, 5.0f) : -records.label[i];
      }
      const double moved = distance(with, lattice_sum(*objective, query, neighbour, batch, w), query.lattice);
      ASSERT_LE(moved, query.sensitivity) << name(adjacency) << " step " << t;
      for (const double scale : {0.1, 0.002}) {  // clips that follow the iterate
        const double less = distance(lattice_sum(*objective, query, records, batch, w, scale),
                                     lattice_sum(*objective, query, neighbour, batch, w, scale), query.lattice);
        ASSERT_LE(less, query.sensitivity * query.sensitivity_scale(scale))
            << name(adjacency) << " scale " << scale;
      }
      auto& largest = adjacency == Adjacency::add_remove ? largest_removal : largest_replacement;
      largest = std::max(largest, moved);
      // A record that is not in the batch leaves no trace at all.
      std::uint32_t outside = 0;
      while (std::binary_search(batch.begin(), batch.end(), outside)) ++outside;
      Records untouched = records;
      test::remove_record(untouched, outside);
      ASSERT_EQ(with, lattice_sum(*objective, query, untouched, batch, w));
    }
  }
  EXPECT_GT(largest_removal, 0.9 * clip) << "the test must come near the bound";
  EXPECT_GT(largest_replacement, 0.5 * clip);
}

std::string case_name(const ::testing::TestParamInfo<Case>& param) {
  const char* storage[] = {"f32", "u8", "sparse"};
  const bool partly = !param.param.options.empty() && param.param.options.back().first == "objective.train_layers";
  return param.param.objective + param.param.variant + (partly ? "_partly_" : "_") +
         storage[static_cast<int>(param.param.shape.storage)] +
         (param.param.clipping == Clipping::per_layer ? "_per_layer" : "") +
         (param.param.weights.empty() ? "" : "_weighted") + (param.param.factors ? "_factors" : "");
}
INSTANTIATE_TEST_SUITE_P(Objectives, Sensitivity, ::testing::ValuesIn(cases()), case_name);

TEST(Query, EventsFollowTheSamplingRule) {
  const auto declared = [](SamplingRule rule, Adjacency adjacency = Adjacency::add_remove) {
    return Query::declare({.name = "g", .dim = 10, .sampling = rule, .noise_multiplier = 2, .steps = 250}, 0,
                          adjacency, 1000);
  };
  using Events = std::vector<Event>;
  EXPECT_EQ(declared(Poisson{0.1}).events(100, 250), (Events{{PoissonGaussian{0.1, 2}, 150}}));
  EXPECT_EQ(declared(Poisson{1.0}).events(0, 3), (Events{{Gaussian{2}, 3}}));
  EXPECT_EQ(declared(FullBatch{}).events(0, 250), (Events{{Gaussian{2}, 250}}));
  EXPECT_EQ(declared(WithoutReplacement{50}, Adjacency::replace_one).events(0, 7),
            (Events{{WorGaussian{1000, 50, 2}, 7}}));
  EXPECT_THROW(declared(WithoutReplacement{50}), PrivacyError);
  // Cyclic: a round of 100 steps is charged when it begins, however the steps are grouped.
  EXPECT_EQ(declared(Cyclic{100}).events(0, 250), (Events{{Gaussian{2}, 3}}));
  EXPECT_EQ(declared(Cyclic{100}).events(0, 100), (Events{{Gaussian{2}, 1}}));
  EXPECT_EQ(declared(Cyclic{100}).events(1, 100), Events{});
  EXPECT_EQ(declared(Cyclic{100}).events(99, 201), (Events{{Gaussian{2}, 2}}));
}

TEST(Query, ReplaceOneDoublesTheSensitivityAndTheNoise) {
  const QuerySpec spec{
      .name = "g", .dim = 10, .sampling = FullBatch{}, .bound = {0.5}, .noise_multiplier = 2, .steps = 1};
  const Query a = Query::declare(spec, 0, Adjacency::add_remove, 1000),
              r = Query::declare(spec, 0, Adjacency::replace_one, 1000);
  EXPECT_DOUBLE_EQ(a.sensitivity, 0.5 * (1 + a.eta));
  EXPECT_DOUBLE_EQ(r.sensitivity, 1.0 * (1 + r.eta));
  EXPECT_DOUBLE_EQ(a.noise_std, 2 * a.sensitivity);
  EXPECT_DOUBLE_EQ(r.noise_std, 2 * r.sensitivity);
}

TEST(Query, RefusesSlackThatIsTooLarge) {
  EXPECT_THROW(
      Query::declare(
          {.name = "g", .dim = 10, .sampling = FullBatch{}, .slack = {0.02, 1}, .noise_multiplier = 1, .steps = 1},
          0, Adjacency::add_remove, 1000),
      PrivacyError);
  // Noise so large that no double fills a lattice fine enough for the clip.
  EXPECT_THROW(
      Query::declare({.name = "g", .dim = 100000, .sampling = FullBatch{}, .noise_multiplier = 1e10, .steps = 1}, 0,
                     Adjacency::add_remove, 1000),
      PrivacyError);
}

}  // namespace
}  // namespace dpmpi::sensitivity_test
