// privacy.noise = none: a run without noise says so everywhere, and no private run becomes one by accident.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "run/config/config.hpp"
#include "run/config/removed.hpp"
#include "run/directory/safetensors.hpp"
#include "run/plan/plan.hpp"
#include "run/short_runs.hpp"
#include "support/data_files.hpp"
#include "support/programs.hpp"
#include "support/run_folder.hpp"

namespace dpmpi::noiseless_run_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::Settings;

class NoiselessRun : public test::RunFolder {
 protected:
  std::string refusal(const Settings& settings) const {
    return test::message_of<ConfigError>([&] { RunConfig(config_, settings); });
  }
  /// A config with this section and no other method than the default one.
  void write(const std::string& privacy) const {
    std::ofstream(config_) << "[run]\ndir = " << run_
                           << "\n[data]\nblocks = 4\ntrain = train.csv\nheader = yes\n[privacy]\ndelta = 1e-4\n"
                           << privacy;
  }
  static json document(const std::string& path) { return json::parse(read_file(path)); }
};

TEST_F(NoiselessRun, RunsHaveNoiseUnlessTheConfigSaysNone) {
  EXPECT_TRUE(RunConfig(config_, {}).is_private());
  write("");
  EXPECT_MENTIONS(refusal({}), "a private run needs privacy.epsilon");
  EXPECT_NO_THROW(RunConfig(config_, {"privacy.noise=none"}));
  for (const char* almost : {"None", "no", "", "0"})
    EXPECT_MENTIONS(refusal({fmt::format("privacy.noise={}", almost)}), "privacy.noise");
}

TEST_F(NoiselessRun, ATargetAndNoNoiseContradictEachOther) {
  write("noise = none\nepsilon = 2\n");
  EXPECT_MENTIONS(refusal({}),
                  "privacy.noise = none adds no noise and promises nothing: remove privacy.epsilon = 2");
  write("epsilon = 2\n");
  const RunConfig plain(config_, {"privacy.noise=none"});  // the newer word counts
  EXPECT_FALSE(plain.is_private());
  EXPECT_EQ(plain.resolved().find("epsilon ="), std::string::npos);
  EXPECT_MENTIONS(refusal({"privacy.noise=none", "privacy.noise_multiplier=1"}),
                  "remove privacy.noise_multiplier = 1");
  write("noise = none\n");
  EXPECT_MENTIONS(refusal({"privacy.epsilon=1"}), "remove privacy.epsilon = 1");
}

TEST_F(NoiselessRun, EveryReleaseOfAPrivatePlanHasNoiseAndNoneOfAnotherHas) {
  write("noise_multiplier = 1\n");
  const std::string known = test::run_command(fmt::format("{} list methods", test::program())).output;
  for (const auto& method : methods()) {
    if (known.find(fmt::format("\n  {} ", method.name)) == known.npos) continue;  // of these tests alone
    if (method.name.starts_with("ht-")) continue;
    const std::string objective = test::min_max(method.name) ? "auc" : "logistic";
    Settings settings = test::options_of(method.name, objective);
    settings.push_back("method.name=" + method.name);
    settings.push_back("objective.name=" + objective);
    if (objective == "auc")
      settings.emplace_back("objective.prior=0.5"), settings.emplace_back("method.prior=private");
    for (const bool is_private : {true, false}) {
      SCOPED_TRACE(fmt::format("{} {}", method.name, is_private));
      if (!is_private) settings.emplace_back("privacy.noise=none");
      const RunConfig config(config_, settings);
      DatasetFacts data;
      data.records = 400, data.features = 5;
      const auto loss = make_objective(config, data);
      const PublicFacts facts = public_facts(config, data, *loss);
      const Plan plan = make_plan(config, facts);
      EXPECT_EQ(std::isfinite(plan.epsilon()), is_private);
      for (const Query& query : plan.queries) {
        EXPECT_EQ(query.noise_std > 0, is_private) << query.name;
        if (is_private) continue;
        for (const Event& event : query.events(0, query.steps))
          EXPECT_TRUE(std::holds_alternative<NonPrivate>(event.mechanism)) << query.name;
      }
    }
  }
}

