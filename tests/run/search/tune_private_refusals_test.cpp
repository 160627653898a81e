// What a search with a second private set refuses, and says: what it cannot promise, does not fit, or would train
// another model.
#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "run/directory/files.hpp"
#include "run/search/tune_private_run.hpp"
#include "support/process.hpp"
#include "support/programs.hpp"

namespace dpmpi::tune_private_refusals_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::TunePrivateRun;

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
  expect({"objective.search=method.batch:20|60|20"}, "different values");
  expect({"objective.search=method.batch:20||60"}, "different values");
  expect({"objective.search=method.speed:1|2"}, "method.speed");
  expect({"objective.search=:20|60"}, "section.key:a|b|c");
  expect({"objective.search=method.rate:0.1:1,objective.hidden:4|8,16"}, "no value holds a comma");
  expect({"objective.search=method.name:dp-sgd|dp-ftrl"}, "method.name is not searched for");
  expect({"objective.search=objective.name:tune_svm|logistic"}, "objective.name is not searched for");
  expect({"objective.search=method.sampling:poisson|full", "method.b=2"}, "method.sampling cannot be searched for");
  expect({"objective.search=method.batch:20|60,method.sampling:poisson|often"}, "method.sampling = often");
  expect({"objective.search=method.batch:20|60|12000000", "method.b=2"}, "method.batch cannot be searched for");
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

// Larger batches in fewer steps: neither is the dearest. And sizes that would follow a coordinate.
TEST_F(TunePrivateRun, RefusesTrainingsOfWhichNoneIsTheDearest) {
  const auto trainer = [&](const std::string& objective, const std::string& method, const char* more = "") {
    std::ofstream(here_.trainer()) << "[data]\ntrain = search-eval.csv\nheader = yes\nblocks = 1\n[objective]\n"
                                   << objective << "[method]\nname = dp-sgd\n"
                                   << method << "[privacy]\ndelta = 1e-4\nnoise_multiplier = 2\n"
                                   << more;
  };
  trainer("name = logistic\n", "batch = 60\nepochs = 2\n");
  EXPECT_NE(refusal({"objective.search=method.batch:20:120", "method.b=2"}).find("if method.steps is given"),
            std::string::npos);
  trainer("name = logistic\n", "sampling = wor\nbatch = 60\nsteps = 4\n", "adjacency = replace_one\n");
  EXPECT_NE(refusal({"objective.search=method.batch:20:120", "method.b=2", "privacy.adjacency=replace_one"})
                .find("method.batch cannot be searched for"),
            std::string::npos);
  trainer("name = mlp\nhead = logistic\nhidden = 4\n", "batch = 60\nsteps = 4\n");
  EXPECT_NE(refusal({"objective.search=objective.hidden:2:8", "method.b=2"}).find("in a list"), std::string::npos);
  EXPECT_EQ(refusal({"objective.search=objective.hidden:2|8", "method.b=2"}), "");
  for (const char* list : {"logistic|squared", "squared|logistic"})
    EXPECT_NE(
        refusal({fmt::format("objective.search=objective.head:{}", list), "method.b=2"}).find("labels or outputs"),
        std::string::npos)
        << list;
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

// A model of counts would be scored on data.train, which has none.
TEST_F(TunePrivateRun, RefusesTrainersWithExposures) {
  std::ofstream columns(here_.path + "/columns.txt");
  columns << "a number\nb number\nc number\nd number\nyears exposure range=0.1..1\nn label\n";
  columns.close();
  std::ofstream table(here_.path + "/search-eval.csv");
  table << "a,b,c,d,years,n\n";
  for (int row = 0; row < 240; ++row) table << row % 7 << ',' << row % 5 << ",1,0,0.5," << row % 3 << '\n';
  table.close();
  std::ofstream(here_.trainer()) << "[data]\ntrain = search-eval.csv\nheader = yes\nblocks = 2\n"
                                    "columns = columns.txt\n[objective]\nname = poisson\n[method]\nname = dp-sgd\n"
                                    "batch = 60\nsteps = 4\n[privacy]\ndelta = 1e-4\nnoise_multiplier = 2\n";
  EXPECT_NE(refusal({}).find("its columns have an exposure"), std::string::npos) << refusal({});
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

}  // namespace
}  // namespace dpmpi::tune_private_refusals_test
