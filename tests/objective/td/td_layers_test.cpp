// A network of layers as the value function: the perceptron of the same layers says what it is, the gradients of
// others are the slopes of the saddle, and all keep the contract of kernels.
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "objective/minimax/auc_reference.hpp"
#include "objective/minimax/layer_options.hpp"
#include "objective/saddle_property.hpp"
#include "objective/slopes.hpp"
#include "objective/td/factory.hpp"
#include "objective/td/reference.hpp"
#include "support/shards.hpp"

namespace dpmpi::test::td_layers_test {
namespace {

using Point = std::vector<float>;

TdSettings settings_of(const std::string& layers, const Volume& in, double discount = 0.9) {
  return {.state = in.size(), .layers = shape_of(layers, in), .discount = discount};
}
const TdSettings convolutional =
    settings_of("conv 3 2x2, tanh, avgpool 2 stride 1, flatten, dense 4, gelu, dense 1", {2, 4, 3});
const TdSettings residual = settings_of("dense 4, layernorm, residual(dense 4, softplus), dense 1", {5, 1, 1});
const TdSettings standardised =
    settings_of("conv 4 2x2 standardised, groupnorm 2, tanh, flatten, dense 1", {1, 3, 3}, 1);

Point random_point(std::size_t dim, unsigned seed, double size = 0.5) {
  std::mt19937 bits(seed);
  std::normal_distribution<double> normal(0, size);
  Point w(dim);
  for (float& x : w) x = static_cast<float>(normal(bits));
  return w;
}

double projected_error(SaddleObjective& td, const Point& w, const Records& records) {
  Shard shard;
  shard.blocks.push_back({0, 0, records});
  return td.at(w).measures(SetTotals(), shard).at(0).value;
}

// ---- the perceptron ----

const TdSettings perceptron{.state = 3, .hidden = 5, .discount = 0.9};

/// A perceptron's first matrix stands unit after unit, that of layers input after input.
template <class T>
std::vector<T> of_layers(const std::vector<T>& w) {
  const std::size_t state = perceptron.state, units = perceptron.hidden, dim = units * state + 2 * units + 1;
  std::vector<T> moved = w;
  for (std::size_t block = 0; block < w.size(); block += dim)
    for (std::size_t u = 0; u < units; ++u)
      for (std::size_t j = 0; j < state; ++j) moved[block + j * units + u] = w[block + u * state + j];
  return moved;
}

TEST(TdOfLayers, GivesWhatThePerceptronGives) {
  const Records records = random_transitions(20, 3, 1);
  const auto a = make_td(settings_of("dense 5, tanh, dense 1", {3, 1, 1})), b = make_td(perceptron);
  ASSERT_EQ(a->dim(), b->dim());
  const Point w = random_point(b->dim(), 2), v = random_point(b->dim(), 3);
  for (std::size_t i = 0; i < records.count; ++i) {
    for (const std::size_t kernel : {0U, 1U, 3U}) {  // dual, primal, difference
      const auto layers = unclipped(*a, of_layers(w), of_layers(v), kernel, records, i),
                 units = of_layers(unclipped(*b, w, v, kernel, records, i));
      for (std::size_t j = 0; j < units.size(); ++j)
        EXPECT_NEAR(layers[j], units[j], 1e-7 * (1 + norm_of(units))) << kernel << " of " << i;
    }
    EXPECT_NEAR(loss_of(*a, of_layers(w), records, i), loss_of(*b, w, records, i), 1e-12);
  }
  EXPECT_NEAR(projected_error(*a, of_layers(w), records), projected_error(*b, w, records), 1e-9);
}

// ---- slopes ----

/// The saddle form in double, by forward and backward passes of layers that have tests of their own.
class LayersReference {
 public:
  LayersReference(const TdSettings& settings, const Records& records)
      : settings_(settings), records_(records), value_(settings.layers->plans, settings.layers->in) {}

  std::size_t dim() const { return value_.parameters(); }
  double loss(std::size_t i, std::span<const double> w) {
    const std::size_t n = settings_.state;
    value_.load(w.first(dim()));
    const double next = forward(i, n), terminal = feature(records_, i, 2 * n), value = forward(i, 0);
    const double error =
        static_cast<double>(records_.label[i]) + settings_.discount * (1 - terminal) * next - value;
    AlignedVector<double> delta = room_for<double>(value_.out());
    delta[0] = 1;
    std::vector<double> psi(dim());
    value_.backward(delta.data(), psi.data(), false);
    double e = 0;
    for (std::size_t j = 0; j < dim(); ++j) e += psi[j] * w[dim() + j];
    return error * e - e * e / 2;
  }

