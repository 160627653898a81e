// zo-hidden: its step against the formula, where its noise goes, what it charges and what it releases.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "method/last_iterate/settings.hpp"
#include "privacy/last_iterate/bounds.hpp"
#include "privacy/promise/guarantee.hpp"
#include "problems/last_iterate_trial.hpp"

namespace dpmpi::zo_hidden_test {
namespace {

using namespace test::hidden_trial;
using test::Trial;
using test::with;
using Settings = std::map<std::string, std::string>;

// Nearly without noise: w <- Pi_R[(1 - omega) w - (eta / K) U mean_i clip(q_i)], with global n, every record
// clipped by itself and after the division by 2 xi, and the bias not regularised.
TEST(ZoHidden, StepFollowsTheFormula) {
  constexpr double xi = 1e-3, eta = 3, ball = 0.25, l2 = 0.05;
  constexpr std::size_t K = 4, d = 13;
  for (const bool joint : {true, false}) {
    auto f = logistic();
    f->l2 = l2;
    Trial t(
        "zo-hidden",
        with(composed,
             {{"clipping", joint ? "joint" : "coordinate"}, {"clip", "0.3"}, {"ball", "0.25"}, {"radius", "1e-3"}}),
        1e-9, std::move(f), test::random_shard(shape, 2));
    Frames frames(DirectionLaw::stiefel, d, K, t.curator->public_key());
    Vector w(d, 0.0);
    int clipped = 0;
    for (std::uint64_t step = 0; step < 40; ++step) {
      frames.begin(step);
      const double* u = frames.tile(0, d);
      Vector mean(K, 0.0);
      for (const auto& block : t.shard.blocks)
        for (std::size_t i = 0; i < block.records.count; ++i) {
          Vector q(K);
          for (std::size_t k = 0; k < K; ++k) {
            double m = 0, a = 0;
            for (std::size_t j = 0; j < d; ++j) {
              const double x = j < 12 ? block.records.row_f32(i)[j] : 1.0;
              m += x * w[j], a += x * u[j * K + k];
            }
            const double y = block.records.label[i];
            q[k] = (std::log1p(std::exp(-y * (m + xi * a))) - std::log1p(std::exp(-y * (m - xi * a)))) / (2 * xi);
          }
          const double length = norm(q);
          for (double& v : q) v = joint ? v * std::min(1.0, 0.3 / length) : std::clamp(v, -0.3, 0.3);
          clipped += length > 0.3;
          for (std::size_t k = 0; k < K; ++k) mean[k] += q[k] / 300;
        }
      const double omega = eta / K * l2 * K / d;
      for (std::size_t j = 0; j < d; ++j) {
        w[j] *= j < 12 ? 1 - omega : 1;
        for (std::size_t k = 0; k < K; ++k) w[j] -= eta / K * u[j * K + k] * mean[k];
      }
      if (const double length = norm(w); length > ball)
        for (double& v : w) v *= ball / length;
      t.run(1);
      EXPECT_LT(norm(minus(state(t), w)), 1e-7) << step;
    }
    EXPECT_GT(clipped, 100);
    EXPECT_NEAR(norm(w), ball, 1e-12) << "the ball was reached";
  }
}

// The energy K s1^2 + d s2^2 of the noise is eta^2 sigma^2 for every share, f of it along the directions; for f = 1
// none is across them.
TEST(ZoHidden, NoiseHasTheDeclaredCovariance) {
  constexpr double K = 4, d = 13;
  constexpr int steps = 20000;
  for (const double f : {0.0, 0.3, 1.0}) {
    auto t = trial(with(composed, {{"steps", std::to_string(steps)}, {"share", std::to_string(f)}, {"clip", "1"}}),
                   2, nobody());
    const double sigma = t.derived("sigma"), s1 = t.derived("s1"), s2 = t.derived("s2");
    EXPECT_NEAR(sigma, 2 * 2 / (300 * 2.0), 1e-5) << "z S2 / (b sqrt K)";
    EXPECT_NEAR(K * s1 * s1 + d * s2 * s2, std::pow(3 * sigma, 2), 1e-12);
    EXPECT_NEAR(s1, 3 * sigma * std::sqrt(f / K), 1e-12);
    Frames frames(DirectionLaw::stiefel, 13, 4, t.curator->public_key());
    double in = 0, out = 0;
    Vector before = state(t);
    for (std::uint64_t step = 0; step < steps; ++step) {
      t.run(1);
      Vector now = state(t);
      frames.begin(step);
      const Vector moved = minus(now, before);
      in += std::pow(norm(along(frames, moved)), 2) / (K * steps);
      out += std::pow(norm(across(frames, moved)), 2) / ((d - K) * steps);
      before = std::move(now);
    }
    EXPECT_NEAR(in / (s1 * s1 + s2 * s2), 1, 5 * std::sqrt(2 / (K * steps))) << f;
    if (f < 1) {
      EXPECT_NEAR(out / (s2 * s2), 1, 5 * std::sqrt(2 / ((d - K) * steps))) << f;
    } else {
      EXPECT_LT(std::sqrt(out), 1e-13);
    }
  }
}

// Before the window the noise stays along the directions, with all its energy; in it, it is everywhere.
TEST(ZoHidden, NoiseFollowsTheSchedule) {
  auto t = trial(with(hidden, {{"ball", "1e6"}, {"radius", "1e-9"}, {"rate", "1"}}), 1000, nobody());
  Frames frames(DirectionLaw::stiefel, 13, 4, t.curator->public_key());
  double in[2] = {}, out[2] = {};
  Vector before = state(t);
  for (std::uint64_t step = 0; step < 400; ++step) {
    t.run(1);
    Vector now = state(t);
    frames.begin(step);
    const int part = step < 100 ? 0 : 1;
    const double count = part == 0 ? 100 : 300;
    in[part] += std::pow(norm(along(frames, minus(now, before))), 2) / (4 * count);
    out[part] += std::pow(norm(across(frames, minus(now, before))), 2) / (9 * count);
    before = std::move(now);
  }
  const double full = std::pow(t.derived("s") * 1000, 2), s1 = t.derived("s1"), s2 = t.derived("s2");
  EXPECT_NEAR(s1 * s1, 0.4 * full, 1e-9 * full);
  EXPECT_NEAR(in[0] / full, 1, 0.35);
  EXPECT_LT(out[0] / full, 1e-20);
  EXPECT_NEAR(in[1] / (s1 * s1 + s2 * s2), 1, 0.21);
  EXPECT_NEAR(out[1] / (s2 * s2), 1, 0.14);
}

// The noise in the span lies on the lattice of the noised sums, as the steps before the window show. In the window
// a part of the noise across stays in the span, so that no bits of the last iterate are left bare.
TEST(ZoHidden, NoiseInTheSpanLeavesTheLatticeInTheWindow) {
  auto t = trial(with(hidden, {{"ball", "1e6"}, {"radius", "1e-9"}, {"rate", "1"}}), 1000, nobody());
  Frames frames(DirectionLaw::stiefel, 13, 4, t.curator->public_key());
  const double quantum = 1.0 / 4 / 300 * t.queries[0].lattice.quantum();  // h / b times that of the sum
  double largest_before = 0, mean_after = 0;
  Vector before = state(t);
  for (std::uint64_t step = 0; step < 200; ++step) {
    t.run(1);
    Vector now = state(t);
    frames.begin(step);
    for (const double a : along(frames, minus(now, before))) {
      const double off = std::abs(a / quantum - std::nearbyint(a / quantum));
      step < 100 ? largest_before = std::max(largest_before, off) : mean_after += off / 400;
    }
    before = std::move(now);
  }
  EXPECT_LT(largest_before, 0.02) << "rounding alone";
  EXPECT_NEAR(mean_after, 0.25, 5 * std::sqrt(1.0 / 48 / 400)) << "as a uniform variable";
}

// A published implementation drew the noise from the generator that everybody can seed to form the directions. Here
// runs with the same directions have independent noise, and nothing that the direction key gives predicts it.
TEST(ZoHidden, NoiseIsFreshForWhoKnowsTheDirections) {
  const Settings settings =
      with(composed, {{"direction_seed", "7"}, {"steps", "3000"}, {"clip", "1"}, {"share", "0.5"}});
  const auto steps_with = [&](std::uint64_t key) {
    auto t = trial(settings, 2, nobody());
    Curator curator(t.comm, t.shard, t.queries, 64, SecretKey::from_seed(key));
    curator.record_in(*t.ledger);
    std::vector<Vector> moved;
    Vector before = state(t);
    for (std::uint64_t step = 0; step < 3000; ++step) {
      t.algorithm->step(curator, step);
      Vector now = state(t);
      moved.push_back(minus(now, before));
      before = std::move(now);
    }
    return moved;
  };
  const auto correlation = [](const std::vector<Vector>& a, const std::vector<Vector>& b) {
    double ab = 0, aa = 0, bb = 0;
    for (std::size_t t = 0; t < a.size(); ++t)
      for (std::size_t j = 0; j < a[t].size(); ++j)
        ab += a[t][j] * b[t][j], aa += a[t][j] * a[t][j], bb += b[t][j] * b[t][j];
    return ab / std::sqrt(aa * bb);
  };
  const auto one = steps_with(1), again = steps_with(1), other = steps_with(2), guessed = steps_with(7);
  EXPECT_EQ(one, again) << "a replay is the same run";
  EXPECT_LT(std::abs(correlation(one, other)), 5 / std::sqrt(4.0 * 3000));
  EXPECT_LT(std::abs(correlation(one, guessed)), 5 / std::sqrt(4.0 * 3000)) << "the direction key, as a secret key";

  // A frame that is always the same would hide nothing of this: the directions do repeat.
  Frames a(DirectionLaw::stiefel, 13, 4, 7), b(DirectionLaw::stiefel, 13, 4, 7);
  a.begin(5), b.begin(5);
  EXPECT_EQ(along(a, one[0]), along(b, one[0]));
}

// Directions come from a key that does not exist before the run.
TEST(ZoHidden, DirectionsAreFreshUnlessASeedIsGiven) {
  const auto t = trial(composed, 1);
  const Curator other(t.comm, t.shard, t.queries, 64, SecretKey::from_seed(2));
  EXPECT_NE(t.curator->public_key(), other.public_key());
}

TEST(ZoHidden, StaysInTheBall) {
  auto t = trial(hidden, 30);
  for (int i = 0; i < 400; ++i) {
    t.run(1);
    EXPECT_LE(norm(state(t)), 0.5 * (1 + 1e-15));
  }
  EXPECT_GT(norm(state(t)), 0.49) << "the noise is large enough to see it";
  EXPECT_LE(norm(state(t)), 0.5 * (1 - 0x1p-23)) << "released in float32";
  const Vector w = state(t);
  for (std::size_t j = 0; j < w.size(); ++j) EXPECT_EQ(w[j], t.iterate()[j]);
}

// The event, by hand: M = 1/4, eta = K / M, h = 4, C as the certificate says, s = 2 h C / n.
TEST(ZoHidden, ChargesOneHiddenRun) {
  auto t = trial(hidden, 50);
  t.run();
  const auto events = t.ledger->events();
  ASSERT_EQ(events.size(), 1u) << "charged once, when the run begins";
  EXPECT_EQ(events, t.queries[0].events(0, 400)) << "ledger = plan";
  EXPECT_TRUE(t.queries[0].events(200, 400).empty());
  const auto& run = std::get<HiddenState>(events[0].mechanism);
  const double s = 2 * 4 * t.derived("C") / 300, K = 4, d = 13;
  EXPECT_EQ(run.steps, 400u);
  EXPECT_EQ(run.hybrid, 300u);
  EXPECT_EQ(run.noise_multiplier, 50);
  EXPECT_EQ(run.before_multiplier, 1);
  EXPECT_DOUBLE_EQ(run.directional_multiplier, std::sqrt(0.4));
  EXPECT_DOUBLE_EQ(run.isotropic_multiplier, std::sqrt(0.6 * K / d));
  EXPECT_NEAR(run.diameter, 2 * 0.5 / s, 1e-9 / s);
  EXPECT_NEAR(run.drift, 300, 1e-3) << "and rounding";
  EXPECT_NEAR(run.contraction, 1, 1e-12) << "convex, h M = 1";
  EXPECT_EQ(run.retention, 1);
  EXPECT_GT(run.error, 0);
  EXPECT_LT(run.error, 0.01) << "the automatic radius costs nothing";
  EXPECT_EQ(run.directions, 4u);
  EXPECT_EQ(run.dimension, 13u);
  EXPECT_EQ(run.population, 300u);
  EXPECT_EQ(run.batch, 300u);
  EXPECT_EQ(run.failure, 0);
  EXPECT_LE(t.derived("L"), 1);
  EXPECT_GE(t.derived("C"), t.derived("L"));
  EXPECT_LT(t.derived("C"), t.derived("L") * (1 + 1e-3));
}

// The regulariser's share of the contraction: zeta = 1 - omega only where it acts on every coordinate.
TEST(ZoHidden, RegulariserContractsWhatItActsOn) {
  for (const float bias : {0.0F, 1.0F}) {
    auto f = test::make_objective("logistic", {shape.features, shape.storage, bias});
    f->l2 = 0.1;
    test::RecordsShape plain = shape;
    plain.bias = bias;
    const Trial t("zo-hidden", with(hidden, {{"rate", "8"}}), 10, std::move(f), test::random_shard(plain, 2));
    const double d = bias == 0 ? 12 : 13, omega = 2 * 0.1 * 4 / d;
    EXPECT_NEAR(t.derived("omega"), omega, 1e-12);
    const HiddenState& run = t.queries[0].as<LastIterateRun>()->run;
    EXPECT_NEAR(run.retention, bias == 0 ? 1 - omega : 1, 1e-12);
    EXPECT_NEAR(run.contraction, 1, 1e-12) << "h M <= 2 (1 - omega)";
  }
}

TEST(ZoHidden, CompositionChargesOrdinaryEvents) {
  const auto events = [](const Settings& changes, double z) {
    const auto t = trial(with(composed, changes), z);
    return t.queries[0].events(0, t.steps);
  };
  EXPECT_EQ(events({}, 5), (std::vector<Event>{{Gaussian{5}, 40}}));
  EXPECT_EQ(events({{"batch", "30"}, {"sampling", "poisson"}}, 5),
            (std::vector<Event>{{PoissonGaussian{0.1, 5}, 40}}));
  EXPECT_EQ(events({{"batch", "30"}, {"sampling", "wor"}}, 5), (std::vector<Event>{{WorGaussian{150, 15, 5}, 40}}))
      << "two blocks of 150";
  for (const char* partition : {"cyclic", "shuffle_once", "reshuffle"})
    EXPECT_EQ(events({{"batch", "30"}, {"sampling", partition}}, 5), (std::vector<Event>{{Gaussian{5}, 4}}))
        << partition;
  const double f = 0.25, scale = std::sqrt(f + (1 - f) * 4.0 / 13);
  EXPECT_EQ(events({{"share", "0.25"}}, 5), (std::vector<Event>{{Gaussian{5 * scale}, 40}}))
      << "what of the noise is along the directions";
}

// n = 10 records, sigma = 1, one direction, Delta = 1, one step: mu = 2 Delta / (n sigma) = 0.2.
TEST(ZoHidden, SensitivityIsTwoClips) {
  Trial t("zo-hidden",
          {{"release", "all"},
           {"steps", "1"},
           {"directions", "1"},
           {"rate", "1"},
           {"clipping", "coordinate"},
           {"clip", "1"}},
          5, logistic(), test::random_shard({Storage::dense_f32, 10, 12, 1, LabelKind::sign}, 1));
  EXPECT_NEAR(t.derived("sigma"), 1, 1e-6);
  EXPECT_EQ(t.queries[0].events(0, 1), (std::vector<Event>{{Gaussian{5}, 1}}));
  EXPECT_NEAR(t.queries[0].sensitivity, 2, 1e-5);
}

TEST(ZoHidden, ReleasesWhatItSays) {
  const auto released = [](const Settings& changes) {
    const auto t = trial(with(hidden, changes), 50);
    std::vector<std::uint64_t> steps;
    for (std::uint64_t s = 1; s <= 400; ++s)
      if (t.plan->releases(s)) steps.push_back(s);
    const std::vector<std::uint64_t>& stated = t.queries[0].as<LastIterateRun>()->run.releases;
    EXPECT_EQ(stated.empty() ? std::vector<std::uint64_t>{400} : stated, steps);
    return steps;
  };
  EXPECT_EQ(released({}), (std::vector<std::uint64_t>{400}));
  EXPECT_EQ(released({{"release", "150"}}), (std::vector<std::uint64_t>{150, 300, 400}));
}

// Every reshuffled pass uses each record once, in an order of its own.
TEST(ZoHidden, ReshuffledPassesUseEveryRecordOnce) {
  const Shuffled rule{.seed = 3, .first = 30, .batch = 30, .leaves = 1, .runs = 10, .reshuffle = true};
  Shuffled once = rule;
  once.reshuffle = false;
  const BlockLayout layout = test::numbered_shard(300).layout;
  EXPECT_EQ(shuffle_slots(once, layout, 0), shuffle_slots(once, layout, 4));
  EXPECT_NE(shuffle_slots(rule, layout, 0), shuffle_slots(rule, layout, 4));
  const Query query = Query::declare({.name = "count",
                                      .dim = 1,
                                      .sampling = rule,
                                      .bound = {1},
                                      .noise_multiplier = 1e-9,
                                      .steps = 35,
                                      .kind = ExactSum{}},
                                     0, Adjacency::replace_one, 300);
  const Communicator comm = Communicator::alone();
  const Shard shard = test::numbered_shard(300);
  Curator curator(comm, shard, {query}, 64, SecretKey::from_seed(1));
  const std::string path = ::testing::TempDir() + "reshuffled.jsonl";
  std::filesystem::remove(path);
  Ledger ledger = Ledger::create(path, {Adjacency::replace_one, 300});
  curator.record_in(ledger);
  std::vector<std::vector<int>> orders;
  for (std::uint64_t t = 0; t < 35; ++t) {
    if (t % 10 == 0) orders.emplace_back(300, -1);
    const Kernel mark = [&](const Rows& rows, const L2Bound&, LatticeAccumulator&) {
      const auto& block =
          *std::ranges::find_if(shard.blocks, [&](const auto& b) { return &b.records == &rows.records; });
      for (const auto i : rows.index) {
        int& place = orders.back()[block.first_index + i];
        EXPECT_EQ(place, -1) << "used twice in a pass";
        place = static_cast<int>(t % 10);
      }
    };
    const Batch batch = curator.draw(query, t);
    curator.release_exact(curator.sum(query, batch, mark));
  }
  EXPECT_EQ(std::count(orders[2].begin(), orders[2].end(), -1), 0);
  EXPECT_NE(orders[0], orders[1]);
  EXPECT_EQ(ledger.events(), (std::vector<Event>{{Gaussian{1e-9}, 4}})) << "a pass is one release";
}

TEST(ZoHidden, GoesOnAnywhere) {
  for (const Settings& settings : {hidden, composed}) {
    Vector w;
    std::vector<float> released;
    {
      auto whole = trial(settings, 20);
      whole.run();
      w = state(whole), released = whole.iterate();
    }
    auto first = trial(settings, 20);
    first.run(17);
    Archive saved;
    first.algorithm->archive(saved);
    first.run(3);
    Archive read(saved.bytes());
    first.algorithm->archive(read);
    read.finish();
    Curator again(first.comm, first.shard, first.queries, 64, SecretKey::from_seed(1));
    again.record_in(*first.ledger);
    again.resume_at(17);
    for (std::uint64_t t = 17; t < first.steps; ++t) first.algorithm->step(again, t);
    EXPECT_EQ(state(first), w);
    EXPECT_EQ(first.iterate(), released);
  }
}

// Losses fall; without noise most of all.
TEST(ZoHidden, Learns) {
  const auto loss = [](Trial& t) {
    t.run();
    const AtPoint at = t.objective->at(t.algorithm->iterate());
    double sum = 0;
    for (const auto& block : t.shard.blocks) {
      std::vector<std::uint32_t> all(block.records.count);
      std::iota(all.begin(), all.end(), 0U);
      std::vector<double> out(all.size());
      at.losses(Rows{block.records, all, {}}, out);
      sum += std::accumulate(out.begin(), out.end(), 0.0);
    }
    return sum / 300;
  };
  for (const char* law : {"stiefel", "sphere_iid", "sphere_sqrtd", "gauss"}) {
    const bool is_long = std::string(law) == "sphere_sqrtd" || std::string(law) == "gauss";
    auto t = trial(
        with(composed, {{"law", law}, {"steps", "400"}, {"rate", is_long ? "0.2" : "3"}, {"clip", "10"}}), 1e-9);
    EXPECT_LT(loss(t), 0.67) << law;
  }
  auto mezo = trial(with(composed, {{"release", "all"},
                                    {"law", "gauss"},
                                    {"directions", "1"},
                                    {"sampling", "wor"},
                                    {"batch", "16"},
                                    {"clip", "100"},
                                    {"direction_seed", "1"},
                                    {"steps", "2000"},
                                    {"rate", "0.02"}}),
                    0);
  EXPECT_LT(loss(mezo), 0.688);
  EXPECT_EQ(mezo.queries[0].events(0, 1), (std::vector<Event>{{NonPrivate{}, 1}}));
}

}  // namespace
}  // namespace dpmpi::zo_hidden_test
