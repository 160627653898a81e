// Whole runs that choose their settings in private: the promise, the files, and what must not be in them.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "core/numbers/random.hpp"
#include "privacy/curves/repetition_law.hpp"
#include "run/certify/verify.hpp"
#include "run/config/config.hpp"
#include "run/directory/files.hpp"
#include "support/programs.hpp"
#include "support/run_folder.hpp"

namespace dpmpi::tuned_run_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::Outcome;

class TunedRun : public test::RunFolder {
 protected:
  void configure(const std::string& privacy = "epsilon = 2\ndelta = 1e-4\n", const std::string& tune = {}) const {
    std::ofstream(config_) << "[data]\nblocks = 4\ntrain = " << folder_ << "/train.csv\neval = " << folder_
                           << "/train-eval.csv\n[method]\nbatch = 50\nsteps = 12\n[tune]\ngamma = 0.2\n"
                           << tune << "[privacy]\ntrust = cluster\n"
                           << privacy;
  }
  Outcome tune(const std::string& more, int ranks = 1, const std::string& command = "tune") const {
    const std::string launcher = ranks > 1 ? fmt::format("mpirun -n {} ", ranks) : "";
    return test::run_command(fmt::format("{}{} {} --config {} --set run.dir={} {}", launcher, test::program(),
                                         command, config_, run_, more));
  }
  static Outcome dpmpi(const std::string& words) {
    return test::run_command(fmt::format("{} {}", test::program(), words));
  }
  json document(const std::string& name) const { return json::parse(read_file(run_ + "/" + name)); }
  json last_metrics() const {
    std::ifstream in(run_ + "/metrics.jsonl");
    std::string line, last;
    while (std::getline(in, line)) last = line;
    return json::parse(last);
  }
  /// What reading the config with these settings says; empty: nothing.
  std::string refusal(const std::vector<std::string>& settings) const {
    try {
      const RunConfig config(config_, settings);
    } catch (const ConfigError& e) {
      return e.what();
    }
    return {};
  }
};

constexpr const char* search = "--search method.rate=0.1,1,10 --search method.clip=0.3,1";

TEST_F(TunedRun, KeepsItsPromiseWithTheTuningInIt) {
  configure();
  const Outcome outcome = tune(search, 2);
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_TRUE(contains(outcome, "chosen: method.rate=")) << outcome.output;
  const json plan = document("plan.json"), certificate = document("certificate.json");
  EXPECT_LE(plan["epsilon"].get<double>(), 2);
  EXPECT_GT(plan["epsilon"].get<double>(), 1.999);
  ASSERT_EQ(plan["events"].size(), 1u);
  EXPECT_EQ(plan["events"][0]["event"], "repeat_and_select");
  EXPECT_EQ(plan["events"], certificate["events"]);
  EXPECT_EQ(plan["noise"][0]["runs"].size(), 6u);
  const json line = last_metrics();
  EXPECT_EQ(line["tuned"].size(), 2u);
  EXPECT_LT(std::abs(line["method.score"].get<double>()), 10) << "a mean loss with noise, which may be below 0";
  EXPECT_NE(certificate["released"].get<std::string>().find("the model of the selected training"),
            std::string::npos);
  EXPECT_NE(certificate["theorem"].get<std::string>().find("Papernot"), std::string::npos);

  EXPECT_EQ(dpmpi("verify " + run_).code, 0) << dpmpi("verify " + run_).output;
  EXPECT_EQ(dpmpi("report " + run_ + " --output " + folder_ + "/report.html").code, 0);
  const std::string page = read_file(folder_ + "/report.html");
  for (const auto& setting : line["tuned"]) {
    const std::string text = setting.get<std::string>(), key = text.substr(0, text.find('=')),
                      value = text.substr(text.find('=') + 1);
    const std::size_t chosen = page.find("<h2>What was chosen</h2>");
    ASSERT_NE(chosen, page.npos);
    EXPECT_NE(page.substr(chosen, page.find("</table>", chosen) - chosen)
                  .find(fmt::format("<td>{}</td><td>{}</td>", key, value)),
              page.npos)
        << text;
  }
  EXPECT_EQ(dpmpi("evaluate " + run_).code, 0);
  EXPECT_EQ(
      dpmpi(fmt::format("predict {} --data {}/train-eval.csv --output {}/scores.csv", run_, folder_, folder_)).code,
      0);
}

