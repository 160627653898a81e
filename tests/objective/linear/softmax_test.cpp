#include "objective/linear/softmax.hpp"

#include <cmath>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "objective/objective_property.hpp"

namespace dpmpi::test::softmax_test {
namespace {

/// Logits, loss and gradient as in a textbook, in double.
struct Textbook {
  const Records& records;
  std::size_t classes;
  ClassWeights weights = {};

  double weight(std::size_t i) const { return weights.of_class(records.label[i]); }
  std::vector<double> logits(std::size_t i, std::span<const double> w) const {
    const std::size_t d = records.features;
    std::vector<double> out(classes, 0.0);
    for (std::size_t c = 0; c < classes; ++c) {
      for (std::size_t j = 0; j < d; ++j) out[c] += w[c * d + j] * feature(records, i, j);
      if (records.bias != 0) out[c] += w[classes * d + c] * records.bias;
    }
    return out;
  }
  std::vector<double> probabilities(std::size_t i, std::span<const double> w) const {
    std::vector<double> p = logits(i, w);
    double sum = 0;
    for (double& x : p) sum += x = std::exp(x);
    for (double& x : p) x /= sum;
    return p;
  }
  double loss(std::size_t i, std::span<const double> w) const {
    return -weight(i) * std::log(probabilities(i, w)[static_cast<std::size_t>(records.label[i])]);
  }
  void gradient(std::size_t i, std::span<const double> w, std::span<double> out) const {
    std::vector<double> delta = probabilities(i, w);
    delta[static_cast<std::size_t>(records.label[i])] -= 1;
    for (double& x : delta) x *= weight(i);
    for (std::size_t c = 0; c < classes; ++c) {
      for (std::size_t j = 0; j < records.features; ++j)
        out[c * records.features + j] = delta[c] * feature(records, i, j);
      if (records.bias != 0) out[classes * records.features + c] = delta[c] * records.bias;
    }
  }
};

void check(std::size_t features, std::size_t classes, float bias, const ClassWeights& weights = {}) {
  SCOPED_TRACE(fmt::format("{} features, {} classes, bias {}", features, classes, bias));
  SparseSoftmax objective({features, Storage::sparse_f32, bias}, classes, weights);
  const Records records = random_records({Storage::sparse_f32, 29, features, bias, LabelKind::class_, classes});
  const Textbook book{records, classes, weights};
  const auto w = random_directions(1, objective.dim());
  check_contract({.objective = objective,
                  .records = records,
                  .w = {w.begin(), w.end()},
                  .reference = {[&](std::size_t i, std::span<const double> x) { return book.loss(i, x); },
                                [&](std::size_t i, std::span<const double> x, std::span<double> g) {
                                  book.gradient(i, x, g);
                                }},
                  .tolerance = 1e-6,
                  .clippings = {Clipping::flat, Clipping::per_layer}});
}

TEST(SparseSoftmax, KeepsTheContract) {
  for (std::size_t features : {3U, 17U, 123U})
    for (std::size_t classes : {2U, 10U}) check(features, classes, 1);
  check(17, 3, 0);
}

TEST(SparseSoftmax, KeepsTheContractWithClassWeights) {
  check(17, 3, 1, ClassWeights({1, 13, 0.25}));
  check(17, 2, 0, ClassWeights({1, 100}));
}

TEST(SparseSoftmax, LabelsOutsideTheClassesCountForNothing) {
  SparseSoftmax objective({5, Storage::sparse_f32, 1}, 3);
  Records records = random_records({Storage::sparse_f32, 2, 5, 1, LabelKind::class_, 3});
  records.label = {-1, 3};
  const std::vector<float> w(objective.dim(), 0.1F);
  const Kernel kernel = clipped_gradients(objective, w);
  for (std::size_t i : {0U, 1U})
    EXPECT_TRUE(all_zero(contribution(objective, kernel, records, i, {.clip = 1}, {20})));
  EXPECT_TRUE(std::isnan(loss_of(objective, w, records, 0)));
}

TEST(SparseSoftmax, RefusesDenseFactsAndOneClass) {
  EXPECT_THROW(SparseSoftmax({5, Storage::dense_f32, 1}, 3), BugError);
  EXPECT_THROW(SparseSoftmax({5, Storage::sparse_f32, 1}, 1), DataError);
}

}  // namespace
}  // namespace dpmpi::test::softmax_test
