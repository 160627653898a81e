// Every kind of layer against finite differences in double, against its float32 form, against what it says of
// itself, and convolutions against the sum that defines them.
#include "objective/layers/layer.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "objective/layers/description.hpp"
#include "objective/layers/sequence.hpp"
#include "objective/score_reader.hpp"

namespace dpmpi::test::layers_test {
namespace {

struct LayerCase {
  const char* name;
  Volume in;
  const char* layers;
  double words = 1e-11;  ///< what it says of itself is so near to what it does in double
};
std::ostream& operator<<(std::ostream& out, const LayerCase& c) { return out << c.name; }

LayerPlans plans_of(const char* layers) {
  std::vector<std::string> problems;
  LayerPlans plans = read_layers(layers, problems);
  for (const std::string& problem : problems) ADD_FAILURE() << problem;
  return plans;
}

template <class T>
std::vector<T> normals(std::size_t count, unsigned seed) {
  std::mt19937 bits(seed);
  std::normal_distribution<double> normal;
  std::vector<T> values(count);
  for (T& x : values) x = static_cast<T>(normal(bits));
  return values;
}

/// <outputs, weights>, a function of inputs and parameters whose gradient is
/// known from one backward pass.
struct WeightedOutputs {
  explicit WeightedOutputs(const LayerCase& c)
      : layer(plans_of(c.layers), c.in), weights(normals<double>(layer.out().size(), 5)) {}

  double at(const std::vector<double>& in, const std::vector<double>& w) {
    layer.load(w);
    const double* const out = layer.forward(in.data());
    double sum = 0;
    for (std::size_t j = 0; j < weights.size(); ++j) sum += weights[j] * out[j];
    return sum;
  }
  /// By the inputs; that by the parameters goes to `parameters`.
  std::vector<double> gradient(const std::vector<double>& in, const std::vector<double>& w,
                               std::vector<double>& parameters) {
    at(in, w);
    AlignedVector<double> delta = room_for<double>(layer.out());
    std::ranges::copy(weights, delta.begin());
    parameters.resize(layer.parameters());
    const double* const back = layer.backward(delta.data(), parameters.data(), true);
    return {back, back + layer.in().size()};
  }

