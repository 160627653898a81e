// A network of layers as the critic: the perceptron of the same layers says what it is, and convolutions keep the
// contract of kernels, have the gradients that they say, and the bound.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "objective/minimax/layer_options.hpp"
#include "objective/minimax/wgan.hpp"
#include "objective/minimax/wgan_fakes.hpp"
#include "objective/network/reference.hpp"
#include "objective/saddle_property.hpp"
#include "objective/slopes.hpp"
#include "support/data_files.hpp"
#include "support/shards.hpp"

namespace dpmpi::test::wgan_layers_test {
namespace {

using Point = std::vector<float>;

constexpr std::size_t rows = 4, columns = 6, features = rows * columns, latent = 5, fakes = 150;
constexpr const char* convolutional = "conv 3 3x3 pad 1, leaky_relu, avgpool 2, conv 4 2x2, tanh, flatten, dense ";

WganSettings perceptron_settings(std::size_t classes = 0) {
  return {.generator = {.units = {latent + classes, 9, features}, .activation = Activation::leaky_relu},
          .critic = {.units = {features, 7, 6, std::max<std::size_t>(1, classes)},
                     .activation = Activation::leaky_relu},
          .classes = classes,
          .rows = rows,
          .columns = columns,
          .fakes = fakes,
          .penalty = 0.01};
}
WganSettings settings_of(const std::string& layers, const Volume& in, std::size_t classes = 0) {
  WganSettings settings = perceptron_settings(classes);
  settings.layers = shape_of(layers, in);
  return settings;
}
WganSettings convolutional_settings(std::size_t classes = 0, const Volume& in = {1, rows, columns}) {
  return settings_of(convolutional + std::to_string(std::max<std::size_t>(1, classes)), in, classes);
}

Records images(Storage storage = Storage::dense_f32, std::size_t count = 40, std::size_t classes = 0) {
  return random_records({.storage = storage,
                         .count = count,
                         .features = features,
                         .labels = classes > 0 ? LabelKind::class_ : LabelKind::real,
                         .classes = classes});
}

Point point_of(const SaddleObjective& f, double distance = 1) {
  Point w(f.dim());
  f.initialise(PublicStream(3, "start"), w);
  return moved(w, distance);
}

/// A perceptron's matrices stand output after output, those of dense layers input after input.
Point of_layers(const Point& w, const WganSettings& settings) {
  const MlpShape& shape = settings.critic;
  std::size_t from = settings.generator.dim();
  Point moved(w.begin(), w.begin() + static_cast<std::ptrdiff_t>(from));
  for (std::size_t l = 0; l < shape.layers(); ++l) {
    for (std::size_t k = 0; k < shape.inputs(l); ++k)
      for (std::size_t u = 0; u < shape.outputs(l); ++u)
        moved.push_back(w[from + shape.weight_offset(l) + u * shape.inputs(l) + k]);
    for (std::size_t u = 0; u < shape.outputs(l); ++u) moved.push_back(w[from + shape.bias_offset(l) + u]);
  }
  return moved;
}

void expect_close(const std::vector<double>& a, const std::vector<double>& b, double tolerance) {
  ASSERT_EQ(a.size(), b.size());
  const double size = norm_of(b);
  ASSERT_GT(size, 1e-3);
  for (std::size_t j = 0; j < a.size(); ++j) EXPECT_NEAR(a[j], b[j], tolerance * size) << "coordinate " << j;
}

class LayersOfTheCritic : public testing::TestWithParam<std::size_t> {};

// The same network twice, of which the one is seen layer by layer.
TEST_P(LayersOfTheCritic, GiveWhatThePerceptronGives) {
  const std::size_t classes = GetParam();
  const WganSettings plain = perceptron_settings(classes);
  const auto a = make_wgan(settings_of(
      "dense 7, leaky_relu, dense 6, leaky_relu, dense " + std::to_string(std::max<std::size_t>(1, classes)),
      {features, 1, 1}, classes));
  const auto b = make_wgan(plain);
  ASSERT_EQ(a->dim(), b->dim());
  const Point w_ = point_of(*b), w = of_layers(w_, plain);
  const auto moved = [&](const std::vector<double>& critic) {
    Point whole(w_.size());
    for (std::size_t j = 0; j < critic.size(); ++j) whole[b->primal_dim() + j] = static_cast<float>(critic[j]);
    const Point own = of_layers(whole, plain);
    return widened(std::span(own).subspan(b->primal_dim()));
  };
  std::vector<double> primal_a(a->primal_dim()), primal_b(a->primal_dim()), dual_a(a->dual_dim()),
      dual_b(a->dual_dim());
  a->add_public_primal(w, 3, primal_a);
  b->add_public_primal(w_, 3, primal_b);
  expect_close(primal_a, primal_b, 1e-5);
  a->add_public_dual(w, 3, dual_a);
  b->add_public_dual(w_, 3, dual_b);
  expect_close(dual_a, moved(dual_b), 1e-5);

  Records records = images(Storage::dense_f32, 40, classes);
  for (std::size_t i = 0; i < records.count; ++i) records.weight.push_back(static_cast<float>(1 + i % 4) / 4);
  const auto sum = [&](SaddleObjective& f, const Point& at) {
    std::vector<double> values;
    for (const std::int64_t x :
         sum_of({"dual", f.dual_dim(), 0.7, clipped_dual_gradients(f, at), {}}, records, all_rows(records), 16, 28))
      values.push_back(static_cast<double>(x) * test_lattice(0.7, 28).quantum());
    return values;
  };
  expect_close(sum(*a, w), moved(sum(*b, w_)), 1e-5);
  const auto losses_a = losses_of(*a, w, records, all_rows(records)),
             losses_b = losses_of(*b, w_, records, all_rows(records));
  for (std::size_t i = 0; i < losses_a.size(); ++i) EXPECT_NEAR(losses_a[i], losses_b[i], 1e-4);
}

/// The critic in double, and the generator in plain loops.
class Reference {
 public:
  explicit Reference(const WganSettings& settings)
      : settings_(settings),
        generator_(settings_.generator, none_),
        critic_(settings_.layers->plans, settings_.layers->in) {}

