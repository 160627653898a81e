#include <cmath>

#include "objective/objective_property.hpp"
#include "support/shards.hpp"

namespace dpmpi::test::weighted_regression_test {
namespace {

constexpr double delta = 0.7, leverage = 3;

std::unique_ptr<Objective> make(const ObjectiveFacts& facts) {
  return test::make_objective("mallows", facts, {{"objective.delta", "0.7"}, {"objective.leverage", "3"}});
}

Reference reference(const Records& r) {
  const auto entry = [&r](std::size_t i, std::size_t j) {
    return j < r.features ? feature(r, i, j) : static_cast<double>(r.bias);
  };
  const auto residual = [&r, entry](std::size_t i, std::span<const double> w) {
    double sum = -static_cast<double>(r.label[i]);
    for (std::size_t j = 0; j < w.size(); ++j) sum += w[j] * entry(i, j);
    return sum;
  };
  const auto weight = [entry](std::size_t i, std::size_t dim) {
    double square = 0;
    for (std::size_t j = 0; j < dim; ++j) square += entry(i, j) * entry(i, j);
    return std::min(1.0, leverage / square);
  };
  return {[=](std::size_t i, std::span<const double> w) {
            const double size = std::abs(residual(i, w));
            return weight(i, w.size()) * (size < delta ? size * size / 2 : delta * size - delta * delta / 2);
          },
          [=](std::size_t i, std::span<const double> w, std::span<double> gradient) {
            const double slope = std::clamp(residual(i, w), -delta, delta);
            for (std::size_t j = 0; j < w.size(); ++j) gradient[j] = weight(i, w.size()) * slope * entry(i, j);
          }};
}

TEST(Mallows, KeepsTheContract) {
  for (const Storage storage : {Storage::dense_f32, Storage::dense_u8, Storage::sparse_f32})
    for (const float bias : {0.0F, 0.5F}) {
      const auto objective = make({13, storage, bias});
      const Records records = random_records({storage, 31, 13, bias, LabelKind::real});
      const auto u = random_directions(1, objective->dim(), 2);
      check_contract({.objective = *objective,
                      .records = records,
                      .w = {u.begin(), u.end()},
                      .reference = reference(records),
                      .smooth = false,
                      .tolerance = 1e-5});
    }
}

// T21 of gibo: with delta = 1 and leverage = 2 gradients have norm sqrt(2), not 1: whoever adds noise for a clip of
// 1 must clip.
TEST(Mallows, GradientsReachTheirBoundT21) {
  const auto objective = test::make_objective("mallows", {4, Storage::dense_f32, 0});
  Records records = random_records({Storage::dense_f32, 2, 4, 0, LabelKind::real});
  std::fill(records.f32.begin(), records.f32.end(), 0.0F);
  records.f32[0] = std::sqrt(2.0F), records.f32[records.stride] = 100;
  for (std::size_t i : {0U, 1U}) records.label[i] = -5, update_norm(records, i);
  const std::vector<float> w(4, 0.0F);
  const auto reached = gradient_of(*objective, w, records, 0), far = gradient_of(*objective, w, records, 1);
  EXPECT_NEAR(norm_of(reached), std::sqrt(2.0), 1e-6);
  EXPECT_NEAR(norm_of(far), 0.02, 1e-6) << "records far out count little";
}

TEST(Mallows, PointsAreInDouble) {
  const auto objective = make({4, Storage::dense_f32, 1});
  const Records records = random_records({Storage::dense_f32, 9, 4, 1, LabelKind::real});
  const Reference exact = reference(records);
  std::vector<double> points(10, 0.1);
  for (std::size_t j = 0; j < 5; ++j) points[5 + j] += 1e-10 * static_cast<double>(j + 1);
  const AtPoints at = objective->at_points(points);
  const auto index = all_rows(records);
  for (std::size_t p : {0U, 1U}) {
    std::vector<double> out(records.count);
    at.losses(p, {records, index}, out);
    for (std::size_t i = 0; i < records.count; ++i)
      EXPECT_NEAR(out[i], exact.loss(i, std::span(points).subspan(5 * p, 5)), 1e-14);
  }
}

}  // namespace
}  // namespace dpmpi::test::weighted_regression_test
