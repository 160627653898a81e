// A network of layers as the generator: the perceptron of the same layers says what it is, and images that are made
// by convolutions have the gradients that they say.
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "objective/minimax/layer_options.hpp"
#include "objective/minimax/wgan.hpp"
#include "objective/saddle_property.hpp"
#include "objective/slopes.hpp"
#include "support/data_files.hpp"
#include "support/shards.hpp"

namespace dpmpi::test::wgan_generator_test {
namespace {

using Point = std::vector<float>;

constexpr std::size_t rows = 4, columns = 6, features = rows * columns, latent = 5, fakes = 40;

WganSettings settings_of(const std::string& generator, const std::string& critic, std::size_t classes,
                         const Volume& image = {1, rows, columns}) {
  const std::size_t outputs = std::max<std::size_t>(1, classes);
  return {.generator = {.units = {latent + classes, 9, features}, .activation = Activation::leaky_relu},
          .generator_layers = shape_of(generator, {latent + classes, 1, 1}),
          .critic = {.units = {features, 7, outputs}, .activation = Activation::leaky_relu},
          .layers = shape_of(critic + std::to_string(outputs), image),
          .classes = classes,
          .rows = rows,
          .columns = columns,
          .fakes = fakes,
          .penalty = 0.01};
}
constexpr const char* images_of_layers =
    "dense 12, unflatten 2x2x3, groupnorm 2, softplus, upsample 2, conv 3 3 pad 1, tanh, conv 1 1";
constexpr const char* images_in_two_channels =
    "dense 12, unflatten 2x2x3, tanh, upsample 2, conv 1 1, flatten, dense 24";
constexpr const char* critic_of_images = "conv 3 3x3 pad 1, tanh, flatten, dense ";

Point point_of(const SaddleObjective& f) {
  Point w(f.dim());
  f.initialise(PublicStream(3, "start"), w);
  return moved(w, 1);
}

class LayersOfTheGenerator : public testing::TestWithParam<std::size_t> {};

TEST_P(LayersOfTheGenerator, GiveWhatThePerceptronGives) {
  const std::size_t classes = GetParam(), inputs = latent + classes;
  const WganSettings layers = settings_of("dense 9, leaky_relu, dense 24", critic_of_images, classes);
  WganSettings plain = layers;
  plain.generator_layers.reset();
  const auto a = make_wgan(layers), b = make_wgan(plain);
  ASSERT_EQ(a->dim(), b->dim());
  // A perceptron's matrices stand output after output, those of dense layers input after input.
  const auto moved_of = [&](const auto& w) {
    auto to = w;
    const MlpShape& shape = plain.generator;
    for (std::size_t l = 0; l < shape.layers(); ++l)
      for (std::size_t u = 0; u < shape.outputs(l); ++u)
        for (std::size_t k = 0; k < shape.inputs(l); ++k)
          to[shape.weight_offset(l) + k * shape.outputs(l) + u] =
              w[shape.weight_offset(l) + u * shape.inputs(l) + k];
    return to;
  };
  ASSERT_EQ(plain.generator.inputs(0), inputs);
  const Point w = point_of(*b);
  std::vector<double> by_layers(a->primal_dim()), by_units(b->primal_dim());
  a->add_public_primal(moved_of(w), 3, by_layers);
  b->add_public_primal(w, 3, by_units);
  const std::vector<double> expected = moved_of(by_units);
  ASSERT_GT(norm_of(expected), 1e-3);
  for (std::size_t j = 0; j < expected.size(); ++j)
    EXPECT_NEAR(by_layers[j], expected[j], 1e-5 * norm_of(expected));
  std::vector<double> critic_a(a->dual_dim()), critic_b(b->dual_dim());
  a->add_public_dual(moved_of(w), 3, critic_a);
  b->add_public_dual(w, 3, critic_b);
  for (std::size_t j = 0; j < critic_b.size(); ++j) EXPECT_NEAR(critic_a[j], critic_b[j], 1e-5 * norm_of(critic_b));
}

/// Both networks in double.
class Reference {
 public:
  explicit Reference(const WganSettings& settings)
      : classes_(settings.classes),
        generator_(settings.generator_layers->plans, settings.generator_layers->in),
        critic_(settings.layers->plans, settings.layers->in) {}

  double mean_fake_score(const PublicStream& stream, std::size_t first, std::span<const double> w) {
    generator_.load(w.first(generator_.parameters()));
    critic_.load(w.subspan(generator_.parameters()));
    double total = 0;
    for (std::size_t i = first; i < first + fakes; ++i) total += score(stream, i);
    return total / fakes;
  }

 private:
  double score(const PublicStream& stream, std::size_t i) {
    std::vector<float> u(latent);
    stream.normals(i * (latent + latent % 2), u);
    AlignedVector<double> input = room_for<double>(generator_.in());
    std::ranges::copy(u, input.begin());
    const std::size_t own = classes_ > 0 ? i % classes_ : 0;
    if (classes_ > 0) input[latent + own] = 1;
    const double* const made = generator_.forward(input.data());
    const Volume &out = generator_.out(), &in = critic_.in();
    std::vector<double> pixels(features);
    for (std::size_t p = 0; p < out.positions(); ++p)
      for (std::size_t c = 0; c < out.channels; ++c)
        pixels[c * out.positions() + p] = std::tanh(made[p * out.channels + c]);
    AlignedVector<double> image = room_for<double>(in);
    for (std::size_t p = 0; p < in.positions(); ++p)
      for (std::size_t c = 0; c < in.channels; ++c) image[p * in.channels + c] = pixels[c * in.positions() + p];
    return critic_.forward(image.data())[own];
  }

