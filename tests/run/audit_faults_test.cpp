// The games of an audit against mechanisms with one fault each, and against the same mechanisms without it. What is
// claimed is the sound one's epsilon. Deltas are large, so that few runs can tell.
#include <cmath>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "dpmpi/core/random.hpp"
#include "dpmpi/data/builder.hpp"
#include "dpmpi/privacy/guarantee.hpp"
#include "dpmpi/run/audit.hpp"
#include "dpmpi/run/scratch_ledger.hpp"
#include "method/saddle_toys.hpp"
#include "method/trial.hpp"
#include "support/halting_layer.hpp"

namespace dpmpi {
namespace {

using Vector = std::vector<double>;

struct Claim {
  std::vector<Event> events;
  Adjacency adjacency = Adjacency::add_remove;
  double delta = 0.05;
  double epsilon() const { return epsilon_guarantee(events, adjacency, delta, "best").epsilon; }
  double allowed(double false_alarms) const {
    const Guarantee promise = epsilon_guarantee(events, adjacency, delta, "best");
    return attacker_table(events, adjacency, promise, {false_alarms}).front().second;
  }
};

Proof proof(const Turn& turn, double delta, std::uint64_t runs = 2000) {
  const Communicator alone = Communicator::alone();
  const Groups groups(alone, 1);
  const Transcripts all = play_rounds(groups, turn, {runs, 7});
  return prove(all.first, all.second, delta, 0.02);
}

void expect_caught(const Claim& claim, const Turn& sound, const Turn& faulty) {
  const Proof kept = proof(sound, claim.delta), broken = proof(faulty, claim.delta);
  EXPECT_LE(kept.epsilon, claim.epsilon()) << kept.test;
  EXPECT_LE(kept.found, claim.allowed(kept.false_alarms)) << kept.test;
  EXPECT_GT(broken.epsilon, claim.epsilon()) << broken.test;
  EXPECT_GT(broken.found, claim.allowed(broken.false_alarms)) << broken.test;
}

/// Sums of the records' own vectors, of which there is one: e_1 in the second dataset, and in the first nothing or
/// -e_1.
class Sums {
 public:
  Sums(SamplingRule rule, double multiplier, std::uint64_t steps, std::size_t dim = 4,
       Adjacency adjacency = Adjacency::add_remove, std::uint64_t records = 4)
      : facts_{records, dim, Storage::dense_f32},
        layout_(BlockLayout::of(facts_, 1)),
        query_(Query::declare({.name = "sum",
                               .dim = dim,
                               .sampling = rule,
                               .bound = {1},
                               .noise_multiplier = multiplier,
                               .steps = steps},
                              0, adjacency, records)),
        objective_(testing::make_objective("mean", {dim, Storage::dense_f32, 0})),
        suspects_(adjacency == Adjacency::add_remove ? rows({1}) : rows({-1, 1})),
        observer_(*objective_, suspects_, std::vector<std::uint64_t>(suspects_.count, 0), layout_),
        shards_{shard(adjacency == Adjacency::add_remove ? 0.0F : -1.0F), shard(1)} {}

  const Query& query() const { return query_; }
  Claim claim(double delta = 0.05) const { return {query_.events(0, query_.steps), query_.adjacency, delta}; }

  /// As the product releases.
  Turn sound() {
    return [this](const Communicator& comm, bool second, std::uint64_t key) {
      ScratchLedger ledger({query_.adjacency, facts_.records, true});
      Curator curator(comm, shards_[second], {query_}, 128, SecretKey::from_seed(key));
      curator.record_in(ledger.get());
      curator.watched_by(&observer_);
      observer_.begin({});
      for (std::uint64_t t = 0; t < query_.steps; ++t)
        curator.release(curator.sum(query_, curator.draw(query_, t), vectors()));
      observer_.end({});
      return observer_.transcript();
    };
  }

  /// A step of a mechanism of its own: whether the record takes part is given; values are to be left in `release`,
  /// which holds the exact sum, or false to release nothing.
  struct Step {
    std::uint64_t t, key;
    bool second, member;  // member: in the batch
    std::mt19937_64& random;
  };
  using Release = std::function<bool(const Step&, Vector& release)>;
  using Membership = std::function<bool(std::uint64_t t, std::uint64_t key, std::mt19937_64&)>;
  Turn by_hand(const Membership& takes_part, const Release& release) {
    return [this, takes_part, release](const Communicator&, bool second, std::uint64_t key) {
      std::mt19937_64 random(key);
      observer_.begin({});
      for (std::uint64_t t = 0; t < query_.steps; ++t) {
        const bool member = takes_part(t, key, random);
        Vector sum(query_.dim, 0.0);
        if (member) sum[0] = second ? 1 : query_.adjacency == Adjacency::add_remove ? 0 : -1;
        if (!release({t, key, second, member, random}, sum)) continue;
        observer_.summed(query_, t, {1}, 1, vectors());
        observer_.released(query_, t, sum);
      }
      observer_.end({});
      return observer_.transcript();
    };
  }