// Plan and ledger agree without the command, too, which is training with a list in the config.
TEST_F(TunedRun, AListInTheConfigIsEnough) {
  configure("epsilon = 2\ndelta = 1e-4\n", "search = method.rate=0.1,1 method.momentum=0,0.9\n");
  const Outcome planned = dpmpi("plan --config " + config_);
  ASSERT_EQ(planned.code, 0) << planned.output;
  EXPECT_TRUE(contains(planned,
                       "one training with this noise, its settings chosen without looking at the records: "
                       "epsilon "))
      << planned.output;
  ASSERT_EQ(tune("", 1, "train").code, 0);
  EXPECT_EQ(document("plan.json")["events"], document("certificate.json")["events"]);
  const Outcome searched = dpmpi("plan --json --config " + config_ + " " + search);
  ASSERT_EQ(searched.code, 0) << searched.output;
  EXPECT_EQ(json::parse(searched.output)["noise"][0]["runs"].size(), 6u);
  EXPECT_EQ(tune("--search method.rate=1,2 --set run.dir=" + folder_ + "/again").code, 0);
}

// Runs that differ in how many trainings they drew leave the same files, of one size but for the decimals of
// numbers.
TEST_F(TunedRun, NothingTellsHowManyTrainingsThereWere) {
  const auto drawn = [](std::uint64_t seed) {
    SecretStream stream(SecretKey::from_seed(seed).derive("repetitions"));
    return repetitions({.gamma = 0.2}, SecretReader(stream, 0, 0).next());
  };
  std::uint64_t few = 1, many = 1;
  while (drawn(few) > 1) ++few;
  while (drawn(many) < 12) ++many;
  configure("noise_multiplier = 1\ndelta = 1e-4\n");
  std::vector<std::map<std::string, std::ptrdiff_t>> lines;
  std::vector<std::map<std::string, std::uintmax_t>> sizes;
  std::vector<std::ptrdiff_t> said;
  for (const std::uint64_t seed : {few, many}) {
    fs::remove_all(run_);
    const Outcome outcome = tune(fmt::format("{} --log-level debug --set privacy.seed={}", search, seed));
    ASSERT_EQ(outcome.code, 0) << outcome.output;
    for (const char* time : {"steps/s", "done in", "evaluation in", "checkpoint in", "kernels"})
      EXPECT_FALSE(contains(outcome, time)) << outcome.output;
    said.push_back(std::ranges::count(outcome.output, '\n'));
    lines.emplace_back(), sizes.emplace_back();
    for (const auto& file : fs::recursive_directory_iterator(run_)) {
      EXPECT_EQ(fs::last_write_time(file.path()), fs::last_write_time(run_ + "/plan.json")) << file.path();
      const std::string name = file.path().filename().string();
      if (!file.is_regular_file()) continue;
      if (name == "plan.json" || name == "ledger.jsonl" || name == "model.safetensors")
        sizes.back()[name] = file.file_size();
      else
        lines.back()[name] = std::ranges::count(read_file(file.path().string()), '\n');
    }
  }
  EXPECT_EQ(sizes[0], sizes[1]);
  EXPECT_EQ(lines[0], lines[1]);
  EXPECT_GE(lines[0].size(), 5u);
  EXPECT_EQ(said[0], said[1]);
}

// Or an error would tell that a certain candidate was drawn, and would end the run again whenever it is resumed.
TEST_F(TunedRun, WhatIsWrongWithOneCandidateIsSaidWhicheverIsDrawn) {
  configure("noise_multiplier = 3\ndelta = 1e-4\n");
  for (const int seed : {1, 2, 3, 4}) {
    fs::remove_all(run_);
    const Outcome outcome =
        tune(fmt::format("--set method.name=gibo --set method.batch=fixed --set method.b=4 --set method.steps=2 "
                         "--set method.box_hi=1 --search method.box_lo=-1,0.5 --set tune.gamma=0.5 "
                         "--set privacy.seed={}",
                         seed));
    EXPECT_EQ(outcome.code, 2);
    EXPECT_TRUE(contains(outcome, "a training with method.box_lo=0.5: the start point is outside"))
        << outcome.output;
  }
}

