// Adapters of low rank: what they make of their layer, their gradients, and where they start.
#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "objective/layers/description.hpp"
#include "objective/layers/layered.hpp"
#include "objective/layers/sequence.hpp"
#include "objective/minimax/saddle_network.hpp"
#include "objective/objective_property.hpp"
#include "objective/score_reader.hpp"
#include "support/data_files.hpp"

namespace dpmpi::test::adapter_test {
namespace {

LayerPlans plans_of(const std::string& layers) {
  std::vector<std::string> problems;
  LayerPlans plans = read_layers(layers, problems);
  for (const std::string& problem : problems) ADD_FAILURE() << problem;
  return plans;
}

template <class T>
std::vector<T> normals(std::size_t count, unsigned seed) {
  std::mt19937 bits(seed);
  std::normal_distribution<float> normal;
  std::vector<T> values(count);
  for (T& x : values) x = normal(bits);
  return values;
}

struct AdapterCase {
  const char* name;
  Volume in;
  const char *layer, *adapter;
};
std::ostream& operator<<(std::ostream& out, const AdapterCase& c) { return out << c.name; }

class Adapters : public testing::TestWithParam<AdapterCase> {
 protected:
  std::string words() const { return std::string(GetParam().layer) + " " + GetParam().adapter; }
  ParameterGroup group(const std::string& name) const {
    for (const ParameterGroup& group : adapted_.groups())
      if (group.name == "1." + name) return group;
    return {};
  }
  /// W + A B, and the bias: parameters of the layer without an adapter.
  std::vector<double> merged(const std::vector<double>& w) const {
    const ParameterGroup down = group("adapter_down"), up = group("adapter_up");
    std::vector<double> whole(w.begin(), w.begin() + static_cast<std::ptrdiff_t>(plain_.parameters()));
    for (std::size_t k = 0; k < down.rows; ++k)
      for (std::size_t c = 0; c < up.cols; ++c)
        for (std::size_t r = 0; r < up.rows; ++r)
          whole[k * up.cols + c] += w[down.offset + k * down.cols + r] * w[up.offset + r * up.cols + c];
    return whole;
  }
  static std::vector<double> outputs(Sequence<double>& layer, const std::vector<double>& w,
                                     const std::vector<double>& in) {
    layer.load(w);
    const double* const out = layer.forward(in.data());
    return {out, out + layer.out().size()};
  }

