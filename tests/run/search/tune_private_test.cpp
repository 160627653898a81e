// Searches whose models are trained on a second private set: what is promised to its people is what is spent on
// their records, by the trainer's own method, once.
#include "run/search/tune_private.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/account.hpp"
#include "core/errors.hpp"
#include "core/files/digest.hpp"
#include "data/load/load.hpp"
#include "privacy/promise/guarantee.hpp"
#include "run/certify/verify.hpp"
#include "run/directory/files.hpp"
#include "run/evaluate/trained_model.hpp"
#include "run/search/tuning_folder.hpp"
#include "run/train/train.hpp"
#include "support/process.hpp"
#include "support/programs.hpp"

namespace dpmpi::tune_private_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using State = VerifiedItem::State;
using Settings = std::vector<std::string>;

class TunePrivateRun : public ::testing::Test {
 protected:
  void SetUp() override { here_.make(); }

  ExitCode run(const std::string& directory, Settings settings = {}) const {
    settings.push_back("run.dir=" + directory);
    return train(alone_, RunConfig(here_.config(), settings), {.quiet = true});
  }
  ExitCode resume(const std::string& directory) const {
    return train(alone_, RunConfig(directory + "/config.ini", {"run.max_hours=0"}),
                 {.resume = directory, .quiet = true});
  }
  test::Outcome faulty(const std::string& fault, const std::string& what, int ranks = 1) const {
    return test::run_command(fmt::format("{}{} {} {}", ranks > 1 ? fmt::format("mpirun -n {} ", ranks) : "",
                                         test::fault_program(), fault, what),
                             60);
  }
  std::uint64_t trainings_paid(const std::string& directory) const {
    const std::string text = read_file(directory + "/training_ledger.jsonl");
    return static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n')) - 1;
  }
  json read(const std::string& file) const { return json::parse(read_file(here_.path + "/" + file)); }
  std::string whole() const { return here_.path + "/whole"; }

