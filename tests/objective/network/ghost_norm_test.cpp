// Norms without gradients ("ghost" norms) against gradients that are written out, in double and extended precision.
#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "objective/minimax/auc_reference.hpp"
#include "objective/network/difference.hpp"

namespace dpmpi::test::ghost_norm_test {
namespace {

/// A layer's input with its constant, and its delta, padded to multiples of 16.
struct Layer {
  std::vector<double> delta, level;
};

std::vector<double> padded(std::vector<double> values) {
  values.resize(round_up(values.size(), 16), 0.0);
  return values;
}

std::vector<Layer> layers_of(const AucReference& reference, const MlpShape& shape, std::size_t record,
                             std::span<const double> w) {
  const auto levels = reference.network().levels(record, w);
  const auto deltas = reference.network().deltas(levels, {reference.output_delta(record, w)}, w);
  std::vector<Layer> all;
  for (std::size_t l = 0; l < shape.layers(); ++l) {
    auto level = levels[l];
    if (shape.has_bias(l)) level.push_back(shape.bias(l));
    all.push_back({padded(deltas[l]), padded(level)});
  }
  return all;
}

double ghost_square(const std::vector<Layer>& layers) {
  double square = 0;
  for (const Layer& l : layers)
    square += squared_norm(l.delta.data(), l.delta.size()) * squared_norm(l.level.data(), l.level.size());
  return square;
}

std::vector<double> minus(std::vector<double> a, const std::vector<double>& b) {
  std::transform(a.begin(), a.end(), b.begin(), a.begin(), std::minus<>());
  return a;
}

double ghost_difference_square(const std::vector<Layer>& w, const std::vector<Layer>& v) {
  double square = 0;
  for (std::size_t l = 0; l < w.size(); ++l) {
    const auto delta_change = minus(w[l].delta, v[l].delta), level_change = minus(w[l].level, v[l].level);
    square += l == 0 ? squared_norm(LayerDifference<double>{delta_change, w[l].level, {}, {}})
                     : squared_norm(LayerDifference<double>{delta_change, v[l].level, w[l].delta, level_change});
  }
  return square;
}

/// |d a^T - d' a'^T|^2 of all layers, entry by entry.
long double materialised_square(const std::vector<Layer>& w, const std::vector<Layer>* v = nullptr) {
  long double square = 0;
  for (std::size_t l = 0; l < w.size(); ++l)
    for (std::size_t i = 0; i < w[l].delta.size(); ++i)
      for (std::size_t j = 0; j < w[l].level.size(); ++j) {
        long double entry = static_cast<long double>(w[l].delta[i]) * w[l].level[j];
        if (v) entry -= static_cast<long double>((*v)[l].delta[i]) * (*v)[l].level[j];
        square += entry * entry;
      }
  return square;
}

struct RandomNetwork {
  AucSettings settings;
  std::vector<double> w;
  explicit RandomNetwork(std::mt19937& bits) {
    std::normal_distribution<double> normal;
    settings.scorer.units = {1 + bits() % 20};
    settings.scorer.activation = bits() % 2 ? Activation::tanh : Activation::softplus;
    for (std::size_t hidden = bits() % 4; hidden > 0; --hidden) settings.scorer.units.push_back(1 + bits() % 20);
    settings.scorer.units.push_back(1);
    for (std::size_t l = 0; l < settings.scorer.layers(); ++l)
      for (std::size_t j = 0; j < settings.scorer.parameters(l); ++j)
        w.push_back(normal(bits) / std::sqrt(static_cast<double>(settings.scorer.inputs(l) + 1)));
    for (double x : {0.7, 0.2, 0.6}) w.push_back(x);
  }
  Records record(unsigned seed) const {
    return random_records({.count = 1, .features = settings.scorer.units[0]}, seed);
  }
};

// A9 of min-max methods.
TEST(GhostNorms, AreThoseOfMaterialisedGradients) {
  std::mt19937 bits(1);
  for (unsigned trial = 0; trial < 1000; ++trial) {
    const RandomNetwork network(bits);
    const Records record = network.record(trial);
    const AucReference reference(network.settings, record);
    const auto layers = layers_of(reference, network.settings.scorer, 0, network.w);
    const auto exact = static_cast<double>(materialised_square(layers));
    EXPECT_NEAR(ghost_square(layers), exact, 1e-10 * exact);
  }
}

// A9 of min-max methods.
TEST(GhostNorms, OfDifferencesSurviveTinySteps) {
  std::mt19937 bits(2);
  std::normal_distribution<double> normal;
  for (unsigned trial = 0; trial < 1000; ++trial) {
    const RandomNetwork network(bits);
    const Records record = network.record(trial);
    const AucReference reference(network.settings, record);
    const int exponent = std::array{1, 2, 3, 4, 5, 6, 9}[trial % 7];
    std::vector<double> v = network.w;
    for (double& x : v) x *= 1 + std::pow(10.0, -exponent) * normal(bits);
    const auto at_w = layers_of(reference, network.settings.scorer, 0, network.w);
    const auto at_v = layers_of(reference, network.settings.scorer, 0, v);
    const auto exact = static_cast<double>(materialised_square(at_w, &at_v));
    EXPECT_NEAR(ghost_difference_square(at_w, at_v), exact, (exponent == 9 ? 1e-6 : 1e-9) * exact)
        << "step 1e-" << exponent;
  }
}

// Known values: tanh 2-2-1, p = 0.1, label +1, x = (1, -2). The last columns are the biases.
// A9 of min-max methods.
TEST(GhostNorms, KnownNetwork) {
  AucSettings settings{.scorer = {.units = {2, 2, 1}, .activation = Activation::tanh}, .prior = 0.1};
  Records record = random_records({.count = 1, .features = 2});
  record.f32[0] = 1, record.f32[1] = -2, record.label[0] = 1;
  const AucReference reference(settings, record);
  const std::vector<double> w = {0.5, -0.3, 0.2, 0.4, 0.1, -0.2, 0.7, -0.6, 0.05, 0.3, -0.2, 0.5};
  const std::vector<double> v = {0.52, -0.31, 0.19, 0.43, 0.08, -0.2, 0.68, -0.61, 0.07, 0.31, -0.18, 0.47};
  EXPECT_NEAR(reference.score(0, w), 0.737299635626, 1e-10);
  EXPECT_NEAR(reference.score(0, v), 0.744369224173, 1e-10);
  std::vector<double> gradient_w(11), gradient_v(11);
  reference.gradient(0, w, gradient_w);
  reference.gradient(0, v, gradient_v);
  const auto at_w = layers_of(reference, settings.scorer, 0, w), at_v = layers_of(reference, settings.scorer, 0, v);
  const auto slopes2 = [](const std::vector<double>& g) { return g[9] * g[9] + g[10] * g[10]; };
  EXPECT_NEAR(ghost_square(at_w) + slopes2(gradient_w), 6.210623075354e-01, 1e-10);
  EXPECT_NEAR(ghost_square(at_v) + slopes2(gradient_v), 6.117612512398e-01, 1e-10);
  const auto difference = minus(gradient_w, gradient_v);
  EXPECT_NEAR(ghost_difference_square(at_w, at_v) + slopes2(difference), 3.253407519288e-04, 1e-10);
  EXPECT_NEAR(norm_of(difference) * norm_of(difference), 3.253407519288e-04, 1e-10);
}

// Trap T7: by the naive formula |d|^2|a|^2 + |d'|^2|a'|^2 - 2 <d, d'><a, a'> the norm of nearly equal gradients is
// noise, and clipping by it bounds nothing.
TEST(GhostNorms, TrapT7NaiveDifferenceNorm) {
  std::mt19937 bits(3);
  std::normal_distribution<double> normal;
  const double clip = 1e-12;
  int naive_fails = 0;
  for (int trial = 0; trial < 10000; ++trial) {
    std::vector<Layer> w(2), v(2);
    for (std::size_t l = 0; l < 2; ++l) {
      for (auto part : {&Layer::delta, &Layer::level}) {
        for (int j = 0; j < 16; ++j) (w[l].*part).push_back(normal(bits));
        for (double x : w[l].*part) (v[l].*part).push_back(x * (1 + 1e-9 * normal(bits)));
      }
    }
    v[0].level = w[0].level;  // the input
    const double norm = std::sqrt(ghost_difference_square(w, v));
    const long double exact = sqrtl(materialised_square(w, &v));
    EXPECT_LE(std::min(1.0, clip / norm) * static_cast<double>(exact), clip * (1 + 1e-7));
    double naive = 0;
    for (std::size_t l = 0; l < 2; ++l)
      naive += squared_norm(w[l].delta.data(), 16) * squared_norm(w[l].level.data(), 16) +
               squared_norm(v[l].delta.data(), 16) * squared_norm(v[l].level.data(), 16) -
               2 * dot(w[l].delta.data(), v[l].delta.data(), 16) * dot(w[l].level.data(), v[l].level.data(), 16);
    naive_fails += naive <= 0 || std::min(1.0, clip / std::sqrt(naive)) * static_cast<double>(exact) > 1.01 * clip;
  }
  EXPECT_GT(naive_fails, 1000);
}

// The weighted sum is one product: with small whole numbers float32 is exact, and so must the sum be.
// A10 of min-max methods.
TEST(GhostNorms, WeightedSumIsThatOfScaledGradients) {
  std::mt19937 bits(4);
  const auto whole = [&] { return static_cast<float>(static_cast<int>(bits() % 9) - 4); };
  const MlpShape shape{.units = {21, 37, 5}};
  const std::size_t rows = 48;
  LayerGradient<float> gradient(shape, 2 * rows);
  LatticeAccumulator sum(shape.dim(), {0}, 1000);
  sum.clear();
  std::vector<std::int64_t> expected(shape.dim(), 0);
  for (std::size_t l = 0; l < shape.layers(); ++l) {
    Scratch<float> delta[2] = {{rows, shape.width(l + 1)}, {rows, shape.width(l + 1)}};
    Scratch<float> level[2] = {{rows, shape.width(l)}, {rows, shape.width(l)}};
    for (std::size_t r = 0; r < rows; ++r) {
      const float factor = static_cast<float>(bits() % 4);
      for (int t = 0; t < 2; ++t) {
        for (std::size_t u = 0; u < shape.outputs(l); ++u) delta[t].row(r)[u] = factor * whole();
        for (std::size_t j = 0; j <= shape.inputs(l); ++j) level[t].row(r)[j] = whole();
        for (std::size_t u = 0; u < shape.outputs(l); ++u) {
          const float d = delta[t].row(r)[u];
          for (std::size_t j = 0; j < shape.inputs(l); ++j)
            expected[shape.weight_offset(l) + u * shape.inputs(l) + j] += std::lround(d * level[t].row(r)[j]);
          expected[shape.bias_offset(l) + u] += std::lround(d * level[t].row(r)[shape.inputs(l)]);
        }
      }
    }
    const OuterProducts<float> terms[] = {{delta[0], level[0]}, {delta[1], level[1]}};
    sum.begin(rows);
    gradient.add(l, terms, rows, sum);
  }
  const auto total = sum.totals();
  EXPECT_EQ(std::vector(total.begin(), total.end()), expected);
}

}  // namespace
}  // namespace dpmpi::test::ghost_norm_test