TEST_F(NoiselessRun, SaysSoInEveryFileAndOnTheTerminal) {
  const auto outcome = test::run_command(
      fmt::format("mpirun -n 2 {} --config {} --set privacy.noise=none", test::program(), config_));
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_TRUE(contains(outcome, "THIS RUN IS NOT PRIVATE")) << outcome.output;
  EXPECT_TRUE(contains(outcome, "dp-sgd without noise")) << outcome.output;
  const json certificate = document(run_ + "/certificate.json"), plan = document(run_ + "/plan.json");
  EXPECT_EQ(certificate["statement"], "NOT PRIVATE: no noise was added (privacy.noise = none).");
  EXPECT_EQ(certificate["epsilon"], "infinity");
  EXPECT_EQ(certificate["noise"], "none");
  EXPECT_EQ(certificate["theorem"], "none");
  EXPECT_EQ(plan["epsilon"], "infinity");
  EXPECT_EQ(certificate["events"], plan["events"]);
  for (const json& event : plan["events"]) EXPECT_EQ(event["event"], "non_private");
  EXPECT_EQ(read_metadata(run_ + "/model.safetensors").at("noise"), "none: NOT PRIVATE");
  EXPECT_NE(read_file(run_ + "/report.html").find("NOT PRIVATE"), std::string::npos);
  EXPECT_NE(read_file(run_ + "/metrics.jsonl").find("\"epsilon\":\"infinity\""), std::string::npos);
  EXPECT_EQ(read_file(run_ + "/ledger.jsonl").find("gaussian"), std::string::npos);
  EXPECT_EQ(test::run_command(fmt::format("{} verify {}", test::program(), run_)).code, 0);
  const auto account =
      test::run_command(fmt::format("{} account {}/ledger.jsonl --delta 1e-4", test::program(), run_));
  EXPECT_NE(account.output.find("inf"), std::string::npos) << account.output;
  const auto audit = test::run_command(fmt::format("{} audit {}", test::program(), run_));
  EXPECT_EQ(audit.code, 2);
  EXPECT_TRUE(contains(audit, "privacy.noise = none promises nothing")) << audit.output;
}

TEST_F(NoiselessRun, AResumedRunCannotChangeWhetherItHasNoise) {
  for (const char* begun : {"", "privacy.noise=none"}) {
    fs::remove_all(run_);
    ASSERT_EQ(alone("step@0#100=kill", config_ + " " + begun).code, 137);
    const std::string changed =
        *begun == '\0' ? "privacy.noise=none" : "privacy.noise=gaussian privacy.noise_multiplier=1";
    auto outcome = alone("none", run_ + " " + changed);
    EXPECT_EQ(outcome.code, 2) << outcome.output;
    EXPECT_TRUE(contains(outcome, *begun == '\0' ? "privacy.noise: it was gaussian, now none"
                                                 : "privacy.noise: it was none, now gaussian"))
        << outcome.output;
    outcome = alone("none", run_);
    EXPECT_EQ(outcome.code, 0) << outcome.output;
    EXPECT_EQ(document(run_ + "/certificate.json")["epsilon"] == "infinity", *begun != '\0');
  }
}

// The file in the run directory is not trusted either.
TEST_F(NoiselessRun, AConfigThatWasEditedDoesNotGoOnWithoutNoise) {
  ASSERT_EQ(alone("step@0#100=kill", config_).code, 137);
  std::string text = read_file(run_ + "/config.ini");
  const std::string target = "noise_multiplier = 1\n", law = "noise = gaussian\n";
  ASSERT_NE(text.find(target), text.npos);
  text.erase(text.find(target), target.size());
  text.replace(text.find(law), law.size(), "noise = none\n");
  std::ofstream(run_ + "/config.ini") << text;
  const auto outcome = alone("none", run_);
  EXPECT_EQ(outcome.code, 2) << outcome.output;
  EXPECT_TRUE(contains(outcome, "privacy.noise: it was gaussian, now none")) << outcome.output;
}