  Sequence<double> adapted_{plans_of(words()), GetParam().in}, plain_{plans_of(GetParam().layer), GetParam().in};
  std::vector<double> w_ = normals<double>(adapted_.parameters(), 2),
                      in_ = normals<double>(GetParam().in.size(), 1);
};

TEST_P(Adapters, AreTheLayerAtTheSumOfItsWeightsAndAProduct) {
  const std::vector<double> expected = outputs(plain_, merged(w_), in_), given = outputs(adapted_, w_, in_);
  ASSERT_EQ(given.size(), expected.size());
  for (std::size_t j = 0; j < given.size(); ++j)
    EXPECT_NEAR(given[j], expected[j], 1e-12 * (1 + std::abs(expected[j])));
  EXPECT_EQ(adapted_.multiply_adds(), plain_.multiply_adds());
}

TEST_P(Adapters, GradientsAreSlopes) {
  const std::vector<double> weights = normals<double>(adapted_.out().size(), 5);
  const auto value = [&] {
    double sum = 0;
    const std::vector<double> out = outputs(adapted_, w_, in_);
    for (std::size_t j = 0; j < out.size(); ++j) sum += weights[j] * out[j];
    return sum;
  };
  value();
  AlignedVector<double> delta = room_for<double>(adapted_.out());
  std::ranges::copy(weights, delta.begin());
  std::vector<double> gradient(w_.size(), 99.0);
  const double* const back = adapted_.backward(delta.data(), gradient.data(), true);
  const std::vector<double> by_inputs(back, back + in_.size());
  const auto check = [&](double& x, double slope) {
    const double here = x;
    x = here + 1e-6;
    const double above = value();
    x = here - 1e-6;
    const double below = value();
    x = here;
    EXPECT_NEAR((above - below) / 2e-6, slope, 1e-6 * (1 + std::abs(slope)));
  };
  for (std::size_t j = 0; j < in_.size(); ++j) check(in_[j], by_inputs[j]);
  for (std::size_t j = plain_.parameters(); j < w_.size(); ++j) check(w_[j], gradient[j]);
  for (std::size_t j = 0; j < plain_.parameters(); ++j) EXPECT_EQ(gradient[j], 99) << "nobody asks for it";
}

TEST_P(Adapters, Float32IsNearToDoubleAndSaysOneMergedLayer) {
  const LayerPlans plans = plans_of(words());
  Sequence<float> layer(plans, GetParam().in);
  const std::vector<float> w(w_.begin(), w_.end());
  AlignedVector<float> in = room_for<float>(layer.in()), delta = room_for<float>(layer.out());
  AlignedVector<double> same_delta = room_for<double>(layer.out());
  std::ranges::copy(normals<float>(layer.in().size(), 1), in.begin());
  layer.load(w);
  const float* const out = layer.forward(in.data());
  const std::vector<double> expected = outputs(adapted_, w_, in_);
  for (std::size_t j = 0; j < expected.size(); ++j)
    EXPECT_NEAR(out[j], expected[j], 1e-4 * (1 + std::abs(expected[j])));
  for (std::size_t j = 0; j < expected.size(); ++j)
    delta[j] = static_cast<float>(j % 3) - 1, same_delta[j] = static_cast<double>(delta[j]);
  std::vector<float> gradient(w.size());
  std::vector<double> same(w.size());
  layer.backward(delta.data(), gradient.data(), false);
  adapted_.backward(same_delta.data(), same.data(), false);
  for (std::size_t j = plain_.parameters(); j < same.size(); ++j)
    EXPECT_NEAR(gradient[j], same[j], 1e-4 * (1 + std::abs(same[j])));

  ScoreReader reader;
  const auto image = [](const Volume& v, const std::vector<double>& values) {
    std::vector<double> channels;
    for (std::size_t c = 0; c < v.channels; ++c)
      for (std::size_t p = 0; p < v.positions(); ++p) channels.push_back(values[p * v.channels + c]);
    return channels;
  };
  const Volume& v = layer.in();
  const auto x = reader.keep(
      {v.positions() == 1 ? ScoreWriter::Shape{v.channels} : ScoreWriter::Shape{v.channels, v.height, v.width},
       image(v, in_)});
  std::span<const float> left = w;
  const auto& said = reader[write_layers(plans, reader, x, v, LayerParameters(left))];
  EXPECT_TRUE(left.empty());
  EXPECT_EQ(reader.names, (std::vector<std::string>{"1.weight", "1.bias"})) << "as without an adapter";
  const std::vector<double> outputs_as_image = image(layer.out(), expected);
  ASSERT_EQ(said.numbers.size(), expected.size());
  for (std::size_t j = 0; j < expected.size(); ++j)
    EXPECT_NEAR(said.numbers[j], outputs_as_image[j], 1e-5 * (1 + std::abs(outputs_as_image[j])));
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, Adapters,
    testing::Values(AdapterCase{"dense", {9, 1, 1}, "dense 7", "adapter 2"},
                    AdapterCase{"dense_standardised", {9, 1, 1}, "dense 7 standardised", "adapter 1"},
                    AdapterCase{"conv", {3, 5, 4}, "conv 5 3x2 stride 2 pad 1", "adapter 2"},
                    AdapterCase{"groups", {4, 4, 4}, "conv 6 2 groups 2", "adapter 1"},
                    AdapterCase{"depthwise", {5, 4, 4}, "conv 5 3 pad 1 groups 5", "adapter 2"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(AdaptedNetwork, TrainsAdaptersAloneAndStartsAtThePublicModel) {
  const Volume in{6, 1, 1};
  const auto plain = make_layered({plans_of("dense 8, tanh, dense 3"), in}, Head::softmax, 3);
  const auto adapted = make_layered({plans_of("dense 8 adapter 2, tanh, dense 3"), in}, Head::softmax, 3);
  std::vector<std::string> names;
  for (const ParameterGroup& group : adapted->groups()) names.push_back(group.name);
  EXPECT_EQ(names, (std::vector<std::string>{"1.adapter_down", "1.adapter_up", "3.weight", "3.bias"}));
  EXPECT_EQ(adapted->dim(), 2U * (6 + 8) + 8 * 3 + 3);
  EXPECT_EQ(adapted->structure()[0], "dense 8 adapter 2: 8, 84 parameters, 48 products, 28 trained");
  // The public file has no adapter: its numbers are read as 0.
  std::vector<float> of_plain(plain->dim()), start(84 + 27, 0.0F), w(adapted->dim());
  plain->initialise(PublicStream(3, "initialise"), of_plain);
  std::copy_n(of_plain.begin(), 56, start.begin());
  std::copy_n(of_plain.begin() + 56, 27, start.begin() + 84);
  adapted->start_from(start);
  adapted->start_point(PublicStream(9, "not used"), w);
  EXPECT_EQ(std::ranges::count(std::span(w).first(12), 0.0F), 0) << "A is random";
  EXPECT_EQ(std::ranges::count(std::span(w).subspan(12, 16), 0.0F), 16) << "B is 0";
  const Records records = random_records({.count = 5, .features = 6, .labels = LabelKind::class_, .classes = 3});
  for (std::size_t i = 0; i < records.count; ++i)
    EXPECT_EQ(loss_of(*adapted, w, records, i), loss_of(*plain, of_plain, records, i));
  // Numbers that an adapter has are kept.
  const auto model = adapted->model(w);
  std::vector<float> saved(model.begin(), model.end());
  saved[60] = 0.5F, saved[70] = -2;
  EXPECT_EQ(std::vector<float>(saved.begin(), saved.begin() + 56),
            std::vector<float>(of_plain.begin(), of_plain.begin() + 56));
  const auto again = make_layered({plans_of("dense 8 adapter 2, tanh, dense 3"), in}, Head::softmax, 3);
  const std::vector<float> taken = again->take_model(saved);
  EXPECT_EQ(taken[4], 0.5F);
  EXPECT_EQ(taken[14], -2);
  EXPECT_EQ(std::vector<float>(again->model(taken).begin(), again->model(taken).end()), saved);
  // Zeros, too, of a pair that is not all zeros.
  std::fill(saved.begin() + 56, saved.begin() + 68, 0.0F);
  const std::vector<float> half = again->take_model(saved);
  EXPECT_EQ(std::ranges::count(std::span(half).first(12), 0.0F), 12);
}

TEST(AdaptedNetwork, MinMaxProblemsHaveNone) {
  EXPECT_MENTIONS(message_of<ConfigError>([] {
                    layered({plans_of("dense 8 adapter 1, dense 1"), {8, 1, 1}});
                  }),
                  "adapters are for the objective network");
}

}  // namespace
}  // namespace dpmpi::test::adapter_test
