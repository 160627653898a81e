#include "dpmpi/objective/mlp.hpp"

#include <gtest/gtest.h>

#include "objective/mlp_reference.hpp"
#include "objective/objective_property.hpp"

namespace dpmpi::test {
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
          .labels = head == Head::softmax    ? LabelKind::class_
                    : head == Head::logistic ? LabelKind::sign
                                             : LabelKind::real,
          .classes = c.shape.units.back()};
}

class Networks : public testing::TestWithParam<NetworkCase> {};

// check_contract() without its finite differences in float32, whose steps are too long for networks: kernels are
// compared with the reference, and the reference with its own loss in double.
TEST_P(Networks, KeepTheContract) {
  const NetworkCase& c = GetParam();
  const auto objective = make_mlp(c.shape);
  const Records records = random_records(records_for(c));
  const MlpReference reference(c.shape, records);
  PropertyCase property{.objective = *objective,
                        .records = records,
                        .w = random_weights(c.shape),
                        .reference = reference.functions(),
                        .smooth = c.shape.layers() == 1 || c.shape.activation != Activation::relu,
                        .tolerance = 1e-5,
                        .clippings = {Clipping::flat, Clipping::per_layer}};
  ASSERT_EQ(property.w.size(), objective->dim());
  check_reference(property);
  check_norm_bounds(property);
  check_row_invariance(property);
  check_bad_records(property);
  check_tiny_differences(property);
  check_difference_symmetry(property);
  check_regularizer_stays_out(property);
  check_no_allocation(property);
  property.tolerance = 1e-3;  // outputs rounded to float32 (2^-24), divided by a step of 1e-3
  check_directional_differences(property);
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
        NetworkCase{"relu_squared_two_layers", {{9, 17, 3, 1}, 0, relu, squared}},
        NetworkCase{"tanh_logistic_three_layers", {{12, 17, 3, 16, 1}, 1, Activation::tanh, logistic}},
        NetworkCase{"softplus_softmax_two_layers", {{3, 15, 31, 3}, 1, softplus, Head::softmax}},
        NetworkCase{
            "more_than_a_micro_batch", {{7, 5, 3}, 1, Activation::tanh, Head::softmax}, Storage::dense_f32, 150}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace dpmpi::test
