#include "objective/network/mlp.hpp"

#include <cmath>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "objective/network/difference.hpp"
#include "objective/network/head.hpp"
#include "objective/network/network.hpp"
#include "objective/network/reference.hpp"
#include "objective/objective_property.hpp"

namespace dpmpi::test::mlp_test {
namespace {

struct NetworkCase {
  const char* name;
  MlpShape shape;
  Storage storage = Storage::dense_f32;
  std::size_t count = 37;
};

std::ostream& operator<<(std::ostream& out, const NetworkCase& c) { return out << c.name; }

/// Random weights that keep signals of order one, biases included.
std::vector<float> random_weights(const MlpShape& shape, double scale = 1, unsigned seed = 2) {
  std::mt19937 bits(seed);
  std::normal_distribution<double> normal;
  std::vector<float> w(shape.dim());
  for (std::size_t l = 0; l < shape.layers(); ++l)
    for (std::size_t j = shape.weight_offset(l); j < shape.weight_offset(l + 1); ++j)
      w[j] = static_cast<float>(scale * normal(bits) / std::sqrt(static_cast<double>(shape.inputs(l) + 1)));
  return w;
}

RecordsShape records_for(const NetworkCase& c) {
  const Head head = c.shape.head;
  return {.storage = c.storage,
          .count = c.count,
          .features = c.shape.units[0],
          .bias = c.shape.input_bias,
          .labels = head == Head::softmax                          ? LabelKind::class_
                    : head == Head::logistic || head == Head::ramp ? LabelKind::sign
                                                                   : LabelKind::real,
          .classes = c.shape.units.back()};
}

/// Twice differentiable in the parameters.
bool smooth(const MlpShape& shape) {
  return shape.head != Head::absolute && shape.head != Head::ramp &&
         (shape.layers() == 1 ||
          (shape.activation != Activation::relu && shape.activation != Activation::leaky_relu));
}

/// Differences of gradients, which saddles over networks take, under the losses of a head.
class HeadDifferences {
 public:
  explicit HeadDifferences(const MlpShape& shape) : head_(shape), difference_(shape, head_) {}
  Differences kernel() {
    return {[this](std::span<const float> w, std::span<const float> v) -> Kernel {
              difference_.prepare(w, v);
              return [this](const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) {
                difference_.add(rows, bound, sum);
              };
            },
            MlpDifference::slack()};
  }

