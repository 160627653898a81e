// What holds for every registered method, so also for a new one: noise alone follows the noise multiplier, as
// calibration takes for granted; no record moves a sum by more than the sensitivity that its noise refers to; one
// plan starts as many runs as one likes; and a run goes on from its archive.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "data/load/load.hpp"
#include "data/synthetic/generate.hpp"
#include "objective/class_weights.hpp"
#include "objective/random_records.hpp"
#include "privacy/curator/person_sum.hpp"
#include "privacy/curator/release_listener.hpp"
#include "privacy/events/group.hpp"
#include "run/objective/on_ranks.hpp"
#include "run/plan/plan.hpp"
#include "run/short_runs.hpp"
#include "support/data_files.hpp"
#include "support/lattice_distance.hpp"
#include "support/shards.hpp"

namespace dpmpi::test::every_method_test {
namespace {

/// What a promise is for, and what steps draw.
enum class Units { records, persons, records_of_persons };
constexpr std::uint64_t records_of_each = 3;

/// A method with the settings of a short run, planned for the records of a small file.
struct Planned {
  Planned(const std::string& folder, const std::string& method, Units units = Units::records,
          const Settings& more = {})
      : config(folder + "/base.ini", settings_of(method, units, more)),
        files(config.find_files()),
        data(inspect(comm, files.training)),
        objective(make_objective(config, data)),
        facts(public_facts(config, data, *objective)),
        outline(make_outline(config, facts)),
        plan(make_plan(config, outline, promise())),
        shard(load(comm, files.training, plan.layout, Ownership::even(plan.layout.blocks, 1),
                   objective->label_kind(), objective->classes(), {SecretKey::from_seed(3), {}})) {
    give_public_records(comm, *objective, files);
  }

  static Settings settings_of(const std::string& method, Units units, const Settings& more) {
    const std::string objective = objective_of(method);
    Settings all = options_of(method, objective);
    if (units != Units::records) all.insert(all.end(), {"data.train=persons.csv", "data.person=who"});
    if (units == Units::records_of_persons)
      all.insert(all.end(),
                 {"data.person_sampling=records", fmt::format("data.person_records={}", records_of_each)});
    all.emplace_back("method.name=" + method);
    all.emplace_back("objective.name=" + objective);
    if (objective == "auc") all.emplace_back("objective.prior=0.3");
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  /// Nothing here is accounted for.
  static Promise promise() {
    Promise made;
    made.noise_multiplier = 1, made.guarantee.epsilon = 1, made.guarantee.delta = 1e-5;
    return made;
  }

  const Communicator comm = Communicator::alone();
  RunConfig config;
  DataFiles files;
  DatasetFacts data;
  std::unique_ptr<Objective> objective;
  PublicFacts facts;
  Outline outline;
  Plan plan;
  Shard shard;
};

std::string bytes_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// One run of a plan, step by step.
struct RunOfPlan {
  RunOfPlan(Planned& planned, std::uint64_t key)
      : ledger(Ledger::in_memory({planned.plan.adjacency, planned.data.records, true})),
        curator(planned.comm, planned.shard, planned.plan.queries, planned.objective->micro_batch_rows(),
                SecretKey::from_seed(key)),
        algorithm(planned.plan.method->start(*planned.objective, planned.plan.queries)) {
    curator.record_in(ledger);
  }
  void step() { algorithm->step(curator, next++); }
  void run_to(std::uint64_t end) {
    while (next < end) step();
  }
  /// All that a checkpoint keeps, all that ranks compare, and the model.
  std::string state() {
    Archive kept;
    algorithm->archive(kept);
    return kept.bytes() + bytes_of(algorithm->replicated()) + bytes_of(std::as_bytes(algorithm->iterate()));
  }

  Ledger ledger;
  Curator curator;
  std::unique_ptr<Algorithm> algorithm;
  std::uint64_t next = 0;
};

class EveryMethod : public ::testing::TestWithParam<std::string> {
 protected:
  static void SetUpTestSuite() {
    std::filesystem::create_directories(folder());
    GenerateOptions made;
    made.kind = "heavy-tailed", made.records = 611, made.features = 12;
    made.output = folder() + "/records.csv";
    generate(made);
    write_persons(made.output);
    std::ofstream(folder() + "/base.ini")
        << "[data]\ntrain = records.csv\nheader = yes\nfeatures = 12\nblocks = 5\n"
           "[privacy]\nnoise_multiplier = 1\ndelta = 1e-5\nseed = 42\n";
  }
  /// The same records, several of them of one person each.
  static void write_persons(const std::string& records) {
    std::ifstream in(records);
    std::ofstream out(folder() + "/persons.csv");
    std::string line;
    for (std::size_t i = 0; std::getline(in, line); ++i)
      out << (i == 0 ? "who" : std::to_string(i * i % 587)) << ',' << line << '\n';
  }
  static std::string folder() { return ::testing::TempDir() + "dpmpi_every_method"; }

