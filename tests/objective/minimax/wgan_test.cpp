#include "objective/minimax/wgan.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "objective/minimax/wgan_fakes.hpp"
#include "objective/network/reference.hpp"
#include "objective/saddle_property.hpp"
#include "objective/slopes.hpp"
#include "support/shards.hpp"

namespace dpmpi::test::wgan_test {
namespace {

using Point = std::vector<float>;

constexpr std::size_t features = 15, latent = 5, fakes = 150;  // more than a micro-batch

/// With K classes, or without.
WganSettings small_settings(std::size_t classes = 0) {
  return {.generator = {.units = {latent + classes, 9, 17, features}, .activation = Activation::leaky_relu},
          .critic = {.units = {features, 19, 6, std::max<std::size_t>(1, classes)},
                     .input_bias = 0.5F,
                     .activation = Activation::leaky_relu},
          .classes = classes,
          .rows = 3,
          .columns = 5,
          .fakes = fakes,
          .penalty = 0.01};
}

RecordsShape small_records(Storage storage = Storage::dense_f32, std::size_t count = 150, std::size_t classes = 0) {
  return {.storage = storage,
          .count = count,
          .features = features,
          .bias = 0.5F,
          .labels = classes > 0 ? LabelKind::class_ : LabelKind::real,
          .classes = classes};
}

Point point_of(const SaddleObjective& f, double distance = 2) {
  Point w(f.dim());
  f.initialise(PublicStream(3, "start"), w);
  return moved(w, distance);
}

/// The two networks in plain double loops.
class WganReference {
 public:
  explicit WganReference(const WganSettings& settings)
      : settings_(settings), generator_(settings_.generator, none_), critic_(settings_.critic, none_) {}

  double score(const std::vector<double>& x, std::span<const double> w, std::size_t k = 0) const {
    return critic_.levels(x, critic(w)).back()[k];
  }
  std::vector<double> score_gradient(const std::vector<double>& x, std::span<const double> w,
                                     std::size_t k = 0) const {
    std::vector<double> g(settings_.critic.dim()), of_output(settings_.critic.units.back(), 0.0);
    of_output[k] = 1;
    critic_.gradient_from(critic_.levels(x, critic(w)), of_output, critic(w), g);
    return g;
  }
  std::size_t class_of(std::uint64_t fake) const { return settings_.classes > 0 ? fake % settings_.classes : 0; }
  /// Fake number i, from its normals u.
  std::vector<double> fake(std::uint64_t i, const std::vector<float>& u, std::span<const double> w) const {
    std::vector<double> input(u.begin(), u.end());
    for (std::size_t k = 0; k < settings_.classes; ++k) input.push_back(k == class_of(i) ? 1 : 0);
    return image(input, w);
  }
  std::vector<double> image(const std::vector<double>& u, std::span<const double> w) const {
    std::vector<double> x = generator_.levels(u, w.first(settings_.generator.dim())).back();
    for (double& pixel : x) pixel = std::tanh(pixel);
    return x;
  }
  double mean_fake_score(const Latents& latents, std::span<const double> w) const {
    double total = 0;
    for (std::size_t i = 0; i < latents.count; ++i) {
      std::vector<float> u(latent);
      latents.stream.normals((latents.first + i) * (latent + latent % 2), u);
      total += score(fake(latents.first + i, u, w), w, class_of(latents.first + i));
    }
    return total / static_cast<double>(latents.count);
  }

 private:
  std::span<const double> critic(std::span<const double> w) const { return w.subspan(settings_.generator.dim()); }

