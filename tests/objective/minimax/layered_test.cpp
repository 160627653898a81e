// Min-max problems over a network of layers: the perceptron of the same layers says what they are, and convolutions
// keep the contract of kernels.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "objective/minimax/auc.hpp"
#include "objective/minimax/auc_reference.hpp"
#include "objective/minimax/layer_options.hpp"
#include "objective/minimax/worst_group.hpp"
#include "objective/objective_property.hpp"
#include "objective/random_records.hpp"
#include "support/data_files.hpp"

namespace dpmpi::test::layered_saddle_test {
namespace {

/// A problem twice, and which coordinate of the one is which of the other.
struct Twins {
  std::unique_ptr<SaddleObjective> perceptron, layers;
  std::vector<std::size_t> place;  ///< of each coordinate of `layers` in `perceptron`

  std::vector<float> of_layers(const std::vector<float>& w) const {
    std::vector<float> moved(w.size());
    for (std::size_t j = 0; j < w.size(); ++j) moved[j] = w[place[j]];
    return moved;
  }
};

/// A perceptron's matrices stand output after output, those of dense layers input after input.
std::vector<std::size_t> places(const MlpShape& shape, std::size_t tail) {
  std::vector<std::size_t> all;
  for (std::size_t l = 0; l < shape.layers(); ++l) {
    for (std::size_t k = 0; k < shape.inputs(l); ++k)
      for (std::size_t u = 0; u < shape.outputs(l); ++u)
        all.push_back(shape.weight_offset(l) + u * shape.inputs(l) + k);
    for (std::size_t u = 0; u < shape.outputs(l); ++u) all.push_back(shape.bias_offset(l) + u);
  }
  for (std::size_t j = 0; j < tail; ++j) all.push_back(shape.dim() + j);
  return all;
}

const MlpShape scorer{.units = {11, 5, 1}, .activation = Activation::tanh, .head = Head::logistic};

Twins auc_twins() {
  const LayeredShape layers = shape_of("dense 5, tanh, dense 1", {11, 1, 1});
  return {make_auc({.scorer = scorer, .prior = 0.3}), make_auc({.scorer = scorer, .layers = layers, .prior = 0.3}),
          places(scorer, 3)};
}
Twins worst_group_twins() {
  const WorstGroupSettings plain{.model = scorer, .group_sizes = {20, 17}};
  WorstGroupSettings layered = plain;
  layered.layers = shape_of("dense 5, tanh, dense 1", {11, 1, 1});
  return {make_worst_group(plain), make_worst_group(layered), places(scorer, 2)};
}

struct TwinCase {
  const char* name;
  Twins (*make)();
};
std::ostream& operator<<(std::ostream& out, const TwinCase& c) { return out << c.name; }

class LayeredTwins : public testing::TestWithParam<TwinCase> {
 protected:
  LayeredTwins() {
    for (std::size_t i = 0; i < records_.count; ++i) records_.weight.push_back(static_cast<float>(1 + i % 4) / 4);
    twins_.perceptron->initialise(PublicStream(3, "initialise"), w_);
    for (std::size_t j = w_.size() - 3; j < w_.size(); ++j) w_[j] = 0.3F + 0.1F * static_cast<float>(j % 3);
  }
  Rows rows() { return {records_, rows_}; }

  /// What `add` sums of all records, as real numbers.
  template <class Add>
  static std::vector<double> sum_of(std::size_t dim, double bound, Add&& add) {
    LatticeAccumulator sum(dim, test_lattice(bound), bound * 1.01);
    sum.clear();
    add(sum);
    std::vector<double> values;
    for (const std::int64_t total : sum.totals())
      values.push_back(static_cast<double>(total) * test_lattice(bound).quantum());
    return values;
  }
  /// Both sums are the same, up to what 37 records round.
  void expect_same(const std::vector<double>& layers, const std::vector<double>& perceptron, const char* what) {
    ASSERT_EQ(layers.size(), perceptron.size());
    double size = 0;
    for (std::size_t j = 0; j < layers.size(); ++j) {
      EXPECT_NEAR(layers[j], perceptron[twins_.place[j]], 1e-4) << what << ", coordinate " << j;
      size = std::max(size, std::abs(layers[j]));
    }
    EXPECT_GT(size, 0.1) << what << " says something";
  }

