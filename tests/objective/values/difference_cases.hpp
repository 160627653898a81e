#pragma once
// Central differences of linear models straight from their definitions, and what a kernel adds to a lattice.

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "objective/linear/glm.hpp"
#include "objective/linear/softmax.hpp"
#include "objective/math/weighted_loss.hpp"
#include "objective/network/mlp.hpp"
#include "objective/random_records.hpp"
#include "objective/values/projected_differences.hpp"

namespace dpmpi::test {

inline constexpr std::uint64_t difference_key = 0x1234567887654321ULL;
inline constexpr Lattice fine{20};
using Values = std::vector<double>;
using Totals = std::vector<std::int64_t>;

/// Runs the readings of a kernel over micro-batches of at most `rows_at_once` of the given records.
inline Totals totals(const Kernel& kernel, std::size_t K, const Records& records,
                     std::span<const std::uint32_t> index, double clip, Lattice lattice,
                     std::size_t rows_at_once = 512) {
  LatticeAccumulator sum(K, lattice, clip * 1.001);
  sum.clear();
  kernel.run({.clip = clip}, sum, [&](const auto& visit) {
    for (std::size_t first = 0; first < index.size(); first += rows_at_once)
      visit(Rows{records, index.subspan(first, std::min(rows_at_once, index.size() - first))});
  });
  const auto all = sum.totals();
  return {all.begin(), all.end()};
}

inline std::vector<std::uint32_t> all_of(const Records& records) {
  std::vector<std::uint32_t> index(records.count);
  std::iota(index.begin(), index.end(), 0U);
  return index;
}

/// The differences of one record: its contribution on a lattice that is fine enough for `clip`.
inline Values contribution(const Kernel& kernel, std::size_t K, const Records& records, std::uint32_t record,
                           double clip) {
  const Lattice lattice{static_cast<int>(std::floor(std::log2(2e9 / (clip * 1.01))))};
  const Totals sums = totals(kernel, K, records, std::span(&record, 1), clip, lattice);
  Values q(K);
  for (std::size_t k = 0; k < K; ++k) q[k] = static_cast<double>(sums[k]) * lattice.quantum();
  return q;
}

inline Values some_point(std::size_t dim, double length) {
  Values w(dim);
  PublicStream(1, "point").normals(0, w);
  double square = 0;
  for (const double v : w) square += v * v;
  for (double& v : w) v *= length / std::sqrt(square);
  return w;
}

inline double norm(const Values& v) {
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

inline std::unique_ptr<Objective> glm(const ObjectiveFacts& facts, std::unique_ptr<ScalarLoss> loss) {
  return std::make_unique<Glm>(facts, std::move(loss));
}

inline std::unique_ptr<Objective> softmax(const ObjectiveFacts& facts, std::size_t classes,
                                          const ClassWeights& weights = {}) {
  if (facts.storage == Storage::sparse_f32) return std::make_unique<SparseSoftmax>(facts, classes, weights);
  return make_mlp({.units = {facts.features, classes},
                   .input_bias = facts.bias,
                   .head = Head::softmax,
                   .class_weights = weights});
}

inline const std::vector<LossCase>& loss_cases() {
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
      {"weighted_logistic", [](auto& f) { return glm(f, weighted_loss(logistic_loss(), 0.5, 13)); },
       LabelKind::sign, 1,
       [](auto& m, long double y) { return (y > 0 ? 13 : 0.5L) * std::log1p(std::exp(-y * m[0])); }},
      {"weighted_softmax",
       [](auto& f) {
         return softmax(f, 4, ClassWeights({1, 13, 0.25, 5}));
       },
       LabelKind::class_, 4,
       [](auto& m, long double y) {
         long double sum = 0;
         for (const long double l : m) sum += std::exp(l);
         const long double weights[] = {1, 13, 0.25L, 5};
         return weights[static_cast<std::size_t>(y)] * (std::log(sum) - m[static_cast<std::size_t>(y)]);
       }},
  };
  return all;
}

/// (l(w + xi u) - l(w - xi u)) / (2 xi) of record i in long double.
inline double reference(const LossCase& loss, const Records& records, std::size_t i, std::span<const double> w,
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

inline Values column(Frames& frames, std::size_t k) {
  Values u(frames.dim());
  for (std::size_t j = 0; j < frames.dim(); j += 4) {
    const std::size_t rows = std::min<std::size_t>(4, frames.dim() - j);
    const double* tile = frames.tile(j, rows);
    for (std::size_t i = 0; i < rows; ++i) u[j + i] = tile[i * frames.count() + k];
  }
  return u;
}

inline constexpr Storage storages[] = {Storage::dense_f32, Storage::dense_u8, Storage::sparse_f32};

inline Records records_for(const LossCase& loss, Storage storage, std::size_t count, std::size_t features,
                           float bias) {
  return random_records({storage, count, features, bias, loss.labels, loss.outputs});
}

inline Values references(const LossCase& loss, const Records& records, std::size_t i, std::span<const double> w,
                         Frames& frames, double xi, double scale = 1) {
  Values q;
  for (std::size_t k = 0; k < frames.count(); ++k)
    q.push_back(reference(loss, records, i, w, column(frames, k), xi, scale));
  return q;
}

/// The kernel's differences of record i, which are short enough not to be clipped, equal `expected`.
inline void expect_contribution(const Kernel& kernel, const Records& records, std::uint32_t i,
                                const Values& expected, const std::string& trace) {
  const double clip = 1.25 * norm(expected) + 1e-3;
  const Values q = contribution(kernel, expected.size(), records, i, clip);
  for (std::size_t k = 0; k < q.size(); ++k) EXPECT_NEAR(q[k], expected[k], 1e-9 * clip) << trace << i << ' ' << k;
}

}  // namespace dpmpi::test
