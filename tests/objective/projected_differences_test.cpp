#include "dpmpi/objective/projected_differences.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "dpmpi/core/errors.hpp"
#include "dpmpi/objective/glm.hpp"
#include "dpmpi/objective/glm_softmax.hpp"
#include "dpmpi/objective/mlp.hpp"
#include "objective/random_records.hpp"
#include "support/allocations.hpp"

namespace dpmpi::test {
namespace {

constexpr std::uint64_t key = 0x1234567887654321ULL;
constexpr Lattice fine{20};
using Values = std::vector<double>;
using Totals = std::vector<std::int64_t>;
using enum DirectionLaw;

/// Runs the readings of a kernel over micro-batches of at most `rows_at_once` of the given records.
Totals totals(const Kernel& kernel, std::size_t K, const Records& records, std::span<const std::uint32_t> index,
              double clip, Lattice lattice, std::size_t rows_at_once = 512) {
  LatticeAccumulator sum(K, lattice, clip * 1.001);
  sum.clear();
  kernel.run({.clip = clip}, sum, [&](const auto& visit) {
    for (std::size_t first = 0; first < index.size(); first += rows_at_once)
      visit(Rows{records, index.subspan(first, std::min(rows_at_once, index.size() - first))});
  });
  const auto all = sum.totals();
  return {all.begin(), all.end()};
}

std::vector<std::uint32_t> all_of(const Records& records) {
  std::vector<std::uint32_t> index(records.count);
  std::iota(index.begin(), index.end(), 0U);
  return index;
}

/// The differences of one record: its contribution on a lattice that is fine enough for `clip`.
Values contribution(const Kernel& kernel, std::size_t K, const Records& records, std::uint32_t record,
                    double clip) {
  const Lattice lattice{static_cast<int>(std::floor(std::log2(2e9 / (clip * 1.01))))};
  const Totals sums = totals(kernel, K, records, std::span(&record, 1), clip, lattice);
  Values q(K);
  for (std::size_t k = 0; k < K; ++k) q[k] = static_cast<double>(sums[k]) * lattice.quantum();
  return q;
}

Values some_point(std::size_t dim, double length) {
  Values w(dim);
  PublicStream(1, "point").normals(0, w);
  double square = 0;
  for (const double v : w) square += v * v;
  for (double& v : w) v *= length / std::sqrt(square);
  return w;
}

double norm(const Values& v) {
  double square = 0;
  for (const double x : v) square += x * x;
  return std::sqrt(square);
}

/// Losses of linear models in long double, straight from their definitions.
using Loss = std::function<long double(const std::vector<long double>& margin, long double y)>;
struct LossCase {
  const char* name;
  std::function<std::unique_ptr<Objective>(const ObjectiveFacts&)> make;
  LabelKind labels;
  std::size_t outputs;
  Loss loss;
};

std::unique_ptr<Objective> glm(const ObjectiveFacts& facts, std::unique_ptr<ScalarLoss> loss) {
  return std::make_unique<Glm>(facts, std::move(loss));
}

std::unique_ptr<Objective> softmax(const ObjectiveFacts& facts, std::size_t classes) {
  if (facts.storage == Storage::sparse_f32) return std::make_unique<SparseSoftmax>(facts, classes);
  return make_mlp({.units = {facts.features, classes}, .input_bias = facts.bias, .head = Head::softmax});
}

const std::vector<LossCase>& loss_cases() {
  const auto huber = [](long double r, long double d) {
    return std::abs(r) > d ? d * (std::abs(r) - d / 2) : r * r / 2;
  };
  static const std::vector<LossCase> all{
      {"squared", [](auto& f) { return glm(f, squared_loss()); }, LabelKind::real, 1,
       [](auto& m, long double y) { return (m[0] - y) * (m[0] - y) / 2; }},
      {"huber", [](auto& f) { return glm(f, huber_loss(0.7)); }, LabelKind::real, 1,
       [huber](auto& m, long double y) { return huber(m[0] - y, 0.7); }},
      {"absolute", [](auto& f) { return glm(f, absolute_loss()); }, LabelKind::real, 1,
       [](auto& m, long double y) { return std::abs(m[0] - y); }},
      {"logistic", [](auto& f) { return glm(f, logistic_loss()); }, LabelKind::sign, 1,
       [](auto& m, long double y) { return std::log1p(std::exp(-y * m[0])); }},
      {"sigmoid", [](auto& f) { return glm(f, sigmoid_loss()); }, LabelKind::sign, 1,
       [](auto& m, long double y) { return 1 / (1 + std::exp(y * m[0])); }},
      {"smoothed_hinge", [](auto& f) { return glm(f, smoothed_hinge_loss()); }, LabelKind::sign, 1,
       [](auto& m, long double y) {
         const long double z = y * m[0];
         return z >= 1 ? 0.0L : z <= 0 ? 0.5L - z : (1 - z) * (1 - z) / 2;
       }},
      {"softmax", [](auto& f) { return softmax(f, 4); }, LabelKind::class_, 4,
       [](auto& m, long double y) {
         long double sum = 0;
         for (const long double l : m) sum += std::exp(l);
         return std::log(sum) - m[static_cast<std::size_t>(y)];
       }},
  };
  return all;
}

/// (l(w + xi u) - l(w - xi u)) / (2 xi) of record i in long double.
double reference(const LossCase& loss, const Records& records, std::size_t i, std::span<const double> w,
                 std::span<const double> u, double xi, double scale = 1) {
  std::vector<long double> up(loss.outputs), down(loss.outputs);
  const std::size_t features = records.features;
  for (std::size_t c = 0; c < loss.outputs; ++c) {
    long double at = 0, along = 0;
    const auto take = [&](std::size_t j, double x) {
      at += static_cast<long double>(x) * scale * w[j], along += static_cast<long double>(x) * scale * u[j];
    };
    for (std::size_t j = 0; j < features; ++j) take(c * features + j, feature(records, i, j));
    if (records.bias != 0) take(loss.outputs * features + c, records.bias);
    up[c] = at + xi * along, down[c] = at - xi * along;
  }
  const long double y = records.label[i];
  return static_cast<double>((loss.loss(up, y) - loss.loss(down, y)) / (2 * static_cast<long double>(xi)));
}

Values column(Frames& frames, std::size_t k) {
  Values u(frames.dim());
  for (std::size_t j = 0; j < frames.dim(); j += 4) {
    const std::size_t rows = std::min<std::size_t>(4, frames.dim() - j);
    const double* tile = frames.tile(j, rows);
    for (std::size_t i = 0; i < rows; ++i) u[j + i] = tile[i * frames.count() + k];
  }
  return u;
}

constexpr Storage storages[] = {Storage::dense_f32, Storage::dense_u8, Storage::sparse_f32};

Records records_for(const LossCase& loss, Storage storage, std::size_t count, std::size_t features, float bias) {
  return random_records({storage, count, features, bias, loss.labels, loss.outputs});
}

Values references(const LossCase& loss, const Records& records, std::size_t i, std::span<const double> w,
                  Frames& frames, double xi, double scale = 1) {
  Values q;
  for (std::size_t k = 0; k < frames.count(); ++k)
    q.push_back(reference(loss, records, i, w, column(frames, k), xi, scale));
  return q;
}

/// The kernel's differences of record i, which are short enough not to be clipped, equal `expected`.
void expect_contribution(const Kernel& kernel, const Records& records, std::uint32_t i, const Values& expected,
                         const std::string& trace) {
  const double clip = 1.25 * norm(expected) + 1e-3;
  const Values q = contribution(kernel, expected.size(), records, i, clip);
  for (std::size_t k = 0; k < q.size(); ++k) EXPECT_NEAR(q[k], expected[k], 1e-9 * clip) << trace << i << ' ' << k;
}

// Two evaluations a direction in long double, for radii at which they still tell the difference.
TEST(ProjectedDifferences, AreThoseOfTheLossesInEveryStorage) {
  constexpr std::size_t features = 37, K = 6;
  for (const LossCase& loss : loss_cases())
    for (const Storage storage : storages)
      for (const float bias : {0.0F, 0.5F})
        for (const double xi : {1e-4, 0.3, 4.0}) {
          const auto trace =
              fmt::format("{}, storage {}, bias {}, xi {}: ", loss.name, static_cast<int>(storage), bias, xi);
          const auto objective = loss.make({features, storage, bias});
          const Records records = records_for(loss, storage, 9, features, bias);
          Frames frames(stiefel, objective->dim(), K, key);
          frames.begin(4);
          ProjectedDifferences probe(*objective, frames, {.radius = xi});
          EXPECT_TRUE(probe.linear());
          const Values w = some_point(objective->dim(), 1.5);
          for (std::uint32_t i = 0; i < records.count; ++i)
            expect_contribution(probe.kernel(w), records, i, references(loss, records, i, w, frames, xi), trace);
        }
}

// Subtracting two losses in double would leave no digit of the difference.
TEST(ProjectedDifferences, KeepTheirDigitsAtTinyRadii) {
  constexpr std::size_t features = 37, K = 6;
  for (const LossCase& loss : loss_cases()) {
    if (loss.name == std::string("absolute")) continue;  // has no stable form
    const auto objective = loss.make({features, Storage::dense_f32, 1});
    const Records records = records_for(loss, Storage::dense_f32, 9, features, 1);
    Frames frames(stiefel, objective->dim(), K, key);
    frames.begin(4);
    ProjectedDifferences probe(*objective, frames, {.radius = 1e-12});
    const Values w = some_point(objective->dim(), 1.5);
    for (std::uint32_t i = 0; i < records.count; ++i)
      expect_contribution(probe.kernel(w), records, i, references(loss, records, i, w, frames, 1e-6), loss.name);
  }
}

TEST(ProjectedDifferences, HaveTheSameBitsInAnyMicroBatchAndTile) {
  constexpr std::size_t features = 700, K = 11;
  for (const LossCase& loss : loss_cases())
    for (const Storage storage : storages) {
      SCOPED_TRACE(fmt::format("{}, storage {}", loss.name, static_cast<int>(storage)));
      const auto objective = loss.make({features, storage, 1});
      const Records records = records_for(loss, storage, 53, features, 1);
      const Values w = some_point(objective->dim(), 0.3);
      const auto sums = [&](std::size_t tile_bytes, std::span<const std::uint32_t> index, std::size_t rows) {
        Frames frames(stiefel, objective->dim(), K, key, tile_bytes);
        frames.begin(2);
        ProjectedDifferences probe(*objective, frames, {.radius = 1e-3, .l2 = 0.1});
        const Kernel kernel = probe.kernel(w);
        EXPECT_EQ(kernel.readings, frames.tiles());
        return totals(kernel, K, records, index, 4, fine, rows);
      };
      std::vector<std::uint32_t> index = all_of(records);
      const Totals whole = sums(1 << 25, index, 512);
      EXPECT_NE(whole, Totals(K));
      for (const std::size_t rows : {1, 7, 24, 52}) EXPECT_EQ(sums(1 << 25, index, rows), whole) << rows;
      for (const std::size_t rows : {1, 7, 512}) EXPECT_EQ(sums(1, index, rows), whole) << rows;
      std::reverse(index.begin(), index.end());
      EXPECT_EQ(sums(1 << 25, index, 10), whole);
    }
}

TEST(ProjectedDifferences, SparseAndDenseRecordsWithTheSameValuesHaveTheSameBits) {
  constexpr std::size_t features = 300, K = 5;
  for (const LossCase& loss : loss_cases()) {
    const Records sparse = records_for(loss, Storage::sparse_f32, 40, features, 1);
    Records dense = records_for(loss, Storage::dense_f32, 40, features, 1);
    for (std::size_t i = 0; i < dense.count; ++i)
      for (std::size_t j = 0; j < features; ++j)
        dense.f32[i * dense.stride + j] = static_cast<float>(feature(sparse, i, j));
    dense.label = sparse.label;
    dense.norm = sparse.norm;
    const auto sums = [&](const Records& records) {
      const auto objective = loss.make({features, records.storage, 1});
      Frames frames(stiefel, objective->dim(), K, key);
      frames.begin(0);
      ProjectedDifferences probe(*objective, frames, {.radius = 1e-2});
      const Values w = some_point(objective->dim(), 1);
      return totals(probe.kernel(w), K, records, all_of(records), 4, fine);
    };
    EXPECT_EQ(sums(sparse), sums(dense)) << loss.name;
  }
}

/// Squared loss, K directions, at w = 0: q = -label U^T x.
struct SquaredModel {
  static constexpr std::size_t features = 20, K = 8;
  Glm objective{{features, Storage::dense_f32, 0}, squared_loss()};
  Records records = random_records({Storage::dense_f32, 6, features, 0, LabelKind::real});
  Frames frames{stiefel, features, K, key};
  Values w = Values(features);