// Likewise where what was released to a training stops it: nobody else has seen that.
TEST_F(TunedRun, ATrainingThatCannotGoOnLeavesTheStartPoint) {
  configure("noise_multiplier = 3\ndelta = 1e-4\n");
  for (const int seed : {1, 2, 3}) {
    fs::remove_all(run_);
    const std::string more = fmt::format(
        "--set method.name=gibo --set method.batch=fixed --set method.b=50 --set method.steps=6 "
        "--set method.kernel=poly2 --set method.design=random --set method.obs_noise_std=0 --set privacy.seed={} ",
        seed);
    const Outcome outcome = tune(more + "--search method.eta=1e5,1e6");
    EXPECT_EQ(outcome.code, 0) << outcome.output;
    EXPECT_FALSE(contains(outcome, "too close together")) << outcome.output;
    fs::remove_all(run_);
    const Outcome alone = tune(more + "--set method.eta=1e6", 1, "train");
    EXPECT_EQ(alone.code, 2) << "a training by itself says so: " << alone.output;
  }
}

TEST_F(TunedRun, RefusesWhatIsNoList) {
  configure();
  const auto with = [&](const std::string& list) { return refusal({"tune.search=" + list}); };
  EXPECT_EQ(with("method.rate=1,2"), "");
  EXPECT_NE(with("method.rate").find("entries are written method.key=value,value,..."), std::string::npos);
  EXPECT_NE(with("method.rat=1").find("method.rat is not an option of dp-sgd (did you mean method.rate?)"),
            std::string::npos);
  EXPECT_NE(with("privacy.epsilon=1,2").find("privacy.epsilon is not an option of dp-sgd"), std::string::npos);
  EXPECT_NE(with("method.rate=1,1").find("1 is there twice"), std::string::npos);
  EXPECT_NE(with("method.rate=1 method.rate=2").find("method.rate is there twice"), std::string::npos);
  EXPECT_NE(with("method.rate=1,,2").find("a value is empty"), std::string::npos);
  EXPECT_NE(with("method.rate=1,-2").find("tune.search with method.rate=-2: "), std::string::npos);
  const std::string once = refusal({"tune.search=method.rate=1,-2", "method.batch=-3"});
  EXPECT_NE(once.find("method.batch = -3"), std::string::npos);
  EXPECT_EQ(once.find("method.batch"), once.rfind("method.batch")) << "it is not searched for: " << once;
  EXPECT_NE(once.find("tune.search with method.rate=-2: "), std::string::npos) << once;
  EXPECT_NE(refusal({"tune.search=method.rate=1,2", "objective.name=tune_logistic"}).find("trains models itself"),
            std::string::npos);
}

TEST_F(TunedRun, RefusesWhatCannotBePaidForAlike) {
  configure();
  const Outcome nothing = tune("");
  EXPECT_EQ(nothing.code, 2);
  EXPECT_TRUE(contains(nothing, "lists no settings to choose among")) << nothing.output;
  const Outcome absurd = tune(std::string(search) + " --set tune.clip=1e300");
  EXPECT_EQ(absurd.code, 2);
  EXPECT_TRUE(contains(absurd, "query score, by tune.clip and")) << absurd.output;
  const Outcome steps = tune("--search method.steps=10,20");
  EXPECT_EQ(steps.code, 2);
  EXPECT_TRUE(contains(steps, "a training with method.steps=20 spends another part of the budget")) << steps.output;
  const Outcome untrusted = tune(fmt::format("{} --set privacy.trust=root", search), 2);
  EXPECT_EQ(untrusted.code, 4);
  EXPECT_TRUE(contains(untrusted, "Set privacy.trust = cluster")) << untrusted.output;
  const Outcome discrete = tune(fmt::format("{} --set privacy.noise=discrete_gaussian", search));
  EXPECT_EQ(discrete.code, 4);
  EXPECT_TRUE(contains(discrete, "has no analysis with privacy.noise = discrete_gaussian")) << discrete.output;
  const Outcome selects = tune("--search method.gamma=0.1,0.2 --set method.name=random-stopping");
  EXPECT_EQ(selects.code, 2) << selects.output;
  const Outcome saddle = tune(
      "--search method.rate=0.1,0.2 --set method.name=dp-sgda --set objective.name=auc "
      "--set objective.prior=0.5");
  EXPECT_EQ(saddle.code, 2);
  EXPECT_TRUE(contains(saddle, "min-max problem")) << saddle.output;
  const Outcome twice = tune(std::string(search) + " --set tune.search=method.rate=1,2");
  EXPECT_EQ(twice.code, 2);
  EXPECT_TRUE(contains(twice, "leave out one of them")) << twice.output;
  const Outcome counts = tune(std::string(search) + " --set objective.name=poisson");
  EXPECT_EQ(counts.code, 2);
  EXPECT_TRUE(contains(counts, "losses of counts may be negative")) << counts.output;
  EXPECT_FALSE(fs::exists(run_));
}

}  // namespace
}  // namespace dpmpi::tuned_run_test