  double score(const std::vector<double>& x, std::span<const double> w, std::size_t k = 0) {
    critic_.load(w.subspan(settings_.generator.dim()));
    AlignedVector<double> in = room_for<double>(critic_.in());
    const Volume& shape = critic_.in();
    for (std::size_t p = 0; p < shape.positions(); ++p)
      for (std::size_t c = 0; c < shape.channels; ++c) in[p * shape.channels + c] = x[c * shape.positions() + p];
    return critic_.forward(in.data())[k];
  }
  double mean_fake_score(const Latents& latents, std::span<const double> w) {
    double total = 0;
    for (std::size_t i = 0; i < latents.count; ++i) {
      std::vector<float> u(latent);
      latents.stream.normals((latents.first + i) * (latent + latent % 2), u);
      std::vector<double> input(u.begin(), u.end());
      const std::size_t own = settings_.classes > 0 ? (latents.first + i) % settings_.classes : 0;
      for (std::size_t k = 0; k < settings_.classes; ++k) input.push_back(k == own ? 1 : 0);
      std::vector<double> x = generator_.levels(input, w.first(settings_.generator.dim())).back();
      for (double& pixel : x) pixel = std::tanh(pixel);
      total += score(x, w, own);
    }
    return total / static_cast<double>(latents.count);
  }