  SquaredModel() { frames.begin(0); }
  Totals sums(DifferenceRule rule, std::span<const std::uint32_t> index, double clip, Lattice lattice = fine) {
    ProjectedDifferences probe(objective, frames, rule);
    return totals(probe.kernel(w), K, records, index, clip, lattice);
  }
};

TEST(ProjectedDifferences, RecordsAreClippedOneByOneAfterDividing) {
  SquaredModel model;
  model.records.label[2] = 1e6F;
  const std::uint32_t steep = 2;
  for (const double clip : {0.5, 3.0}) {
    const Totals joint = model.sums({}, {&steep, 1}, clip);
    double square = 0;
    for (const auto v : joint) square += static_cast<double>(v) * static_cast<double>(v);
    EXPECT_NEAR(std::sqrt(square) * fine.quantum(), clip, 8 * fine.quantum());
    // Every coordinate of this record is beyond its clip.
    for (const auto v : model.sums({.joint = false}, {&steep, 1}, clip))
      EXPECT_EQ(std::abs(v), std::llrint(clip / std::sqrt(8.0) * fine.scale()));
  }
}

// Replace one record by its opposite: every coordinate of the sum moves by twice the clip, not by the clip.
TEST(ProjectedDifferences, AdversarialNeighboursMoveTheSumByTwiceTheClip) {
  constexpr double clip = 2;
  for (const bool joint : {true, false}) {
    SquaredModel model;
    const auto index = all_of(model.records);
    model.records.label[3] = 1e6F;
    const Totals with = model.sums({.joint = joint}, index, clip);
    model.records.label[3] = -1e6F;
    const Totals without = model.sums({.joint = joint}, index, clip);
    const auto most = 2 * std::llrint(clip / std::sqrt(8.0) * fine.scale());
    double square = 0;
    for (std::size_t k = 0; k < with.size(); ++k) {
      const auto moved = with[k] - without[k];
      square += static_cast<double>(moved) * static_cast<double>(moved);
      EXPECT_TRUE(joint || std::abs(moved) == most) << moved;
    }
    EXPECT_NEAR(std::sqrt(square) * fine.quantum(), 2 * clip, 8 * fine.quantum());
  }
}

TEST(ProjectedDifferences, RecordsThatAreNotFiniteContributeZero) {
  constexpr std::size_t features = 40, K = 4;
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (const LossCase& loss : loss_cases())
    for (const Storage storage : storages)
      for (const bool joint : {true, false}) {
        const auto objective = loss.make({features, storage, 1});
        Records records = records_for(loss, storage, 12, features, 1);
        Frames frames(stiefel, objective->dim(), K, key);
        frames.begin(1);
        ProjectedDifferences probe(*objective, frames, {.joint = joint});
        const Values w = some_point(objective->dim(), 1);
        std::vector<std::uint32_t> good;
        for (std::uint32_t i = 0; i < records.count; ++i)
          if (i % 3 != 1) good.push_back(i);
        const Totals expected = totals(probe.kernel(w), K, records, good, 4, fine);
        empty_slot(records, 1);
        ASSERT_TRUE(spoil_feature(records, 4, std::numeric_limits<float>::quiet_NaN()));
        ASSERT_TRUE(spoil_feature(records, 7, infinity));
        if (loss.labels == LabelKind::real)
          records.label[10] = infinity;
        else
          empty_slot(records, 10);
        EXPECT_EQ(totals(probe.kernel(w), K, records, all_of(records), 4, fine), expected) << loss.name;
      }
}

TEST(ProjectedDifferences, FeatureAndLabelBoundsHoldWhateverTheRecords) {
  constexpr std::size_t features = 30, K = 5;
  constexpr double Rx = 0.75, Y = 0.5;
  for (const LossCase& loss : loss_cases())
    for (const Storage storage : storages) {
      const auto objective = loss.make({features, storage, 1});
      Records records = records_for(loss, storage, 8, features, 1);
      Frames frames(stiefel, objective->dim(), K, key);
      frames.begin(1);
      ProjectedDifferences probe(*objective, frames, {.radius = 1e-2, .feature_bound = Rx, .label_bound = Y});
      const Values w = some_point(objective->dim(), 1);
      for (std::uint32_t i = 0; i < records.count; ++i) {
        const float own = records.label[i];
        const double norm_of = records.norm[i];
        if (loss.labels == LabelKind::real) records.label[i] = std::clamp(own, -0.5F, 0.5F);
        const Values expected = references(loss, records, i, w, frames, 1e-2, std::min(1.0, Rx / norm_of));
        records.label[i] = own;
        expect_contribution(probe.kernel(w), records, i, expected, loss.name);
      }
    }
}

// lambda / 2 |w|^2 in each loss adds lambda <w, u_k>, with no rounding of two losses.
TEST(ProjectedDifferences, ARidgeInsideTheLossIsProbedWithIt) {
  SquaredModel model;
  model.w = some_point(model.features, 2);
  const Values plain =
      contribution(ProjectedDifferences(model.objective, model.frames, {.radius = 1e-9}).kernel(model.w), model.K,
                   model.records, 0, 16);
  ProjectedDifferences probe(model.objective, model.frames, {.radius = 1e-9, .l2 = 0.7});
  const Values ridged = contribution(probe.kernel(model.w), model.K, model.records, 0, 16);
  Values along(model.K);
  model.frames.project(model.w, along);
  for (std::size_t k = 0; k < along.size(); ++k) EXPECT_NEAR(ridged[k] - plain[k], 0.7 * along[k], 5e-8);
}

// With d = 1000, L = M = 1 and K = 16 directions, coordinates beyond this clip have probability 1e-6 for 1000
// records and 5000 steps (section 4.2 of the method's derivation: 2 n N K P[Beta(1/2, (d-1)/2) > Delta^2]).
TEST(ProjectedDifferences, TheHighProbabilityClipIsInactive) {
  constexpr std::size_t d = 1000, K = 16, n = 100;
  constexpr double Delta = 0.2430933665;
  Glm objective({d, Storage::dense_f32, 0}, squared_loss());
  Records records = random_records({Storage::dense_f32, n, d, 0, LabelKind::real});
  for (std::size_t i = 0; i < n; ++i) {
    records.label[i] = 1;  // gradient -x at w = 0
    for (std::size_t j = 0; j < d; ++j) records.f32[i * records.stride + j] /= records.norm[i];
    update_norm(records, i);
  }
  const auto index = all_of(records);
  const Values w(d);
  Frames frames(stiefel, d, K, key);
  ProjectedDifferences probe(objective, frames, {.radius = 1e-8, .joint = false});
  for (std::uint64_t t = 0; t < 625; ++t) {  // 1e6 evaluations
    frames.begin(t);
    const Kernel kernel = probe.kernel(w);
    ASSERT_EQ(totals(kernel, K, records, index, Delta * 4, fine), totals(kernel, K, records, index, 4, fine)) << t;
  }
}

/// A model that does not say what it is, with losses in double at the float32 points that it is given.
class Opaque final : public Objective {
 public:
  using Loss = std::function<double(std::size_t record, std::span<const float> w)>;
  Opaque(std::size_t dim, Loss loss) : loss_(std::move(loss)), dim_(dim) {}
  std::size_t dim() const override { return dim_; }
  LabelKind label_kind() const override { return LabelKind::real; }
  std::size_t outputs() const override { return 1; }
  std::vector<ParameterGroup> groups() const override { return {{"parameters", 0, dim_, 1}}; }
  double flops_per_record() const override { return 0; }
  void initialise(const PublicStream&, std::span<float>) const override {}
  void prepare(std::span<const float> w) override { w_ = w; }
  void prepare_pair(std::span<const float>, std::span<const float>) override {}
  void losses(const Rows& rows, std::span<double> out) override {
    for (std::size_t r = 0; r < rows.size(); ++r) out[r] = loss_(rows.index[r], w_);
  }
  void scores(const Rows&, std::span<float>) override {}
  void add_clipped_gradients(const Rows&, const L2Bound&, LatticeAccumulator&) override {}
  void add_clipped_differences(const Rows&, const L2Bound&, LatticeAccumulator&) override {}
  void directional_differences(double, std::span<const float>, std::size_t, const Rows&,
                               std::span<double>) override {}
  NumericSlack gradient_slack() const override { return {}; }
  NumericSlack difference_slack() const override { return {}; }

