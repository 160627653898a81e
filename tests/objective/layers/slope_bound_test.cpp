// How far layers move two inputs apart: never further than they say, and some just as far.
#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "objective/layers/description.hpp"
#include "objective/layers/sequence.hpp"
#include "support/data_files.hpp"

namespace dpmpi::test::slope_bound_test {
namespace {

constexpr double radius = 3;

struct Case {
  const char* name;
  Volume in;
  const char* layers;
  double bound;  ///< by hand
  double reach;  ///< the share of it that a climb from random pairs and parameters finds at least
};
std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }

LayerPlans plans_of(const char* layers) {
  std::vector<std::string> problems;
  LayerPlans plans = read_layers(layers, problems);
  for (const std::string& problem : problems) ADD_FAILURE() << problem;
  return plans;
}

double distance(std::span<const double> x, std::span<const double> z) {
  double square = 0;
  for (std::size_t j = 0; j < x.size(); ++j) square += (x[j] - z[j]) * (x[j] - z[j]);
  return std::sqrt(square);
}

class SlopeBounds : public testing::TestWithParam<Case> {
 protected:
  std::vector<double> normals(std::size_t count) {
    std::normal_distribution<double> normal;
    std::vector<double> values(count);
    for (double& x : values) x = normal(bits_);
    return values;
  }
  std::vector<double> outputs(const std::vector<double>& x) {
    std::ranges::copy(x, in_.begin());
    const double* const out = network_.forward(in_.data());
    return {out, out + network_.out().size()};
  }
  /// Gradients of <outputs at x, pull> by x and by the parameters.
  struct Pull {
    std::vector<double> by_inputs, by_parameters;
  };
  Pull pull(const std::vector<double>& x, const std::vector<double>& pull) {
    outputs(x);
    AlignedVector<double> delta = room_for<double>(network_.out());
    std::ranges::copy(pull, delta.begin());
    AlignedVector<double> gradient(network_.parameters() + 16);
    const double* const back = network_.backward(delta.data(), gradient.data(), true);
    return {{back, back + x.size()},
            {gradient.begin(), gradient.begin() + static_cast<std::ptrdiff_t>(network_.parameters())}};
  }
  /// Of this length; another direction if there is none.
  std::vector<double> scaled(std::vector<double> v, double length) {
    if (v.empty()) return v;
    double norm = distance(v, std::vector<double>(v.size()));
    if (!(norm > 0)) v = normals(v.size()), norm = distance(v, std::vector<double>(v.size()));
    for (double& x : v) x *= length / norm;
    return v;
  }
  static std::vector<double> sum(std::vector<double> a, const std::vector<double>& b, double times = 1) {
    for (std::size_t j = 0; j < a.size(); ++j) a[j] += times * b[j];
    return a;
  }
  /// The steepest pair of a climb, for an adversary who chooses all of it. The step between the two makes steps of
  /// the power method on the Jacobian between them; parameters, within their ball, and the place go where the
  /// outputs' distance grows.
  double climb(int trial) {
    const double size = trial % 3 == 0 ? 1e-4 : trial % 3 == 1 ? 0.1 : 2;
    std::vector<double> w = scaled(network_.parameters() > 0 ? parameters(trial) : std::vector<double>(), radius);
    std::vector<double> x = normals(in_size_), u = scaled(normals(in_size_), 1);
    if (trial % 4 == 0) std::ranges::fill(x, trial % 8 == 0 ? 0.0 : 1.0);
    double largest = 0;
    for (int step = 0; step < 80; ++step) {
      if (!w.empty()) network_.load(w);
      const std::vector<double> z = sum(x, u, size);
      const std::vector<double> apart = sum(outputs(z), outputs(x), -1);
      largest = std::max(largest, distance(apart, std::vector<double>(apart.size())) / distance(x, z));
      const Pull at_z = pull(z, apart), at_x = pull(x, apart);
      u = scaled(at_z.by_inputs, 1);
      w = scaled(sum(w, scaled(sum(at_z.by_parameters, at_x.by_parameters, -1), radius)), radius);
      x = sum(x, scaled(sum(at_z.by_inputs, at_x.by_inputs, -1), 1), 0.1);
    }
    return largest;
  }
  /// Parameters of norm `radius`, of which half of the time one kind has all.
  std::vector<double> parameters(int trial) {
    std::vector<double> w = normals(network_.parameters());
    const auto groups = network_.groups();
    for (std::size_t g = 0; g < groups.size(); ++g)
      if (trial % 2 == 1 && g != static_cast<std::size_t>(trial / 2) % groups.size())
        for (std::size_t j = 0; j < groups[g].size(); ++j) w[groups[g].offset + j] *= 0.1;
    const double norm = distance(w, std::vector<double>(w.size()));
    for (double& x : w) x *= radius / norm;
    return w;
  }
  /// The largest quotient of distances of outputs and inputs that a search from random pairs finds.
  double steepest() {
    double largest = 0;
    for (int trial = 0; trial < 40; ++trial) {
      if (network_.parameters() > 0) network_.load(parameters(trial));
      std::vector<double> x = normals(network_.in().size());
      for (double& value : x) value = trial % 4 == 0 ? 1.4 : value;  // where gelu is steepest
      std::vector<double> step = normals(x.size());
      for (int climb = 0; climb < 30; ++climb) {
        std::vector<double> z = x, other = normals(x.size());
        const double size = climb % 2 == 0 ? 1e-4 : 0.3;
        for (std::size_t j = 0; j < x.size(); ++j) z[j] += size * step[j];
        const double slope = distance(outputs(x), outputs(z)) / distance(x, z);
        largest = std::max(largest, slope);
        for (std::size_t j = 0; j < x.size(); ++j)
          other[j] = climb % 3 == 0 ? std::abs(step[j]) : step[j] + other[j];
        step = other;
      }
    }
    return largest;
  }