  Sequence<double> layer;
  std::vector<double> weights;
};

class Layers : public testing::TestWithParam<LayerCase> {};

TEST_P(Layers, GradientsAreSlopes) {
  WeightedOutputs f(GetParam());
  std::vector<double> in = normals<double>(GetParam().in.size(), 1);
  std::vector<double> w = normals<double>(f.layer.parameters(), 2);
  std::vector<double> by_parameters;
  const std::vector<double> by_inputs = f.gradient(in, w, by_parameters);
  const auto check = [&](std::vector<double>& x, const std::vector<double>& gradient, const char* what) {
    for (std::size_t j = 0; j < x.size(); ++j) {
      const double here = x[j], step = 1e-6;
      x[j] = here + step;
      const double above = f.at(in, w);
      x[j] = here - step;
      const double below = f.at(in, w);
      x[j] = here;
      EXPECT_NEAR((above - below) / (2 * step), gradient[j], 1e-6 * (1 + std::abs(gradient[j])))
          << what << ' ' << j;
    }
  };
  check(in, by_inputs, "input");
  check(w, by_parameters, "parameter");
}

TEST_P(Layers, Float32IsNearToDouble) {
  WeightedOutputs f(GetParam());
  Sequence<float> layer(plans_of(GetParam().layers), GetParam().in);
  const std::vector<float> in = normals<float>(GetParam().in.size(), 3), w = normals<float>(layer.parameters(), 4);
  AlignedVector<float> given = room_for<float>(layer.in()), delta = room_for<float>(layer.out());
  std::ranges::copy(in, given.begin());
  layer.load(w);
  const float* const out = layer.forward(given.data());
  std::vector<double> by_parameters;
  const std::vector<double> by_inputs = f.gradient({in.begin(), in.end()}, {w.begin(), w.end()}, by_parameters);
  const double* const expected = f.layer.forward(std::vector<double>(in.begin(), in.end()).data());
  for (std::size_t j = 0; j < layer.out().size(); ++j)
    EXPECT_NEAR(out[j], expected[j], 2e-5 * (1 + std::abs(expected[j])));
  std::ranges::transform(f.weights, delta.begin(), [](double x) { return static_cast<float>(x); });
  std::vector<float> gradient(layer.parameters());
  const float* const back = layer.backward(delta.data(), gradient.data(), true);
  for (std::size_t j = 0; j < by_inputs.size(); ++j)
    EXPECT_NEAR(back[j], by_inputs[j], 1e-4 * (1 + std::abs(by_inputs[j])));
  for (std::size_t j = 0; j < gradient.size(); ++j)
    EXPECT_NEAR(gradient[j], by_parameters[j], 1e-4 * (1 + std::abs(by_parameters[j])));
}

/// What a layer says of itself in operators is what it does.
TEST_P(Layers, TheirWordsAreTrue) {
  const LayerPlans plans = plans_of(GetParam().layers);
  Sequence<double> layer(plans, GetParam().in);
  const std::vector<float> w = normals<float>(layer.parameters(), 2);
  const std::vector<double> in = normals<double>(layer.in().size(), 1);
  layer.load(std::vector<double>(w.begin(), w.end()));
  const double* const out = layer.forward(in.data());
  ScoreReader reader;
  const auto shape_of = [](const Volume& v) {
    return v.positions() == 1 ? ScoreWriter::Shape{v.channels} : ScoreWriter::Shape{v.channels, v.height, v.width};
  };
  /// As an image: channel after channel.
  const auto image_of = [](const Volume& v, const double* values) {
    std::vector<double> image;
    for (std::size_t c = 0; c < v.channels; ++c)
      for (std::size_t p = 0; p < v.positions(); ++p) image.push_back(values[p * v.channels + c]);
    return image;
  };
  const auto x = reader.keep({shape_of(layer.in()), image_of(layer.in(), in.data())});
  std::span<const float> left = w;
  const auto& said = reader[write_layers(plans, reader, x, layer.in(), LayerParameters(left))];
  EXPECT_TRUE(left.empty());
  EXPECT_EQ(said.shape, shape_of(layer.out()));
  const std::vector<double> expected = image_of(layer.out(), out);
  ASSERT_EQ(said.numbers.size(), expected.size());
  for (std::size_t j = 0; j < expected.size(); ++j)
    EXPECT_NEAR(said.numbers[j], expected[j], GetParam().words * (1 + std::abs(expected[j])));
  std::vector<std::string> names;
  for (const ParameterGroup& group : layer.groups()) names.push_back(group.name);
  EXPECT_EQ(reader.names, names);
}

/// Nothing of the record before is left.
TEST_P(Layers, ForgetTheRecordBefore) {
  const LayerPlans plans = plans_of(GetParam().layers);
  Sequence<float> used(plans, GetParam().in), fresh(plans, GetParam().in);
  const std::vector<float> w = normals<float>(used.parameters(), 4), slopes = normals<float>(used.out().size(), 6);
  std::vector<float> gradient(w.size()), expected(w.size());
  AlignedVector<float> given = room_for<float>(used.in()), delta = room_for<float>(used.out());
  const auto run = [&](Sequence<float>& layer, float scale, std::vector<float>& to) {
    std::ranges::transform(normals<float>(layer.in().size(), 7), given.begin(), [&](float x) { return scale * x; });
    std::ranges::copy(slopes, delta.begin());
    const float* const out = layer.forward(given.data());
    std::vector<float> result(out, out + layer.out().size());
    const float* const back = layer.backward(delta.data(), to.data(), true);
    result.insert(result.end(), back, back + layer.in().size());
    return result;
  };
  used.load(w), fresh.load(w);
  for (const float before : {1e30F, std::numeric_limits<float>::quiet_NaN(), -3.0F}) run(used, before, gradient);
  EXPECT_EQ(run(used, 1, gradient), run(fresh, 1, expected));
  EXPECT_EQ(gradient, expected);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, Layers,
    testing::Values(
        LayerCase{"dense", {17, 1, 1}, "dense 5"}, LayerCase{"dense_wide", {3, 1, 1}, "dense 33"},
        LayerCase{"conv", {1, 9, 7}, "conv 16 3x3"}, LayerCase{"conv_narrow", {3, 5, 6}, "conv 5 2x3 stride 2"},
        LayerCase{"conv_padded", {2, 6, 5}, "conv 4 4x4 stride 3 pad 2"},
        LayerCase{"conv_one_by_one", {18, 3, 3}, "conv 20 1"},
        LayerCase{"conv_groups", {6, 5, 4}, "conv 4 3x2 stride 2 pad 1 groups 2"},
        LayerCase{"conv_wide_groups", {4, 4, 3}, "conv 32 2 groups 2"},
        LayerCase{"conv_one_channel_to_two", {3, 4, 4}, "conv 6 3 pad 1 groups 3"},
        LayerCase{"depthwise", {19, 4, 5}, "conv 19 3x2 groups 19"},
        LayerCase{"depthwise_padded", {3, 5, 6}, "conv 3 3 stride 2 pad 1 groups 3"},
        // Standardised weights are written down as float32.
        LayerCase{"dense_standardised", {9, 1, 1}, "dense 5 standardised", 1e-6},
        LayerCase{"conv_standardised", {3, 5, 6}, "conv 5 2x3 stride 2 standardised", 1e-6},
        LayerCase{"groups_standardised", {4, 4, 4}, "conv 6 3 pad 1 groups 2 standardised", 1e-6},
        LayerCase{"depthwise_standardised", {4, 4, 3}, "conv 4 2 groups 4 standardised", 1e-6},
        LayerCase{"maxpool", {3, 6, 5}, "maxpool 2 stride 1"}, LayerCase{"maxpool_apart", {17, 4, 4}, "maxpool 2"},
        LayerCase{"avgpool", {3, 5, 5}, "avgpool 3x2 stride 2"}, LayerCase{"flatten", {3, 2, 4}, "flatten"},
        LayerCase{"relu", {3, 4, 4}, "relu"}, LayerCase{"leaky_relu", {3, 4, 4}, "leaky_relu"},
        LayerCase{"tanh", {2, 4, 4}, "tanh"}, LayerCase{"softplus", {2, 4, 4}, "softplus"},
        LayerCase{"gelu", {2, 4, 4}, "gelu"}, LayerCase{"groupnorm", {6, 3, 4}, "groupnorm 3"},
        LayerCase{"layernorm", {5, 2, 3}, "layernorm"}, LayerCase{"dropout", {3, 2, 2}, "dropout 0.5"},
        LayerCase{"embedding", {9, 1, 1}, "embedding 3 of 2-4 6-6 8-9"},
        LayerCase{"embedding_of_all", {5, 1, 1}, "embedding 17 of 1-2 3-5"},
        LayerCase{"residual", {4, 5, 5}, "residual(conv 4 3x3 pad 1, gelu, conv 4 1)"},
        LayerCase{"nested", {2, 4, 4}, "residual(residual(conv 2 3 pad 1), tanh)"},
        LayerCase{
            "list_as_image", {6, 1, 1}, "conv 4 1, maxpool 1, groupnorm 2, residual(dense 4, gelu), avgpool 1"},
        LayerCase{"upsample", {3, 2, 4}, "upsample 3"}, LayerCase{"upsample_of_a_list", {17, 1, 1}, "upsample 2"},
        LayerCase{"upsample_by_one", {2, 3, 2}, "upsample 1"},
        LayerCase{"unflatten", {12, 1, 1}, "unflatten 3x2x2"},
        LayerCase{"unflatten_and_back", {12, 1, 1}, "unflatten 2x3x2, tanh, flatten, dense 2"},
        LayerCase{"generator",
                  {5, 1, 1},
                  "dense 12, unflatten 3x2x2, groupnorm 3, tanh, upsample 2, conv 2 3 pad 1, flatten"},
        LayerCase{"network",
                  {1, 12, 12},
                  "conv 6 4x4 stride 2 pad 1, tanh, maxpool 2 stride 1, conv 8 3x3, "
                  "softplus, flatten, dense 7, tanh, dense 3"}),
    [](const auto& test) { return std::string(test.param.name); });

// PyTorch's definition of a convolution, with weights (window row, window column, channel) by output channel.
TEST(Convolution, IsTheSumOverItsWindow) {
  struct Geometry {
    Volume in;
    std::size_t channels, height, width, stride, padding, groups = 1;
  };
  for (const Geometry& g : {Geometry{{1, 28, 28}, 16, 8, 8, 2, 3},
                            {{3, 7, 5}, 4, 3, 2, 1, 1},
                            {{16, 6, 6}, 32, 4, 4, 2, 0},
                            {{2, 5, 9}, 17, 5, 3, 2, 2},
                            {{6, 5, 5}, 4, 3, 3, 1, 1, 2},
                            {{12, 6, 4}, 12, 2, 3, 2, 1, 12},
                            {{4, 5, 5}, 34, 2, 2, 1, 0, 2}}) {
    const std::string text = fmt::format("conv {} {}x{} stride {} pad {} groups {}", g.channels, g.height, g.width,
                                         g.stride, g.padding, g.groups);
    Sequence<double> layer(plans_of(text.c_str()), g.in);
    const std::vector<double> in = normals<double>(g.in.size(), 1);
    const std::vector<double> w = normals<double>(layer.parameters(), 2);
    layer.load(w);
    const double* const out = layer.forward(in.data());
    const std::size_t before = g.in.channels / g.groups, behind = g.channels / g.groups;
    const std::size_t window = g.height * g.width * before;
    EXPECT_EQ(layer.parameters(), (window + 1) * g.channels);
    EXPECT_EQ(layer.multiply_adds(), static_cast<double>(layer.out().size() * window));
    for (std::size_t y = 0; y < layer.out().height; ++y)
      for (std::size_t x = 0; x < layer.out().width; ++x)
        for (std::size_t c = 0; c < g.channels; ++c) {
          double sum = w[window * g.channels + c];
          for (std::size_t ky = 0; ky < g.height; ++ky)
            for (std::size_t kx = 0; kx < g.width; ++kx)
              for (std::size_t k = 0; k < before; ++k) {
                const std::size_t iy = y * g.stride + ky - g.padding, ix = x * g.stride + kx - g.padding;
                if (iy >= g.in.height || ix >= g.in.width) continue;  // unsigned: below 0, too
                sum += in[(iy * g.in.width + ix) * g.in.channels + c / behind * before + k] *
                       w[((ky * g.width + kx) * before + k) * g.channels + c];
              }
          ASSERT_NEAR(out[(y * layer.out().width + x) * g.channels + c], sum, 1e-10) << text;
        }
  }
}

// The layer is the plain one at weights of mean 0 and length 1, and its outputs know nothing of what was taken
// away.
TEST(StandardisedWeights, HaveMeanZeroAndLengthOne) {
  const Volume in{4, 3, 3};
  Sequence<double> layer(plans_of("conv 6 2 groups 2 standardised"), in), plain(plans_of("conv 6 2 groups 2"), in);
  const std::vector<double> x = normals<double>(in.size(), 1);
  std::vector<double> w = normals<double>(layer.parameters(), 2), made = w;
  const std::size_t rows = 8, cols = 6;
  ASSERT_EQ(w.size(), (rows + 1) * cols);
  for (std::size_t c = 0; c < cols; ++c) {
    double mean = 0, squares = 0;
    for (std::size_t k = 0; k < rows; ++k) mean += w[k * cols + c] / rows;
    for (std::size_t k = 0; k < rows; ++k) squares += std::pow(w[k * cols + c] - mean, 2);
    for (std::size_t k = 0; k < rows; ++k)
      made[k * cols + c] = (w[k * cols + c] - mean) / std::sqrt(squares + rows * 1e-8);
  }
  const auto outputs = [&](Sequence<double>& of, const std::vector<double>& at) {
    of.load(at);
    const double* const out = of.forward(x.data());
    return std::vector<double>(out, out + of.out().size());
  };
  const std::vector<double> expected = outputs(plain, made), given = outputs(layer, w);
  for (std::size_t j = 0; j < given.size(); ++j) EXPECT_NEAR(given[j], expected[j], 1e-12);
  for (std::size_t k = 0; k < rows; ++k)
    for (std::size_t c = 0; c < cols; ++c) w[k * cols + c] = 3 * w[k * cols + c] + 7;
  const std::vector<double> moved = outputs(layer, w);
  for (std::size_t j = 0; j < given.size(); ++j) EXPECT_NEAR(moved[j], given[j], 1e-6);
}

// Numbers that are of no category come first; a record's gradient has one row for each column.
TEST(Embedding, PutsRowsInPlaceOfCategories) {
  Sequence<double> layer(plans_of("embedding 2 of 2-4 6-7"), {7, 1, 1});
  const std::vector<double> in{5, 0, 0, 1, -3, 1, 0};
  std::vector<double> w(10);
  std::iota(w.begin(), w.end(), 10.0);
  layer.load(w);
  const double* const out = layer.forward(in.data());
  EXPECT_EQ(layer.out(), (Volume{6, 1, 1}));
  EXPECT_EQ(std::vector<double>(out, out + 6), (std::vector<double>{5, -3, 14, 15, 16, 17}));
  AlignedVector<double> delta = room_for<double>(layer.out());
  for (std::size_t j = 0; j < 6; ++j) delta[j] = static_cast<double>(j + 1);
  std::vector<double> gradient(10, 99.0);
  const double* const back = layer.backward(delta.data(), gradient.data(), true);
  EXPECT_EQ(gradient, (std::vector<double>{0, 0, 0, 0, 3, 4, 5, 6, 0, 0}));
  EXPECT_EQ(back[0], 1);
  EXPECT_EQ(back[4], 2);
  EXPECT_EQ(back[1], 3 * 10 + 4 * 11);
  // A category that is not in the list is a zero vector.
  const double* const none = layer.forward(std::vector<double>(7, 0.0).data());
  EXPECT_EQ(std::vector<double>(none, none + 6), std::vector<double>(6, 0.0));
}

TEST(Upsample, MakesSquaresOfEqualNumbers) {
  Sequence<double> layer(plans_of("upsample 2"), {1, 2, 2});
  const double* const out = layer.forward(std::vector<double>{1, 2, 3, 4}.data());
  EXPECT_EQ(layer.out(), (Volume{1, 4, 4}));
  EXPECT_EQ(std::vector<double>(out, out + 16),
            (std::vector<double>{1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4, 3, 3, 4, 4}));
}

// PyTorch's order: channel after channel.
TEST(Unflatten, UndoesFlatten) {
  Sequence<double> layer(plans_of("flatten, unflatten 3x2x4"), {3, 2, 4});
  const std::vector<double> in = normals<double>(24, 1);
  const double* const out = layer.forward(in.data());
  EXPECT_EQ(layer.out(), (Volume{3, 2, 4}));
  EXPECT_EQ(std::vector<double>(out, out + 24), in);
}

TEST(MaxPool, TheFirstOfEqualNumbersGetsTheSlope) {
  Sequence<double> layer(plans_of("maxpool 2"), {1, 2, 2});
  const std::vector<double> in{1, 4, 4, 4};
  EXPECT_EQ(layer.forward(in.data())[0], 4);
  AlignedVector<double> delta = room_for<double>(layer.out());
  delta[0] = 3;
  const double* const back = layer.backward(delta.data(), nullptr, true);
  EXPECT_EQ(std::vector<double>(back, back + 4), (std::vector<double>{0, 3, 0, 0}));
}

}  // namespace
}  // namespace dpmpi::test::layers_test