  /// Config and facts of the search, its objective, and the plan.
  struct Search {
    Search(const test::TuningFolder& here, const Settings& settings)
        : config(here.config(), settings), files(config.find_files()) {
      facts.data = inspect(Communicator::alone(), files.training);
      objective = make_objective(config, facts.data);
      facts = public_facts(config, facts.data, *objective);
      plan = make_plan(config, facts);
    }
    PrivateTuning& tuning() { return dynamic_cast<PrivateTuning&>(*objective); }
    RunConfig config;
    DataFiles files;
    PublicFacts facts;
    std::unique_ptr<Objective> objective;
    Plan plan;
  };
  /// The message of the error that planning ends with.
  std::string refusal(const Settings& settings) const {
    try {
      Search search(here_, settings);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  }

  test::TuningFolder here_{::testing::TempDir() + "dpmpi_tune_private"};
  Communicator alone_ = Communicator::alone();
};

/// Epsilon of so many runs of a config by itself, at 1e-4.
double epsilon_of_runs(const std::string& path, std::uint64_t runs, const Settings& settings = {}) {
  const RunConfig config(path, settings);
  const DatasetFacts data = inspect(Communicator::alone(), config.find_files().training);
  const auto objective = make_objective(config, data);
  std::vector<Event> events = make_plan(config, public_facts(config, data, *objective)).events();
  for (Event& event : events) event.count *= runs;
  return epsilon_guarantee(events, Adjacency::add_remove, 1e-4, "rdp").epsilon;
}

// Fixed batches: what the plan says is what the ledger says, and the promise is that of as many ordinary runs.
TEST_F(TunePrivateRun, PlanIsLedgerForFixedBatches) {
  ASSERT_EQ(run(whole()), ExitCode::done);
  const json plan = read("whole/plan.json"), certificate = read("whole/certificate.json");
  const Ledger ledger = Ledger::open(whole() + "/training_ledger.jsonl");
  EXPECT_EQ(ledger.lines().size(), 1u + 12);
  const auto spent = uses(ledger.events());
  ASSERT_EQ(spent.size(), 1u);
  EXPECT_EQ(json::parse(to_json({spent.begin()->first, spent.begin()->second})), plan["training"]["events"][0]);
  EXPECT_EQ(plan["training"]["events"].size(), 1u);
  EXPECT_EQ(plan["training"]["runs"], 12);
  EXPECT_EQ(certificate["training"]["trained"], 12);
  EXPECT_EQ(plan["training"]["epsilon"], epsilon_of_runs(here_.trainer(), 12));
  EXPECT_EQ(certificate["training"]["epsilon"], plan["training"]["epsilon"]);
  EXPECT_EQ(certificate["training"]["n"], 240);
  EXPECT_EQ(certificate["n"], 300);

  // Who is in both sets: the events of both ledgers, once each, at one delta.
  std::vector<Event> all = ledger.events();
  const Ledger other = Ledger::open(whole() + "/ledger.jsonl");
  all.insert(all.end(), other.events().begin(), other.events().end());
  EXPECT_EQ(certificate["both"]["epsilon"], epsilon_guarantee(all, Adjacency::add_remove, 1e-4, "rdp").epsilon);
  EXPECT_GT(certificate["both"]["epsilon"], certificate["training"]["epsilon"]);
  EXPECT_GT(certificate["both"]["epsilon"], certificate["epsilon"]);
  for (const auto& item : verify_run(whole()))
    EXPECT_TRUE(item.state == State::good || item.state == State::unchecked) << item.place << item.detail;
  const std::string statement = certificate["training"]["statement"];
  for (const char* part : {"12 at most", "among 240", "Every rank of the job is trusted with these records"})
    EXPECT_NE(statement.find(part), statement.npos) << statement;
}

// The budget is that of all models together: one has far more noise than the same config by itself.
TEST_F(TunePrivateRun, BudgetIsForAllModelsTogether) {
  here_.write_trainer("epsilon = 3\ntrust = cluster\n");
  const Search search(here_, {});
  const Plan& trainings = search.plan.training->plan;
  EXPECT_LE(trainings.epsilon(), 3);
  EXPECT_GT(trainings.epsilon(), 3 * (1 - 1e-3));
  const double multiplier = trainings.promise.noise_multiplier;
  here_.write_trainer(fmt::format("noise_multiplier = {}\ntrust = cluster\n", multiplier));
  EXPECT_EQ(epsilon_of_runs(here_.trainer(), 12), trainings.epsilon());
  EXPECT_LT(epsilon_of_runs(here_.trainer(), 1), 1.5);
}

// T22: with adaptive batches the promise is that of the largest number of models, whatever it came to.
TEST_F(TunePrivateRun, AdaptiveBatchesPromiseTheWorstCase) {
  ASSERT_EQ(run(whole(), {"method.batch=adaptive", "method.b=0", "method.b_max=4", "method.trace_tol=1"}),
            ExitCode::done);
  const json certificate = read("whole/certificate.json")["training"];
  EXPECT_EQ(certificate["runs"], 16);
  EXPECT_LT(certificate["trained"], 16);
  EXPECT_EQ(read_file(whole() + "/training_ledger.jsonl").find("\"training\":16"), std::string::npos);
  EXPECT_EQ(certificate["epsilon"], epsilon_of_runs(here_.trainer(), 16));
  std::ostringstream said;  // the ledger alone must not promise more than the certificate either
  AccountRequest request;
  request.path = whole() + "/training_ledger.jsonl", request.delta = 1e-4, request.accountant = "rdp";
  account(request, said);
  EXPECT_NE(said.str().find(fmt::format("({}, 0.0001)-", certificate["epsilon"].get<double>())), std::string::npos)
      << said.str();
  EXPECT_NE(said.str().find("of all 16 trainings"), std::string::npos) << said.str();
  for (const auto& item : verify_run(whole()))
    EXPECT_TRUE(item.state == State::good || item.state == State::unchecked) << item.place << item.detail;
}

// ---- Trainings

class Trainings : public TunePrivateRun {
 protected:
  /// A search that is ready to be asked for losses, paid for in memory.
  struct Ready : Search {
    Ready(const test::TuningFolder& here, const SecretKey& key, const Settings& settings = {})
        : Search(here, settings), scratch(Ledger::in_memory({Adjacency::add_remove, 240, true})) {
      tuning().read_records(comm, files);
      tuning().begin(plan.training, key);
      fs::remove(path);
      books.emplace(Ledger::create(path, {Adjacency::add_remove, 240}), plan.training->plan);
      tuning().pay_in(*books);
      records = load(comm, files.training, BlockLayout::of(facts.data, 1), Ownership::even(1, 1),
                     objective->label_kind(), objective->classes());
    }
    /// Of all records to score, at point p of those that models were trained at.
    std::vector<double> losses(const AtPoints& models, std::size_t p) {
      const Records& all = records.blocks.front().records;
      std::vector<std::uint32_t> index(all.count);
      std::iota(index.begin(), index.end(), 0U);
      std::vector<double> out(all.count);
      models.losses(p, {all, index}, out);
      return out;
    }
    Communicator comm = Communicator::alone();
    Ledger scratch;
    std::string path = ::testing::TempDir() + "dpmpi_tune_private_books.jsonl";
    std::optional<TrainingLedger> books;
    Shard records;
  };
  const SecretKey key_ = SecretKey::from_seed(11);
};

// A model is what the trainer's method makes of the trainer's records through a curator, with the training's own
// key: here by hand, from the config that a user would train with.
TEST_F(Trainings, ModelsAreThoseOfTheTrainersMethod) {
  Ready search(here_, key_);
  const std::vector<double> points{-0.7, 1.1, 0.4, -2};
  const AtPoints models = search.objective->at_points(points);
  for (const std::size_t p : {0, 1}) {
    const Settings settings = search.tuning().search().settings(std::span(points).subspan(2 * p, 2));
    ASSERT_TRUE(settings[0].starts_with("method.rate=") && settings[1].starts_with("method.clip="));
    RunConfig config(here_.trainer(), settings);
    const Dataset training = config.find_files().training;
    const DatasetFacts data = inspect(alone_, training);
    const auto objective = make_objective(config, data);
    const PublicFacts facts = public_facts(config, data, *objective);
    const Plan plan = make_plan(config, facts);
    const BlockLayout layout = BlockLayout::of(data, 2);
    const Shard shard = load(alone_, training, layout, Ownership::even(2, 1), objective->label_kind());
    Curator curator(alone_, shard, plan.queries, objective->micro_batch_rows(),
                    key_.derive("trainings").derive("training", p));
    curator.record_in(search.scratch);
    const auto algorithm = plan.method->start(*objective, plan.queries);
    for (std::uint64_t t = 0; t < plan.steps; ++t) algorithm->step(curator, t);
    const Records& all = search.records.blocks.front().records;
    std::vector<std::uint32_t> index(all.count);
    std::iota(index.begin(), index.end(), 0U);
    std::vector<double> expected(all.count);
    objective->at(algorithm->iterate()).losses({all, index}, expected);
    const std::vector<double> losses = search.losses(models, p);
    EXPECT_EQ(0, std::memcmp(losses.data(), expected.data(), losses.size() * sizeof(double))) << p;
    EXPECT_TRUE(std::isfinite(losses[0]));
  }
}

// Settings that change nothing but their text: the two models differ by noise alone, and they do. The same settings
// are the same training, whenever they are asked for.
TEST_F(Trainings, ShareNoNoise) {
  const Settings without_effect{"objective.search=objective.l2:1e-30:1e-29", "method.b=2"};
  Ready search(here_, key_, without_effect);
  const AtPoints three = search.objective->at_points(std::vector<double>{-1, 0, 1});
  const auto first = search.losses(three, 0), second = search.losses(three, 1), third = search.losses(three, 2);
  EXPECT_NE(first, second);
  EXPECT_NE(second, third);
  EXPECT_NE(first, third);
  const AtPoints two = search.objective->at_points(std::vector<double>{1, -1});
  EXPECT_EQ(search.losses(two, 0), third);
  EXPECT_EQ(search.losses(two, 1), first);
  EXPECT_EQ(search.books->ledger().events().size(), 3u);
  Ready other(here_, SecretKey::from_seed(12), without_effect);
  EXPECT_NE(other.losses(other.objective->at_points(std::vector<double>{-1}), 0), first)
      << "another run has another key";
}

// Before any model is trained: the lines are there, or the error is.
TEST_F(Trainings, ArePaidForFirst) {
  Ready search(here_, key_);
  std::vector<double> points(26);
  for (std::size_t i = 0; i < points.size(); ++i) points[i] = -2 + 0.15 * static_cast<double>(i);
  EXPECT_THROW(search.objective->at_points(points), PrivacyError);
  EXPECT_EQ(search.books->ledger().events().size(), 0u);
  search.objective->at_points(std::span(points).first(24));
  EXPECT_EQ(search.books->ledger().events().size(), 12u);
  points[0] = std::numeric_limits<double>::quiet_NaN();
  const AtPoints models = search.objective->at_points(std::span(points).first(2));
  EXPECT_TRUE(std::isnan(search.losses(models, 0)[0])) << "no model, and no line";
  EXPECT_EQ(search.books->ledger().events().size(), 12u);
}

// And nobody pays for it. Here no training costs what the plan says.
TEST_F(Trainings, PointsThatDoNotFitKeepTheModelAsItStarts) {
  Ready search(here_, key_);
  auto other = std::make_shared<TrainingPlan>(*search.plan.training);
  other->plan.queries.at(0).noise_multiplier *= 2;
  search.tuning().begin(other, key_);
  const std::vector<double> points{0.1, 0.2};
  const AtPoints models = search.objective->at_points(points);
  for (const double loss : search.losses(models, 0)) EXPECT_NEAR(loss, std::log(2.0), 1e-6) << "of logistic at 0";
  EXPECT_EQ(search.books->ledger().events().size(), 0U);
}

TEST_F(Trainings, LossesAreACapabilityOnceTrainingsCanBegin) {
  Search search(here_, {});
  EXPECT_EQ(search.objective->points(), nullptr);
  search.tuning().read_records(Communicator::alone(), search.files);
  EXPECT_EQ(search.objective->points(), nullptr) << "there is no key for their noise";
  search.tuning().begin(search.plan.training, key_);
  EXPECT_NE(search.objective->points(), nullptr);
}

// The record that is scored has no part in the models, and another file of records to train on has.
TEST_F(Trainings, CommitToTheirData) {
  Ready search(here_, key_);
  const std::string before = search.tuning().begin(search.plan.training, key_);
  Ready again(here_, key_);
  EXPECT_EQ(again.tuning().begin(again.plan.training, key_), before);
  EXPECT_NE(again.tuning().begin(again.plan.training, SecretKey::from_seed(12)), before) << "keyed";
  GenerateOptions options;
  options.records = 240, options.eval_records = 0, options.features = 4, options.seed = 8;
  options.output = here_.path + "/search-eval.csv";
  generate(options);
  Ready changed(here_, key_);
  EXPECT_NE(changed.tuning().begin(changed.plan.training, key_), before);
}

// ---- Refusals

TEST_F(TunePrivateRun, RefusesWhatItCannotPromise) {
  const auto expect = [&](const Settings& settings, const std::string& part) {
    const std::string message = refusal(settings);
    EXPECT_NE(message.find(part), message.npos) << settings.front() << ": " << message;
  };
  EXPECT_EQ(refusal({}), "");
  expect({"objective.trainer="}, "objective.trainer is not set");
  expect({"objective.trainer=absent.ini"}, "absent.ini");
  expect({"objective.trainer=search.ini"}, "trains models itself");
  expect({"objective.search="}, "objective.search is empty");
  expect({"objective.search=method.rate:0.1"}, "section.key:low:high");
  expect({"objective.search=method.rate:1:0.1"}, "ascending");
  expect({"objective.search=method.rate:0:1"}, "positive");
  expect({"objective.search=method.speed:0.1:1"}, "no number method.speed");
  expect({"objective.search=method.rate:0.1:1,method.rate:1:2"}, "twice");
  expect({"objective.search=privacy.noise_multiplier:0.1:1"}, "not an option of [method] or [objective]");
  expect({"objective.search=method.momentum:0.5:2"}, "method.momentum = ");
  expect({"objective.search=method.batch:20:60", "method.b=2"}, "method.batch cannot be searched for");
  expect({"objective.search=method.rate:0.1:1,method.steps:2:8"}, "method.steps cannot be searched for");
  expect({"data.eval=search-eval.csv"}, "costs its people privacy");
  expect({"data.bias=0"}, "data.bias = 1, and 0");
  expect({"privacy.adjacency=replace_one"}, "cannot be added up");
  here_.write_trainer("trust = cluster\n");  // both configs have this option
  expect({"data.blocks=6"}, "trainer.ini: a private run needs privacy.epsilon");
  here_.write_trainer("noise_multiplier = 2\nseed = 1\n");
  expect({"data.blocks=6"}, "privacy.seed belongs to the config that searches");
  here_.write_trainer("epsilon = 1\nadjacency = replace_one\n");
  expect({"privacy.adjacency=add_remove"}, "cannot be added up");
}

TEST_F(TunePrivateRun, RefusesMethodsThatDoNotCountTheirModels) {
  std::ofstream(here_.config()) << "[data]\ntrain = search.csv\nheader = yes\n[objective]\nname = tune_private\n"
                                   "trainer = trainer.ini\nsearch = method.rate:0.1:1\n[method]\n"
                                   "name = random-search\nbox_lo = -2\nbox_hi = 2\n[privacy]\nepsilon = 1\n";
  EXPECT_NE(refusal({}).find("does not say beforehand how many models"), std::string::npos) << refusal({});
}

TEST_F(TunePrivateRun, RefusesTrainersWithoutNoiseAndThoseOfSecretDuration) {
  const auto trainer = [&](const std::string& method) {
    std::ofstream(here_.trainer()) << "[data]\ntrain = search-eval.csv\nheader = yes\nblocks = 1\n[method]\n"
                                   << method;
  };
  trainer("batch = 60\nsteps = 4\n[privacy]\nnoise = none\n");
  EXPECT_NE(refusal({}).find("privacy.noise = none"), std::string::npos) << refusal({});
  trainer(
      "name = random-stopping\nbox_lo = -2\nbox_hi = 2\ngamma = 0.5\n[privacy]\ntrust = cluster\nnoise_multiplier = 2\n");
  EXPECT_NE(refusal({"objective.search=method.clip:0.1:1", "method.b=2"}).find("follows what is secret"),
            std::string::npos)
      << refusal({"objective.search=method.clip:0.1:1", "method.b=2"});
}

// Every rank trains by itself: what a training takes counts once a rank.
TEST_F(TunePrivateRun, RefusesTrainersThatDoNotFitInMemory) {
  std::ofstream(here_.trainer())
      << "[data]\ntrain = search-eval.csv\nheader = yes\nblocks = 2\n[method]\nname = gibo\n"
         "batch = fixed\nsteps = 2000000000\n[privacy]\nnoise_multiplier = 10\n";
  try {
    run(whole(), {"objective.search=method.eta:0.1:1", "method.b=2"});
    FAIL();
  } catch (const ConfigError& e) {
    EXPECT_NE(std::string(e.what()).find("losses of 240 records at up to"), std::string::npos) << e.what();
  }
}

// The records of the one set must not be those of the other, under another name or in a copy.
TEST_F(TunePrivateRun, RefusesTheSameRecordsInBothSets) {
  const auto ends = [&] {
    try {
      run(here_.path + "/refused");
    } catch (const PrivacyError& e) {
      return std::string(e.what());
    }
    return std::string("it ran");
  };
  fs::remove(here_.path + "/search-eval.csv");
  fs::copy_file(here_.path + "/search.csv", here_.path + "/search-eval.csv");
  EXPECT_NE(ends().find("is also a training file"), std::string::npos) << ends();
  fs::remove(here_.path + "/search-eval.csv");
  fs::create_symlink(here_.path + "/search.csv", here_.path + "/search-eval.csv");
  EXPECT_NE(ends().find("is also a training file"), std::string::npos) << ends();
}

// What would train another model says what to do instead.
TEST_F(TunePrivateRun, RefusesEvaluationAndAudits) {
  ASSERT_EQ(run(whole()), ExitCode::done);
  for (const char* command : {"evaluate", "predict"}) {
    const auto outcome =
        test::run_command(fmt::format("{} {} {} --data {}/search-eval.csv{}", test::program(), command, whole(),
                                      here_.path, *command == 'p' ? " --output " + here_.path + "/p.csv" : ""));
    EXPECT_EQ(outcome.code, 2) << outcome.output;
    EXPECT_NE(outcome.output.find("dpmpi train --config " + whole() + "/trainer.ini --set"), std::string::npos)
        << outcome.output;
  }
  const auto audit = test::run_command(fmt::format("{} audit --config {}", test::program(), here_.config()));
  EXPECT_EQ(audit.code, 2) << audit.output;
  EXPECT_NE(audit.output.find("an audit reads nobody's"), std::string::npos) << audit.output;
  // And that works: the trainer's copy in the run's folder, with the settings found.
  const std::string metrics = read_file(whole() + "/metrics.jsonl");
  const json last = json::parse(metrics.substr(metrics.rfind('\n', metrics.size() - 2) + 1));
  ASSERT_EQ(last["tuned"].size(), 2u);
  Settings settings = last["tuned"].get<Settings>();
  settings.push_back("run.dir=" + here_.path + "/final");
  EXPECT_EQ(train(alone_, RunConfig(whole() + "/trainer.ini", settings), {.quiet = true}), ExitCode::done);
}

TEST_F(TunePrivateRun, SeededNoiseIsNotPrivateForAnybody) {
  ASSERT_EQ(run(whole(), {"privacy.seed=5"}), ExitCode::done);
  const json certificate = read("whole/certificate.json");
  for (const json& part : {certificate, certificate["training"], certificate["both"]}) {
    EXPECT_EQ(part["epsilon"], "infinity");
    EXPECT_TRUE(part["statement"].get<std::string>().starts_with("NOT PRIVATE"));
  }
  for (const auto& item : verify_run(whole()))
    EXPECT_TRUE(item.state == State::good || item.state == State::unchecked) << item.place << item.detail;
}

// ---- Kills

constexpr const char* same_files[] = {"model.safetensors", "ledger.jsonl", "training_ledger.jsonl",
                                      "metrics.jsonl",     "plan.json",    "certificate.json"};

// Killed between paying and training, in a training, and between steps; gone on with by more ranks.
TEST_F(TunePrivateRun, KilledRunsEndWithTheSameBytesAndPayOnce) {
  const std::string seeded = " privacy.seed=5 run.dir=";
  ASSERT_EQ(faulty("none", here_.config() + seeded + whole()).code, 0);
  const std::string killed = here_.path + "/killed";
  EXPECT_NE(faulty("release@0#2=kill", here_.config() + seeded + killed).code, 0);
  EXPECT_EQ(trainings_paid(killed), 3u) << "in the first training all of its step are on disk";
  EXPECT_NE(faulty("write:training_ledger@0#1=kill", killed).code, 0);
  EXPECT_EQ(trainings_paid(killed), 3u) << "the first step's cost nothing again";
  EXPECT_NE(faulty("release@0#9=kill", killed).code, 0);
  EXPECT_NE(faulty("step@0#4=kill", killed).code, 0);
  EXPECT_FALSE(fs::exists(killed + "/certificate.json"));
  EXPECT_EQ(faulty("none", killed, 3).code, 0);
  for (const char* name : same_files)
    EXPECT_EQ(read_file(whole() + "/" + name), read_file(killed + "/" + name)) << name;
}

// ---- Other files

class TunePrivateStopped : public TunePrivateRun {
 protected:
  void SetUp() override {
    TunePrivateRun::SetUp();
    ASSERT_EQ(run(stopped(), {"run.max_hours=1e-12"}), ExitCode::stopped);
  }
  std::string stopped() const { return here_.path + "/stopped"; }
  void edit(const std::string& file, const std::string& from, const std::string& to) const {
    std::string text = read_file(file);
    ASSERT_NE(text.find(from), text.npos) << from;
    std::ofstream(file) << text.replace(text.find(from), from.size(), to);
  }
  std::string end() const {
    try {
      resume(stopped());
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  }
  bool ends_with(const std::string& part) const {
    const std::string message = end();
    EXPECT_NE(message.find(part), message.npos) << message;
    return true;
  }
};

TEST_F(TunePrivateStopped, GoesOn) {
  edit(here_.trainer(), "steps = 4", "steps = 5");  // the run has a copy
  EXPECT_EQ(end(), "");
  EXPECT_TRUE(fs::exists(stopped() + "/certificate.json"));
}
TEST_F(TunePrivateStopped, IsNotResumedWithAnotherTrainer) {
  edit(stopped() + "/trainer.ini", "steps = 4", "steps = 5");
  ends_with("trainer.method.steps: it was 4, now 5");
}
TEST_F(TunePrivateStopped, IsNotResumedWithOtherRecordsToTrainOn) {
  const std::string file = here_.path + "/search-eval.csv";
  std::string text = read_file(file);
  const std::size_t label = text.rfind('\n', text.size() - 2) + 1;  // of the last record
  text[label] == '-' ? text.erase(label, 1) : text.insert(label, "-");
  std::ofstream(file) << text;
  ends_with("the trainer's data are not those that the run");
}
TEST_F(TunePrivateStopped, IsNotResumedWithACutLedger) {
  const std::string file = stopped() + "/training_ledger.jsonl";
  std::string text = read_file(file);
  text.erase(text.rfind('\n', text.size() - 2) + 1);
  std::ofstream(file) << text;
  ends_with("training_ledger.jsonl is not the ledger of the checkpoint");
}
TEST_F(TunePrivateStopped, IsNotResumedWithoutItsLedger) {
  fs::remove(stopped() + "/training_ledger.jsonl");
  ends_with("training_ledger.jsonl");
}

// ---- Verification

// The place of the first bad item; empty if all are good.
std::string bad(const std::string& run) {
  const auto items = verify_run(run);
  return items.back().state == State::bad ? items.back().place : "";
}

TEST_F(TunePrivateStopped, VerifyFindsEveryEditOfTheSecondLedger) {
  const std::string finished = here_.path + "/finished", damaged = here_.path + "/damaged";
  ASSERT_EQ(run(finished), ExitCode::done);
  const auto after = [&](const std::string& run, const std::function<void(std::string&)>& change) {
    fs::remove_all(damaged);
    fs::copy(run, damaged, fs::copy_options::recursive);
    std::string text = read_file(damaged + "/training_ledger.jsonl");
    change(text);
    std::ofstream(damaged + "/training_ledger.jsonl") << text;
    return bad(damaged);
  };
  const auto cut_last = [](std::string& text) { text.erase(text.rfind('\n', text.size() - 2) + 1); };
  const auto change = [](std::string& text) { text[text.find("\"settings\":\"") + 15] ^= 1; };
  EXPECT_EQ(bad(finished), "");
  EXPECT_EQ(bad(stopped()), "");
  EXPECT_EQ(after(finished, [](std::string&) {}), "");
  EXPECT_NE(after(finished, change), "");
  EXPECT_NE(after(finished, cut_last), "");
  EXPECT_NE(after(stopped(), change), "");
  EXPECT_EQ(after(stopped(), cut_last), "training_ledger.jsonl:4");
  EXPECT_EQ(after(finished, [](std::string& text) { text.clear(); }), "training_ledger.jsonl:1");
  for (const std::string& run : {finished, stopped()}) {
    after(run, [](std::string&) {});
    fs::remove(damaged + "/training_ledger.jsonl");
    EXPECT_EQ(bad(damaged), "training_ledger.jsonl");
  }

  // One more than planned, with a good chain and a number of its own.
  after(finished, [](std::string&) {});
  {
    Ledger ledger = Ledger::open(damaged + "/training_ledger.jsonl");
    ledger.append(std::vector<LedgerEntry>{
        {ledger.events().back(), fmt::format(R"("training":12,"settings":"{}")", sha256("more"))}});
  }
  EXPECT_EQ(bad(damaged), "training_ledger.jsonl:14");
}

TEST_F(TunePrivateRun, VerifyRecomputesWhatIsPromisedToTheSecondSet) {
  ASSERT_EQ(run(whole()), ExitCode::done);
  const std::string damaged = here_.path + "/damaged";
  fs::copy(whole(), damaged, fs::copy_options::recursive);
  for (const auto& part : {"training", "both"}) {
    const json certificate = read("whole/certificate.json");
    ASSERT_GE(certificate[part].size(), 5u);
    for (const auto& [key, value] : certificate[part].items()) {
      json changed = certificate;
      changed[part].erase(key);
      std::ofstream(damaged + "/certificate.json") << changed.dump(2) << "\n";
      EXPECT_TRUE(bad(damaged).starts_with("certificate.json")) << part << " " << key << ": " << bad(damaged);
      changed[part][key] = value.is_number() ? json(value.get<double>() * 0.9) : json("x");
      std::ofstream(damaged + "/certificate.json") << changed.dump(2) << "\n";
      EXPECT_TRUE(bad(damaged).starts_with("certificate.json")) << part << " " << key << ": " << bad(damaged);
    }
  }
  // A smaller promise in plan and ledgers, whose digests are made to fit: the events give it away.
  json plan = read("whole/plan.json");
  plan["training"]["epsilon"] = plan["training"]["epsilon"].get<double>() / 2;
  std::ofstream(damaged + "/plan.json") << plan.dump(2) << "\n";
  EXPECT_EQ(bad(damaged), "plan.json");
}

}  // namespace
}  // namespace dpmpi::tune_private_test