  std::mt19937 bits_{11};
  std::size_t in_size_ = GetParam().in.size();
  AlignedVector<double> in_ = room_for<double>(GetParam().in);
  LayerPlans plans_ = plans_of(GetParam().layers);
  Sequence<double> network_{plans_, GetParam().in};
};

TEST_P(SlopeBounds, HoldForRandomPairs) {
  const double bound = slope_bound_of(plans_, GetParam().in, radius);
  EXPECT_NEAR(bound, GetParam().bound, 1e-12 * bound);
  const double found = steepest();
  EXPECT_LE(found, bound * (1 + 1e-6));
  EXPECT_GT(found, 0.005 * bound) << "the search looks where the slope is";
}

// A bound that is too small is found, and one that is far too large.
TEST_P(SlopeBounds, HoldForAnAdversaryWhoComesNearThem) {
  double found = 0;
  for (int trial = 0; trial < 24; ++trial) found = std::max(found, climb(trial));
  EXPECT_LE(found, GetParam().bound * (1 + 1e-6));
  EXPECT_GE(found, GetParam().reach * GetParam().bound);
  RecordProperty("share_of_the_bound", std::to_string(found / GetParam().bound));
}

INSTANTIATE_TEST_SUITE_P(
    Layers, SlopeBounds,
    testing::Values(
        Case{"dense", {5, 1, 1}, "dense 3", 3, 0.999},
        Case{"two_dense", {5, 1, 1}, "dense 4, relu, dense 3", 4.5, 0.99},
        Case{"three_dense", {6, 1, 1}, "dense 5, tanh, dense 4, leaky_relu, dense 1", 3 * std::sqrt(3.0), 0.9},
        Case{"conv", {2, 7, 6}, "conv 3 3x2 pad 1", 3 * std::sqrt(6.0), 0.9},
        Case{"strided", {1, 9, 9}, "conv 2 4x4 stride 2", 3 * 2, 0.8},
        Case{"grouped", {4, 6, 6}, "conv 4 2x2 groups 2", 3 * 2, 0.9},
        Case{"depthwise", {3, 6, 6}, "conv 3 2x2 groups 3", 3 * 2, 0.9},
        Case{"upsampled", {2, 3, 3}, "upsample 2", 2, 0.999},
        Case{"unflattened", {12, 1, 1}, "dense 12, unflatten 3x2x2, upsample 3", 9, 0.99},
        Case{"apart", {1, 8, 8}, "conv 2 2x2 stride 2", 3, 0.999},
        Case{"one_window", {2, 4, 4}, "conv 2 4x4", 3, 0.999},
        Case{"rows_skipped", {1, 9, 9}, "conv 2 2x2 stride 3", 3, 0.999},
        Case{"maxpool", {2, 6, 6}, "maxpool 2", 1, 0.999},
        Case{"overlapping", {1, 6, 6}, "maxpool 3 stride 2", 2, 0.9},
        Case{"avgpool", {2, 6, 6}, "avgpool 2", 0.5, 0.999},
        Case{"overlapping_means", {1, 7, 7}, "avgpool 3 stride 1", 1, 0.8},
        Case{"gelu", {4, 1, 1}, "gelu", 1.13, 0.99}, Case{"tanh", {4, 1, 1}, "tanh", 1, 0.99},
        Case{"softplus", {4, 1, 1}, "softplus", 1, 0.9}, Case{"leaky", {4, 1, 1}, "leaky_relu", 1, 0.999},
        Case{"relu", {4, 1, 1}, "relu", 1, 0.999}, Case{"flatten", {2, 3, 3}, "flatten", 1, 0.999},
        Case{"residual", {2, 5, 5}, "residual(conv 2 3x3 pad 1, tanh)", 1 + 9, 0.7},
        Case{"residual_of_dense", {4, 1, 1}, "residual(dense 4)", 1 + 3, 0.99},
        Case{
            "nested", {4, 1, 1}, "residual(dense 4, relu, residual(dense 4)), dense 2", 3 * (1 + 3 * (1 + 3)), 0.2},
        Case{"critic",
             {1, 8, 8},
             "conv 4 3x3 pad 1, leaky_relu, avgpool 2, conv 4 2x2, leaky_relu, flatten, dense 1",
             3 * 0.5 * 2 * std::pow(3.0, 1.5),
             0.6}),
    [](const auto& test) { return std::string(test.param.name); });

/// Of ones, which every window multiplies by the same.
double slope_at_ones(const char* layers, const Volume& in, double weight) {
  Sequence<double> network(plans_of(layers), in);
  std::vector<double> w(network.parameters(), 0.0);
  for (const ParameterGroup& group : network.groups())
    if (group.name.ends_with("weight"))
      std::fill_n(w.begin() + static_cast<std::ptrdiff_t>(group.offset), group.size(), weight);
  network.load(w);
  AlignedVector<double> ones = room_for<double>(in);
  std::fill_n(ones.begin(), in.size(), 1.0);
  const double* const out = network.forward(ones.data());
  double square = 0;
  for (std::size_t j = 0; j < network.out().size(); ++j) square += out[j] * out[j];
  return std::sqrt(square / static_cast<double>(in.size()));
}

// Large images, where few windows reach over the edge: a smaller bound would be wrong.
TEST(SlopeBoundsAreReached, ByConvolutionsAndMeansOfConstantImages) {
  const Volume in{1, 40, 40};
  EXPECT_GT(slope_at_ones("conv 1 2x2", in, 0.5), 0.95 * slope_bound_of(plans_of("conv 1 2x2"), in, 1));
  EXPECT_GT(slope_at_ones("conv 1 4x4 stride 2", in, 0.25),
            0.9 * slope_bound_of(plans_of("conv 1 4x4 stride 2"), in, 1));
  EXPECT_GT(slope_at_ones("avgpool 2 stride 1", in, 0),
            0.95 * slope_bound_of(plans_of("avgpool 2 stride 1"), in, 1));
  EXPECT_GT(slope_at_ones("avgpool 2", in, 0), 0.99 * slope_bound_of(plans_of("avgpool 2"), in, 1));
}

// What is divided by its own deviation is as steep as that is small, whatever the parameters are.
TEST(SlopeBoundsThatThereAreNot, AreSaidWithTheirPlace) {
  for (const char* layers : {"dense 4, layernorm, dense 1", "dense 4, groupnorm 2, dense 1"})
    EXPECT_MENTIONS(message_of<ConfigError>([&] { slope_bound_of(plans_of(layers), {6, 1, 1}, 1); }), "layer 2 (");
  EXPECT_MENTIONS(message_of<ConfigError>([&] {
                    slope_bound_of(plans_of("residual(conv 2 3x3 pad 1, groupnorm 2)"), {2, 5, 5}, 1);
                  }),
                  "layer 1.2 (groupnorm 2): the norm of its parameters");
}

}  // namespace
}  // namespace dpmpi::test::slope_bound_test