 private:
  Loss loss_;
  std::size_t dim_;
  std::span<const float> w_;
};

/// sin(<w, c_i>) for coefficients of the record.
double wave(std::size_t i, std::span<const float> w) {
  double angle = 0.3 * static_cast<double>(i);
  for (std::size_t j = 0; j < w.size(); ++j)
    angle += std::cos(static_cast<double>(i + j)) * static_cast<double>(w[j]);
  return std::sin(angle);
}

TEST(ProjectedDifferences, OfOtherModelsAreThoseOfTheLossesAtTwoPoints) {
  constexpr std::size_t d = 700, K = 3;
  constexpr double xi = 0.01, l2 = 0.2;
  Opaque objective(d, wave);
  const Records records = random_records({Storage::dense_f32, 20, 4, 0, LabelKind::real});
  const Values w = some_point(d, 1);
  Totals before;
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{1} << 25}) {
    Frames frames(stiefel, d, K, key, bytes);
    frames.begin(5);
    ProjectedDifferences probe(objective, frames, {.radius = xi, .l2 = l2});
    EXPECT_FALSE(probe.linear());
    const Kernel kernel = probe.kernel(w);
    EXPECT_EQ(kernel.readings, 2 * K);
    Values along(K);
    frames.project(w, along);
    for (std::uint32_t i = 0; i < records.count; ++i) {
      Values expected(K);
      for (std::size_t k = 0; k < K; ++k) {
        const Values u = column(frames, k);
        std::vector<float> up(d), down(d);
        for (std::size_t j = 0; j < d; ++j) {
          const auto step = static_cast<double>(static_cast<float>(xi * u[j]));
          up[j] = static_cast<float>(w[j] + step), down[j] = static_cast<float>(w[j] - step);
        }
        expected[k] = (wave(i, up) - wave(i, down)) / (2 * xi) + l2 * along[k];
      }
      expect_contribution(kernel, records, i, expected, "wave ");
    }
    const Totals sums = totals(kernel, K, records, all_of(records), 4, fine);
    for (const std::size_t rows : {1, 7})
      EXPECT_EQ(totals(kernel, K, records, all_of(records), 4, fine, rows), sums);
    EXPECT_TRUE(before.empty() || sums == before) << "tile sizes";
    before = sums;
  }
}