  Twins twins_ = GetParam().make();
  Records records_ = random_records({.count = 37, .features = 11, .labels = LabelKind::sign});
  std::vector<std::uint32_t> rows_ = all_rows(records_);
  std::vector<float> w_ = std::vector<float>(twins_.perceptron->dim());
};

TEST_P(LayeredTwins, GiveWhatThePerceptronGives) {
  SaddleObjective &a = *twins_.layers, &b = *twins_.perceptron;
  ASSERT_EQ(a.dim(), b.dim());
  ASSERT_EQ(a.primal_dim(), b.primal_dim());
  const std::vector<float> w = twins_.of_layers(w_);
  const auto losses_a = losses_of(a, w, records_, rows_), losses_b = losses_of(b, w_, records_, rows_);
  for (std::size_t i = 0; i < rows_.size(); ++i) EXPECT_NEAR(losses_a[i], losses_b[i], 1e-5);

  const SaddleClip clip{.primal = 0.2, .dual = 0.5, .weight = 0.5};
  const auto joint = [&](SaddleObjective& problem, std::span<const float> at) {
    const AtSaddlePoint point = problem.at(at);
    return sum_of(problem.dim(), clip.norm(),
                  [&](LatticeAccumulator& sum) { point.add_clipped_saddle_gradients(rows(), clip, 1, sum); });
  };
  expect_same(joint(a, w), joint(b, w_), "both blocks");

  for (const float by : {1.0F, 1e-3F}) {
    std::vector<float> v_ = w_;
    for (std::size_t j = 0; j < v_.size(); ++j) v_[j] += by * (j % 2 == 0 ? 0.5F : -0.25F);
    const std::vector<float> v = twins_.of_layers(v_);
    const double bound = 16 * by;  // no difference is that large: a perceptron clips shorter ones, too
    const auto differences = [&](SaddleObjective& problem, std::span<const float> at, std::span<const float> from) {
      const AtPair pair = problem.at_pair(at, from);
      return sum_of(problem.primal_dim(), bound,
                    [&](LatticeAccumulator& sum) { pair.add_clipped_primal_differences(rows(), {bound}, sum); });
    };
    const auto of_a = differences(a, w, v), of_b = differences(b, w_, v_);
    double size = 0;
    for (std::size_t j = 0; j < of_a.size(); ++j) {
      EXPECT_NEAR(of_a[j], of_b[twins_.place[j]], 1e-3 * by) << "differences, coordinate " << j;
      size = std::max(size, std::abs(of_a[j]));
    }
    EXPECT_GT(size, 0.1 * by);
  }
}

INSTANTIATE_TEST_SUITE_P(Problems, LayeredTwins,
                         testing::Values(TwinCase{"auc", auc_twins}, TwinCase{"worst_group", worst_group_twins}),
                         [](const auto& test) { return std::string(test.param.name); });

struct ConvolutionCase {
  const char* name;
  const char* layers;
  Volume in = {1, 6, 6};
  Storage storage = Storage::dense_f32;
};
std::ostream& operator<<(std::ostream& out, const ConvolutionCase& c) { return out << c.name; }

class LayeredScorers : public testing::TestWithParam<ConvolutionCase> {};

TEST_P(LayeredScorers, KeepTheContract) {
  const ConvolutionCase& c = GetParam();
  const auto auc = make_auc({.scorer = {}, .layers = shape_of(c.layers, c.in), .prior = 0.3});
  const Records records = random_records({.storage = c.storage, .count = 37, .features = c.in.size()});
  std::vector<float> w(auc->dim());
  auc->initialise(PublicStream(3, "initialise"), w);
  w[w.size() - 3] = 0.7F, w[w.size() - 2] = 0.2F, w.back() = 0.6F;
  PrimalView view(*auc, {w.back()});
  const PropertyCase property{.objective = view,
                              .records = records,
                              .w = {w.begin(), w.end() - 1},
                              .tolerance = 1e-5,
                              .clippings = {Clipping::flat, Clipping::per_layer},
                              .differences = view.differences()};
  check_norm_bounds(property);
  check_row_invariance(property);
  check_bad_records(property);
  check_tiny_differences(property);
  check_difference_symmetry(property);
  check_regularizer_stays_out(property);
  check_no_allocation(property);
  check_finite_differences(property);
  EXPECT_FALSE(auc->structure().empty());
}

INSTANTIATE_TEST_SUITE_P(
    Layers, LayeredScorers,
    testing::Values(ConvolutionCase{"convolution", "conv 4 3x3 pad 1, tanh, avgpool 2, flatten, dense 1"},
                    ConvolutionCase{
                        "bytes", "conv 3 2x2 stride 2, softplus, flatten, dense 1", {1, 6, 6}, Storage::dense_u8},
                    ConvolutionCase{"residual",
                                    "conv 4 3x3, groupnorm 2, residual(conv 4 3x3 pad 1, tanh), flatten, "
                                    "dense 1",
                                    {2, 5, 5}}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(LayeredSaddleOptions, MistakesAreTold) {
  const auto auc = [](Choices choices) {
    choices.emplace_back("prior", "0.3");
    return refusal("auc", 9, choices);
  };
  const auto groups = [](Choices choices) {
    choices.insert(choices.end(), {{"group_sizes", "3,4"}, {"head", "logistic"}});
    return refusal("worst_group", 9, choices);
  };
  EXPECT_MENTIONS(auc({{"scorer", "network"}}), "objective.layers is not set");
  EXPECT_MENTIONS(auc({{"layers", "dense 1"}}), "objective.scorer = network; it is linear");
  EXPECT_MENTIONS(auc({{"scorer", "network"}, {"layers", "dens 1"}}), "layer 1 (dens 1): there is no such layer");
  EXPECT_MENTIONS(auc({{"scorer", "network"}, {"layers", "dense 2"}}),
                  "gives 2 channels of 1x1 where the loss takes 1 number");
  EXPECT_MENTIONS(auc({{"scorer", "network"}, {"layers", "flatten, dense 1"}, {"input", "1x2x4"}}),
                  "has 8 numbers, and the records have 9 features");
  EXPECT_MENTIONS(groups({{"layers", "dense 1"}, {"hidden", "3"}}), "are two models");
  EXPECT_MENTIONS(groups({{"layers", "dense 3"}}), "gives 3 channels of 1x1 where the loss takes 1 number");
  EXPECT_MENTIONS(groups({{"layers", "dense 1"}, {"group_feature", "2"}}), "objective.group_input = true");
}

}  // namespace
}  // namespace dpmpi::test::layered_saddle_test
