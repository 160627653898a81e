// LossPairs of every objective that has its own: the losses at x + radius u and y + radius u, in double.

#include <cmath>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "objective/linear/glm.hpp"
#include "objective/linear/softmax.hpp"
#include "objective/network/mlp.hpp"
#include "objective/network/reference.hpp"
#include "objective/random_records.hpp"
#include "objective/values/zeroth_order.hpp"

namespace dpmpi::test::probe_test {
namespace {

using Point = std::vector<double>;
using LossAt = std::function<double(std::size_t record, std::span<const double> w)>;

Point random_point(std::size_t dim, std::uint64_t number, double scale) {
  Point x(dim);
  PublicStream(3, "points", number).normals(0, x);
  for (double& v : x) v *= scale;
  return x;
}

Point moved(const Point& from, double step, const double* u) {
  Point to = from;
  for (std::size_t k = 0; k < to.size(); ++k) to[k] += step * u[k];
  return to;
}

/// Every record and direction with one point and with two, and one record whatever was probed before it.
void check_probes(Objective& objective, const Records& records, const LossAt& loss, double tolerance) {
  constexpr double radius = 0.3;
  constexpr std::size_t count = 11;  // no multiple of any tile
  const Point x = random_point(objective.dim(), 1, 0.4), y = random_point(objective.dim(), 2, 0.4);
  Directions directions(DirectionScheme::iid, objective.dim(), count, 1, 1);
  Point up(count), down(count), again_up(count), again_down(count);
  for (const bool pair : {false, true}) {
    const AtProbes at = objective.probes(x, pair ? std::span<const double>(y) : std::span<const double>());
    const auto probe = [&](std::uint32_t i, Point& to_up, Point& to_down) {
      const DirectionTile tile = directions.tile(0, i, 0);
      at.probe({records, {&i, 1}}, radius, tile, to_up, to_down);
      return tile;
    };
    for (std::uint32_t i = 0; i < records.count; ++i) {
      const DirectionTile tile = probe(i, up, down);
      for (std::size_t j = 0; j < count; ++j) {
        const double* u = tile.row(j);
        EXPECT_NEAR(up[j], loss(i, moved(x, radius, u)), tolerance) << "record " << i << ", direction " << j;
        EXPECT_NEAR(down[j], pair ? loss(i, moved(y, radius, u)) : loss(i, moved(x, -radius, u)), tolerance);
      }
      probe((i + 1) % static_cast<std::uint32_t>(records.count), again_up, again_down);
      probe(i, again_up, again_down);
      EXPECT_EQ(again_up, up);
      EXPECT_EQ(again_down, down);
    }
  }
}

TEST(Probes, OfLinearModelsInEveryStorage) {
  for (const Storage storage : {Storage::dense_f32, Storage::dense_u8, Storage::sparse_f32}) {
    for (const float bias : {0.0F, 0.5F}) {
      const Records records = random_records({.storage = storage, .count = 5, .features = 19, .bias = bias});
      Glm glm({19, storage, bias}, logistic_loss());
      check_probes(
          glm, records,
          [&](std::size_t i, std::span<const double> w) {
            double margin = bias != 0 ? w[19] * static_cast<double>(bias) : 0;
            for (std::size_t j = 0; j < 19; ++j)
              margin +=
                  w[j] * (storage == Storage::dense_u8
                              ? static_cast<double>(records.row_scale[i] * static_cast<float>(records.row_u8(i)[j]))
                              : feature(records, i, j));
            return std::log1p(std::exp(-records.label[i] * margin));
          },
          1e-13);
    }
  }
}

TEST(Probes, OfNetworks) {
  for (const MlpShape& shape :
       {MlpShape{{7, 3}}, MlpShape{{7, 20, 1}, 1, Activation::relu, Head::squared},
        MlpShape{{7, 17, 5, 4}, 0, Activation::tanh, Head::softmax},
        MlpShape{{7, 3, 16, 9, 1}, 0.5F, Activation::softplus, Head::logistic},
        MlpShape{{7, 6, 1}, 1, Activation::relu, Head::absolute},
        MlpShape{{7, 6, 1}, 1, Activation::relu, Head::ramp},
        MlpShape{{7, 17, 4}, 1, Activation::tanh, Head::softmax, {}, ClassWeights({1, 13, 0.25, 5})},
        MlpShape{{7, 6, 1}, 1, Activation::relu, Head::logistic, {}, ClassWeights({0.5, 13})}}) {
    const bool classes = shape.head == Head::softmax;
    const bool sign = shape.head == Head::logistic || shape.head == Head::ramp;
    const Records records = random_records({.count = 6,
                                            .features = 7,
                                            .bias = shape.input_bias,
                                            .labels = classes ? LabelKind::class_
                                                      : sign  ? LabelKind::sign
                                                              : LabelKind::real,
                                            .classes = shape.units.back()});
    const auto objective = make_mlp(shape);
    const MlpReference reference(shape, records);
    check_probes(*objective, records, reference.functions().loss, 1e-12);
  }
}

TEST(Probes, OfSparseSoftmax) {
  for (const float bias : {0.0F, 1.0F}) {
    const MlpShape shape{{13, 4},       bias, Activation::relu,
                         Head::softmax, {},   bias != 0 ? ClassWeights({1, 13, 0.25, 5}) : ClassWeights()};
    const Records records = random_records({.storage = Storage::sparse_f32,
                                            .count = 6,
                                            .features = 13,
                                            .bias = bias,
                                            .labels = LabelKind::class_,
                                            .classes = 4});
    SparseSoftmax softmax({13, Storage::sparse_f32, bias}, 4, shape.class_weights);
    const MlpReference reference(shape, records);
    check_probes(softmax, records, reference.functions().loss, 1e-13);
  }
}

// ---- precision: DIFF divides a difference of losses of relative size 1 / T by the radius ----

/// Relative error of DIFF1 against losses in long double, for points 2 radius / T apart with T = 1e5.
double relative_error(Objective& objective, const Records& records, const Probes& probes,
                      const std::function<long double(std::span<const long double>)>& loss) {
  const std::size_t d = objective.dim(), m = probes.count;
  const Point x = random_point(d, 5, 0.5), step = random_point(d, 6, 1);
  double length = 0;
  for (double v : step) length += v * v;
  Point y = x;
  for (std::size_t k = 0; k < d; ++k) y[k] += 2e-5 * probes.radius * step[k] / std::sqrt(length);
  ZerothOrder zo(objective, probes);
  (void)zo.difference(x, y, 0, 1);
  const std::uint32_t record = 0;
  const auto estimate = zo.estimate({records, {&record, 1}}, 0);
  Directions directions(probes.scheme, d, m, probes.block, probes.seed);
  std::vector<long double> expected(d, 0.0L), at(d);
  const DirectionTile tile = directions.tile(0, 0, 0);
  for (std::size_t j = 0; j < tile.count; ++j) {
    const auto value = [&](const Point& from) {
      for (std::size_t k = 0; k < d; ++k)
        at[k] = from[k] + static_cast<long double>(probes.radius) * static_cast<long double>(tile.row(j)[k]);
      return loss(at);
    };
    const long double slope = (value(x) - value(y)) / static_cast<long double>(probes.radius);
    for (std::size_t k = 0; k < d; ++k)
      expected[k] += slope * static_cast<long double>(d) / static_cast<long double>(m) *
                     static_cast<long double>(tile.row(j)[k]);
  }
  long double error = 0, size = 0;
  for (std::size_t k = 0; k < d; ++k) {
    error += (estimate[k] - expected[k]) * (estimate[k] - expected[k]);
    size += expected[k] * expected[k];
  }
  return static_cast<double>(std::sqrt(error / size));
}

TEST(Probes, KeepTheirDigitsOverTinySteps) {
  const Probes probes{.scheme = DirectionScheme::iid, .count = 40, .radius = 0.5, .seed = 2, .fast = false};
  const Records records = random_records({.count = 1, .features = 12, .bias = 1, .labels = LabelKind::real});
  Glm glm({12, Storage::dense_f32, 1}, phase_retrieval_loss());
  const auto margin = [&](std::span<const long double> w, std::size_t offset) {
    long double sum = 0;
    for (std::size_t j = 0; j < 12; ++j) sum += w[offset + j] * static_cast<long double>(feature(records, 0, j));
    return sum;
  };
  const long double label = records.label[0];
  EXPECT_LT(relative_error(
                glm, records, probes,
                [&](std::span<const long double> w) { return std::fabs(std::fabs(margin(w, 0) + w[12]) - label); }),
            1e-9);

  constexpr std::size_t hidden = 5;
  const auto network = make_mlp({.units = {12, hidden, 1}, .head = Head::absolute});
  EXPECT_LT(relative_error(*network, records, probes,
                           [&](std::span<const long double> w) {
                             long double output = w[hidden * 13 + hidden];
                             for (std::size_t h = 0; h < hidden; ++h)
                               output +=
                                   w[hidden * 13 + h] * std::max(0.0L, margin(w, h * 12) + w[hidden * 12 + h]);
                             return std::fabs(output - label);
                           }),
            1e-9);
}

}  // namespace
}  // namespace dpmpi::test::probe_test