// Both paths on the same model; the evaluated one rounds its points to float32.
TEST(ProjectedDifferences, LinearAndEvaluatedOnesAgree) {
  constexpr std::size_t features = 50, K = 4;
  const Records records = random_records({Storage::dense_f32, 10, features, 1, LabelKind::sign});
  Glm glm_model({features, Storage::dense_f32, 1}, logistic_loss());
  Opaque opaque(features + 1, [&](std::size_t i, std::span<const float> w) {
    double m = records.bias * static_cast<double>(w[features]);
    for (std::size_t j = 0; j < features; ++j) m += feature(records, i, j) * static_cast<double>(w[j]);
    return std::log1p(std::exp(-records.label[i] * m));
  });
  Frames frames(stiefel, features + 1, K, key);
  frames.begin(0);
  const Values w = some_point(features + 1, 1);
  ProjectedDifferences linear(glm_model, frames, {.radius = 0.1}), evaluated(opaque, frames, {.radius = 0.1});
  for (std::uint32_t i = 0; i < records.count; ++i) {
    const Values a = contribution(linear.kernel(w), K, records, i, 16);
    const Values b = contribution(evaluated.kernel(w), K, records, i, 16);
    for (std::size_t k = 0; k < K; ++k) EXPECT_NEAR(a[k], b[k], 2e-6);
  }
}