 private:
  double forward(std::size_t i, std::size_t from) {
    const Volume& in = value_.in();
    state_ = room_for<double>(in);
    for (std::size_t p = 0; p < in.positions(); ++p)
      for (std::size_t c = 0; c < in.channels; ++c)
        state_[p * in.channels + c] = feature(records_, i, from + c * in.positions() + p);
    return value_.forward(state_.data())[0];
  }

  TdSettings settings_;
  const Records& records_;
  Sequence<double> value_;
  AlignedVector<double> state_;
};

TEST(TdOfLayers, HasGradientsThatAreSlopes) {
  unsigned seed = 0;
  for (const TdSettings& settings : {convolutional, residual, standardised}) {
    const Records records = random_transitions(6, settings.state, ++seed);
    const auto td = make_td(settings);
    LayersReference reference(settings, records);
    ASSERT_EQ(td->dim(), 2 * reference.dim());
    const Point w = random_point(td->dim(), 10 + seed), v = random_point(td->dim(), 20 + seed);
    for (std::size_t i = 0; i < records.count; ++i) {
      const auto loss = [&](std::span<const double> at) { return reference.loss(i, at); };
      const auto primal = unclipped(*td, w, v, 1, records, i), at_v = unclipped(*td, v, w, 1, records, i);
      expect_slopes(loss, widened(w), 0, primal, 1);
      expect_slopes(loss, widened(w), reference.dim(), unclipped(*td, w, v, 0, records, i), 1);
      const auto difference = unclipped(*td, w, v, 3, records, i);
      for (std::size_t j = 0; j < difference.size(); ++j)
        EXPECT_NEAR(difference[j], primal[j] - at_v[j], 1e-6 * (1 + norm_of(primal) + norm_of(at_v)));
    }
  }
}

// The product with the Hessian is no rough number: against the analytic one of a perceptron at large omega, too.
TEST(TdOfLayers, HasCurvatureToTenDigits) {
  const Records records = random_transitions(10, 3, 7);
  const auto a = make_td(settings_of("dense 5, tanh, dense 1", {3, 1, 1})), b = make_td(perceptron);
  for (const double size : {1e-6, 1.0, 1e3}) {
    Point w = random_point(b->dim(), 2);
    for (std::size_t j = b->primal_dim(); j < w.size(); ++j) w[j] *= static_cast<float>(size);
    for (std::size_t i = 0; i < records.count; ++i) {
      const auto expected = of_layers(unclipped(*b, w, w, 1, records, i));
      const auto given = unclipped(*a, of_layers(w), of_layers(w), 1, records, i);
      for (std::size_t j = 0; j < given.size(); ++j)
        EXPECT_NEAR(given[j], expected[j], 2e-8 * norm_of(expected)) << "the lattice has 28 bits";
    }
  }
}

// ---- the contract ----

TEST(TdOfLayers, KeepsTheContract) {
  for (const TdSettings& settings : {convolutional, residual}) {
    const Records records = random_transitions(40, settings.state, 9);
    const auto td = make_td(settings);
    const Point w = random_point(td->dim(), 10), v = moved(w, 0.3);
    check_sensitivity(*td, records, w, v, 0.02);
    check_rows_apart(*td, records, w, v, 0.02);
    check_joint_parts(*td, records, w, 0.02);
    check_no_allocation(*td, records, w, v);

    const std::size_t d1 = td->primal_dim();
    PrimalView view(*td, Point(w.begin() + static_cast<std::ptrdiff_t>(d1), w.end()));
    const PropertyCase property{.objective = view,
                                .records = records,
                                .w = Point(w.begin(), w.begin() + static_cast<std::ptrdiff_t>(d1)),
                                .differences = view.differences()};
    check_norm_bounds(property);
    check_row_invariance(property);
    check_bad_records(property);
    check_tiny_differences(property);
    check_difference_symmetry(property);
  }
}

TEST(TdOfLayers, AddsUpTheTransitionsOfAnEpisode) {
  constexpr std::size_t steps = 4;
  TdSettings in_episodes = convolutional;
  in_episodes.episode_steps = steps;
  const Records transitions = random_transitions(16, convolutional.state, 4),
                episodes = episodes_of(transitions, steps);
  const auto one = make_td(convolutional), whole = make_td(in_episodes);
  const Point w = random_point(one->dim(), 5), v = moved(w, 0.3);
  for (std::size_t e = 0; e < episodes.count; ++e)
    for (const std::size_t kernel : {0U, 1U, 3U}) {
      const auto sum = unclipped(*whole, w, v, kernel, episodes, e);
      std::vector<double> expected(sum.size());
      for (std::size_t t = 0; t <= e % steps; ++t) {
        const auto part = unclipped(*one, w, v, kernel, transitions, e * steps + t);
        for (std::size_t j = 0; j < sum.size(); ++j) expected[j] += part[j];
      }
      for (std::size_t j = 0; j < sum.size(); ++j)
        EXPECT_NEAR(sum[j], expected[j], 1e-6 * (1 + norm_of(expected))) << kernel << " of " << e;
    }
  check_no_allocation(*whole, episodes, w, v);
}

TEST(TdOfLayers, ScoresAbsentAndBrokenRecordsAsNothing) {
  for (const std::size_t steps : {0U, 4U}) {
    TdSettings settings = residual;
    settings.episode_steps = steps;
    const auto td = make_td(settings);
    const Point w = random_point(td->dim(), 1), v = moved(w, 0.1);
    const Records transitions = random_transitions(40, settings.state),
                  good = steps > 0 ? episodes_of(transitions, steps) : transitions;
    const auto index = all_rows(good);
    Records without = good;
    empty_slot(without, 7);
    for (const auto& make : saddle_kernels(*td, w, v, 0.1)) {
      const SaddleKernel k = make();
      const auto expected = sum_of(k, without, index, 16);
      EXPECT_NE(sum_of(k, good, index, 16), expected);
      for (const float bad : {std::numeric_limits<float>::infinity(), std::nanf("")}) {
        for (std::size_t column = 0; column < good.features; column += 3) {
          Records spoilt = good;
          spoilt.f32[7 * spoilt.stride + column] = bad;
          EXPECT_EQ(sum_of(k, spoilt, index, 16), expected) << k.name << ", column " << column;
        }
        Records spoilt = good;
        spoilt.label[7] = bad;
        EXPECT_EQ(sum_of(k, spoilt, index, 16), expected) << k.name;
      }
    }
  }
}

// ---- options ----

TEST(TdOfLayers, HasNamesAndAStart) {
  const auto td = make_td(convolutional);
  const auto groups = td->groups();
  EXPECT_EQ(groups.front().name, "theta.1.weight");
  EXPECT_EQ(groups.back().name, "omega.7.bias");
  EXPECT_EQ(groups.back().offset + groups.back().size(), td->dim());
  EXPECT_EQ(td->structure().size(), 7U);
  Point w(td->dim(), 9);
  td->initialise(PublicStream(3, "start"), w);
  EXPECT_GT(norm_of(widened(std::span(w).first(td->primal_dim()))), 0.5);
  EXPECT_EQ(norm_of(widened(std::span(w).subspan(td->primal_dim()))), 0);
}

std::string refused(Choices choices, std::size_t features = 33) { return refusal("td", features, choices); }

TEST(TdOfLayers, TellsMistakesWithTheirPlaces) {
  const std::string all =
      refused({{"value", "network"}, {"layers", "dense 4, relu, residual(dense 4, maxpool 1), dense 1"}});
  EXPECT_MENTIONS(all, "objective.layers: layer 2 (relu): the gradient of td has second derivatives");
  EXPECT_MENTIONS(all, "objective.layers: layer 3.2 (maxpool 1): the gradient of td");
  EXPECT_MENTIONS(refused({{"value", "network"}}), "objective.layers is not set: the layers of the value");
  EXPECT_MENTIONS(refused({{"layers", "dense 1"}}), "are those of objective.value = network; it is mlp");
  EXPECT_MENTIONS(refused({{"value", "network"}, {"layers", "dense 2"}}), "gives 2 channels of 1x1");
  EXPECT_MENTIONS(refused({{"value", "network"}, {"layers", "flatten, dense 1"}, {"input", "1x4x5"}}),
                  "objective.input = 1x4x5 has 20 numbers, and a state has 16 features");
  EXPECT_MENTIONS(refused({{"value", "network"}, {"layers", "conv 2 3x3, dens 1"}}),
                  "layer 2 (dens 1): there is no");
  EXPECT_MENTIONS(refused({{"value", "network"}, {"layers", "dense 3, dropout 0.5, dense 1"}}), "dropout");
  EXPECT_MENTIONS(refused({{"value", "network"}, {"layers", "dense 8 adapter 1, dense 1"}}), "adapters");
  EXPECT_MENTIONS(refused({{"value", "network"}, {"layers", "dense 1"}}, 32), "an odd number of features");
}

}  // namespace
}  // namespace dpmpi::test::td_layers_test