 private:
  WganSettings settings_;
  Records none_;
  MlpReference generator_;
  Sequence<double> critic_;
};

TEST_P(LayersOfTheCritic, HavePublicGradientsThatAreSlopes) {
  for (const Volume& in : {Volume{1, rows, columns}, Volume{2, rows, columns / 2}}) {
    const WganSettings settings =
        in.channels == 1 ? convolutional_settings(GetParam(), in)
                         : settings_of("conv 3 3x3 pad 1, leaky_relu, conv 4 2x2, tanh, flatten, dense " +
                                           std::to_string(std::max<std::size_t>(1, GetParam())),
                                       in, GetParam());
    const auto f = make_wgan(settings);
    Reference reference(settings);
    const Point w = point_of(*f);
    std::vector<double> generator(f->primal_dim(), 0.0), critic(f->dual_dim(), 0.0);
    f->add_public_primal(w, 7, generator);
    f->add_public_dual(w, 7, critic);
    expect_slopes(
        [&](auto at) {
          return -reference.mean_fake_score({{1, "wgan generator"}, fakes, 7 * fakes}, at);
        },
        widened(w), 0, generator, 13);
    expect_slopes(
        [&](auto at) {
          const double norm = norm_of(at.subspan(f->primal_dim()));
          return -reference.mean_fake_score({{1, "wgan critic"}, fakes, 7 * fakes}, at) -
                 settings.penalty * norm * norm;
        },
        widened(w), f->primal_dim(), critic, 11);
  }
}

TEST_P(LayersOfTheCritic, KeepTheContract) {
  for (const Storage storage : {Storage::dense_f32, Storage::dense_u8, Storage::sparse_f32}) {
    const auto f = make_wgan(convolutional_settings(GetParam()));
    const Records records = images(storage, 40, GetParam());
    const Point w = point_of(*f), v = moved(w, 0.1);
    check_sensitivity(*f, records, w, v, 0.02);
    check_rows_apart(*f, records, w, v, 0.02);
    check_no_allocation(*f, records, w, v);
    std::vector<double> generator(f->primal_dim()), critic(f->dual_dim());
    f->add_public_primal(w, 0, generator);
    f->add_public_dual(w, 0, critic);
    const std::size_t before = allocation_count();
    f->add_public_primal(w, 1, generator);
    f->add_public_dual(w, 1, critic);
    EXPECT_EQ(allocation_count() - before, 0U);
  }
}

TEST_P(LayersOfTheCritic, ScoreAbsentAndBrokenRecordsAsNothing) {
  const auto f = make_wgan(convolutional_settings(GetParam()));
  const Point w = point_of(*f);
  const Records good = images(Storage::dense_f32, 20, GetParam());
  const auto sum = [&](const Records& records) {
    return sum_of({"dual", f->dual_dim(), 0.1, clipped_dual_gradients(*f, w), {}}, records, all_rows(records), 16);
  };
  Records without = good;
  empty_slot(without, 7);
  EXPECT_NE(sum(good), sum(without));
  for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    Records spoilt = good;
    spoil_feature(spoilt, 7, bad);
    EXPECT_EQ(sum(spoilt), sum(without));
  }
}

INSTANTIATE_TEST_SUITE_P(WithClassesAndWithout, LayersOfTheCritic, testing::Values(0U, 3U),
                         [](const auto& test) { return "classes_" + std::to_string(test.param); });

TEST(LayeredCritic, HaveNamesOfTheirOwnAndAStart) {
  const auto f = make_wgan(convolutional_settings());
  const auto groups = f->groups();
  EXPECT_EQ(groups.front().name, "generator.layer1.weight");
  EXPECT_EQ(groups.back().name, "critic.7.bias");
  EXPECT_EQ(groups.back().offset + groups.back().size(), f->dim());
  Point w(f->dim());
  f->initialise(PublicStream(3, "start"), w);
  EXPECT_GT(norm_of(widened(std::span(w).subspan(f->primal_dim()))), 0.5);
  EXPECT_EQ(f->structure().size(), 7U) << "no ball, no bound";
}

// Projected to the ball, the critic moves no two images further apart than the plan says.
TEST(LayeredCritic, AreBoundedByTheBall) {
  WganSettings settings = convolutional_settings();
  settings.dual_radius = 2.5;
  const auto f = make_wgan(settings);
  const double bound = slope_bound_of(settings.layers->plans, settings.layers->in, 2.5);
  EXPECT_NEAR(bound, 3 * 0.5 * std::sqrt(2.0) * std::pow(2.5 * 2.5 / 3, 1.5), 1e-12);
  EXPECT_EQ(f->structure().back(), "slope of the critic at most 6.379");
  Reference reference(settings);
  const Records records = images();
  double steepest = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    Point w(f->dim());
    f->initialise(PublicStream(seed, "start"), w);
    EXPECT_LE(norm_of(widened(std::span(w).subspan(f->primal_dim()))), 2.5 * (1 + 1e-6));
    for (std::size_t i = 1; i < records.count; ++i) {
      std::vector<double> x, z;
      double square = 0;
      for (std::size_t j = 0; j < features; ++j) {
        x.push_back(feature(records, i - 1, j));
        z.push_back(feature(records, i, j));
        square += (x[j] - z[j]) * (x[j] - z[j]);
      }
      const auto at = widened(w);
      const double slope = std::abs(reference.score(x, at) - reference.score(z, at)) / std::sqrt(square);
      EXPECT_LE(slope, bound);
      steepest = std::max(steepest, slope);
    }
  }
  EXPECT_GT(steepest, 0.01);
}

TEST(LayeredCritic, ThatNoBallBoundsNeedNone) {
  WganSettings settings = settings_of("dense 7, layernorm, leaky_relu, dense 1", {features, 1, 1});
  EXPECT_NO_THROW(make_wgan(settings));
  settings.dual_radius = 2;
  EXPECT_MENTIONS(
      message_of<ConfigError>([&] { make_wgan(settings); }),
      "objective.layers: layer 2 (layernorm): the norm of its parameters does not bound its slope: such a "
      "critic has no bound within objective.dual_radius = 2");
}

/// Of options for images of 4 x 6 pixels.
std::string refused(Choices choices) {
  choices.insert(choices.end(), {{"image_rows", "4"}, {"image_columns", "6"}});
  return refusal("wgan", features, choices);
}

TEST(LayeredCritic, MistakesAreTold) {
  EXPECT_MENTIONS(refused({{"layers", "dense 1"}, {"critic", "32"}}), "are two critics: take one of them");
  EXPECT_MENTIONS(refused({{"layers", "conv 2 3x3, dens 1"}}), "layer 2 (dens 1): there is no such layer");
  EXPECT_MENTIONS(refused({{"layers", "conv 2 3x3, conv 2 3x3, flatten, dense 1"}}),
                  "layer 2 (conv 2 3x3): a window of 3x3 is larger than an image of 2x4");
  EXPECT_MENTIONS(refused({{"layers", "conv 2 3x3, dense 1"}}), "layer 2 (dense 1): it takes a list of numbers");
  EXPECT_MENTIONS(refused({{"layers", "flatten, dense 1"}, {"classes", "3"}}),
                  "gives 1 channels of 1x1 where the loss takes 3 numbers");
  EXPECT_MENTIONS(refused({{"layers", "flatten, dense 1"}, {"input", "1x5x5"}}),
                  "has 25 numbers, and the records have 24 features");
  EXPECT_MENTIONS(refused({{"layers", "flatten, layernorm, dense 1"}, {"dual_radius", "2"}}),
                  "layer 2 (layernorm)");
}

}  // namespace
}  // namespace dpmpi::test::wgan_layers_test
