#include "objective/linear/glm.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "data/records/options.hpp"
#include "objective/class_weights.hpp"
#include "objective/objective_property.hpp"

namespace dpmpi::test::glm_test {
namespace {

/// phi and its slope in libm's double precision.
struct Phi {
  std::function<double(double m, double y)> value, slope;
};

double sigmoid(double z) { return z > 0 ? 1 / (1 + std::exp(-z)) : std::exp(z) / (1 + std::exp(z)); }
double sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }

struct LossCase {
  std::string name;
  Phi phi;
  bool smooth;
};

const std::vector<LossCase>& loss_cases() {
  static const std::vector<LossCase> all = {
      {"squared",
       {[](double m, double y) { return (m - y) * (m - y) / 2; }, [](double m, double y) { return m - y; }},
       true},
      {"huber",
       {[](double m, double y) { return std::abs(m - y) < 1 ? (m - y) * (m - y) / 2 : std::abs(m - y) - 0.5; },
        [](double m, double y) { return std::clamp(m - y, -1.0, 1.0); }},
       true},
      {"absolute",
       {[](double m, double y) { return std::abs(m - y); }, [](double m, double y) { return sign(m - y); }},
       false},
      {"capped_l1",
       {[](double m, double y) { return std::min(std::abs(m - y), 1.0); },
        [](double m, double y) { return std::abs(m - y) < 1 ? sign(m - y) : 0; }},
       false},
      {"phase_retrieval",
       {[](double m, double y) { return std::abs(std::abs(m) - y); },
        [](double m, double y) { return sign(std::abs(m) - y) * sign(m); }},
       false},
      {"logistic",
       {[](double m, double y) {
          return y * m > 0 ? std::log1p(std::exp(-y * m)) : std::log1p(std::exp(y * m)) - y * m;
        },
        [](double m, double y) { return -y * sigmoid(-y * m); }},
       true},
      {"smoothed_hinge",
       {[](double m, double y) { return y * m < 0 ? 0.5 - y * m : std::pow(std::max(0.0, 1 - y * m), 2) / 2; },
        [](double m, double y) { return -y * std::clamp(1 - y * m, 0.0, 1.0); }},
       true},
      {"pinball",
       {[](double m, double y) { return std::abs(m - y) / 2; }, [](double m, double y) { return sign(m - y) / 2; }},
       false},
      {"hinge",
       {[](double m, double y) { return std::max(0.0, 1 - y * m); },
        [](double m, double y) { return y * m < 1 ? -y : 0; }},
       false},
      {"poisson",
       {[](double m, double y) { return std::exp(std::clamp(m, -708.0, 708.0)) - y * m; },
        [](double m, double y) { return std::exp(m) - y; }},
       true},
      {"sigmoid",
       {[](double m, double y) { return sigmoid(-y * m); },
        [](double m, double y) { return -y * sigmoid(y * m) * sigmoid(-y * m); }},
       true},
      {"ramp",
       {[](double m, double y) { return std::clamp(1 - y * m, 0.0, 1.0); },
        [](double m, double y) { return y * m > 0 && y * m < 1 ? -y : 0; }},
       false},
  };
  return all;
}

const ObjectiveEntry& entry(const std::string& name) {
  for (const ObjectiveEntry& e : objectives())
    if (e.name == name) return e;
  throw std::out_of_range(name);
}

std::unique_ptr<Objective> make(const std::string& name, const ObjectiveFacts& facts,
                                const Settings& settings = {}) {
  const auto builder = entry(name).builder();
  Options options("objective");
  builder->declare(options);
  std::vector<std::string> problems;
  options.read(settings, problems);
  if (ClassWeightOption* const weights = builder->class_weight_option())
    weights->resolve({}, builder->label_kind(), builder->classes(), problems);
  EXPECT_TRUE(problems.empty());
  return builder->make(facts);
}

double margin(const Records& r, std::size_t i, std::span<const double> w) {
  double m = r.bias != 0 ? r.bias * w[r.features] : 0;
  for (std::size_t j = 0; j < r.features; ++j) m += feature(r, i, j) * w[j];
  return m;
}

Reference reference(const Records& r, const Phi& phi) {
  return {[&r, phi](std::size_t i, std::span<const double> w) { return phi.value(margin(r, i, w), r.label[i]); },
          [&r, phi](std::size_t i, std::span<const double> w, std::span<double> gradient) {
            const double slope = phi.slope(margin(r, i, w), r.label[i]);
            for (std::size_t j = 0; j < r.features; ++j) gradient[j] = slope * feature(r, i, j);
            if (r.bias != 0) gradient[r.features] = slope * r.bias;
          }};
}

/// A point with margins of order 1.
std::vector<float> some_point(std::size_t dim, unsigned seed = 2) {
  const auto u = random_directions(1, dim, seed);
  return {u.begin(), u.end()};
}

const LossCase& loss_case(std::string_view name) { return *std::ranges::find(loss_cases(), name, &LossCase::name); }

void check(const LossCase& loss, Storage storage, std::size_t features, std::size_t count, float bias,
           const Settings& settings = {}) {
  SCOPED_TRACE(fmt::format("{}, storage {}, {} features, {} records, bias {}", loss.name, static_cast<int>(storage),
                           features, count, bias));
  auto objective = make(loss.name, {features, storage, bias}, settings);
  const Records records = random_records({storage, count, features, bias, objective->label_kind()});
  check_contract({.objective = *objective,
                  .records = records,
                  .w = some_point(objective->dim()),
                  .reference = reference(records, loss.phi),
                  .smooth = loss.smooth,
                  .tolerance = 1e-5,
                  .clippings = {Clipping::flat, Clipping::per_layer}});
}

std::string storage_name(const ::testing::TestParamInfo<Storage>& storage) {
  return storage.param == Storage::dense_f32 ? "float" : storage.param == Storage::dense_u8 ? "byte" : "sparse";
}

class GlmContract : public ::testing::TestWithParam<Storage> {};
INSTANTIATE_TEST_SUITE_P(, GlmContract,
                         ::testing::Values(Storage::dense_f32, Storage::dense_u8, Storage::sparse_f32),
                         storage_name);

TEST_P(GlmContract, EveryLoss) {
  for (const LossCase& loss : loss_cases()) check(loss, GetParam(), 17, 37, 1);
}

/// The same loss times 1/32 for -1, and as it is for +1.
LossCase weighted(const LossCase& loss) {
  const auto times = [](const auto& f) {
    return [f](double m, double y) { return (y > 0 ? 1 : 1.0 / 32) * f(m, y); };
  };
  return {loss.name, {times(loss.phi.value), times(loss.phi.slope)}, loss.smooth};
}

TEST_P(GlmContract, EveryLossOfSignsWithClassWeights) {
  std::size_t weighing = 0;
  for (const LossCase& loss : loss_cases()) {
    const bool signs = entry(loss.name).builder()->label_kind() == LabelKind::sign;
    const auto builder = entry(loss.name).builder();
    ASSERT_EQ(builder->class_weight_option() != nullptr, signs) << loss.name;
    if (!signs) continue;
    check(weighted(loss), GetParam(), 17, 37, 1, {{"objective.class_weights", {"1:8,-1:0.25", "test"}}});
    ++weighing;
  }
  EXPECT_EQ(weighing, 5U);
}

// Weights of 1 are no weights, to the bit.
TEST(Glm, ClassWeightsOfOneChangeNoBit) {
  const Records records = random_records({Storage::dense_f32, 37, 9, 1, LabelKind::sign});
  const auto index = all_rows(records);
  const std::vector<float> w = some_point(10);
  const auto plain = make("logistic", {9, Storage::dense_f32, 1});
  const auto ones = make("logistic", {9, Storage::dense_f32, 1}, {{"objective.class_weights", {"1:1", "test"}}});
  EXPECT_TRUE(same_bits(losses_of(*plain, w, records, index), losses_of(*ones, w, records, index)));
  const auto sum = [&](Objective& f) {
    return contributions(f, clipped_gradients(f, w), records, index, {.clip = 0.1}, test_lattice(0.1));
  };
  EXPECT_EQ(sum(*plain), sum(*ones));
}

TEST_P(GlmContract, EveryShape) {
  for (std::size_t features : {1U, 3U, 16U, 17U, 123U, 784U})
    for (float bias : {0.0F, 0.5F}) check(loss_case("logistic"), GetParam(), features, 29, bias);
}

TEST_P(GlmContract, MoreRowsThanOneMicroBatch) { check(loss_case("logistic"), GetParam(), 5, 1039, 1); }

TEST(Glm, LossesAreAccurateInTheTails) {
  for (const LossCase& loss : loss_cases()) {
    const auto objective = make(loss.name, {1, Storage::dense_f32, 0});
    Records records = random_records({Storage::dense_f32, 1, 1, 0, LabelKind::sign});
    records.f32[0] = 1;
    records.label[0] = 1;
    for (double m = -800; m <= 800; m += m > -40 && m < 40 ? 0.125 : 8) {
      const float w[] = {static_cast<float>(m)};
      const double expected = loss.phi.value(m, 1), value = loss_of(*objective, w, records, 0);
      EXPECT_NEAR(value, expected, 4e-16 * std::abs(expected) + 1e-300) << loss.name << " at " << m;
    }
  }
}

TEST(Glm, LabelsChooseTheLosses) {
  for (const LossCase& loss : loss_cases()) {
    const auto objective = make(loss.name, {3, Storage::dense_f32, 1});
    EXPECT_EQ(objective->label_kind(), entry(loss.name).builder()->label_kind()) << loss.name;
    EXPECT_EQ(objective->outputs(), 1U);
    EXPECT_EQ(objective->gradients()->gradient_slack().summed_rows, 1U);
  }
}

TEST(Glm, OptionsSetTheKinks) {
  const Records records = random_records({Storage::dense_f32, 1, 1, 0, LabelKind::real});
  const float far[] = {1e6F};
  const auto capped = make("capped_l1", {1, Storage::dense_f32, 0}, {{"objective.cap", {"0.25", "test"}}});
  EXPECT_EQ(loss_of(*capped, far, records, 0), 0.25);
  const auto huber = make("huber", {1, Storage::dense_f32, 0}, {{"objective.delta", {"0.25", "test"}}});
  const double r = std::abs(static_cast<double>(records.f32[0]) * far[0] - records.label[0]);
  EXPECT_NEAR(loss_of(*huber, far, records, 0), 0.25 * (r - 0.125), 1e-6 * r);
}

TEST(Glm, RegularizerLeavesTheBiasAlone) {
  const auto objective = make("logistic", {3, Storage::dense_f32, 1});
  const std::vector<float> w = {1, -2, 3, 100};
  std::vector<float> gradient = {1, 1, 1, 1};
  objective->l2 = 0.5;
  EXPECT_DOUBLE_EQ(objective->regularizer(w), 0.25 * 14);
  objective->add_regularizer_gradient(w, gradient);
  EXPECT_EQ(gradient, (std::vector<float>{1.5F, 0, 2.5F, 1}));
}

TEST(Glm, StartsAtZero) {
  const auto objective = make("logistic", {3, Storage::dense_f32, 1});
  std::vector<float> w(4, 5.0F);
  objective->initialise(PublicStream(1, "initialise"), w);
  EXPECT_EQ(w, std::vector<float>(4, 0.0F));
}

TEST(Glm, RefusesRecordsOfAnotherShape) {
  const auto objective = make("logistic", {3, Storage::dense_f32, 1});
  const std::vector<float> w(4, 0.0F);
  EXPECT_THROW(loss_of(*objective, w, random_records({Storage::dense_f32, 2, 4, 1}), 0), BugError);
  EXPECT_THROW(loss_of(*objective, w, random_records({Storage::dense_u8, 2, 3, 1}), 0), BugError);
  EXPECT_THROW(loss_of(*objective, w, random_records({Storage::dense_f32, 2, 3, 0}), 0), BugError);
}

/// Norms, slopes and steps over many orders of magnitude: no contribution leaves its bound, by whatever rounding.
TEST(Glm, BoundHoldsForExtremeRecords) {
  for (Storage storage : {Storage::dense_f32, Storage::sparse_f32}) {
    Records records = random_records({storage, 60, 7, 0, LabelKind::real});
    for (std::size_t i = 0; i < records.count; ++i) {
      const float size = std::ldexp(1.0F, static_cast<int>(i) * 4 - 126);
      for (std::size_t j = 0; j < records.features && !records.f32.empty(); ++j)
        records.f32[i * records.stride + j] *= size;
      for (std::uint64_t e = records.row_begin[i]; e < records.row_begin[i + 1]; ++e) records.value[e] *= size;
      records.label[i] = static_cast<float>(i % 3) * size;
      update_norm(records, i);
    }
    const auto objective = make("squared", {7, storage, 0});
    for (float size : {0.0F, 1e-20F, 1.0F, 1e20F}) {
      const std::vector<float> w(7, size);
      for (double clip : {1e-6, 1.0, 1e3})
        check_norm_bound(*objective, clipped_gradients(*objective, w), records, clip, Clipping::flat,
                         objective->gradients()->gradient_slack().clip, false);
    }
  }
}

TEST(Registry, NamesAreSortedAndUnique) {
  std::vector<std::string> names;
  for (const ObjectiveEntry& e : objectives()) names.push_back(e.name);
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
  for (const LossCase& loss : loss_cases()) EXPECT_FALSE(entry(loss.name).summary.empty());
}

}  // namespace
}  // namespace dpmpi::test::glm_test