  std::size_t classes_;
  Sequence<double> generator_, critic_;
};

TEST_P(LayersOfTheGenerator, HavePublicGradientsThatAreSlopes) {
  for (const auto& [generator, image] : {std::pair{images_of_layers, Volume{1, rows, columns}},
                                         {images_in_two_channels, Volume{2, rows, columns / 2}}}) {
    const WganSettings settings = settings_of(generator, critic_of_images, GetParam(), image);
    const auto f = make_wgan(settings);
    Reference reference(settings);
    const Point w = point_of(*f);
    std::vector<double> by_generator(f->primal_dim(), 0.0), by_critic(f->dual_dim(), 0.0);
    f->add_public_primal(w, 7, by_generator);
    f->add_public_dual(w, 7, by_critic);
    expect_slopes(
        [&](auto at) {
          return -reference.mean_fake_score({1, "wgan generator"}, 7 * fakes, at);
        },
        widened(w), 0, by_generator, 3);
    expect_slopes(
        [&](auto at) {
          const double norm = norm_of(at.subspan(f->primal_dim()));
          return -reference.mean_fake_score({1, "wgan critic"}, 7 * fakes, at) - settings.penalty * norm * norm;
        },
        widened(w), f->primal_dim(), by_critic, 7);
  }
}

// A step reads no allocator, and what records contribute keeps its bound whatever makes the fakes.
TEST_P(LayersOfTheGenerator, KeepTheContract) {
  const std::size_t classes = GetParam();
  const auto f = make_wgan(settings_of(images_of_layers, critic_of_images, classes));
  const Records records = random_records({.count = 40,
                                          .features = features,
                                          .labels = classes > 0 ? LabelKind::class_ : LabelKind::real,
                                          .classes = classes});
  const Point w = point_of(*f), v = moved(w, 0.1);
  check_sensitivity(*f, records, w, v, 0.02);
  check_no_allocation(*f, records, w, v);
  std::vector<double> by_generator(f->primal_dim());
  f->add_public_primal(w, 0, by_generator);
  const std::size_t before = allocation_count();
  f->add_public_primal(w, 1, by_generator);
  EXPECT_EQ(allocation_count() - before, 0U);
}

INSTANTIATE_TEST_SUITE_P(WithClassesAndWithout, LayersOfTheGenerator, testing::Values(0U, 3U),
                         [](const auto& test) { return "classes_" + std::to_string(test.param); });

TEST(LayeredGenerator, HasNamesOfItsOwnAndAStart) {
  const auto f = make_wgan(settings_of(images_of_layers, critic_of_images, 0));
  EXPECT_EQ(f->groups().front().name, "generator.1.weight");
  EXPECT_EQ(f->groups().back().name, "critic.4.bias");
  EXPECT_EQ(f->structure().front(), "generator: dense 12: 12, 72 parameters, 60 products");
  EXPECT_EQ(f->structure().size(), 12U);
  Point w(f->dim());
  f->initialise(PublicStream(3, "start"), w);
  EXPECT_GT(norm_of(widened(std::span(w).first(f->primal_dim()))), 0.5);
}

/// Of options for images of 4 x 6 pixels.
std::string refused(Choices choices) {
  choices.insert(choices.end(), {{"image_rows", "4"}, {"image_columns", "6"}, {"latent", "5"}});
  return refusal("wgan", features, choices);
}

TEST(LayeredGenerator, MistakesAreToldWithTheirPlaces) {
  const std::string all = refused({{"generator_layers", "dens 3, unflatten 2x4, upsample 0, dense 24"},
                                   {"generator", "32"},
                                   {"layers", "flatten, dens 1"}});
  EXPECT_MENTIONS(all, "objective.generator_layers: layer 1 (dens 3): there is no such layer");
  EXPECT_MENTIONS(all, "objective.generator_layers: layer 2 (unflatten 2x4): the shape is 2x4; it takes CHANNELSx");
  EXPECT_MENTIONS(all,
                  "objective.generator_layers: layer 3 (upsample 0): the factor is 0; it takes a whole number");
  EXPECT_MENTIONS(all, "are two generators: take one of them");
  EXPECT_MENTIONS(all, "objective.layers: layer 2 (dens 1)");
  EXPECT_MENTIONS(refused({{"generator_layers", "dense 12, unflatten 2x2x4"}}),
                  "layer 2 (unflatten 2x2x4): an image of 2 channels of 2x4 has 16 numbers, and 12 come in");
  EXPECT_MENTIONS(refused({{"generator_layers", "dense 12, unflatten 3x2x2, unflatten 3x2x2"}}),
                  "layer 3 (unflatten 3x2x2): it takes a list of numbers");
  EXPECT_MENTIONS(refused({{"generator_layers", "dense 24, unflatten 1x6x4"}}),
                  "objective.generator_layers: the last layer gives 1 channels of 6x4 where an image has 1 of 4x6");
  EXPECT_MENTIONS(refused({{"generator_layers", "dense 6, unflatten 1x2x3, upsample 1000000, upsample 1000000"}}),
                  "layer 3 (upsample 1000000): what comes out are more than 10^12 numbers");
  EXPECT_MENTIONS(refused({{"generator_layers", "dense 24, dropout 0.5"}}), "objective.generator_layers: dropout");
  EXPECT_MENTIONS(refused({{"generator_layers", "unflatten 99999999999999999999x2x2"}}), "it takes CHANNELSx");
}

}  // namespace
}  // namespace dpmpi::test::wgan_generator_test