  Planned planned{folder(), GetParam()};
};

// Otherwise a search for the noise would account for releases that the run does not make.
TEST_P(EveryMethod, NoiseAloneFollowsTheNoiseMultiplier) {
  const auto declared = [&](double multiplier) {
    std::vector<Query> all;
    for (auto spec : planned.plan.method->queries(multiplier)) {
      spec.sampling = stratified(spec.sampling, planned.plan.layout);
      all.push_back(Query::declare(spec, static_cast<std::uint32_t>(all.size()), planned.plan.adjacency,
                                   planned.data.records));
    }
    return all;
  };
  const std::vector<Query> one = declared(1), more = declared(2.5);
  ASSERT_EQ(one.size(), more.size());
  bool follows = false;
  for (std::size_t i = 0; i < one.size(); ++i) {
    Query tried = one[i];
    tried.noise_multiplier = more[i].noise_multiplier;
    const std::uint64_t end = tried.releases_before(planned.plan.steps);
    EXPECT_EQ(end, more[i].releases_before(planned.plan.steps)) << tried.name;
    EXPECT_TRUE(same_events(tried.events(0, end), more[i].events(0, end))) << tried.name;
    EXPECT_EQ(tried.name, more[i].name);
    EXPECT_EQ(tried.dim, more[i].dim) << tried.name;
    EXPECT_EQ(tried.bound.clip, more[i].bound.clip) << tried.name;
    EXPECT_EQ(tried.change, more[i].change) << tried.name;
    // The lattice follows the noise, and its rounding is a part of the slack.
    EXPECT_DOUBLE_EQ(tried.sensitivity / (1 + tried.eta), more[i].sensitivity / (1 + more[i].eta)) << tried.name;
    EXPECT_EQ(tried.worker_noise, more[i].worker_noise) << tried.name;
    follows = follows || one[i].noise_multiplier != more[i].noise_multiplier;
  }
  EXPECT_TRUE(follows);
}

/// Runs the kernel of every sum of a run on neighbouring datasets of its own, and measures in integers how far
/// apart the sums are.
class SensitivityWatch final : public ReleaseListener {
 public:
  explicit SensitivityWatch(Planned& planned)
      : batching_(MicroBatching::plan(planned.objective->micro_batch_rows(), count, 1)) {
    const LabelKind labels = planned.objective->label_kind();
    full_ = random_records(
        {Storage::dense_f32, count, planned.data.features, static_cast<float>(planned.config.data.bias), labels,
         std::max<std::size_t>(2, planned.objective->classes())},
        7);
    for (const std::size_t huge : {5, 40}) scale_record(huge, 1e6F);
    scale_record(41, 1e-30F);
    if (planned.config.data.samples_records()) {
      slots_ = records_of_each;
      for (const std::size_t like : {39, 41}) copy_record(40, like);
    } else if (planned.config.data.by_person())
      full_.person_begin = {0, 1, 1, 5, 6, 40, 41, 42, 77, 78, 90, 96};
  }

  void summed(const Query& query, std::uint64_t t, const L2Bound& bound, double scale,
              const Kernel& kernel) override {
    if (kernel.remembers) {  // which runs on its own batch alone
      ++remembered;
      return;
    }
    const Query& at = query.at(t);
    const double most = static_cast<double>(slots_) * at.sensitivity * at.sensitivity_scale(scale);
    const auto with = sum_of(full_, query, at, bound, scale, kernel);
    const bool persons = query.unit == Unit::person;
    const std::vector<std::uint32_t> changed = persons      ? std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5, 6, 7}
                                               : slots_ > 1 ? std::vector<std::uint32_t>{0, 3, 39, 75}
                                                            : std::vector<std::uint32_t>{0, 5, 40, 41, 77};
    for (const std::uint32_t i : changed) {
      Records neighbour = full_;
      for (std::uint32_t row = full_.unit_begin(i); row < full_.unit_begin(i + slots_); ++row)
        if (query.adjacency == Adjacency::replace_one)
          for (std::size_t j = 0; j < full_.features; ++j) neighbour.f32[row * full_.stride + j] *= -1;
        else
          remove_record(neighbour, row);
      const double moved = distance(with, sum_of(neighbour, query, at, bound, scale, kernel), at.lattice_at(scale));
      EXPECT_LE(moved, most) << query.name << ", release " << t << ", " << name(query.unit) << " " << i;
      largest = std::max(largest, moved / most);
    }
    ++sums;
  }
  void released(const Query&, std::uint64_t, std::span<const double>) override {}