  WganSettings settings_;
  Records none_;
  MlpReference generator_, critic_;
};

std::vector<double> features_of(const Records& r, std::size_t i) {
  std::vector<double> x;
  for (std::size_t j = 0; j < r.features; ++j) x.push_back(feature(r, i, j));
  return x;
}

// A13: the networks of the published experiment, and the defaults.
TEST(Wgan, ParameterCounts) {
  const ObjectiveFacts mnist{784, Storage::dense_f32, 1};
  const auto smaller = test::make_objective("wgan", mnist);
  EXPECT_EQ(smaller->saddle()->primal_dim(), 247440U);
  EXPECT_EQ(smaller->saddle()->dual_dim(), 50305U);
  const auto objective = test::make_objective(
      "wgan", mnist, {{"objective.generator", "128,256,512,1024"}, {"objective.critic", "512,256"}});
  const auto& f = *objective->saddle();
  EXPECT_EQ(f.primal_dim(), 1506448U);
  EXPECT_EQ(f.dual_dim(), 533505U);
  EXPECT_EQ(f.primal(), nullptr);
  EXPECT_FALSE(f.gradients());
  const auto groups = f.groups();
  EXPECT_EQ(groups.front().name, "generator.layer1.weight");
  EXPECT_EQ(groups.back().name, "critic.layer3.bias");
  std::size_t next = 0;
  for (const auto& group : groups) {
    EXPECT_EQ(group.offset, next);
    next += group.rows * group.cols;
  }
  EXPECT_EQ(next, f.dim());
}

// A13: the public gradients of both networks are the slopes of -mean D(G(u)) - lambda |w_D|^2, by finite
// differences.
void expect_public_gradients_are_slopes(const WganSettings& settings) {
  const auto f = make_wgan(settings);
  const WganReference reference(settings);
  const Point w = point_of(*f);
  const std::uint64_t step = 7;
  std::vector<double> generator(f->primal_dim(), 0.0), critic(f->dual_dim(), 0.0);
  f->add_public_primal(w, step, generator);
  f->add_public_dual(w, step, critic);
  expect_slopes(
      [&](auto at) {
        return -reference.mean_fake_score({{1, "wgan generator"}, fakes, step * fakes}, at);
      },
      widened(w), 0, generator, 13);
  expect_slopes(
      [&](auto at) {
        const auto y = at.subspan(f->primal_dim());
        return -reference.mean_fake_score({{1, "wgan critic"}, fakes, step * fakes}, at) -
               settings.penalty * norm_of(y) * norm_of(y);
      },
      widened(w), f->primal_dim(), critic, 17);
  std::vector<double> again(generator);
  f->add_public_primal(w, step, again);  // adds
  for (std::size_t j = 0; j < again.size(); ++j)
    EXPECT_NEAR(again[j], 2 * generator[j], 1e-14 * norm_of(generator));
  std::vector<double> other(f->primal_dim(), 0.0);
  f->add_public_primal(w, step + 1, other);
  EXPECT_NE(other, generator) << "each step has its own latents";
}

TEST(Wgan, PublicGradientsAreSlopes) { expect_public_gradients_are_slopes(small_settings()); }
TEST(Wgan, PublicGradientsAreSlopesOfEachClasssScore) { expect_public_gradients_are_slopes(small_settings(3)); }

// A13: the critic's gradients of records, whose norms are never formed from gradients, against ones that are.
void expect_clipped_gradients(std::size_t classes) {
  const auto f = make_wgan(small_settings(classes));
  const WganReference reference(small_settings(classes));
  const Point w = point_of(*f);
  for (const Storage storage : {Storage::dense_f32, Storage::dense_u8, Storage::sparse_f32}) {
    const Records records = random_records(small_records(storage, 20, classes));
    for (std::size_t i = 0; i < records.count; ++i) {
      const std::size_t own = classes > 0 ? static_cast<std::size_t>(records.label[i]) : 0;
      const auto expected = reference.score_gradient(features_of(records, i), widened(w), own);
      const double norm = norm_of(expected);
      for (const double clip : {0.3 * norm, 3 * norm}) {
        const std::uint32_t one[] = {static_cast<std::uint32_t>(i)};
        const auto sum =
            sum_of({"dual", f->dual_dim(), clip, clipped_dual_gradients(*f, w), {}}, records, one, 1, 28);
        for (std::size_t j = 0; j < sum.size(); ++j)
          EXPECT_NEAR(static_cast<double>(sum[j]) * test_lattice(clip, 28).quantum(),
                      expected[j] * std::min(1.0, clip / norm), 2e-6 * norm);
      }
    }
  }
}

TEST(Wgan, RecordsPullTheCriticByTheirClippedGradients) { expect_clipped_gradients(0); }
TEST(Wgan, RecordsPullTheScoreOfTheirClass) { expect_clipped_gradients(3); }

void expect_contract(std::size_t classes) {
  for (const Storage storage : {Storage::dense_f32, Storage::dense_u8, Storage::sparse_f32}) {
    const auto f = make_wgan(small_settings(classes));
    const Records records = random_records(small_records(storage, 150, classes));
    const Point w = point_of(*f), v = moved(w, 0.1);
    check_sensitivity(*f, records, w, v, 0.02);
    check_rows_apart(*f, records, w, v, 0.02);
    check_no_allocation(*f, records, w, v);
  }
}

TEST(Wgan, KeepsTheContract) { expect_contract(0); }
TEST(Wgan, KeepsTheContractWithClasses) { expect_contract(3); }

// A label that is no class's number comes from memory that was never checked: it is like an empty slot.
TEST(Wgan, RecordsOfNoClassContributeNothing) {
  const auto f = make_wgan(small_settings(3));
  const Point w = point_of(*f);
  const Records good = random_records(small_records(Storage::dense_f32, 20, 3));
  const auto sum = [&](const Records& records) {
    return sum_of({"dual", f->dual_dim(), 0.1, clipped_dual_gradients(*f, w), {}}, records, all_rows(records), 64);
  };
  for (const float label : {3.0F, -1.0F, 1e30F, std::nanf("")}) {
    Records odd = good, without = good;
    odd.label[7] = label;
    empty_slot(without, 7);
    EXPECT_EQ(sum(odd), sum(without)) << label;
  }
  EXPECT_EQ(f->classes(), 3U);
  EXPECT_EQ(f->outputs(), 0U) << "scores of a critic are no scores of labels";
}

TEST(Wgan, MakesTheClassesInTurn) {
  const auto f = make_wgan(small_settings(3));
  const WganReference reference(small_settings(3));
  const Point w = point_of(*f);
  const PublicStream stream(1, "some records");
  std::vector<float> made(66 * features);
  f->generate(w, stream, 0, made);
  for (const std::uint64_t i : {0U, 1U, 5U, 64U}) {
    std::vector<float> u(latent);
    stream.normals(i * (latent + 1), u);
    const auto image = reference.fake(i, u, widened(w));
    for (std::size_t j = 0; j < features; ++j) EXPECT_NEAR(made[i * features + j], image[j], 1e-5) << i;
  }
  EXPECT_EQ(f->generator()->picture(made).width, 9 * 6 - 1U) << "a column has one class";
}

TEST(Wgan, PublicPartsAllocateNothingAfterTheFirst) {
  const auto f = make_wgan(small_settings());
  const Point w = point_of(*f);
  std::vector<double> generator(f->primal_dim()), critic(f->dual_dim());
  f->add_public_primal(w, 0, generator);
  f->add_public_dual(w, 0, critic);
  const std::size_t before = allocation_count();
  f->add_public_primal(w, 1, generator);
  f->add_public_dual(w, 1, critic);
  EXPECT_EQ(allocation_count() - before, 0U);
}

TEST(Wgan, LossesAreScoresAboveTheFakes) {
  const auto f = make_wgan(small_settings());
  const WganReference reference(small_settings());
  const Records records = random_records(small_records(Storage::dense_f32, 30));
  const auto index = all_rows(records);
  EXPECT_EQ(f->loss_name(), "wasserstein");
  for (const double distance : {2.0, 4.0}) {  // a new point has new fakes
    const Point w = point_of(*f, distance);
    const AtPoint at = f->at(w);
    const auto loss = losses_at(at, *f, records, index);
    std::vector<float> score(records.count);
    at.scores({records, index}, score);
    const double fake = reference.mean_fake_score({{1, "wgan evaluation"}, 1024}, widened(w));
    for (std::size_t i = 0; i < records.count; ++i) {
      const double expected = reference.score(features_of(records, i), widened(w));
      EXPECT_NEAR(static_cast<double>(score[i]), expected, 1e-5 * std::max(1.0, std::abs(expected)));
      EXPECT_NEAR(loss[i], expected - fake, 1e-5 * std::max(1.0, std::abs(expected)));
    }
  }
}

TEST(Wgan, ShowsWhatTheGeneratorMakes) {
  const auto f = make_wgan(small_settings());
  const WganReference reference(small_settings());
  const Point w = point_of(*f);
  const AtPoint before = f->at(w);
  const PublicStream stream(1, "some records");
  std::vector<float> made(64 * features), later(2 * features);
  f->generate(w, stream, 0, made);
  f->generate(w, stream, 8, later);
  EXPECT_TRUE(std::equal(later.begin(), later.end(), made.begin() + 8 * features)) << "record 8 is always the same";
  const GreyImage picture = f->generator()->picture(made);
  const Records records = random_records(small_records(Storage::dense_f32, 2));
  const auto index = all_rows(records);
  std::vector<double> losses(2);
  EXPECT_THROW(before.losses({records, index}, losses), PointReplaced) << "records may take the critic elsewhere";
  EXPECT_EQ(picture.width, 8 * 6 - 1U);
  EXPECT_EQ(picture.height, 8 * 4 - 1U);
  std::vector<float> u(latent);
  stream.normals(9 * (latent + 1), u);  // the tenth, second of the second row
  const auto image = reference.image({u.begin(), u.end()}, widened(w));
  for (std::size_t j = 0; j < features; ++j)
    EXPECT_NEAR(picture.pixels[(4 + j / 5) * picture.width + 6 + j % 5], (image[j] + 1) * 127.5, 0.51);
}

// ---- traps ----

// T13: records and weights that are not finite contribute nothing, before any clipping.
TEST(WganTraps, T13NonFiniteRecordsContributeNothing) {
  const auto f = make_wgan(small_settings());
  Point w = point_of(*f);
  const Records good = random_records(small_records(Storage::dense_f32, 20));
  const auto sum = [&](const Records& records) {
    return sum_of({"dual", f->dual_dim(), 0.1, clipped_dual_gradients(*f, w), {}}, records, all_rows(records), 64);
  };
  for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    Records spoilt = good, without = good;
    spoil_feature(spoilt, 7, bad);
    empty_slot(without, 7);
    EXPECT_EQ(sum(spoilt), sum(without));
    EXPECT_NE(sum(good), sum(without));
  }
  w[f->primal_dim() + 40] = std::nanf("");
  EXPECT_TRUE(all_zero(sum(good)));
}

// T8: labels have no part in it, neither a record's own nor another's.
TEST(WganTraps, T8LabelsChangeNoBit) {
  const auto f = make_wgan(small_settings());
  const Point w = point_of(*f);
  const Records records = random_records(small_records());
  Records relabelled = records;
  for (float& label : relabelled.label) label = 3 - 2 * label;
  const SaddleKernel k{"dual", f->dual_dim(), 0.1, clipped_dual_gradients(*f, w), {}};
  EXPECT_EQ(sum_of(k, relabelled, all_rows(records), 64), sum_of(k, records, all_rows(records), 64));
}

// T18: the fakes and the penalty are not clipped: they grow with the weights, whatever method.dual_clip is.
TEST(WganTraps, T18PublicTermsAreNotClipped) {
  WganSettings settings = small_settings();
  settings.penalty = 100;
  const auto f = make_wgan(settings);
  const Point w = point_of(*f);
  const Records none = random_records(small_records(Storage::dense_f32, 0));
  EXPECT_TRUE(all_zero(sum_of({"dual", f->dual_dim(), 1e-6, clipped_dual_gradients(*f, w), {}}, none, {}, 64)));
  std::vector<double> gradient(f->dual_dim(), 0.0);
  f->add_public_dual(w, 0, gradient);
  const auto y = widened(std::span(w).subspan(f->primal_dim()));
  EXPECT_GT(norm_of(gradient), 150 * norm_of(y));
}

TEST(Wgan, TheCriticStaysInItsBall) {
  WganSettings settings = small_settings();
  settings.dual_radius = 1.5;
  const auto f = make_wgan(settings);
  Point inside = {0.5F, -1, 0.25F}, outside = {-3, 0, 4};
  f->project_dual(inside);
  f->project_dual(outside);
  EXPECT_EQ(inside, (Point{0.5F, -1, 0.25F}));
  EXPECT_NEAR(outside[0], -0.9, 1e-7);
  EXPECT_NEAR(outside[2], 1.2, 1e-7);
  Point w(f->dim());
  f->initialise(PublicStream(3, "start"), w);
  const auto critic = widened(std::span(w).subspan(f->primal_dim()));
  EXPECT_NEAR(norm_of(critic), 1.5, 1e-6) << "from the start";
  EXPECT_GT(norm_of(widened(std::span(w).first(f->primal_dim()))), 3) << "the generator is free";
}

// Leaky relu and D's layers move no further apart than the norms of their matrices say, so that D within a ball of
// radius R is Lipschitz with (R^2 / L)^(L/2): the estimate is no more than that many times the distance.
TEST(Wgan, TheBallBoundsTheCriticsSlope) {
  WganSettings settings = small_settings();
  settings.dual_radius = 2.5;
  const auto f = make_wgan(settings);
  const WganReference reference(settings);
  const double bound = std::pow(2.5 * 2.5 / 3, 1.5);
  const Records records = random_records(small_records());
  for (unsigned seed = 0; seed < 20; ++seed) {
    Point w(f->dim());
    f->initialise(PublicStream(seed, "start"), w);
    for (std::size_t i = 1; i < records.count; i += 5) {
      const auto x = features_of(records, i - 1), z = features_of(records, i);
      double square = 0;
      for (std::size_t j = 0; j < features; ++j) square += (x[j] - z[j]) * (x[j] - z[j]);
      EXPECT_LE(std::abs(reference.score(x, widened(w)) - reference.score(z, widened(w))),
                bound * std::sqrt(square));
    }
  }
}

TEST(Wgan, OptionsAndShape) {
  const ObjectiveFacts facts{12, Storage::dense_f32, 1};
  const auto make = [&](std::vector<std::pair<std::string, std::string>> given) {
    return test::make_objective("wgan", facts, given);
  };
  EXPECT_THROW(make({}), ConfigError) << "28 x 28 pixels are not 12 features";
  EXPECT_THROW(make({{"objective.image_rows", "5"}, {"objective.image_columns", "3"}}), ConfigError);
  const auto f = make({{"objective.image_rows", "3"},
                       {"objective.image_columns", "4"},
                       {"objective.latent", "2"},
                       {"objective.generator", "5"},
                       {"objective.critic", "7"}});
  EXPECT_EQ(f->dim(), (2 + 1) * 5 + (5 + 1) * 12 + (12 + 1) * 7 + (7 + 1U));
  const auto g = make({{"objective.image_rows", "3"},
                       {"objective.image_columns", "4"},
                       {"objective.latent", "2"},
                       {"objective.classes", "10"},
                       {"objective.generator", "5"},
                       {"objective.critic", "7"}});
  EXPECT_EQ(g->dim(), (12 + 1) * 5 + (5 + 1) * 12 + (12 + 1) * 7 + (7 + 1) * 10U);
  EXPECT_THROW(make({{"objective.classes", "1"}}), ConfigError);
  for (const auto& spoil : std::vector<std::function<void(WganSettings&)>>{
           [](auto& s) { s.critic.units.back() = 2; }, [](auto& s) { s.generator.units.back() = 14; },
           [](auto& s) { s.generator.units[1] = 0; }, [](auto& s) { s.rows = 4; }, [](auto& s) { s.fakes = 0; },
           [](auto& s) { s.penalty = -1; }, [](auto& s) { s.dual_radius = std::nan(""); },
           [](auto& s) { s.classes = 2; }, [](auto& s) { s = small_settings(3), s.classes = 4; }}) {
    WganSettings settings = small_settings();
    spoil(settings);
    EXPECT_THROW(make_wgan(settings), ConfigError);
  }
}

}  // namespace
}  // namespace dpmpi::test::wgan_test
