#include "objective/minimax/worst_group.hpp"

#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "data/records/text.hpp"
#include "objective/math/simplex.hpp"
#include "objective/minimax/auc_reference.hpp"
#include "objective/network/reference.hpp"
#include "objective/saddle_property.hpp"
#include "support/data_files.hpp"
#include "support/shards.hpp"

namespace dpmpi::test::worst_group_test {
namespace {

using Point = std::vector<float>;
using Units = std::vector<std::size_t>;

// ---- the simplex ----

// A12 of min-max methods.
TEST(Simplex, ProjectionIsTheNearestPoint) {
  std::mt19937 bits(1);
  std::normal_distribution<double> normal;
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<double> y(1 + bits() % 12), far(y.size());
    for (double& x : y) x = normal(bits) * std::pow(10.0, static_cast<double>(bits() % 7) - 3);
    const std::vector<double> from = y;
    project_to_simplex(y);
    EXPECT_NEAR(std::accumulate(y.begin(), y.end(), 0.0), 1, 1e-12);
    for (const double x : y) EXPECT_GE(x, 0);
    std::vector<double> again = y;
    project_to_simplex(again);
    for (std::size_t j = 0; j < y.size(); ++j) EXPECT_NEAR(again[j], y[j], 1e-12);
    // Nearest: no direction towards another point of the simplex has a positive slope.
    for (std::size_t vertex = 0; vertex < y.size(); ++vertex) {
      double slope = 0, size = 0;
      for (std::size_t j = 0; j < y.size(); ++j) {
        slope += (from[j] - y[j]) * ((j == vertex ? 1.0 : 0.0) - y[j]);
        size = std::max(size, std::abs(from[j]));
      }
      EXPECT_LE(slope, 1e-12 * std::max(1.0, size));
    }
  }
}

TEST(Simplex, KnownPoints) {
  std::vector<double> corner{5, 0, 0}, centre{7, 7, 7, 7}, edge{0.9, 0.7, -3}, inside{0.25, 0.75};
  for (auto* y : {&corner, &centre, &edge, &inside}) project_to_simplex(*y);
  EXPECT_EQ(corner, (std::vector<double>{1, 0, 0}));
  EXPECT_EQ(centre, (std::vector<double>{0.25, 0.25, 0.25, 0.25}));
  EXPECT_NEAR(edge[0], 0.6, 1e-15);
  EXPECT_NEAR(edge[1], 0.4, 1e-15);
  EXPECT_EQ(edge[2], 0);
  EXPECT_NEAR(inside[0], 0.25, 1e-15);
}

// ---- the objective ----

constexpr std::size_t features = 6;

/// Feature 3 holds the group, 0 to 2.
Records grouped_records(std::size_t count, unsigned seed = 1) {
  Records r = random_records({.count = count, .features = features}, seed);
  for (std::size_t i = 0; i < count; ++i) {
    r.f32[i * r.stride + 2] = static_cast<float>(i * 7 % 3);
    update_norm(r, i);
  }
  return r;
}

WorstGroupSettings settings_of(std::vector<std::size_t> units, Head head = Head::logistic) {
  return {.model = {.units = std::move(units), .activation = Activation::tanh, .head = head},
          .group_sizes = {50, 30, 20},
          .group_feature = 3};
}

/// What remains of these settings' model where the group's feature is no input.
MlpShape without_group(const WorstGroupSettings& settings) {
  MlpShape model = settings.model;
  model.units.front() -= 1;
  model.left_out = settings.group_feature - 1;
  return model;
}

Point point_of(const SaddleObjective& f, unsigned seed = 3) {
  Point w(f.dim());
  f.initialise(PublicStream(seed, "start"), w);
  w = moved(w, 0.8, seed);
  const float y[] = {0.2F, 0.5F, 0.3F};
  std::copy_n(y, f.dual_dim(), w.begin() + static_cast<std::ptrdiff_t>(f.primal_dim()));
  return w;
}

void check_group_losses(WorstGroupSettings settings) {
  const Records records = grouped_records(70);
  const MlpShape shape = settings.group_input ? settings.model : without_group(settings);
  const MlpReference model(shape, records);
  const auto f = make_worst_group(settings);
  const Point w = point_of(*f), v = moved(w, 0.2);
  const std::size_t d1 = f->primal_dim();
  const auto group = [&](std::size_t i) { return static_cast<std::size_t>(feature(records, i, 2)); };
  const auto weight = [&](std::size_t i) { return 100.0 / static_cast<double>(settings.group_sizes[group(i)]); };

  // The dual part is (n / n_g) loss at the record's group, and zero elsewhere.
  const auto x = widened(std::span(w).first(d1));
  for (std::size_t i = 0; i < 10; ++i) {
    const auto dual = unclipped(*f, w, v, 0, records, i);
    for (std::size_t g = 0; g < 3; ++g)
      EXPECT_NEAR(dual[g], g == group(i) ? weight(i) * model.loss(i, x) : 0, 1e-5 * weight(i));
  }

  const double penalty = settings.regulariser / 2 * (0.2 * 0.2 + 0.5 * 0.5 + 0.3 * 0.3);
  const Reference reference{.loss =
                                [&](std::size_t i, std::span<const double> at) {
                                  return weight(i) * static_cast<double>(w[d1 + group(i)]) * model.loss(i, at) -
                                         penalty;
                                },
                            .gradient =
                                [&](std::size_t i, std::span<const double> at, std::span<double> g) {
                                  model.gradient(i, at, g);
                                  for (double& value : g)
                                    value *= weight(i) * static_cast<double>(w[d1 + group(i)]);
                                }};
  PrimalView view(*f, Point(w.begin() + static_cast<std::ptrdiff_t>(d1), w.end()));
  const PropertyCase property{.objective = view,
                              .records = records,
                              .w = Point(w.begin(), w.begin() + static_cast<std::ptrdiff_t>(d1)),
                              .reference = reference,
                              .differences = view.differences()};
  check_reference(property);
  check_finite_differences(property);
  check_norm_bounds(property);
  check_row_invariance(property);
  check_tiny_differences(property);
  check_sensitivity(*f, records, w, v, 0.02);
  check_rows_apart(*f, records, w, v, 0.02);
  check_joint_parts(*f, records, w, 0.02);
  check_no_allocation(*f, records, w, v);
}

TEST(WorstGroup, KeepsTheContract) {
  for (const bool input : {false, true})
    for (const auto& units : {Units{features, 1}, Units{features, 9, 1}}) {
      WorstGroupSettings settings = settings_of(units);
      settings.group_input = input, settings.regulariser = 0.7;
      check_group_losses(settings);
    }
}

TEST(WorstGroup, NoParameterIsForTheGroupsFeature) {
  auto settings = settings_of({features, 1});
  const auto f = make_worst_group(settings);
  EXPECT_EQ(f->dim(), features - 1 + 1 + 3);
  EXPECT_EQ(f->groups().front().cols, features - 1);
  EXPECT_EQ(f->left_out_feature(), 2U);
  settings.group_input = true;
  const auto seen = make_worst_group(settings);
  EXPECT_EQ(seen->dim(), features + 1 + 3);
  EXPECT_FALSE(seen->left_out_feature());
}

/// The same records in other groups.
Records regrouped(Records records) {
  for (std::size_t i = 0; i < records.count; ++i) {
    float& group = records.f32[i * records.stride + 2];
    group = std::fmod(group + 1, 3.0F);
    update_norm(records, i);
  }
  return records;
}

// With the same weight for every group, nothing that is released of the model may change with a record's group.
TEST(WorstGroup, ARecordsGroupChangesNoMoreThanItsWeight) {
  const Records records = grouped_records(60), others = regrouped(records);
  for (const auto& units : {Units{features, 1}, Units{features, 5, 1}}) {
    WorstGroupSettings settings = settings_of(units);
    settings.group_sizes = {20, 20, 20};
    const auto f = make_worst_group(settings);
    Point w = point_of(*f), v = moved(w, 0.3);
    for (Point* const point : {&w, &v}) std::fill(point->end() - 3, point->end(), 1.0F / 3);
    const auto kernels = saddle_kernels(*f, w, v, 0.1);
    for (std::size_t k = 1; k < kernels.size(); ++k) {  // of the dual only the coordinate of the group differs
      const SaddleKernel kernel = kernels[k]();
      auto sum = sum_of(kernel, records, all_rows(records), 64),
           other = sum_of(kernel, others, all_rows(others), 64);
      for (auto* const of : {&sum, &other}) of->resize(f->primal_dim());
      EXPECT_FALSE(all_zero(sum)) << kernel.name;
      EXPECT_EQ(sum, other) << kernel.name;
    }
    const auto index = all_rows(records);
    std::vector<float> scores(records.count), of_others(records.count);
    const AtPoint at = f->at(w);
    at.scores({records, index}, scores);
    at.scores({others, index}, of_others);
    EXPECT_EQ(scores, of_others);
  }
}

TEST(WorstGroup, TheRegulariserIsSmallBesideTheLossOfAModelThatKnowsNothing) {
  const auto mu_of = [](const WorstGroupSettings& settings) {
    return *make_worst_group(settings)->dual_curvature();
  };
  WorstGroupSettings settings = settings_of({features, 1});
  EXPECT_DOUBLE_EQ(mu_of(settings), std::log(2.0) / 10);
  settings.regulariser = 0.25;
  EXPECT_EQ(mu_of(settings), 0.25);
  EXPECT_DOUBLE_EQ(mu_of(settings_of({features, 1}, Head::squared)), 0.05);
  EXPECT_DOUBLE_EQ(mu_of(settings_of({features, 7}, Head::softmax)), std::log(7.0) / 10);
}

TEST(WorstGroup, DifferencesFollowTheGroupsWeights) {
  const Records records = grouped_records(12);
  const auto settings = settings_of({features, 5, 1});
  const MlpShape shape = without_group(settings);
  const MlpReference model(shape, records);
  const auto f = make_worst_group(settings);
  const Point w = point_of(*f);
  Point v = moved(w, 0.4);
  const float y[] = {0.6F, 0.0F, 0.4F};
  std::copy_n(y, 3, v.end() - 3);
  std::vector<double> g(f->primal_dim()), h(f->primal_dim());
  for (std::size_t i = 0; i < records.count; ++i) {
    const auto group = static_cast<std::size_t>(feature(records, i, 2));
    const double weight = 100.0 / static_cast<double>(settings.group_sizes[group]);
    model.gradient(i, widened(std::span(w).first(g.size())), g);
    model.gradient(i, widened(std::span(v).first(g.size())), h);
    const auto difference = unclipped(*f, w, v, 3, records, i);
    for (std::size_t j = 0; j < g.size(); ++j)
      EXPECT_NEAR(difference[j],
                  weight * (static_cast<double>(w[g.size() + group]) * g[j] -
                            static_cast<double>(v[g.size() + group]) * h[j]),
                  1e-5 * weight);
  }
}

/// Totals of two shares, of which the other was asked before.
struct WithOther final : SetTotals {
  void sum(std::span<std::int64_t> values) const override {
    if (other.empty()) return other.assign(values.begin(), values.end());
    for (std::size_t j = 0; j < values.size(); ++j) values[j] += other[j];
  }
  mutable std::vector<std::int64_t> other;
};

TEST(WorstGroup, MeasuresEveryGroup) {
  const auto settings = settings_of({features, 4, 1});
  const auto f = make_worst_group(settings);
  const Point w = point_of(*f);
  Records records = grouped_records(70);
  empty_slot(records, 5);
  const MlpShape shape = without_group(settings);
  const MlpReference model(shape, records);
  const auto x = widened(std::span(w).first(f->primal_dim()));
  std::vector<double> loss(3), right(3), count(3);
  for (std::size_t i = 0; i < records.count; ++i) {
    if (i == 5) continue;
    const auto g = static_cast<std::size_t>(feature(records, i, 2));
    const double one = model.loss(i, x);
    loss[g] += one, count[g] += 1, right[g] += one < std::log(2.0);  // log loss of a probability over a half
  }
  const auto measures = f->at(w).measures(SetTotals(), one_block(records));
  ASSERT_EQ(measures.size(), 8U);
  for (std::size_t g = 0; g < 3; ++g) {
    EXPECT_EQ(measures[2 * g].name, fmt::format("group_{}.loss", g));
    EXPECT_NEAR(measures[2 * g].value, loss[g] / count[g], 1e-5);
    EXPECT_EQ(measures[2 * g + 1].name, fmt::format("group_{}.accuracy", g));
    EXPECT_EQ(measures[2 * g + 1].value, right[g] / count[g]);
  }
  EXPECT_EQ(measures[6].name, "worst_group.loss");
  EXPECT_EQ(measures[6].value, std::max({measures[0].value, measures[2].value, measures[4].value}));
  EXPECT_EQ(measures[7].name, "worst_group.accuracy");
  EXPECT_EQ(measures[7].value, std::min({measures[1].value, measures[3].value, measures[5].value}));

  // Two shares have the bits of the whole.
  WithOther totals;
  Records first = records, second = records;
  for (std::size_t i = 0; i < records.count; ++i) empty_slot(i % 3 == 0 || i < 9 ? first : second, i);
  f->at(w).measures(totals, one_block(first));
  const auto of_shares = f->at(w).measures(totals, one_block(second));
  ASSERT_EQ(of_shares.size(), 8U);
  for (std::size_t k = 0; k < 8; ++k) EXPECT_EQ(of_shares[k].value, measures[k].value) << measures[k].name;
}

TEST(WorstGroup, HasNoMeasuresOfGroupsWithoutRecords) {
  auto settings = settings_of({features, 1}, Head::squared);
  const auto f = make_worst_group(settings);
  Records records = grouped_records(20);
  for (std::size_t i = 0; i < records.count; ++i)
    if (feature(records, i, 2) != 1) empty_slot(records, i);
  const auto measures = f->at(point_of(*f)).measures(SetTotals(), one_block(records));
  ASSERT_EQ(measures.size(), 2U) << "a quantity has no accuracy";
  EXPECT_EQ(measures[0].name, "group_1.loss");
  EXPECT_EQ(measures[1].name, "worst_group.loss");
  EXPECT_EQ(measures[1].value, measures[0].value);
}

TEST(WorstGroup, ClassesAreGroups) {
  const Records records = random_records({.count = 60, .features = 4, .labels = LabelKind::class_, .classes = 3});
  WorstGroupSettings settings;
  settings.model.units = {4, 3};
  settings.group_sizes = {10, 20, 30};
  const auto f = make_worst_group(settings);
  const Point w = point_of(*f), v = moved(w, 0.1);
  EXPECT_EQ(f->classes(), 3U);
  for (std::size_t i = 0; i < 20; ++i) {
    const auto dual = unclipped(*f, w, v, 0, records, i);
    for (std::size_t g = 0; g < 3; ++g) EXPECT_EQ(dual[g] != 0, g == static_cast<std::size_t>(records.label[i]));
  }
}

TEST(WorstGroupTraps, T13RecordsOfNoGroupContributeNothing) {
  const auto f = make_worst_group(settings_of({features, 4, 1}));
  const Point w = point_of(*f), v = moved(w, 0.1);
  const Records good = grouped_records(20);
  for (const float bad : {3.0F, -1.0F, 0.5F, 1e30F, std::nanf(""), std::numeric_limits<float>::infinity()}) {
    Records spoiled = good, without = good;
    spoiled.f32[7 * spoiled.stride + 2] = bad;
    empty_slot(without, 7);
    for (const auto& make : saddle_kernels(*f, w, v, 0.1)) {
      const SaddleKernel k = make();
      EXPECT_EQ(sum_of(k, spoiled, all_rows(good), 64), sum_of(k, without, all_rows(good), 64)) << k.name << bad;
    }
  }
}

TEST(WorstGroupTraps, T18PublicTermsAreNotClipped) {
  const auto f = make_worst_group(settings_of({features, 1}));
  const Point w = point_of(*f);
  const Records none = grouped_records(0);
  const SaddleKernel k{"dual", 3, 1e-6, clipped_dual_gradients(*f, w), {}};
  EXPECT_TRUE(all_zero(sum_of(k, none, {}, 64)));
  std::vector<double> gradient(3, 1.0);
  f->add_public_dual(w, 0, gradient);
  for (std::size_t g = 0; g < 3; ++g)
    EXPECT_DOUBLE_EQ(gradient[g], 1 - std::log(2.0) / 10 * static_cast<double>(w[f->primal_dim() + g]));
}

Shard grouped_shard(const Records& records) {
  Shard shard;
  shard.facts = {records.count, features, Storage::dense_f32};
  shard.layout = BlockLayout::of(shard.facts, 1);
  shard.blocks.push_back({0, 0, records});
  return shard;
}

// What would otherwise be a run whose records contribute nothing. Empty slots have no group and need none.
TEST(WorstGroup, RecordsWithoutAGroupAreNamedBeforeARun) {
  const auto f = make_worst_group(settings_of({features, 4, 1}));
  Records records = grouped_records(20);
  empty_slot(records, 4);
  records.f32[4 * records.stride + 2] = 9;
  EXPECT_NO_THROW(f->check_records(grouped_shard(records)));
  for (const float bad : {7.25F, 13.0F, -1.0F, std::nanf("")}) {
    records.f32[7 * records.stride + 2] = bad;
    const std::string message = test::message_of([&] { f->check_records(grouped_shard(records)); });
    for (const char* part : {"objective.group_feature = 3", "record 8", "0 to 2", "not shown"})
      EXPECT_MENTIONS(message, part);
    EXPECT_EQ(message.find(fmt::format("{}", bad)), message.npos) << "a record is private";
    const ShowFields show(true);
    EXPECT_MENTIONS(test::message_of([&] { f->check_records(grouped_shard(records)); }), fmt::format("'{}'", bad));
  }
}

TEST(WorstGroup, MessagesSayWhatWasGivenAndWhatIsAllowed) {
  const auto message_for = [](const std::function<void(WorstGroupSettings&)>& change) {
    WorstGroupSettings settings = settings_of({features, 1});
    change(settings);
    return test::message_of<ConfigError>([&] { make_worst_group(settings); });
  };
  EXPECT_MENTIONS(message_for([](auto& s) { s.group_sizes = {50}; }), "group_sizes = 50 has 1 sizes");
  EXPECT_MENTIONS(message_for([](auto& s) { s.group_sizes = {}; }), "group_sizes is not set: it needs");
  EXPECT_MENTIONS(message_for([](auto& s) {
                    s.group_sizes = {50, 0};
                  }),
                  "group_sizes = 50,0: a group has at least 1");
  EXPECT_MENTIONS(message_for([](auto& s) { s.group_feature = 7; }),
                  "group_feature = 7, allowed: a feature, 1 to 6");
  EXPECT_MENTIONS(message_for([](auto& s) { s.group_feature = 0; }), "50,30,20 has 3 sizes, but with");
  EXPECT_MENTIONS(message_for([](auto& s) {
                    s.model.units = {1, 1}, s.group_feature = 1;
                  }),
                  "objective.group_feature = 1 holds the group, is the only feature");
}

// The dual is a float: steps that are far too long lead to infinity, and back into the simplex.
TEST(WorstGroup, ADivergedDualIsProjected) {
  const auto objective = make_worst_group(settings_of({features, 1}));
  constexpr float inf = std::numeric_limits<float>::infinity();
  const float nan = std::nanf("");
  for (Point y : {Point{inf, 0, 0}, Point{inf, 1, -inf}, Point{0, -inf, -inf}, Point{1, -inf, nan}}) {
    objective->project_dual(y);
    EXPECT_EQ(y, (Point{1, 0, 0}));
  }
}

TEST(WorstGroup, OptionsAndShape) {
  const ObjectiveFacts facts{features, Storage::dense_f32, 1};
  const auto make = [&](std::vector<std::pair<std::string, std::string>> given) {
    return test::make_objective("worst_group", facts, given);
  };
  EXPECT_THROW(make({}), ConfigError) << "sizes are never counted from the data";
  EXPECT_THROW(make({{"objective.group_sizes", "10,20"}, {"objective.classes", "10"}}), ConfigError)
      << "ten classes are ten groups";
  EXPECT_THROW(make({{"objective.group_sizes", "10,20"}, {"objective.group_feature", "7"}}), ConfigError);
  EXPECT_THROW(make({{"objective.group_sizes", "10"}, {"objective.group_feature", "1"}}), ConfigError);
  const auto f = make({{"objective.group_sizes", "10,20"}, {"objective.head", "logistic"}});
  EXPECT_EQ(f->dim(), features + 1 + 2);
  Point w(f->dim());
  f->initialise(PublicStream(1, "start"), w);
  EXPECT_EQ(w.back(), 0.5F);
  EXPECT_FALSE(f->gradients());
  EXPECT_DOUBLE_EQ(*f->saddle()->dual_curvature(), std::log(2.0) / 10);
  const std::vector<std::pair<std::string, std::string>> by_feature{
      {"objective.group_sizes", "10,20"}, {"objective.head", "logistic"}, {"objective.group_feature", "2"}};
  EXPECT_EQ(make(by_feature)->dim(), features - 1 + 1 + 2);
  auto more = by_feature;
  more.emplace_back("objective.group_input", "true");
  more.emplace_back("objective.group_regulariser", "0.5");
  const auto seen = make(more);
  EXPECT_EQ(seen->dim(), features + 1 + 2);
  EXPECT_EQ(*seen->saddle()->dual_curvature(), 0.5);
}

}  // namespace
}  // namespace dpmpi::test::worst_group_test
