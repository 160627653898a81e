// Which numbers are dropped, what becomes of gradients, and what does not change.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "objective/layers/description.hpp"
#include "objective/layers/layered.hpp"
#include "objective/layers/sequence.hpp"
#include "objective/minimax/saddle_network.hpp"
#include "objective/objective_property.hpp"
#include "support/data_files.hpp"

namespace dpmpi::test::dropout_test {
namespace {

LayerPlans plans_of(const char* layers) {
  std::vector<std::string> problems;
  LayerPlans plans = read_layers(layers, problems);
  for (const std::string& problem : problems) ADD_FAILURE() << problem;
  return plans;
}

/// What becomes of ones.
std::vector<float> factors_of(const char* layers, std::size_t size, const LayerDraws& draws) {
  Sequence<float> layer(plans_of(layers), {size, 1, 1});
  const AlignedVector<float> ones(round_up(size, 16) * 16, 1.0F);
  layer.draw(&draws);
  const float* const out = layer.forward(ones.data());
  return {out, out + size};
}

TEST(Dropout, DropsWithItsProbabilityAndKeepsTheMean) {
  std::size_t dropped = 0;
  for (std::uint64_t record = 0; record < 100; ++record)
    for (const float factor : factors_of("dropout 0.2", 999, {.point = 7, .record = record})) {
      if (factor == 0)
        ++dropped;
      else
        ASSERT_EQ(factor, 1.25F);
    }
  EXPECT_NEAR(static_cast<double>(dropped), 0.2 * 99900, 5 * std::sqrt(99900 * 0.16));
}

TEST(Dropout, FollowsFromPointRecordCopyAndPlaceInTheNetwork) {
  const LayerDraws draws{.point = 3, .record = 1ULL << 40, .copy = 2};
  EXPECT_EQ(factors_of("dropout 0.5", 200, draws), factors_of("dropout 0.5", 200, draws));
  std::set<std::vector<float>> all{factors_of("dropout 0.5", 200, draws),
                                   factors_of("dropout 0.5", 200, {.point = 4, .record = 1ULL << 40, .copy = 2}),
                                   factors_of("dropout 0.5", 200, {.point = 3, .record = 1ULL << 41, .copy = 2}),
                                   factors_of("dropout 0.5", 200, {.point = 3, .record = 1ULL << 40, .copy = 1}),
                                   factors_of("flatten, dropout 0.5", 200, draws),
                                   factors_of("flatten, flatten, dropout 0.5", 200, draws)};
  EXPECT_EQ(all.size(), 6U);
  // x + dropout(x), and layers in parentheses draw numbers of their own.
  std::vector<float> inside = factors_of("residual(dropout 0.5)", 200, draws);
  for (float& factor : inside) {
    ASSERT_TRUE(factor == 1 || factor == 3);
    factor -= 1;
  }
  EXPECT_FALSE(all.contains(inside));
}

// With its draws held, the network is a function as any other.
TEST(Dropout, GradientsAreSlopes) {
  Sequence<double> layer(plans_of("dense 6, dropout 0.3, tanh, residual(dense 6, dropout 0.5), dense 2"),
                         {5, 1, 1});
  const LayerDraws draws{.point = 1, .record = 5};
  layer.draw(&draws);
  std::vector<double> w(layer.parameters()), in{0.3, -1, 0.7, 2, -0.4}, gradient(w.size());
  for (std::size_t j = 0; j < w.size(); ++j) w[j] = std::sin(1.0 + static_cast<double>(j));
  const auto value = [&] {
    layer.load(w);
    const double* const out = layer.forward(in.data());
    return out[0] - 2 * out[1];
  };
  value();
  AlignedVector<double> delta = room_for<double>(layer.out());
  delta[0] = 1, delta[1] = -2;
  const double* const back = layer.backward(delta.data(), gradient.data(), true);
  const std::vector<double> by_inputs(back, back + in.size());
  const auto check = [&](std::vector<double>& x, const std::vector<double>& slopes) {
    for (std::size_t j = 0; j < x.size(); ++j) {
      const double here = x[j];
      x[j] = here + 1e-6;
      const double above = value();
      x[j] = here - 1e-6;
      const double below = value();
      x[j] = here;
      EXPECT_NEAR((above - below) / 2e-6, slopes[j], 1e-7) << j;
    }
  };
  check(in, by_inputs);
  check(w, gradient);
  EXPECT_GT(std::ranges::count(gradient, 0.0), 5) << "what is dropped has no slope";
}

TEST(Dropout, LossesAndScoresAreThoseOfTheWholeNetwork) {
  const Volume in{8, 1, 1};
  const auto with = make_layered({plans_of("dense 20, tanh, dropout 0.5, dense 3"), in}, Head::softmax, 3),
             without = make_layered({plans_of("dense 20, tanh, dense 3"), in}, Head::softmax, 3);
  std::vector<float> w(with->dim());
  with->initialise(PublicStream(3, "initialise"), w);
  Records records = random_records({.count = 6, .features = 8, .labels = LabelKind::class_, .classes = 3});
  const std::vector<std::uint32_t> rows = all_rows(records);
  const auto check_losses = [&] {
    EXPECT_EQ(losses_of(*with, w, records, rows), losses_of(*without, w, records, rows));
  };
  check_losses();
  const std::vector<double> gradient = gradient_of(*with, w, records, 2),
                            whole = gradient_of(*without, w, records, 2);
  EXPECT_NE(gradient, whole);
  EXPECT_EQ(gradient, gradient_of(*with, w, records, 2));
  check_losses();
  // Another point and another record have other draws: other columns of the first layer have no slope.
  const auto dropped = [&](std::size_t record) {
    std::vector<std::size_t> columns;
    const std::vector<double> slopes = gradient_of(*with, w, records, record);
    for (std::size_t c = 0; c < 20; ++c)
      if (slopes[c] == 0) columns.push_back(c);
    EXPECT_GT(columns.size(), 1U);
    EXPECT_LT(columns.size(), 19U);
    return columns;
  };
  const auto here = dropped(2);
  EXPECT_NE(here, dropped(3));
  w.back() += 1;
  EXPECT_NE(here, dropped(2));
}

TEST(Dropout, MistakesAreTold) {
  const auto told = [](const char* layers) {
    std::vector<std::string> problems;
    read_layers(layers, problems);
    return problems.empty() ? std::string() : problems.front();
  };
  EXPECT_EQ(told("dense 3, dropout 0.1, dropout 1e-3"), "");
  EXPECT_MENTIONS(told("dense 3, dropout"), "layer 2 (dropout): the probability is missing; it is written dropout");
  for (const char* const wrong : {"0", "1", "-0.1", "nan", "0.1x", "10%", "inf"})
    EXPECT_MENTIONS(told((std::string("dropout ") + wrong).c_str()),
                    "it takes a number above 0 and below 1, as 0.1");
  EXPECT_MENTIONS(message_of<ConfigError>([] {
                    layered({plans_of("residual(dense 3, dropout 0.1), dense 1"), {3, 1, 1}});
                  }),
                  "min-max problems have none");
}

}  // namespace
}  // namespace dpmpi::test::dropout_test
