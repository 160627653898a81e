#include "objective/td/factory.hpp"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "data/synthetic/environments.hpp"
#include "data/synthetic/generate.hpp"
#include "objective/minimax/auc_reference.hpp"
#include "objective/saddle_property.hpp"
#include "objective/td/point.hpp"
#include "objective/td/reference.hpp"
#include "support/shards.hpp"

namespace dpmpi::test::td_test {
namespace {

using Point = std::vector<float>;

Point random_point(std::size_t dim, unsigned seed, double size = 0.5) {
  std::mt19937 bits(seed);
  std::normal_distribution<double> normal(0, size);
  Point w(dim);
  for (float& x : w) x = static_cast<float>(normal(bits));
  return w;
}

const TdSettings network{.state = 3, .hidden = 5, .discount = 0.9};
const TdSettings linear{.state = 6, .hidden = 0, .bias = 0, .discount = 0.9};

double projected_error(SaddleObjective& td, const Point& w, const Records& records) {
  Shard shard;
  shard.blocks.push_back({0, 0, records});
  const auto measures = td.at(w).measures(SetTotals(), shard);
  EXPECT_EQ(measures.at(0).name, "projected_bellman_error");
  return measures.at(0).value;
}

// ---- the loss ----

MlpShape tanh_shape(std::size_t state, std::size_t hidden) {
  return {.units = {state, hidden, 1}, .activation = Activation::tanh};
}

// A11 of min-max methods.
TEST(TdPoint, KnownValues) {
  const MlpShape shape = tanh_shape(2, 2);
  TdPoint point(shape);
  point.load(std::span<const double>(std::vector<double>{.3, -.2, .5, .4, .1, -.3, .8, -.5, .2,  //
                                                         .1, .2, -.3, .1, -.1, .2, .4, .3, -.2}));
  AlignedVector<double> s(16), next(16);
  s[0] = .5, s[1] = -1, s[2] = 1;
  next[0] = .7, next[1] = -.8, next[2] = 1;
  TdTerms t(shape);
  point.evaluate({s.data(), next.data(), 1, .95}, t);
  EXPECT_NEAR(t.value, .7484687068, 1e-9);
  EXPECT_NEAR(t.error, .8997845693, 1e-9);
  EXPECT_NEAR(t.dual, -.3016603146, 1e-9);
  EXPECT_NEAR(t.error * t.dual - t.dual * t.dual / 2, -.3169287690, 1e-9);

  const double W1[][3] = {{.2503689671, -.6118815097, .5748336512}, {.1898949176, -.2997916149, .3264576884}};
  const double O1[][3] = {{.3950356686, -.7900713373, .7900713373}, {-.2468972929, .4937945858, -.4937945858}};
  const double w2[] = {-.2452050823, -.1011007520, .0150830157}, o2[] = {.5068884014, -.5068884014, 1.2014448839};
  const double rest = t.error - t.dual;
  for (std::size_t u = 0; u < 2; ++u)
    for (std::size_t j = 0; j < 3; ++j) {
      EXPECT_NEAR(t.next[u] * next[j] + t.state[u] * s[j], W1[u][j], 1e-9);
      EXPECT_NEAR(rest * t.slope[u] * s[j], O1[u][j], 1e-9);
    }
  for (std::size_t u = 0; u < 3; ++u) {
    EXPECT_NEAR(t.output[u], w2[u], 1e-9);
    EXPECT_NEAR(rest * t.level[u], o2[u], 1e-9);
  }
}

// The gradients that the kernels add against differences of a loss that is written out apart, and the norms that
// they are clipped by against those of the gradients.
void check_slopes(const TdSettings& settings, unsigned seed) {
  const Records records = random_transitions(20, settings.state, seed, settings.bias);
  const TdReference reference(settings, records);
  const auto objective = make_td(settings);
  ASSERT_EQ(objective->dim(), 2 * reference.dim());
  ASSERT_EQ(objective->primal_dim(), reference.dim());
  const Point w = random_point(objective->dim(), seed + 1), v = random_point(objective->dim(), seed + 2);
  const std::size_t d1 = reference.dim();
  for (std::size_t i = 0; i < records.count; ++i) {
    const auto g = reference.gradient(i, widened(w)), h = reference.gradient(i, widened(v));
    const auto dual = unclipped(*objective, w, v, 0, records, i),
               primal = unclipped(*objective, w, v, 1, records, i),
               difference = unclipped(*objective, w, v, 3, records, i);
    for (std::size_t j = 0; j < d1; ++j) {
      const double tolerance = 1e-6 * std::max(1.0, norm_of(g));
      EXPECT_NEAR(primal[j], g[j], tolerance);
      EXPECT_NEAR(dual[j], g[d1 + j], tolerance);
      EXPECT_NEAR(difference[j], g[j] - h[j], tolerance + 1e-6 * norm_of(h));
    }
    EXPECT_NEAR(loss_of(*objective, w, records, i), std::pow(reference.error(i, widened(w)), 2), 1e-9);
  }
}

// A11 of min-max methods.
TEST(TdKernels, GradientsAreSlopesOfTheSaddle) {
  check_slopes(network, 1);
  check_slopes(linear, 2);
  check_slopes({.state = 7, .hidden = 18, .bias = 0.5F, .discount = 1}, 3);
  check_slopes({.state = 1, .hidden = 1, .bias = 0, .discount = 0}, 4);
  check_slopes({.state = 20, .hidden = 0}, 5);
}

// ---- the contract ----

void check_td(const TdSettings& settings) {
  const Records records = random_transitions(70, settings.state, 9, settings.bias);
  const auto objective = make_td(settings);
  const Point w = random_point(objective->dim(), 10), v = moved(w, 0.3);
  check_sensitivity(*objective, records, w, v, 0.02);
  check_rows_apart(*objective, records, w, v, 0.02);
  check_joint_parts(*objective, records, w, 0.02);
  check_no_allocation(*objective, records, w, v);

  if (settings.hidden == 0) return;  // its gradient by theta does not depend on theta
  const std::size_t d1 = objective->primal_dim();
  PrimalView view(*objective, Point(w.begin() + static_cast<std::ptrdiff_t>(d1), w.end()));
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

TEST(TdKernels, KeepTheContract) {
  check_td(network);
  check_td(linear);
  check_td({.state = 2, .hidden = 20, .bias = 0});
}

// ---- episodes ----

TdSettings in_episodes(TdSettings settings, std::size_t steps) {
  settings.episode_steps = steps;
  return settings;
}

// An episode's gradients are the sums of those of the transitions that it says it has.
TEST(TdEpisodes, AddUpTheirTransitions) {
  constexpr std::size_t steps = 5;
  for (const TdSettings& settings : {network, linear, TdSettings{.state = 2, .hidden = 20, .bias = 0}}) {
    const Records transitions = random_transitions(40, settings.state, 4, settings.bias),
                  episodes = episodes_of(transitions, steps);
    const auto one = make_td(settings), whole = make_td(in_episodes(settings, steps));
    ASSERT_EQ(whole->dim(), one->dim());
    const Point w = random_point(one->dim(), 5), v = moved(w, 0.3);
    for (std::size_t e = 0; e < episodes.count; ++e)
      for (const std::size_t kernel : {0U, 1U, 3U}) {  // dual, primal, difference
        const auto sum = unclipped(*whole, w, v, kernel, episodes, e);
        std::vector<double> expected(sum.size());
        for (std::size_t t = 0; t <= e % steps; ++t) {
          const auto part = unclipped(*one, w, v, kernel, transitions, e * steps + t);
          for (std::size_t j = 0; j < sum.size(); ++j) expected[j] += part[j];
        }
        for (std::size_t j = 0; j < sum.size(); ++j)
          EXPECT_NEAR(sum[j], expected[j], 1e-6 * (1 + norm_of(expected))) << kernel << " of " << e;
      }
  }
}

// One transition is all that there is: the error that is minimised is the same.
TEST(TdEpisodes, OfOneTransitionAreTransitions) {
  const Records transitions = random_transitions(30, network.state, 4), episodes = episodes_of(transitions, 1);
  const auto one = make_td(network), whole = make_td(in_episodes(network, 1));
  const Point w = random_point(one->dim(), 5);
  EXPECT_EQ(projected_error(*whole, w, episodes), projected_error(*one, w, transitions));
  for (std::size_t i = 0; i < 30; ++i) EXPECT_EQ(loss_of(*whole, w, episodes, i), loss_of(*one, w, transitions, i));
}

TEST(TdEpisodes, KeepTheContract) {
  for (const TdSettings& settings : {network, linear}) {
    const Records records = episodes_of(random_transitions(350, settings.state, 9, settings.bias), 5);
    const auto objective = make_td(in_episodes(settings, 5));
    const Point w = random_point(objective->dim(), 10), v = moved(w, 0.3);
    check_sensitivity(*objective, records, w, v, 0.02);
    check_rows_apart(*objective, records, w, v, 0.02);
    check_joint_parts(*objective, records, w, 0.02);
    check_no_allocation(*objective, records, w, v);
  }
}

// T13, and a count of transitions that is none.
TEST(TdEpisodes, BadEpisodesContributeNothing) {
  const auto objective = make_td(in_episodes(network, 5));
  const Point w = random_point(objective->dim(), 1), v = moved(w, 0.1);
  const Records good = episodes_of(random_transitions(100, network.state), 5);
  const auto index = all_rows(good);
  const float infinite = std::numeric_limits<float>::infinity();
  for (const auto& make : saddle_kernels(*objective, w, v, 0.1)) {
    const SaddleKernel k = make();
    Records without = good;
    empty_slot(without, 7);
    for (const float count : {0.0F, -1.0F, 2.5F, 6.0F, infinite, std::nanf("")}) {
      Records spoiled = good;
      spoiled.label[7] = count;
      EXPECT_EQ(sum_of(k, spoiled, index, 64), sum_of(k, without, index, 64)) << k.name << ", count " << count;
    }
    for (std::size_t column = 0; column < good.features; column += 3) {
      Records spoiled = good;
      spoiled.f32[7 * spoiled.stride + column] = infinite;
      EXPECT_EQ(sum_of(k, spoiled, index, 64), sum_of(k, without, index, 64)) << k.name << ", column " << column;
    }
  }
}

// The two outer products of one record cancel: P s'^T + Q s^T is small beside either where s' is close to s and P
// close to -Q. Formed from products of large norms, it could exceed its bound many times.
TEST(TdTraps, T7CancellingOuterProductsKeepTheirBound) {
  const TdSettings settings{.state = 4, .hidden = 0, .bias = 0, .discount = 1};
  const auto objective = make_td(settings);
  for (const float size : {1.0F, 1e4F, 1e12F}) {
    Records records = random_transitions(64, 4, 3, 0);
    for (std::size_t i = 0; i < records.count; ++i) {
      float* x = records.f32.data() + i * records.stride;
      for (std::size_t j = 0; j < 4; ++j) {
        x[j] *= size;
        x[4 + j] = i % 2 == 0 ? x[j] : std::nextafter(x[j], 0.0F);
      }
      x[8] = 0;
      update_norm(records, i);
    }
    Point w(8, 0.3F);
    w[5] = -0.7F;
    for (const double clip : {1e-9, 1e-3, 1.0})
      for (std::size_t i = 0; i < records.count; ++i) {
        const std::uint32_t one[] = {static_cast<std::uint32_t>(i)};
        const SaddleKernel k{"primal", 4, clip, clipped_primal_gradients(*objective, w), {}};
        EXPECT_LE(square_norm(sum_of(k, records, one, 1)),
                  largest_square(clip, objective->primal()->primal_gradient_slack().clip, test_lattice(clip), 4));
      }
  }
}

// What a record adds to a sum does not depend on what the other one is.
TEST(TdTraps, T8OtherRecordsChangeNoBit) {
  const auto objective = make_td(network);
  const Point w = random_point(objective->dim(), 1), v = moved(w, 0.1);
  Records records = random_transitions(31, network.state);
  const std::uint32_t both[] = {15, 16}, other[] = {16};
  for (const auto& make : saddle_kernels(*objective, w, v, 0.1)) {
    const SaddleKernel k = make();
    const auto share = [&] {  // of record 15; each record goes to the lattice by itself
      auto sum = sum_of(k, records, both, 1);
      const auto without = sum_of(k, records, other, 1);
      for (std::size_t j = 0; j < sum.size(); ++j) sum[j] -= without[j];
      return sum;
    };
    const auto before = share();
    records.label[16] = -records.label[16];
    EXPECT_EQ(share(), before) << k.name;
  }
}

TEST(TdTraps, T13NonFiniteRecordsContributeNothing) {
  const auto objective = make_td(network);
  const Point w = random_point(objective->dim(), 1), v = moved(w, 0.1);
  const Records good = random_transitions(20, network.state);
  const auto index = all_rows(good);
  for (const float bad :
       {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(), std::nanf("")})
    for (std::size_t column = 0; column < good.features; ++column)
      for (const auto& make : saddle_kernels(*objective, w, v, 0.1)) {
        const SaddleKernel k = make();
        Records spoiled = good, without = good;
        spoiled.f32[7 * spoiled.stride + column] = bad;
        empty_slot(without, 7);
        EXPECT_EQ(sum_of(k, spoiled, index, 64), sum_of(k, without, index, 64)) << k.name << ", column " << column;
      }
}

// -(mu/2) |omega|^2 is public: neither clipped, nor scaled by who took part.
TEST(TdTraps, T18PublicTermsAreNotClipped) {
  TdSettings settings = network;
  settings.dual_l2 = 0.3;
  const auto objective = make_td(settings);
  const Point w = random_point(objective->dim(), 1, 100);
  const Records none = random_transitions(0, network.state);
  const SaddleKernel k{"dual", objective->dual_dim(), 1e-6, clipped_dual_gradients(*objective, w), {}};
  EXPECT_TRUE(all_zero(sum_of(k, none, {}, 64)));
  std::vector<double> gradient(objective->dual_dim(), 1.0);
  objective->add_public_dual(w, 0, gradient);
  for (std::size_t j = 0; j < gradient.size(); ++j)
    EXPECT_DOUBLE_EQ(gradient[j], 1 - 0.3 * static_cast<double>(w[objective->primal_dim() + j]));
}

// ---- known values ----

TEST(Td, ProjectedErrorIsThatOfElimination) {
  for (const TdSettings& settings :
       {network, linear, TdSettings{.state = 2, .hidden = 9, .bias = 0, .dual_l2 = 0.01}}) {
    const auto td = make_td(settings);
    const Records records = random_transitions(40, settings.state, 5, settings.bias);
    for (const double size : {0.1, 0.5, 3.0}) {
      const Point w = random_point(td->dim(), 6, size);
      const double expected = TdReference(settings, records).projected_error(widened(w));
      EXPECT_NEAR(projected_error(*td, w, records), expected, 1e-8 * (1 + expected)) << size;
    }
  }
}

/// Every action in every cell, once: the mean over records is that of the random policy.
Records all_moves() {
  Records r;
  r.count = 60, r.features = 33, r.stride = 48;
  r.f32.assign(r.count * r.stride, 0.0F), r.label.assign(r.count, -1.0F), r.norm.assign(r.count, 0.0F);
  for (std::size_t i = 0; i < r.count; ++i) {
    const int cell = static_cast<int>(i / 4), next = GridWorld::step(cell, static_cast<int>(i % 4));
    float* row = r.f32.data() + i * r.stride;
    row[cell] = row[16 + next] = 1;
    row[32] = GridWorld::terminal(next) ? 1.0F : 0.0F;
    update_norm(r, i);
  }
  return r;
}

/// The mean over records of delta Psi(s), which is grad_omega at omega = 0.
std::vector<double> mean_error_features(SaddleObjective& td, const Records& records, Point theta) {
  theta.resize(td.dim(), 0.0F);
  const auto index = all_rows(records);
  LatticeAccumulator sum(td.dual_dim(), test_lattice(1024, 30), 1024);
  sum.clear();
  const auto kernel = clipped_dual_gradients(td, theta);
  for (std::size_t i = 0; i < index.size(); ++i) kernel({records, std::span(index).subspan(i, 1)}, {1024}, sum);
  std::vector<double> mean;
  for (const std::int64_t x : sum.totals())
    mean.push_back(static_cast<double>(x) * sum.lattice().quantum() / static_cast<double>(records.count));
  return mean;
}

/// The values at which the projected Bellman error is zero: grad_omega = b - A theta, read off point by point. The
/// terminal cell is left out.
std::vector<double> fixed_point(SaddleObjective& td, const Records& records) {
  const std::size_t n = 15;
  const std::vector<double> b = mean_error_features(td, records, Point(16));
  std::vector<double> A(n * n);
  for (std::size_t k = 0; k < n; ++k) {
    Point unit(16);
    unit[k] = 1;
    const auto g = mean_error_features(td, records, unit);
    for (std::size_t j = 0; j < n; ++j) A[j * n + k] = b[j] - g[j];
  }
  return solve_linear(A, {b.begin(), b.end() - 1});
}

TEST(Td, GridWorldHasItsKnownValues) {
  const TdSettings settings{.state = 16, .hidden = 0, .bias = 0, .discount = 0.9};
  const auto td = make_td(settings);
  const std::vector<double> values = GridWorld::values(settings.discount);
  const Records moves = all_moves();
  const auto exact = fixed_point(*td, moves);
  for (std::size_t cell = 0; cell < exact.size(); ++cell) EXPECT_NEAR(exact[cell], values[cell], 1e-4);

  GenerateOptions o;
  o.kind = "gridworld";
  const Records logged = generate_records(o, 0, 20000);
  const auto estimate = fixed_point(*td, logged);
  for (std::size_t cell = 0; cell < estimate.size(); ++cell) EXPECT_NEAR(estimate[cell], values[cell], 0.3);

  // There the temporal differences have mean zero, and (theta, 0) is the saddle point.
  Point theta(values.begin(), values.end());
  for (const double slope : mean_error_features(*td, moves, theta)) EXPECT_NEAR(slope, 0, 1e-6);
  theta.resize(td->dim(), 0.0F);
  const SaddleKernel primal{"primal", 16, 1, clipped_primal_gradients(*td, theta), {}};
  EXPECT_TRUE(all_zero(sum_of(primal, moves, all_rows(moves), 1)));
  const auto mean_loss = [&](const Point& w) {
    const auto losses = losses_of(*td, w, logged, all_rows(logged));
    return std::accumulate(losses.begin(), losses.end(), 0.0) / static_cast<double>(losses.size());
  };
  const double at_values = mean_loss(theta), at_zero = mean_loss(Point(td->dim()));
  EXPECT_LT(projected_error(*td, theta, moves), 1e-12);
  // At zero values delta = -1: b is minus the share 1/15 of each cell, and so is G + mu I but for its sign and mu.
  EXPECT_NEAR(projected_error(*td, Point(td->dim()), moves), 0.5 * (1.0 / 15) / (1.0 / 15 + 0.1), 1e-9);
  EXPECT_NEAR(at_zero, 1, 1e-6) << "the squared reward";
  TdSettings known = settings;
  known.grid_world = true;
  const auto compared = make_td(known);
  const auto value_error = [&](const Point& w) {
    const Measure last = compared->at(w).measures(SetTotals(), {}).back();
    EXPECT_EQ(last.name, "value_error");
    return last.value;
  };
  EXPECT_NEAR(value_error(theta), 0, 1e-6);
  EXPECT_NEAR(value_error(Point(td->dim())), norm_of(values) / std::sqrt(15.0), 1e-12);
  EXPECT_LT(at_values, at_zero);
}

TEST(Td, OmegaStaysInItsBall) {
  const auto objective = make_td(network);
  for (const double size : {0.1, 9.0, 500.0}) {
    Point y = random_point(objective->dual_dim(), 1);
    const double scale = size / norm_of(widened(y));
    for (float& x : y) x = static_cast<float>(x * scale);
    const Point before = y;
    objective->project_dual(y);
    if (size < 10)
      EXPECT_EQ(y, before);
    else
      EXPECT_NEAR(norm_of(widened(y)), 10, 1e-5);
    for (std::size_t j = 0; j < y.size(); ++j) EXPECT_NEAR(y[j], before[j] * std::min(1.0, 10 / size), 1e-5);
  }
}

// Episodes of 6 transitions of 10 numbers are also 3 of 20: their labels tell, when they are read.
TEST(Td, EpisodesThatAreTakenApartWronglyAreRefused) {
  Shard shard;
  shard.blocks.push_back({0, 0, random_records({Storage::dense_f32, 3, 60, 1, LabelKind::real})});
  auto& labels = shard.blocks[0].records.label;
  for (const auto& [steps, longest, fits] :
       {std::tuple{"6", 6.0F, true}, {"3", 3.0F, true}, {"3", 4.0F, false}, {"3", 6.0F, false}}) {
    labels = {1, longest, 2};
    const auto td = test::make_objective(
        "td", {60, Storage::dense_f32, 1},
        {{"objective.unit", "episode"}, {"objective.episode_steps", steps}, {"objective.value", "linear"}});
    std::string message;
    try {
      td->check_records(shard);
    } catch (const DataError& e) {
      message = e.what();
    }
    EXPECT_EQ(message.empty(), fits) << steps << " " << longest << " " << message;
    if (fits) continue;
    for (const char* part : {"objective.episode_steps = 3: record 2 ", "(private, not shown", "60 features"})
      EXPECT_NE(message.find(part), message.npos) << message;
  }
}

TEST(Td, OptionsAndShape) {
  const ObjectiveFacts cart_pole{9, Storage::dense_f32, 1};
  const auto td = test::make_objective("td", cart_pole);
  EXPECT_EQ(td->dim(), 2 * 301U);
  EXPECT_EQ(test::make_objective("td", {13, Storage::dense_f32, 1})->dim(), 2 * 401U);
  EXPECT_EQ(test::make_objective("td", {257, Storage::dense_u8, 1})->dim(), 2 * 6501U);
  EXPECT_EQ(test::make_objective("td", cart_pole, {{"objective.value", "linear"}})->dim(), 2 * 5U);
  EXPECT_THROW(test::make_objective("td", {8, Storage::dense_f32, 1}), ConfigError);
  EXPECT_THROW(test::make_objective("td", {1, Storage::dense_f32, 1}), ConfigError);
  using Given = std::vector<std::pair<std::string, std::string>>;
  const Given episodes{{"objective.unit", "episode"}, {"objective.episode_steps", "6"}};
  EXPECT_EQ(test::make_objective("td", {60, Storage::dense_f32, 1}, episodes)->dim(), 2 * 301U);
  for (const std::uint64_t features : {61U, 54U, 12U})
    EXPECT_THROW(test::make_objective("td", {features, Storage::dense_f32, 1}, episodes), ConfigError);
  EXPECT_THROW(test::make_objective("td", cart_pole, {{"objective.known_values", "gridworld"}}), ConfigError);
  EXPECT_EQ(td->groups().size(), 8U);
  EXPECT_EQ(td->groups()[4].offset, 301U);
  EXPECT_FALSE(td->gradients());
}

}  // namespace
}  // namespace dpmpi::test::td_test