  std::uint64_t sums = 0, remembered = 0;
  double largest = 0;  ///< over the sensitivity

 private:
  static constexpr std::size_t count = 96;

  void copy_record(std::size_t from, std::size_t to) {
    std::copy_n(full_.f32.begin() + static_cast<std::ptrdiff_t>(from * full_.stride), full_.features,
                full_.f32.begin() + static_cast<std::ptrdiff_t>(to * full_.stride));
    full_.label[to] = full_.label[from];
    update_norm(full_, to);
  }
  void scale_record(std::size_t i, float factor) {
    for (std::size_t j = 0; j < full_.features; ++j) full_.f32[i * full_.stride + j] *= factor;
    update_norm(full_, i);
  }
  std::vector<std::int64_t> sum_of(const Records& records, const Query& query, const Query& at,
                                   const L2Bound& bound, double scale, const Kernel& kernel) const {
    LatticeAccumulator sum(query.dim, at.lattice_at(scale), bound.clip * (1 + at.eta), 0,
                           query.exact ? Width::int64 : Width::int32);
    std::vector<std::uint32_t> everyone(records.units());
    std::iota(everyone.begin(), everyone.end(), 0U);
    std::optional<Votes> votes;
    if (query.votes() > 0) votes.emplace(bound, query.votes(), sum.lattice());
    if (query.unit == Unit::person) {
      Shard shard;
      shard.blocks.push_back({0, 0, records});
      const std::vector<std::vector<std::uint32_t>> chosen{everyone};
      PersonSum(sum, bound.clip * (1 + at.eta), 16).add_to(sum, kernel, bound, {shard, chosen, chosen}, votes);
    } else {
      std::vector<double> lengths;
      kernel.run(votes ? votes->bound() : bound, sum, [&](const auto& visit) {
        batching_.for_each(records, everyone, everyone, [&](const Rows& rows) {
          visit(rows);
          if (votes) add_votes(*votes, kernel, rows, sum, lengths);
        });
      });
    }
    const auto total = sum.totals();
    return {total.begin(), total.end()};
  }