  static Kernel vectors() {
    return [](const Rows& rows, const L2Bound&, LatticeAccumulator& sum) {
      for (const std::uint32_t i : rows.index) {
        if (std::isnan(rows.records.label[i])) continue;
        sum.begin(1);
        sum.add(0, std::span(rows.records.row_f32(i), rows.records.features));
      }
    };
  }

 private:
  Records rows(const std::vector<float>& first_coordinates, std::size_t slots = 0) const {
    RecordsBuilder builder(Storage::dense_f32, facts_.features, std::max(slots, first_coordinates.size()),
                           {.bias = 0});
    for (const float x : first_coordinates) builder.dense_row()[0] = x, builder.finish_row(0);
    return builder.take();
  }
  Shard shard(float x) const {
    Shard s{facts_, layout_, {}};
    s.blocks.push_back({0, 0, x == 0 ? rows({}, facts_.records) : rows({x}, facts_.records)});
    return s;
  }

  DatasetFacts facts_;
  BlockLayout layout_;
  Query query_;
  std::unique_ptr<Objective> objective_;
  Records suspects_;
  Observer observer_;
  Shard shards_[2];
};

bool always(std::uint64_t, std::uint64_t, std::mt19937_64&) { return true; }

void add_normals(Vector& v, double deviation, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  for (double& x : v) x += deviation * normal(random);
}

// The difference of two releases has none of it.
TEST(AuditFaults, NoiseReusedBetweenSteps) {
  Sums sums(Cyclic{2}, 4, 8);
  const double sigma = sums.query().noise_std;
  expect_caught(sums.claim(), sums.sound(),
                sums.by_hand([](std::uint64_t t, auto, auto&) { return t % 2 == 0; },
                             [=](const Sums::Step& step, Vector& v) {
                               std::mt19937_64 same(step.key + 1);
                               add_normals(v, sigma, same);
                               return true;
                             }));
}

// Public numbers are the same in every run.
TEST(AuditFaults, NoiseFromTheSeedOfDirections) {
  Sums sums(FullBatch{}, 4, 3);
  const double sigma = sums.query().noise_std;
  expect_caught(sums.claim(), sums.sound(), sums.by_hand(always, [=](const Sums::Step& step, Vector& v) {
    Vector noise(v.size());
    PublicStream(1, "directions", step.t).normals(0, noise);
    for (std::size_t j = 0; j < v.size(); ++j) v[j] += sigma * noise[j];
    return true;
  }));
}

// The difference of two coordinates has none of it.
TEST(AuditFaults, CopiesOfOneNoise) {
  Sums sums(FullBatch{}, 4, 2);
  const double sigma = sums.query().noise_std;
  expect_caught(sums.claim(), sums.sound(), sums.by_hand(always, [=](const Sums::Step& step, Vector& v) {
    Vector one(1, 0.0);
    add_normals(one, sigma, step.random);
    for (double& x : v) x += one[0];
    return true;
  }));
}

// Replacing a record moves a sum by twice its clip.
TEST(AuditFaults, NoiseForTheClipAndNotForTwiceTheClip) {
  Sums sums(FullBatch{}, 1.5, 1, 4, Adjacency::replace_one);
  const double sigma = sums.query().noise_std / 2;
  expect_caught(sums.claim(), sums.sound(), sums.by_hand(always, [=](const Sums::Step& step, Vector& v) {
    add_normals(v, sigma, step.random);
    return true;
  }));
}

// Nothing is released for a batch without records: then there is none.
TEST(AuditFaults, EmptyBatchSkipped) {
  Sums sums(Poisson{0.3}, 2, 4);
  const double sigma = sums.query().noise_std;
  const auto poisson = [](std::uint64_t, auto, std::mt19937_64& random) {
    return std::bernoulli_distribution(0.3)(random);
  };
  expect_caught(sums.claim(), sums.sound(), sums.by_hand(poisson, [=](const Sums::Step& step, Vector& v) {
    if (!step.second || !step.member) return false;
    add_normals(v, sigma, step.random);
    return true;
  }));
}

// A Poisson sample misses a record in all of four steps with probability 0.32; a shuffle never does.
TEST(AuditFaults, PoissonAccountedButShuffled) {
  Sums sums(Poisson{0.25}, 0.3, 4);
  const double sigma = sums.query().noise_std;
  const auto shuffled = [](std::uint64_t t, std::uint64_t key, auto&) { return t == key % 4; };
  const Turn faulty = sums.by_hand(shuffled, [=](const Sums::Step& step, Vector& v) {
    add_normals(v, sigma, step.random);
    return true;
  });
  const Claim claim = sums.claim(0.7);
  EXPECT_LT(claim.epsilon(), 1e-3);
  expect_caught(claim, sums.sound(), faulty);
}

// Many records in one run, each with a direction of its own.
TEST(AuditFaults, OneRunSeesTooLittleNoise) {
  constexpr std::size_t count = 200;
  constexpr double delta = 1e-4;
  const DatasetFacts facts{count, count, Storage::dense_f32};
  RecordsBuilder builder(Storage::dense_f32, count, count, {.bias = 0});
  for (std::size_t i = 0; i < count; ++i) builder.dense_row()[i] = 1, builder.finish_row(0);
  const Records canaries = builder.take();
  const auto objective = testing::make_objective("mean", {count, Storage::dense_f32, 0});
  const Query query = Query::declare(
      {.name = "sum", .dim = count, .sampling = FullBatch{}, .bound = {1}, .noise_multiplier = 4, .steps = 1}, 0,
      Adjacency::add_remove, count);
  std::vector<std::uint64_t> places(count);
  std::iota(places.begin(), places.end(), std::uint64_t{0});
  Observer observer(*objective, canaries, places, BlockLayout::of(facts, 1));
  std::mt19937_64 random(3);
  std::vector<char> in(count);
  for (char& coin : in) coin = static_cast<char>(random() % 2);
  const auto bound = [&](double deviation) {
    Vector sum(in.begin(), in.end());
    add_normals(sum, deviation, random);
    observer.begin({});
    observer.summed(query, 0, {1}, 1, Sums::vectors());
    observer.released(query, 0, sum);
    observer.end({});
    return prove_by_guessing(observer.evidence(), in, delta, 0.02);
  };
  const double claimed = Claim{query.events(0, 1), Adjacency::add_remove, delta}.epsilon();
  EXPECT_LE(bound(query.noise_std), claimed);
  EXPECT_GT(bound(query.noise_std / 8), claimed);
}

// The primal gradient is y for every record, so whoever sees its sum sees a dual that was not noised.
TEST(AuditFaults, RawDualInThePrimalQuery) {
  const auto dataset = [](float last) {
    Vector z(100, 0.0);
    std::vector<float> values(z.begin(), z.end());
    values.back() = last;
    return test::numbers(values, 2);
  };
  const auto game = [&](const std::string& name, std::map<std::string, std::string> options, double multiplier) {
    auto f = std::make_unique<test::ToySaddle>(1, 1, [](double z, auto x, auto y, auto gx, auto gy) {
      gx[0] = std::min<double>(1, static_cast<double>(y[0]));
      gy[0] = static_cast<double>(x[0]) + z;
    });
    f->public_dual = [](auto y, auto g) { g[0] -= 0.01 * static_cast<double>(y[0]); };
    const testing::Trial trial(name, options, multiplier, std::move(f), dataset(0));
    const Shard shards[] = {dataset(0), dataset(1)};
    const Records suspects = test::numbers({0, 1}).blocks[0].records;
    Observer observer(*trial.objective, suspects, {99, 99}, trial.shard.layout);
    const RunParts run{[&] { return testing::make_method(name, options); },
                       trial.objective.get(),
                       trial.facts,
                       multiplier,
                       trial.queries,
                       trial.steps};
    const std::vector<float> start = start_point(run);
    std::vector<Event> events;
    for (const Query& query : trial.queries)
      for (const Event& event : query.events(0, query.steps)) events.push_back(event);
    const Turn turn = [&](const Communicator& comm, bool second, std::uint64_t key) {
      play(comm, run, shards[second], key, start, observer);
      return observer.transcript();
    };
    return std::pair{proof(turn, 0.0063), events};
  };
  // 4 sqrt(log(1 / delta)) / (n epsilon) = 0.2, the deviation of the noise on the query's mean.
  const double stated = 4 * std::sqrt(1.1 * std::log(100.0)) / (100 * 0.2);
  std::map<std::string, std::string> options{{"sampling", "full"}, {"steps", "1"},     {"restart", "1"},
                                             {"clip", "1"},        {"dual_clip", "1"}, {"rate", "1"},
                                             {"dual_rate", "100"}};
  const auto [sound, events] = game("private-diff", options, 2);
  const double claimed = epsilon_guarantee(events, Adjacency::replace_one, 0.0063, "best").epsilon;
  EXPECT_LE(sound.epsilon, claimed) << sound.test;
  options["concavity"] = "0.01", options["stated_epsilon"] = fmt::format("{:.17g}", stated);
  EXPECT_GT(game("private-diff-literal", options, 0).first.epsilon, std::max(claimed, stated));
}

// One threshold for many tests of records: whether the method halts tells of a record. Its observer is the one that
// sees the end of a phase; what an audit of a config sees of such a layer are sums and models only.
TEST(AuditFaults, SharedThreshold) {
  const auto layer = [](bool fresh, testing::HaltingCase c) -> Turn {
    return [fresh, c](const Communicator&, bool second, std::uint64_t key) {
      testing::HaltingLayer halting(fresh, key);
      Transcript transcript;
      transcript.model = halting.alive(c, second) ? 1 : 0;
      return transcript;
    };
  };
  testing::HaltingCase c = testing::halting_cases[1];
  const double delta = 1e-6;
  EXPECT_GT(proof(layer(false, c), delta, 60000).epsilon, c.epsilon);
  c.room = c.m;  // where fresh noise halts about half of the time
  EXPECT_LE(proof(layer(true, c), delta, 10000).epsilon, c.epsilon);
}

}  // namespace
}  // namespace dpmpi