 private:
  MlpHead head_;
  MlpDifference difference_;
};

class Networks : public testing::TestWithParam<NetworkCase> {};

// check_contract() without its finite differences in float32, whose steps are too long for networks: kernels are
// compared with the reference, and the reference with its own loss in double.
TEST_P(Networks, KeepTheContract) {
  const NetworkCase& c = GetParam();
  const auto objective = make_mlp(c.shape);
  const Records records = random_records(records_for(c));
  const MlpReference reference(c.shape, records);
  HeadDifferences differences(c.shape);
  PropertyCase property{.objective = *objective,
                        .records = records,
                        .w = random_weights(c.shape),
                        .reference = reference.functions(),
                        .smooth = smooth(c.shape),
                        .tolerance = 1e-5,
                        .clippings = {Clipping::flat, Clipping::per_layer},
                        .differences = differences.kernel()};
  ASSERT_EQ(property.w.size(), objective->dim());
  check_reference(property);
  check_norm_bounds(property);
  check_row_invariance(property);
  check_bad_records(property);
  check_tiny_differences(property);
  check_difference_symmetry(property);
  check_regularizer_stays_out(property);
  check_parts(property);
  check_no_allocation(property);
}

TEST_P(Networks, ReferenceGradientIsTheSlopeOfItsLoss) {
  const NetworkCase& c = GetParam();
  const Records records = random_records(records_for(c));
  const MlpReference reference(c.shape, records);
  std::vector<double> w = widened(random_weights(c.shape)), gradient(w.size());
  for (std::size_t i = 0; i < 3; ++i) {
    reference.gradient(i, w, gradient);
    for (std::size_t j = 0; j < w.size(); j += 1 + w.size() / 40) {
      const double here = w[j], step = 1e-6;
      w[j] = here + step;
      const double above = reference.loss(i, w);
      w[j] = here - step;
      const double below = reference.loss(i, w);
      w[j] = here;
      EXPECT_NEAR((above - below) / (2 * step), gradient[j], 1e-7 * std::max(1.0, norm_of(gradient)))
          << "record " << i << ", parameter " << j;
    }
  }
}

using enum Activation;
using enum Head;
INSTANTIATE_TEST_SUITE_P(
    Shapes, Networks,
    testing::Values(
        NetworkCase{"softmax", {{17, 3}}}, NetworkCase{"softmax_u8", {{33, 10}}, Storage::dense_u8},
        NetworkCase{"softmax_sparse", {{40, 4}}, Storage::sparse_f32},
        NetworkCase{"linear_logistic_no_bias", {{5, 1}, 0, relu, logistic}},
        NetworkCase{"one_feature", {{1, 1}, 1, relu, squared}},
        NetworkCase{"one_unit", {{1, 1, 1}, 1, Activation::tanh, squared}},
        NetworkCase{"relu_softmax", {{17, 17, 5}, 1, relu, Head::softmax}},
        NetworkCase{"tanh_softmax", {{17, 3, 4}, 0.5F, Activation::tanh, Head::softmax}, Storage::dense_u8},
        NetworkCase{"softplus_logistic", {{16, 16, 1}, 1, softplus, logistic}, Storage::sparse_f32},
        NetworkCase{"weighted_softmax", {{17, 3}, 1, relu, Head::softmax, {}, ClassWeights({1, 13, 0.25})}},
        NetworkCase{"weighted_tanh_softmax",
                    {{17, 3, 4}, 0.5F, Activation::tanh, Head::softmax, {}, ClassWeights({2, 1, 30, 0.5})},
                    Storage::dense_u8},
        NetworkCase{"weighted_softplus_logistic",
                    {{16, 16, 1}, 1, softplus, logistic, {}, ClassWeights({1, 13})},
                    Storage::sparse_f32},
        NetworkCase{"weighted_tanh_ramp", {{9, 17, 1}, 1, Activation::tanh, ramp, {}, ClassWeights({0.25, 7})}},
        NetworkCase{"relu_absolute", {{9, 17, 1}, 1, relu, absolute}},
        NetworkCase{"tanh_ramp", {{9, 17, 1}, 1, Activation::tanh, ramp}},
        NetworkCase{"relu_squared_two_layers", {{9, 17, 3, 1}, 0, relu, squared}},
        NetworkCase{"leaky_relu_logistic_two_layers", {{9, 17, 3, 1}, 1, leaky_relu, logistic}},
        NetworkCase{"leaky_relu_softmax_u8", {{20, 16, 4}, 0.5F, leaky_relu, Head::softmax}, Storage::dense_u8},
        NetworkCase{"leaky_relu_squared_sparse", {{30, 7, 1}, 1, leaky_relu, squared}, Storage::sparse_f32},
        NetworkCase{"tanh_logistic_three_layers", {{12, 17, 3, 16, 1}, 1, Activation::tanh, logistic}},
        NetworkCase{"softplus_softmax_two_layers", {{3, 15, 31, 3}, 1, softplus, Head::softmax}},
        NetworkCase{
            "more_than_a_micro_batch", {{7, 5, 3}, 1, Activation::tanh, Head::softmax}, Storage::dense_f32, 150}),
    [](const auto& test) { return std::string(test.param.name); });

/// [begin, end) of each layer's parameters.
std::pair<std::size_t, std::size_t> layer_range(const MlpShape& shape, std::size_t l) {
  return {shape.weight_offset(l), shape.weight_offset(l + 1)};
}

TEST(MlpClipping, PerLayerBoundsEachLayerByItsShare) {
  const MlpShape shape{{12, 17, 5, 3}, 1, Activation::tanh, Head::softmax};
  const auto objective = make_mlp(shape);
  const Records records = random_records({.features = 12, .labels = LabelKind::class_, .classes = 3});
  const std::vector<float> w = random_weights(shape), v = moved(w, 1);
  const double clip = 1e-2;
  const Lattice lattice = test_lattice(clip);
  HeadDifferences differences(shape);
  for (const Kernel& kernel : {clipped_gradients(*objective, w), differences.kernel().at(w, v)}) {
    std::vector<long double> largest(3, 0);
    for (std::size_t i = 0; i < records.count; ++i) {
      const auto sum = contribution(*objective, kernel, records, i, {clip, Clipping::per_layer}, lattice);
      for (std::size_t l = 0; l < 3; ++l) {
        const auto [begin, end] = layer_range(shape, l);
        const Square square = square_norm(
            {sum.begin() + static_cast<std::ptrdiff_t>(begin), sum.begin() + static_cast<std::ptrdiff_t>(end)});
        EXPECT_TRUE(square <= largest_square(clip / std::sqrt(3.0), 1e-6, lattice, end - begin)) << "layer " << l;
        largest[l] = std::max(largest[l], sqrtl(static_cast<long double>(square)));
      }
    }
    for (std::size_t l = 0; l < 3; ++l) EXPECT_GT(largest[l], 0.999 * clip / std::sqrt(3.0) * lattice.scale());
  }
}

// A micro-batch's bits must be those of single rows for shapes that take every path of the products: inner
// dimensions of several blocks, more than one column panel, column remainders.
TEST(MlpRows, AreInvariantForWideAndDeepShapes) {
  const std::vector<MlpShape> shapes = {{{784, 256, 10}},
                                        {{785, 33, 200, 3}, 0, Activation::tanh, Head::softmax},
                                        {{40, 700, 31, 1}, 1, Activation::softplus, Head::logistic},
                                        {{301, 65, 1}, 1, Activation::relu, Head::squared}};
  for (const MlpShape& shape : shapes) {
    const auto objective = make_mlp(shape);
    const Records records = random_records(records_for({"", shape, Storage::dense_f32, 128}));
    const std::vector<float> w = random_weights(shape);
    const PropertyCase property{.objective = *objective, .records = records, .w = w};
    const AtPoint at = objective->at(w);
    const auto index = all_rows(records);
    const RecordBits all = bits_of(property, at, records, index);
    for (std::size_t rows : {1, 5, 16, 17, 48, 64, 100})
      for (std::size_t first : {std::size_t{0}, std::size_t{3}, std::size_t{28}}) {
        const RecordBits some = bits_of(property, at, records, std::span(index).subspan(first, rows));
        for (std::size_t r = 0; r < rows; ++r)
          EXPECT_EQ(some.loss[r], all.loss[first + r])
              << shape.units[0] << "-..., " << rows << " rows from " << first;
      }
    const Lattice lattice = test_lattice(1);
    const Kernel kernel = clipped_gradients(*objective, w);
    for (std::size_t i : {std::size_t{0}, std::size_t{77}, std::size_t{127}}) {
      Records emptied = records;
      for (std::size_t j = 0; j < records.count; ++j)
        if (j != i) empty_slot(emptied, j);
      EXPECT_EQ(contributions(*objective, kernel, emptied, index, {.clip = 1}, lattice),
                contribution(*objective, kernel, records, i, {.clip = 1}, lattice));
    }
  }
}

// ---- differences: norms that do not cancel ----

std::vector<double> padded(std::vector<double> values) {
  values.resize(round_up(values.size(), 16), 0.0);
  return values;
}

/// The difference of two layers as the kernel holds it, and |Dd a1^T + d2 Da^T|^2 by brute force in extended
/// precision.
struct Pair {
  std::vector<double> delta_change, level, delta, level_change;
  Pair(const std::vector<double>& d1, const std::vector<double>& a1, const std::vector<double>& d2,
       const std::vector<double>& a2)
      : delta_change(d1), level(a1), delta(d2), level_change(a1) {
    for (std::size_t i = 0; i < d1.size(); ++i) delta_change[i] -= d2[i];
    for (std::size_t j = 0; j < a1.size(); ++j) level_change[j] -= a2[j];
  }
  double stable() const { return squared_norm(LayerDifference<double>{delta_change, level, delta, level_change}); }
  long double brute() const {
    long double sum = 0;
    for (std::size_t i = 0; i < delta.size(); ++i)
      for (std::size_t j = 0; j < level.size(); ++j) {
        const long double entry = static_cast<long double>(delta_change[i]) * level[j] +
                                  static_cast<long double>(delta[i]) * level_change[j];
        sum += entry * entry;
      }
    return sum;
  }
};

// d1 = (1, 2), a1 = (3, 4, 1), perturbed by 1e-9: the textbook form |d1|^2|a1|^2 + |d2|^2|a2|^2 - 2 (d1.d2)(a1.a2)
// gives 0.
TEST(MlpDifferences, NormSurvivesTinySteps) {
  const auto d1 = padded({1, 2}), d2 = padded({1, 2 - 1e-9}), a1 = padded({3, 4, 1}), a2 = padded({3 + 1e-9, 4, 1});
  const Pair pair(d1, a1, d2, a2);
  EXPECT_NEAR(pair.stable(), 1.9000003146e-17, 1e-10 * 1.9e-17);
  EXPECT_GE(pair.stable(), pair.brute());
}

// Large activations and d1 a1^T ~ d2 a2^T: the three terms cancel, and only the guard keeps the norm above the
// truth.
TEST(MlpDifferences, GuardCoversCancellation) {
  std::mt19937 bits(1);
  std::normal_distribution<double> normal;
  int cancelled = 0;
  for (int trial = 0; trial < 1000; ++trial) {
    std::vector<double> d1(16), a1(32), d2(16), a2(32);
    const double change = std::ldexp(1.0, -static_cast<int>(bits() % 50));
    for (std::size_t i = 0; i < 16; ++i) {
      d1[i] = normal(bits);
      d2[i] = d1[i] * (1 + change);
    }
    for (std::size_t j = 0; j < 32; ++j) {
      a1[j] = 1e8 * normal(bits);
      a2[j] = a1[j] / (1 + change);
    }
    const Pair pair(d1, a1, d2, a2);
    const long double exact = pair.brute();
    const double bound = pair.stable();
    EXPECT_GE(bound, exact) << "relative change " << change;
    cancelled += bound > 4 * exact ? 1 : 0;
  }
  EXPECT_GT(cancelled, 100);
}

TEST(MlpDifferences, NormIsNeverBelowTheTruth) {
  std::mt19937 bits(2);
  std::normal_distribution<double> normal;
  for (int trial = 0; trial < 1000; ++trial) {
    std::vector<double> d1(16), a1(16), d2(16), a2(16);
    const double change = std::pow(10.0, -static_cast<double>(bits() % 14));
    for (std::size_t i = 0; i < 16; ++i) {
      d1[i] = normal(bits), a1[i] = normal(bits);
      d2[i] = d1[i] + change * normal(bits), a2[i] = a1[i] + change * normal(bits);
    }
    const Pair pair(d1, a1, d2, a2);
    const long double exact = pair.brute();
    EXPECT_GE(pair.stable(), exact * (1 - 1e-15L));
    EXPECT_LE(pair.stable(), exact * (1 + 1e-9L));
  }
}

TEST(MlpDifferences, NonFiniteOperandsAreNoNorm) {
  const auto good = padded({1, 2});
  for (double bad : {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN(), 1e200}) {
    const auto spoiled = padded({1, bad});
    EXPECT_TRUE(std::isnan(Pair(spoiled, good, good, good).stable()));
    EXPECT_TRUE(std::isnan(Pair(good, spoiled, good, good).stable()));
    EXPECT_TRUE(std::isnan(Pair(good, good, spoiled, good).stable()));
    EXPECT_TRUE(std::isnan(Pair(good, good, good, spoiled).stable()));
  }
}

// Known values of a tanh network 2-2-1 with a sigmoid score h, at two points. The loss is the saddle form of the
// AUC with p = 0.1 and label +1, so d loss / d h = 2 (1 - p)(h - a - alpha) and d loss / d a = -2 (1 - p)(h - a).
TEST(MlpDifferences, KnownNetwork) {
  const MlpShape shape{{2, 2, 1}, 1, Activation::tanh, Head::squared};
  const std::vector<float> w1 = {0.5F, -0.3F, 0.2F, 0.4F, 0.1F, -0.2F, 0.7F, -0.6F, 0.05F};
  const std::vector<float> w2 = {0.52F, -0.31F, 0.19F, 0.43F, 0.08F, -0.2F, 0.68F, -0.61F, 0.07F};
  Scratch<double> input(16, shape.width(0));
  input.row(0)[0] = 1, input.row(0)[1] = -2, input.row(0)[2] = 1;
  MlpNetwork<double> first(shape, 16), second(shape, 16);
  double h[2], by_a[2];
  const double a[] = {0.3, 0.31}, alpha[] = {0.5, 0.47};
  int point = 0;
  for (MlpNetwork<double>* network : {&first, &second}) {
    network->load(point == 0 ? w1 : w2);
    network->forward(input, 16);
    h[point] = 1 / (1 + std::exp(-network->level(2).row(0)[0]));
    by_a[point] = -1.8 * (h[point] - a[point]);
    network->delta(2).row(0)[0] = 1.8 * (h[point] - a[point] - alpha[point]) * h[point] * (1 - h[point]);
    network->backward(16);
    ++point;
  }
  EXPECT_NEAR(h[0], 0.737299635626, 1e-7);  // the weights are rounded to float32
  EXPECT_NEAR(h[1], 0.744369224173, 1e-7);

  const auto row = [](Scratch<double>& scratch) {
    return std::vector<double>(scratch.row(0), scratch.row(0) + scratch.width);
  };
  const auto own_square = [&](MlpNetwork<double>& network) {
    return squared_norm(network.delta(1).row(0), 16) * squared_norm(input.row(0), 16) +
           squared_norm(network.delta(2).row(0), 16) * squared_norm(network.level(1).row(0), 16);
  };
  EXPECT_NEAR(own_square(first) + by_a[0] * by_a[0], 6.210623075354e-01, 1e-6);
  EXPECT_NEAR(own_square(second) + by_a[1] * by_a[1], 6.117612512398e-01, 1e-6);
  const double difference =
      Pair(row(first.delta(1)), row(input), row(second.delta(1)), row(input)).stable() +
      Pair(row(first.delta(2)), row(first.level(1)), row(second.delta(2)), row(second.level(1))).stable();
  EXPECT_NEAR(difference + (by_a[0] - by_a[1]) * (by_a[0] - by_a[1]), 3.253407519288e-04, 1e-9);
}

// ---- parameters and options ----

TEST(MlpParameters, GroupsCoverTheVectorInOrder) {
  const auto objective = make_mlp({{7, 5, 3}});
  const auto groups = objective->groups();
  ASSERT_EQ(groups.size(), 4U);
  std::size_t offset = 0;
  for (const ParameterGroup& group : groups) {
    EXPECT_EQ(group.offset, offset);
    offset += group.rows * group.cols;
  }
  EXPECT_EQ(offset, objective->dim());
  EXPECT_EQ(groups[0].name, "layer1.weight");
  EXPECT_EQ(groups[0].rows, 5U);
  EXPECT_EQ(groups[0].cols, 7U);
  EXPECT_EQ(groups[3].name, "layer2.bias");
  EXPECT_EQ(make_mlp({{7, 5, 3}, 0})->groups().size(), 3U);
  EXPECT_EQ(make_mlp({{7, 3}})->groups()[1].name, "bias");
}

TEST(MlpParameters, StartAtTheRightScaleOrAtZero) {
  const PublicStream stream(3, "initialise");
  const auto objective = make_mlp({{200, 100, 10}});
  std::vector<float> w(objective->dim(), 7.0F);
  objective->initialise(stream, w);
  double square = 0;
  for (std::size_t j = 0; j < 20000; ++j) square += static_cast<double>(w[j]) * w[j];
  EXPECT_NEAR(square / 20000, 2.0 / 200, 0.1 * 2.0 / 200);  // He et al.
  for (std::size_t j = 20000; j < 20100; ++j) EXPECT_EQ(w[j], 0.0F);

  const auto linear = make_mlp({{200, 10}});
  std::vector<float> zero(linear->dim(), 7.0F);
  linear->initialise(stream, zero);
  for (float x : zero) EXPECT_EQ(x, 0.0F);
}

std::unique_ptr<ObjectiveEntry::Builder> builder_of(const std::string& name, const Settings& settings,
                                                    std::vector<std::string>& problems) {
  for (const ObjectiveEntry& entry : objectives()) {
    if (entry.name != name) continue;
    auto builder = entry.builder();
    Options options("objective");
    builder->declare(options);
    options.read(settings, problems);
    return builder;
  }
  return nullptr;
}

TEST(MlpOptions, SizeTheNetwork) {
  std::vector<std::string> problems;
  const ObjectiveFacts facts{784, Storage::dense_u8, 1};
  EXPECT_EQ(builder_of("mlp", {{"objective.classes", {"10", ""}}}, problems)->make(facts)->dim(),
            785U * 256 + 257 * 128 + 129 * 10);
  EXPECT_EQ(builder_of("softmax", {{"objective.classes", {"3", ""}}}, problems)->make(facts)->dim(), 785U * 3);
  const auto sparse =
      builder_of("softmax", {{"objective.classes", {"10", ""}}}, problems)->make({784, Storage::sparse_f32, 1});
  EXPECT_EQ(sparse->dim(), 785U * 10);
  EXPECT_EQ(sparse->gradients()->gradient_slack().summed_rows, 1U);  // the kernel for sparse rows
  const Settings sign = {{"objective.hidden", {"", ""}}, {"objective.head", {"logistic", ""}}};
  const auto builder = builder_of("mlp", sign, problems);
  EXPECT_EQ(builder->label_kind(), LabelKind::sign);
  EXPECT_EQ(builder->classes(), 0U);
  EXPECT_EQ(builder->make({784, Storage::dense_u8, 0})->dim(), 784U);
  EXPECT_TRUE(problems.empty());
  builder_of("mlp", {{"objective.hidden", {"16,0", ""}}}, problems);
  EXPECT_EQ(problems.size(), 1U);
}

}  // namespace
}  // namespace dpmpi::test::mlp_test