TEST(ProjectedDifferences, ALossThatIsNotFiniteAtOnePointMakesTheRecordZero) {
  constexpr std::size_t d = 30, K = 3;
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    int calls = 0;
    Opaque objective(
        d, [&](std::size_t i, std::span<const float> w) { return i == 1 && calls++ == 3 ? bad : wave(i, w); });
    const Records records = random_records({Storage::dense_f32, 3, 4, 0, LabelKind::real});
    Frames frames(stiefel, d, K, key);
    frames.begin(0);
    const Values w = some_point(d, 1);
    ProjectedDifferences probe(objective, frames, {.radius = 0.1});
    const std::uint32_t others[] = {0, 2};
    const Totals expected = totals(probe.kernel(w), K, records, others, 4, fine);
    EXPECT_EQ(totals(probe.kernel(w), K, records, all_of(records), 4, fine), expected);
    EXPECT_EQ(calls, 6);
  }
}

TEST(ProjectedDifferences, AStepAllocatesNothing) {
  constexpr std::size_t features = 900, K = 9;
  for (const LossCase& loss : loss_cases())
    for (const Storage storage : storages)
      for (const std::size_t bytes : {std::size_t{1}, std::size_t{1} << 25}) {
        const auto objective = loss.make({features, storage, 1});
        const Records records = records_for(loss, storage, 30, features, 1);
        const auto index = all_of(records);
        Frames frames(stiefel, objective->dim(), K, key, bytes);
        ProjectedDifferences probe(*objective, frames, {});
        const Values w = some_point(objective->dim(), 1);
        LatticeAccumulator sum(K, fine, 4);
        const auto step = [&](std::uint64_t t) {
          frames.begin(t);
          probe.kernel(w).run({.clip = 1}, sum, [&](const auto& visit) { visit(Rows{records, index}); });
        };
        step(0);
        const std::size_t before = allocation_count();
        step(1);
        EXPECT_EQ(allocation_count(), before) << loss.name << static_cast<int>(storage);
      }
}

TEST(ProjectedDifferences, RefuseBoundsThatTheyCannotEnforce) {
  Opaque opaque(10, wave);
  Glm model({9, Storage::dense_f32, 1}, logistic_loss());
  Frames frames(stiefel, 10, 2, key);
  EXPECT_THROW(ProjectedDifferences(opaque, frames, {.feature_bound = 1}), ConfigError);
  EXPECT_THROW(ProjectedDifferences(opaque, frames, {.label_bound = 1}), ConfigError);
  EXPECT_THROW(ProjectedDifferences(model, frames, {.radius = 0}), ConfigError);
  EXPECT_THROW(ProjectedDifferences(model, frames, {.feature_bound = -1}), ConfigError);
  EXPECT_NO_THROW(ProjectedDifferences(model, frames, {.feature_bound = 1, .label_bound = 1}));
}

}  // namespace
}  // namespace dpmpi::test