TEST_F(NoiselessRun, RanksThatDisagreeDoNotBegin) {
  for (const char* order : {"{0} {1} : -n 1 {0} {1} {2}", "{0} {1} {2} : -n 1 {0} {1}"}) {
    fs::remove_all(run_);
    const std::string program = fmt::format("{} none", test::fault_program());
    const auto outcome = test::run_command(
        "mpirun -n 1 " + fmt::format(fmt::runtime(order), program, config_, "privacy.noise=none"), 60);
    EXPECT_NE(outcome.code, 0);
    EXPECT_FALSE(fs::exists(run_ + "/ledger.jsonl")) << outcome.output;
  }
}

TEST_F(NoiselessRun, ATwinOfOldIsTheSameMethodWithoutNoise) {
  for (const char* name : {"sgd", "sgda", "private-diff-noiseless", "private-diff-literal", "mezo", "zo-ks",
                           "zo-o2nc-noiseless", "gibo-noiseless", "random-search-noiseless", "ucb-bo-noiseless"}) {
    const std::string message = refusal({fmt::format("method.name={}", name)});
    EXPECT_MENTIONS(message, fmt::format("--set: method.name = {} was removed: ", name));
    const std::string instead = instead_of("method.name", name);
    EXPECT_EQ(message.find('\n'), message.npos) << "one message";
    EXPECT_TRUE(instead.find("privacy.noise = none") != instead.npos ||
                std::string(name) == "private-diff-literal");
    std::size_t named = 0;
    for (const auto& entry : methods()) named += instead.find("take " + entry.name + " ") != instead.npos;
    EXPECT_EQ(named, std::string(name) == "private-diff-literal" ? 0u : 1u) << instead;
  }
  const auto help = test::run_command(fmt::format("{} help sgd", test::program()));
  EXPECT_EQ(help.code, 2);
  EXPECT_TRUE(contains(help, "method.name = sgd was removed: take dp-sgd with privacy.noise = none"))
      << help.output;
}

TEST_F(NoiselessRun, KeysOfPrintedFormulasAreRemoved) {
  for (const char* key : {"calibration", "stated_epsilon", "paper_constants", "paper"}) {
    const std::string message = refusal({fmt::format("method.{}=1", key)});
    EXPECT_MENTIONS(message, fmt::format("--set: method.{} = 1 was removed: ", key));
    EXPECT_MENTIONS(message, "leave it out");
  }
}

TEST_F(NoiselessRun, KeysOfZoHiddenThatWereRemovedSayWhatToWrite) {
  for (const auto& [setting, instead] : {std::pair{"release=ledger", "set method.release to"},
                                         {"release_every=5", "set method.release to"},
                                         {"smoothness=1", "set method.i_have_proved to"},
                                         {"curvature=0", "set method.i_have_proved to"},
                                         {"lipschitz=1", "set method.i_have_proved to"},
                                         {"i_have_proved_it=true", "set method.i_have_proved to"},
                                         {"accounting=composition", "set method.release = all"},
                                         {"accounting=hidden", "leave it out"},
                                         {"start=1,2", "leave it out"},
                                         {"momentum=0.5", "leave it out"},
                                         {"average=0.5", "leave it out"}}) {
    const std::string message = refusal({"method.name=zo-hidden", fmt::format("method.{}", setting)});
    EXPECT_MENTIONS(message, " was removed: ");
    EXPECT_MENTIONS(message, instead);
  }
  EXPECT_EQ(instead_of("method.momentum", "0.5", "dp-sgd"), "");
}

TEST_F(NoiselessRun, MethodsThatGoByTheTargetAreRefused) {
  write("");
  for (const char* name : {"ht-glm", "ht-localize", "ht-known-lipschitz", "ht-smooth"}) {
    const std::string objective = std::string(name) == "ht-smooth" ? "mean" : "logistic";
    const auto outcome =
        alone("none", fmt::format("{} privacy.noise=none method.name={} objective.name={} {}", config_, name,
                                  objective, fmt::join(test::options_of(name, objective), " ")));
    EXPECT_EQ(outcome.code, 2);
    EXPECT_TRUE(contains(outcome, "and has no form without noise")) << outcome.output;
  }
}

}  // namespace
}  // namespace dpmpi::noiseless_run_test
