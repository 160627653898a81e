#include "objective/minimax/auc.hpp"

#include <cmath>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "objective/minimax/auc_reference.hpp"
#include "objective/network/difference.hpp"
#include "objective/network/gradient.hpp"
#include "objective/objective_property.hpp"
#include "support/allocations.hpp"

namespace dpmpi::test::auc_test {
namespace {

// ---- the loss ----

// A8 of min-max methods.
TEST(AucLossTest, KnownValues) {
  const AucSurrogate f{0.1};
  const AucPoint at{0.3, -0.2, 0.5};
  EXPECT_NEAR(f.value(0.7, 1, at), -0.4185, 1e-10);
  EXPECT_NEAR(f.value(0.7, -1, at), 0.2185, 1e-10);
  const AucGradient up = f.gradient(0.7, 1, at), down = f.gradient(0.7, -1, at);
  const double expected_up[] = {-0.18, -0.72, 0, -1.17}, expected_down[] = {0.28, 0, -0.18, 0.23};
  const auto check = [](const AucGradient& g, const double* expected) {
    EXPECT_NEAR(g.by_score, expected[0], 1e-10);
    EXPECT_NEAR(g.by_a, expected[1], 1e-10);
    EXPECT_NEAR(g.by_b, expected[2], 1e-10);
    EXPECT_NEAR(g.by_alpha, expected[3], 1e-10);
  };
  check(up, expected_up);
  check(down, expected_down);
}

struct Scores {
  std::vector<double> positive, negative;
  double prior() const {
    return static_cast<double>(positive.size()) / static_cast<double>(positive.size() + negative.size());
  }
  AucPoint saddle() const {
    const auto mean = [](const std::vector<double>& v) {
      return std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
    };
    return {mean(positive), mean(negative), 1 + mean(negative) - mean(positive)};
  }
  double mean_loss(double p, const AucPoint& at) const {
    double sum = 0;
    for (double h : positive) sum += AucSurrogate{p}.value(h, 1, at);
    for (double h : negative) sum += AucSurrogate{p}.value(h, -1, at);
    return sum / static_cast<double>(positive.size() + negative.size());
  }
  double mean_over_pairs() const {
    double sum = 0;
    for (double up : positive)
      for (double down : negative) sum += (1 - up + down) * (1 - up + down);
    return sum / static_cast<double>(positive.size() * negative.size());
  }
};

// At the saddle the mean of F over p (1 - p) is the pairwise square loss.
// A8 of min-max methods.
TEST(AucLossTest, SaddleIsThePairwiseLoss) {
  const Scores known{{0.9, 0.4}, {0.1, 0.3, 0.6}};
  EXPECT_NEAR(known.saddle().a, 0.65, 1e-12);
  EXPECT_NEAR(known.saddle().b, 1.0 / 3, 1e-12);
  EXPECT_NEAR(known.saddle().alpha, 0.6833333333333333, 1e-12);
  EXPECT_NEAR(known.mean_over_pairs(), 0.571666666667, 1e-12);

  std::mt19937 bits(1);
  std::uniform_real_distribution<double> uniform;
  for (int trial = 0; trial < 100; ++trial) {
    Scores s = known;
    if (trial > 0) s = {std::vector<double>(1 + bits() % 40), std::vector<double>(1 + bits() % 40)};
    if (trial > 0)
      for (auto* group : {&s.positive, &s.negative})
        for (double& h : *group) h = uniform(bits);
    const double p = s.prior();
    EXPECT_NEAR(s.mean_loss(p, s.saddle()) / (p * (1 - p)), s.mean_over_pairs(), 1e-12);
    // It is a saddle: no slope in a, b, alpha.
    double by_a = 0, by_b = 0, by_alpha = 0;
    for (const auto& [group, label] : {std::pair{s.positive, 1.0}, {s.negative, -1.0}})
      for (double h : group) {
        const AucGradient g = AucSurrogate{p}.gradient(h, label, s.saddle());
        by_a += g.by_a, by_b += g.by_b, by_alpha += g.by_alpha;
      }
    for (double slope : {by_a, by_b, by_alpha}) EXPECT_NEAR(slope, 0, 1e-12);
  }
}

// With weights: the mean of w F, of which the public part has the mean weight, is that times p (1 - p) times the
// mean over pairs, each of the product of its weights; and there is no slope.
TEST(AucLossTest, SaddleIsTheWeightedPairwiseLoss) {
  std::mt19937 bits(4);
  std::uniform_real_distribution<double> uniform;
  for (int trial = 0; trial < 50; ++trial) {
    struct Record {
      double h, weight, label;
    };
    std::vector<Record> all(2 + bits() % 40);
    for (Record& r : all) r = {uniform(bits), static_cast<double>(bits() % 9) / 8, bits() % 3 == 0 ? 1.0 : -1.0};
    all[0] = {0.8, 0.5, 1}, all[1] = {0.3, 0.25, -1};
    double up = 0, down = 0, a = 0, b = 0, pairs = 0;
    for (const auto& [h, weight, label] : all)
      label > 0 ? (up += weight, a += weight * h) : (down += weight, b += weight * h);
    for (const Record& i : all)
      for (const Record& j : all)
        if (i.label > 0 && j.label < 0) pairs += i.weight * j.weight * std::pow(1 - i.h + j.h, 2);
    const auto n = static_cast<double>(all.size());
    const double p = up / (up + down), omega = (up + down) / n;
    const AucSurrogate f{p};
    const AucPoint saddle{a / up, b / down, 1 + b / down - a / up};
    double value = omega * (2 * saddle.alpha - saddle.alpha * saddle.alpha) * p * (1 - p);
    double slopes[] = {0, 0, omega * f.public_dual(saddle.alpha)};
    for (const auto& [h, weight, label] : all) {
      const double own =
          label > 0 ? (1 - p) * (h - saddle.a) * (h - saddle.a) : p * (h - saddle.b) * (h - saddle.b);
      const AucGradient g = f.gradient(h, label, saddle);
      value += weight * (own + saddle.alpha * f.private_dual(h, label)) / n;
      slopes[0] += weight * g.by_a, slopes[1] += weight * g.by_b,
          slopes[2] += weight * f.private_dual(h, label) / n;
    }
    EXPECT_NEAR(value, omega * p * (1 - p) * pairs / (up * down), 1e-12);
    for (const double slope : slopes) EXPECT_NEAR(slope, 0, 1e-12);
  }
}

// A8 of min-max methods.
TEST(AucLossTest, GradientIsTheSlope) {
  std::mt19937 bits(2);
  std::normal_distribution<double> normal;
  const double step = 1e-6;
  for (int trial = 0; trial < 200; ++trial) {
    const AucSurrogate f{std::uniform_real_distribution<double>(0.01, 0.99)(bits)};
    const double x[] = {normal(bits), normal(bits), normal(bits), normal(bits)}, label = trial % 2 == 0 ? 1 : -1;
    const auto value = [&](int j, double by) {
      double y[] = {x[0], x[1], x[2], x[3]};
      y[j] += by;
      return f.value(y[0], label, {y[1], y[2], y[3]});
    };
    const AucGradient g = f.gradient(x[0], label, {x[1], x[2], x[3]});
    const double slopes[] = {g.by_score, g.by_a, g.by_b, g.by_alpha};
    for (int j = 0; j < 4; ++j)
      EXPECT_NEAR((value(j, step) - value(j, -step)) / (2 * step), slopes[j],
                  1e-6 * std::max(1.0, std::abs(slopes[j])));
  }
}

// The step 1 / mu along the dual gradient, its record part and its public part, leads to the closed form.
TEST(AucLossTest, NewtonStepInAlphaIsExact) {
  const Scores s{{0.9, 0.4}, {0.1, 0.3, 0.6}};
  const AucSurrogate f{s.prior()};
  double mean = 0;
  for (double h : s.positive) mean += f.private_dual(h, 1) / 5;
  for (double h : s.negative) mean += f.private_dual(h, -1) / 5;
  for (double alpha : {0.0, 0.3, 2.0})
    EXPECT_NEAR(alpha + (mean + f.public_dual(alpha)) / f.curvature(), s.saddle().alpha, 1e-12);
}

// ---- the kernels ----

struct AucCase {
  const char* name;
  std::vector<std::size_t> units;
  ScoreMap output = ScoreMap::sigmoid;
  Activation activation = Activation::tanh;
  Storage storage = Storage::dense_f32;
  std::size_t count = 37;
  float bias = 1;
  bool weighted = false;
  AucSettings settings() const {
    return {
        .scorer = {.units = units, .input_bias = bias, .activation = activation}, .output = output, .prior = 0.3};
  }
  Records records() const {
    Records all = random_records({.storage = storage, .count = count, .features = units[0], .bias = bias});
    for (std::size_t i = 0; weighted && i < count; ++i) all.weight.push_back(static_cast<float>(1 + i % 8) / 8);
    return all;
  }
};

std::ostream& operator<<(std::ostream& out, const AucCase& c) { return out << c.name; }

/// Weights that keep signals of order one, and a, b, alpha.
std::vector<float> random_point(const AucSettings& settings, unsigned seed = 2) {
  std::mt19937 bits(seed);
  std::normal_distribution<double> normal;
  const MlpShape& shape = settings.scorer;
  std::vector<float> w(shape.dim());
  for (std::size_t l = 0; l < shape.layers(); ++l)
    for (std::size_t j = shape.weight_offset(l); j < shape.weight_offset(l + 1); ++j)
      w[j] = static_cast<float>(normal(bits) / std::sqrt(static_cast<double>(shape.inputs(l) + 1)));
  for (float x : {0.7F, 0.2F, 0.6F}) w.push_back(x);
  return w;
}

class AucKernels : public testing::TestWithParam<AucCase> {};

TEST_P(AucKernels, PrimalPartKeepsTheContract) {
  const AucCase& c = GetParam();
  const auto objective = make_auc(c.settings());
  const Records records = c.records();
  const AucReference reference(c.settings(), records);
  const std::vector<float> w = random_point(c.settings());
  PrimalView view(*objective, {w.back()});
  const auto with_dual = [&](std::span<const double> x) {
    std::vector<double> all(x.begin(), x.end());
    all.push_back(w.back());
    return all;
  };
  const Reference functions{
      .loss = [&](std::size_t i, std::span<const double> x) { return reference.loss(i, with_dual(x)); },
      .gradient = [&](std::size_t i, std::span<const double> x,
                      std::span<double> g) { reference.gradient(i, with_dual(x), g); }};
  const PropertyCase property{.objective = view,
                              .records = records,
                              .w = std::vector<float>(w.begin(), w.end() - 1),
                              .reference = functions,
                              .smooth = c.activation != Activation::relu || c.units.size() == 2,
                              .tolerance = 1e-5,
                              .clippings = {Clipping::flat, Clipping::per_layer},
                              .differences = view.differences()};
  check_reference(property);
  check_norm_bounds(property);
  check_row_invariance(property);
  check_bad_records(property);
  check_tiny_differences(property);
  check_difference_symmetry(property);
  check_regularizer_stays_out(property);
  check_no_allocation(property);
}

using Add = std::function<void(const Rows&, LatticeAccumulator&)>;

/// The integer sum of the rows `index`, as a curator would form it.
std::vector<std::int64_t> lattice_sum(std::size_t dim, Lattice lattice, double bound, const Records& records,
                                      std::span<const std::uint32_t> index, const Add& add) {
  LatticeAccumulator sum(dim, lattice, bound * 1.01);
  sum.clear();
  const std::size_t step = std::min<std::size_t>(128, sum.rows_at_once());
  for (std::size_t i = 0; i < index.size(); i += step)
    add({records, index.subspan(i, std::min(step, index.size() - i))}, sum);
  const auto total = sum.totals();
  return {total.begin(), total.end()};
}

std::vector<std::int64_t> dual_sum(const AtSaddlePoint& at, const Records& records,
                                   std::span<const std::uint32_t> index, double clip) {
  return lattice_sum(1, test_lattice(clip), clip, records, index, [&](const Rows& rows, LatticeAccumulator& sum) {
    at.add_clipped_dual_gradients(rows, {.clip = clip}, sum);
  });
}

TEST_P(AucKernels, DualPartIsTheClampedSlope) {
  const AucCase& c = GetParam();
  const auto objective = make_auc(c.settings());
  const Records records = c.records();
  const AucReference reference(c.settings(), records);
  const std::vector<float> w = random_point(c.settings());
  const AtSaddlePoint at = objective->at(w);
  std::vector<std::int64_t> total(1, 0);
  for (const double clip : {*objective->dual_bound(), 0.1}) {
    total[0] = 0;
    for (std::uint32_t i = 0; i < records.count; ++i) {
      const auto own = dual_sum(at, records, {&i, 1}, clip);
      const double expected = std::clamp(reference.private_dual(i, widened(w)), -clip, clip);
      EXPECT_NEAR(static_cast<double>(own[0]) * test_lattice(clip).quantum(), expected, 2e-6 * std::max(1.0, clip));
      EXPECT_LE(std::abs(own[0]), std::llround(clip * test_lattice(clip).scale()));
      total[0] += own[0];
    }
    EXPECT_EQ(dual_sum(at, records, all_rows(records), clip), total) << "each record by itself";
  }
}

// The joint sum's blocks are those of the two kernels, and the dual one is weighted.
TEST_P(AucKernels, JointSumIsBothParts) {
  const AucCase& c = GetParam();
  const auto objective = make_auc(c.settings());
  Records records = c.records();
  empty_slot(records, 3);
  spoil_feature(records, 5, std::numeric_limits<float>::infinity());
  const std::vector<float> w = random_point(c.settings());
  const AtSaddlePoint at = objective->at(w);
  const SaddleClip clip{.primal = 0.3, .dual = 0.5, .weight = 0.25};
  const Lattice lattice = test_lattice(clip.norm());
  const std::size_t primal = objective->primal_dim();
  for (const double scale : {1.0, 0.25})
    for (std::uint32_t i = 0; i < records.count; ++i) {
      const auto joint = lattice_sum(objective->dim(), lattice, clip.norm(), records, {&i, 1},
                                     [&](const Rows& rows, LatticeAccumulator& sum) {
                                       at.add_clipped_saddle_gradients(rows, clip, scale, sum);
                                     });
      const auto first = lattice_sum(primal, lattice, clip.norm(), records, {&i, 1},
                                     [&](const Rows& rows, LatticeAccumulator& sum) {
                                       at.add_clipped_primal_gradients(rows, {scale * clip.primal}, sum);
                                     });
      const Lattice finer{lattice.k - 2};  // 1/4 of the dual's value in quanta of 2^-k
      const auto second =
          lattice_sum(1, finer, clip.norm(), records, {&i, 1}, [&](const Rows& rows, LatticeAccumulator& sum) {
            at.add_clipped_dual_gradients(rows, {scale * clip.dual}, sum);
          });
      EXPECT_EQ(std::vector(joint.begin(), joint.end() - 1), first);
      EXPECT_EQ(joint.back(), i == 5 ? 0 : second[0]);  // a record counts in both parts or in none
      EXPECT_EQ(all_zero(joint), i == 3 || i == 5) << "record " << i;
      EXPECT_TRUE(square_norm(joint) <= largest_square(scale * clip.norm(),
                                                       objective->primal()->saddle_gradient_slack().clip, lattice,
                                                       joint.size()));
    }
}

TEST_P(AucKernels, JointSumDoesNotDependOnTheCompany) {
  const AucCase& c = GetParam();
  const auto objective = make_auc(c.settings());
  const Records records = c.records();
  const std::vector<float> w = random_point(c.settings());
  const AtSaddlePoint at = objective->at(w);
  const SaddleClip clip{.primal = 0.3, .dual = 0.5, .weight = 0.5};
  const auto sum_of = [&](const Records& r, std::span<const std::uint32_t> index) {
    return lattice_sum(
        objective->dim(), test_lattice(clip.norm()), clip.norm(), r, index,
        [&](const Rows& rows, LatticeAccumulator& sum) { at.add_clipped_saddle_gradients(rows, clip, 1, sum); });
  };
  for (std::uint32_t kept : {0U, 11U, 36U}) {
    Records emptied = records;
    for (std::size_t i = 0; i < records.count; ++i)
      if (i != kept) empty_slot(emptied, i);
    EXPECT_EQ(sum_of(emptied, all_rows(records)), sum_of(records, {&kept, 1}));
  }
}

// A pair replaces a point and the other way round, whichever type the problem has for its user.
TEST(Auc, PointsAndPairsReplaceEachOther) {
  const AucSettings settings{.scorer = {.units = {9, 1}}, .prior = 0.5};
  const auto objective = make_auc(settings);
  const Records records = random_records({Storage::dense_f32, 3, 9, 1, LabelKind::sign});
  const auto index = all_rows(records);
  const Rows rows{records, index};
  const std::vector<float> w = random_point(settings), v = moved(w, 1);
  LatticeAccumulator primal(objective->primal_dim(), test_lattice(1), 1.01), dual(1, test_lattice(1), 1.01),
      both(objective->dim(), test_lattice(1), 1.5);
  const AtSaddlePoint at = objective->at(w);
  EXPECT_NO_THROW(at.add_clipped_dual_gradients(rows, {1}, dual));
  EXPECT_THROW(at.add_clipped_gradients(rows, {1}, both), NotOffered) << "of both blocks as one";
  const AtPair pair = objective->at_pair(w, v);
  EXPECT_NO_THROW(pair.add_clipped_primal_differences(rows, {1}, primal));
  EXPECT_THROW(at.add_clipped_primal_gradients(rows, {1}, primal), PointReplaced);
  EXPECT_THROW(at.add_clipped_dual_gradients(rows, {1}, dual), PointReplaced);
  EXPECT_THROW(at.add_clipped_saddle_gradients(rows, {}, 1, both), PointReplaced);
  Objective& plain = *objective;
  plain.at(w);
  EXPECT_THROW(pair.add_clipped_primal_differences(rows, {1}, primal), PointReplaced);
  EXPECT_THROW(AtPair().add_clipped_primal_differences(rows, {1}, primal), PointReplaced);
  EXPECT_THROW(AtSaddlePoint().add_clipped_dual_gradients(rows, {1}, dual), PointReplaced);
}

/// Differences that cross alpha too, against the reference: relative to themselves.
TEST_P(AucKernels, DifferencesFollowBothBlocks) {
  const AucCase& c = GetParam();
  if (c.activation == Activation::relu) return;  // kinks
  const auto objective = make_auc(c.settings());
  const Records records = c.records();
  const AucReference reference(c.settings(), records);
  const std::vector<float> w = random_point(c.settings());
  const std::size_t primal = objective->primal_dim();
  std::vector<double> at_w(primal), at_v(primal);
  for (const std::vector<float>& v : {moved(w, 1), moved(w, 1e-2), moved_by_ulps(w, 1), moved_by_ulps(w, 30)})
    for (std::uint32_t i = 0; i < 8; ++i) {
      reference.gradient(i, widened(w), at_w);
      reference.gradient(i, widened(v), at_v);
      std::transform(at_w.begin(), at_w.end(), at_v.begin(), at_w.begin(), std::minus<>());
      const double size = norm_of(at_w), bound = 4 * size;
      const AtPair at = objective->at_pair(w, v);
      const Lattice lattice = test_lattice(bound, 28);
      const auto sum =
          lattice_sum(primal, lattice, bound, records, {&i, 1}, [&](const Rows& rows, LatticeAccumulator& total) {
            at.add_clipped_primal_differences(rows, {bound}, total);
          });
      double error = 0;
      for (std::size_t j = 0; j < primal; ++j)
        error += std::pow(static_cast<double>(sum[j]) * lattice.quantum() - at_w[j], 2);
      EXPECT_LE(std::sqrt(error), 1e-4 * size) << "record " << i;
    }
}

INSTANTIATE_TEST_SUITE_P(
    Scorers, AucKernels,
    testing::Values(
        AucCase{"linear_sigmoid", {17, 1}}, AucCase{"linear_identity", {9, 1}, ScoreMap::identity},
        AucCase{"linear_u8", {33, 1}, ScoreMap::sigmoid, Activation::tanh, Storage::dense_u8},
        AucCase{"linear_sparse", {40, 1}, ScoreMap::sigmoid, Activation::tanh, Storage::sparse_f32},
        AucCase{"tanh", {17, 17, 1}},
        AucCase{"tanh_two_layers_u8", {12, 33, 5, 1}, ScoreMap::sigmoid, Activation::tanh, Storage::dense_u8},
        AucCase{"softplus_identity", {5, 16, 15, 1}, ScoreMap::identity, Activation::softplus},
        AucCase{"softplus_three_layers", {12, 17, 3, 16, 1}, ScoreMap::sigmoid, Activation::softplus},
        AucCase{"relu", {9, 20, 1}, ScoreMap::sigmoid, Activation::relu},
        AucCase{"no_bias", {9, 20, 1}, ScoreMap::sigmoid, Activation::tanh, Storage::dense_f32, 37, 0},
        AucCase{"more_than_a_micro_batch", {7, 5, 1}, ScoreMap::sigmoid, Activation::tanh, Storage::dense_f32, 150},
        AucCase{"weighted_linear", {17, 1}, ScoreMap::sigmoid, Activation::tanh, Storage::sparse_f32, 37, 1, true},
        AucCase{"weighted_identity", {9, 1}, ScoreMap::identity, Activation::tanh, Storage::dense_u8, 37, 1, true},
        AucCase{
            "weighted_tanh", {12, 17, 5, 1}, ScoreMap::sigmoid, Activation::tanh, Storage::dense_f32, 37, 1, true}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace dpmpi::test::auc_test