  MicroBatching batching_;
  Records full_;
  std::uint32_t slots_ = 1;  // of a unit
};

// The first of the three tests of every privacy claim. What a phase or one of secretly many runs sums is shown to
// nobody, and a kernel that remembers records runs on its own alone: tests of their own hold these
// (privacy/curator/phases_test.cpp, best_of_runs_test.cpp, method/black_box/loss_table_test.cpp).
TEST_P(EveryMethod, NoRecordMovesASumByMoreThanItsSensitivity) {
  SensitivityWatch watch(planned);
  RunOfPlan run(planned, 1);
  run.curator.announce_to(&watch);
  run.run_to(planned.plan.steps);
  const bool shows_sums = std::ranges::any_of(
      planned.plan.queries, [](const Query& query) { return !query.as<Phases>() && !query.as<BestOfRuns>(); });
  EXPECT_EQ(watch.sums + watch.remembered > 0, shows_sums);
  if (watch.sums > 0) {
    EXPECT_GT(watch.largest, 0.99) << "the test must come near the bound";
  }
}

// Losses of a class that weighs 30 times as much move no sum further: they are clipped as all others.
TEST_P(EveryMethod, ClassWeightsMoveNoSumByMoreThanItsSensitivity) {
  if (min_max(GetParam())) return;  // whose losses have none
  Settings weighted{"objective.class_weights=-1:0.5,1:30"};
  if (objective_of(GetParam()) == "mean")  // which has no classes
    weighted.insert(weighted.end(), {"objective.name=softmax", "objective.classes=2", "data.label_map=-1:0,1:1"});
  Planned plan(folder(), GetParam(), Units::records, weighted);
  ASSERT_EQ(plan.objective->class_weights()[0], 0.5 / 30);
  SensitivityWatch watch(plan);
  RunOfPlan run(plan, 1);
  run.curator.announce_to(&watch);
  run.run_to(plan.plan.steps);
  if (watch.sums > 0) {
    EXPECT_GT(watch.largest, 0.99) << "the test must come near the bound";
  }
}

/// A run of `plan` under the eyes of a watch, whose ledger must be that of the plan, and a unit come so near its
/// bound.
void watch_a_run(Planned& plan, double near) {
  SensitivityWatch watch(plan);
  RunOfPlan run(plan, 1);
  run.curator.announce_to(&watch);
  run.run_to(plan.plan.steps);
  EXPECT_TRUE(same_events(run.ledger.events(), events_of_all(plan.plan.queries))) << "plan equals ledger";
  EXPECT_GT(watch.sums, 0u);
  EXPECT_GT(watch.largest, near) << "the test must come near the bound";
}

// A gradient and its vote together, of records and of persons. A record and its opposite vote alike, so that their
// votes cancel: what is left of the bound is the root of 3/4 (privacy/curator/votes_test.cpp meets it).
TEST_P(EveryMethod, WhereAClipFollowsTheNormsNoUnitMovesASumByMoreThanItsSensitivity) {
  const bool rule = GetParam() == "clipped-gd";
  if (GetParam() != "dp-sgd" && GetParam() != "dp-ftrl" && !rule) return;  // whose clips stay
  for (const Units units : {Units::records, Units::persons, Units::records_of_persons})
    for (const char* adjacency : {"add_remove", "replace_one"}) {
      Settings settings{"method.clip_quantile=0.3", "method.clip_share=0.25", "method.clip_rate=1",
                        fmt::format("privacy.adjacency={}", adjacency)};
      if (rule) settings.insert(settings.end(), {"method.clip_rule=fixed", "method.clip=1"});
      Planned plan(folder(), GetParam(), units, settings);
      EXPECT_EQ(plan.plan.queries[0].dim, plan.objective->dim() + 1);
      watch_a_run(plan, std::string(adjacency) == "add_remove" ? 0.99 : 0.8);
    }
}

// Persons are units for every method of which the documentation says so, and the others say that they are not.
TEST_P(EveryMethod, NoPersonMovesASumByMoreThanItsSensitivityOrTheMethodSaysThatItHasNoBound) {
  const bool bounded = GetParam() != "ht-smooth" && GetParam() != "ht-glm" && GetParam() != "ht-known-lipschitz";
  if (!bounded) {
    EXPECT_MENTIONS(message_of<PrivacyError>([&] { Planned(folder(), GetParam(), Units::persons); }),
                    "is bounded for one record");
    return;
  }
  Planned of_persons(folder(), GetParam(), Units::persons);
  EXPECT_LT(of_persons.data.records, planned.data.records);
  SensitivityWatch watch(of_persons);
  RunOfPlan run(of_persons, 1);
  run.curator.announce_to(&watch);
  run.run_to(of_persons.plan.steps);
  EXPECT_TRUE(same_events(run.ledger.events(), events_of_all(of_persons.plan.queries))) << "plan equals ledger";
  if (watch.sums > 0) {
    EXPECT_GT(watch.largest, 0.99) << "the test must come near the bound";
  }
}

// The noise hides all slots of a person, by the events of a group.
TEST_P(EveryMethod, NoPersonWhoseRecordsAreDrawnOneByOneMovesASumByMoreThanTheirSensitivities) {
  const auto any = [&](auto&& is) { return std::ranges::any_of(planned.plan.queries, is); };
  const bool phases = any([](const Query& q) { return q.as<Phases>() != nullptr; });
  if (phases || any([](const Query& q) { return q.as<BestOfRuns>() != nullptr; })) {
    EXPECT_MENTIONS(message_of<PrivacyError>([&] { Planned(folder(), GetParam(), Units::records_of_persons); }),
                    phases ? "is bounded for one record" : "the best of several trainings");
    return;
  }
  Planned of_persons(folder(), GetParam(), Units::records_of_persons);
  EXPECT_EQ(of_persons.data.records, records_of_each * of_persons.data.units());
  SensitivityWatch watch(of_persons);
  RunOfPlan run(of_persons, 1);
  run.curator.announce_to(&watch);
  run.run_to(of_persons.plan.steps);
  std::vector<Query> of_slots = of_persons.plan.queries;
  for (Query& query : of_slots) query.slots_of_unit = 1;
  const auto of_group_of_slots = of_group(events_of_all(of_slots), records_of_each);
  EXPECT_TRUE(same_events(run.ledger.events(), of_group_of_slots)) << "plan equals ledger";
  EXPECT_FALSE(same_events(run.ledger.events(), events_of_all(of_slots)));
  if (watch.sums > 0) {  // three copies of a record, which some methods look at along a direction of its own each
    EXPECT_GT(watch.largest, GetParam() == "zo-naive" ? 0.7 : 0.9) << "the test must come near the bound";
  }
}

// Audits and searches start thousands of them, and a run must not know of another.
// Copies of images are for gradients: whoever asks for losses alone says so.
TEST_P(EveryMethod, TakesGradientsOfCopiesOfImagesOrRefusesThem) {
  Settings network{"objective.input=1x3x4", "objective.layers=conv 2 2x2, tanh, flatten, dense 1"};
  if (min_max(GetParam()))
    network.emplace_back("objective.scorer=network");
  else
    network.insert(network.end(), {"objective.name=network", "objective.head=logistic"});
  Settings copies = network;
  copies.insert(copies.end(), {"objective.augment=shift 1, flip", "objective.augmentations=3"});
  const auto refusal = [](const Settings& settings) -> std::string {
    try {
      Planned(folder(), GetParam(), Units::records, settings);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  };
  const Settings gradients{"clipped-gd", "dp-ftrl", "dp-sgd", "dp-sgda", "dptd", "ht-localize", "private-diff"};
  if (std::ranges::count(gradients, GetParam()) > 0)
    EXPECT_EQ(refusal(copies), refusal(network));
  else if (refusal(network).empty())
    EXPECT_MENTIONS(refusal(copies), "objective.augment makes random copies of records for gradients");
}

TEST_P(EveryMethod, RunsOfOnePlanDoNotMeet) {
  RunOfPlan first(planned, 1), other(planned, 2);
  while (first.next < planned.plan.steps) {
    first.step();
    other.step();
  }
  RunOfPlan alone(planned, 1);
  alone.run_to(planned.plan.steps);
  EXPECT_TRUE(first.state() == alone.state());
  EXPECT_TRUE(first.state() != other.state()) << "another key has other noise";
}

namespace {

void expect_to_go_on_after_any_step(Planned& planned) {
  const std::uint64_t end = planned.plan.steps;
  RunOfPlan whole(planned, 1);
  whole.run_to(end);
  const std::string expected = whole.state();  // once: to show an iterate may round it
  for (std::uint64_t stop = 0; stop < end; ++stop) {
    RunOfPlan stopped(planned, 1), resumed(planned, 1);
    stopped.run_to(stop);
    Archive saved;
    stopped.curator.archive(saved);
    stopped.algorithm->archive(saved);

    resumed.run_to(stop);  // so that its ledger covers these steps
    resumed.algorithm = planned.plan.method->start(*planned.objective, planned.plan.queries);
    Archive restored(saved.bytes());
    resumed.curator.archive(restored);
    resumed.algorithm->archive(restored);
    restored.finish();
    if (stop > 0) resumed.curator.resume_at(stop);
    resumed.run_to(end);
    EXPECT_TRUE(resumed.state() == expected) << "after step " << stop;
  }
}

}  // namespace

TEST_P(EveryMethod, GoesOnFromItsArchiveAfterAnyStep) { expect_to_go_on_after_any_step(planned); }

// A tree's noise is made again from the clips of its leaves.
TEST_P(EveryMethod, GoesOnFromItsArchiveWhereATreesClipFollowsTheNorms) {
  if (GetParam() != "dp-ftrl") return;
  for (const char* strategy : {"fenwick", "full_honaker", "sqrt_toeplitz", "banded", "blt", "normalized_blt"})
    for (const Units units : {Units::records, Units::persons}) {
      Planned plan(folder(), GetParam(), units,
                   {"method.clip_quantile=0.3", "method.clip_rate=1", "method.restarts=2", "method.passes=2",
                    fmt::format("method.strategy={}", strategy), "method.band=2"});
      expect_to_go_on_after_any_step(plan);
    }
}

INSTANTIATE_TEST_SUITE_P(Registered, EveryMethod, ::testing::ValuesIn(product_methods()), [](const auto& name) {
  std::string word = name.param;
  std::ranges::replace(word, '-', '_');
  return word;
});

}  // namespace
}  // namespace dpmpi::test::every_method_test
