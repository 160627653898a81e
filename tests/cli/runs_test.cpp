// Runs from plan to certificate: their files agree, they go on with the same bytes, and only as what they were.
#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/cli_folder.hpp"
#include "run/directory/files.hpp"
#include "support/process.hpp"
#include "support/programs.hpp"
#include "support/text.hpp"

namespace dpmpi::runs_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::Cli;
using test::contains;
using test::Outcome;

TEST_F(Cli, AModelWhoseCertificateIsGoneIsNotToldToResume) {
  const std::string run = folder() + "/lost";
  ASSERT_EQ(dpmpi("-q " + config() + " --set run.keep_key=true --set run.dir=" + run).code, 0);
  fs::remove(run + "/certificate.json");
  const Outcome verified = dpmpi("verify " + run);
  EXPECT_EQ(verified.code, 4) << verified.output;
  EXPECT_TRUE(contains(verified.output, "BAD     certificate.json")) << verified.output;
  EXPECT_FALSE(contains(verified.output, "not there yet")) << verified.output;
  for (const std::string& command :
       {"evaluate " + run, "predict " + run + " --data t.csv --output " + folder() + "/p.csv", "resume " + run,
        config() + " --set run.dir=" + run}) {
    const Outcome outcome = dpmpi("-q " + command);
    EXPECT_EQ(outcome.code, 3) << command << "\n" << outcome.output;
    EXPECT_TRUE(contains(outcome.output, "nothing is left to resume")) << command << "\n" << outcome.output;
  }
}

TEST_F(Cli, PlanLedgerAccountAndCertificateAgree) {
  const std::string run = folder() + "/agree";
  const json plan = json::parse(dpmpi("plan --quiet --json " + config()).output);
  EXPECT_LE(plan["epsilon"].get<double>(), 2.0);
  EXPECT_GT(plan["epsilon"].get<double>(), 1.999);
  EXPECT_EQ(plan["events"].size(), 1u);
  ASSERT_EQ(dpmpi("-q " + config() + " --set run.dir=" + run).code, 0);
  const json certificate = file(run + "/certificate.json");
  EXPECT_EQ(certificate["epsilon"], plan["epsilon"]);
  EXPECT_EQ(certificate["delta"], 1e-5);
  const json account = json::parse(dpmpi("account " + run + "/ledger.jsonl --delta 1e-5 --json").output);
  EXPECT_EQ(account["epsilon"], certificate["epsilon"]);
  EXPECT_EQ(account["adjacency"], "add_remove");
  EXPECT_FALSE(fs::exists(run + "/checkpoint/key")) << "the noise key is wiped at the end";

  std::ifstream metrics(run + "/metrics.jsonl");
  std::string line, last;
  while (std::getline(metrics, line)) last = line;
  const json end = json::parse(last);
  EXPECT_EQ(end["step"], plan["steps"]);
  EXPECT_EQ(end["epsilon"], certificate["epsilon"]);
  for (const char* key : {"eval.loss", "eval.accuracy", "eval.auc"}) EXPECT_TRUE(end.contains(key)) << key;
  EXPECT_GT(end["eval.auc"].get<double>(), 0.7);
  EXPECT_EQ(dpmpi("-q " + config() + " --set run.dir=" + run).code, 2) << "a run directory is never overwritten";
}

TEST_F(Cli, ExactNoiseIsPlannedRecordedAndCertified) {
  const std::string run = folder() + "/exact", exact = config() + " --set privacy.noise=discrete_gaussian";
  const json plan = json::parse(dpmpi("plan --quiet --json " + exact).output);
  EXPECT_EQ(plan["noise"][0]["law"], "discrete_gaussian");
  ASSERT_EQ(dpmpi("-q " + exact + " --set run.dir=" + run).code, 0);
  const json certificate = file(run + "/certificate.json");
  EXPECT_EQ(certificate["noise"], "discrete_gaussian");
  EXPECT_EQ(certificate["epsilon"], plan["epsilon"]);
  EXPECT_LE(certificate["epsilon"].get<double>(), 2.0);
  const std::string ledger = run + "/ledger.jsonl";
  EXPECT_TRUE(contains(read_file(ledger), R"("event":"poisson_discrete_gaussian")"));
  EXPECT_EQ(json::parse(dpmpi("account " + ledger + " --delta 1e-5 --json").output)["epsilon"],
            certificate["epsilon"]);
  const Outcome refused = dpmpi("account " + ledger + " --delta 1e-5 --accountant gdp");
  EXPECT_EQ(refused.code, 4);
  EXPECT_TRUE(contains(refused.output, "poisson_discrete_gaussian")) << refused.output;
  // Noise without an end: no delta is too small for it.
  const std::string tiny = " --set privacy.delta=1e-20";
  EXPECT_EQ(dpmpi("plan " + exact + tiny).code, 0);
  EXPECT_EQ(dpmpi("plan " + config() + tiny).code, 4);
}

// So much noise that delta alone covers it.
TEST_F(Cli, AnEpsilonOfZeroIsStatedAsZero) {
  const std::string run = folder() + "/zero";
  std::ofstream(folder() + "/zero.ini")
      << "[data]\ntrain = t.csv\nheader = yes\nblocks = 4\n[method]\nsampling = full\nsteps = 1\n"
         "[privacy]\nnoise_multiplier = 1e6\ndelta = 1e-5\n";
  const Outcome outcome = dpmpi("-q --config " + folder() + "/zero.ini --set run.dir=" + run);
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  const json certificate = file(run + "/certificate.json");
  EXPECT_EQ(certificate["epsilon"], 0.0);
  EXPECT_TRUE(contains(certificate["statement"], "is (0, 1e-05)-differentially private"))
      << certificate["statement"];
  EXPECT_TRUE(contains(certificate["statement"], "at most a factor e^0,")) << certificate["statement"];
}

TEST_F(Cli, RunsWithoutPrivacySaySo) {
  const std::string seeded = folder() + "/seeded", plain = folder() + "/plain";
  const Outcome outcome = dpmpi(config() + " --set privacy.seed=1 --set run.dir=" + seeded);
  ASSERT_EQ(outcome.code, 0);
  EXPECT_TRUE(contains(outcome.output, "NOT PRIVATE"));
  EXPECT_EQ(file(seeded + "/certificate.json")["epsilon"], "infinity");
  const Outcome noiseless = dpmpi(config() + " --set privacy.noise=none --set run.dir=" + plain);
  ASSERT_EQ(noiseless.code, 0) << noiseless.output;
  EXPECT_TRUE(contains(noiseless.output, "NOT PRIVATE"));
  EXPECT_EQ(file(plain + "/certificate.json")["epsilon"], "infinity");
  EXPECT_TRUE(contains(file(plain + "/certificate.json")["statement"], "NOT PRIVATE"));
}

TEST_F(Cli, NoiseIsFreshInEveryRunAndTheSameForASeed) {
  const auto model = [&](const char* name, const std::string& extra) {
    const std::string run = folder() + "/" + name;
    EXPECT_EQ(dpmpi("-q " + config() + extra + " --set run.dir=" + run).code, 0);
    const std::string text = read_file(run + "/model.safetensors");
    return text.substr(text.size() - 41 * 4);
  };
  EXPECT_NE(model("a", ""), model("b", ""));
  EXPECT_EQ(model("c", " --set privacy.seed=3"), model("d", " --set privacy.seed=3"));
}

TEST_F(Cli, ConvertedDataTrainToTheSameModel) {
  ASSERT_EQ(dpmpi(fmt::format("convert {0}/t.csv {0}/t.bin --set data.header=yes", folder())).code, 0);
  const auto ledger_tail = [&](const char* name, const std::string& extra) {
    const std::string run = folder() + "/" + name;
    EXPECT_EQ(dpmpi("-q " + config() + " --set privacy.seed=3 --set run.dir=" + run + extra).code, 0);
    const std::string text = read_file(run + "/model.safetensors");
    return text.substr(text.size() - 41 * 4);
  };
  EXPECT_EQ(ledger_tail("text", ""), ledger_tail("binary", " --set data.train=t.bin --set data.eval="));
}

// Stopped after every step (a time limit of zero), gone on with: the same bytes as the run that was left alone.
TEST_F(Cli, StoppedAndResumedRunsEndWithTheSameBytes) {
  const std::string whole = folder() + "/whole", parts = folder() + "/parts";
  const std::string common =
      config() + " --set privacy.seed=9 --set method.steps=7 --set method.momentum=0.5 --set report.eval_every=2";
  ASSERT_EQ(dpmpi("-q " + common + " --set run.dir=" + whole).code, 0);
  Outcome outcome = dpmpi("-q " + common + " --set run.max_hours=1e-12 --set run.dir=" + parts);
  EXPECT_EQ(outcome.code, 6) << outcome.output;
  EXPECT_TRUE(contains(outcome.output, "go on with: dpmpi resume " + parts)) << outcome.output;
  EXPECT_FALSE(fs::exists(parts + "/model.safetensors"));
  EXPECT_EQ(fs::status(parts + "/checkpoint/key").permissions() & fs::perms::all,
            fs::perms::owner_read | fs::perms::owner_write);
  for (int i = 0; i < 10 && outcome.code == 6; ++i) {
    const std::string ranks = i % 2 ? "mpirun -n 2 " : "";
    outcome = test::run_command(fmt::format("{}{} resume -q {}", ranks, test::program(), parts));
  }
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  for (const char* name : {"model.safetensors", "ledger.jsonl", "metrics.jsonl", "certificate.json", "plan.json"})
    EXPECT_EQ(read_file(whole + "/" + name), read_file(parts + "/" + name)) << name;
}

TEST_F(Cli, ResumeRefusesOtherDataOtherConfigAndAnEditedLedger) {
  const std::string run = folder() + "/guard";
  fs::copy_file(folder() + "/t.csv", folder() + "/guard.csv");
  const auto fresh = [&] {
    fs::remove_all(run);
    ASSERT_EQ(
        dpmpi("-q " + config() + " --set data.train=guard.csv --set run.max_hours=1e-12 --set run.dir=" + run).code,
        6);
  };
  fresh();
  Outcome outcome = dpmpi("resume -q " + run + " --set method.rate=3");
  EXPECT_EQ(outcome.code, 2) << outcome.output;
  EXPECT_TRUE(contains(outcome.output, "belongs to another config")) << outcome.output;

  std::string text = read_file(folder() + "/guard.csv");
  text[text.find("\n1,") + 1] = '0';
  std::ofstream(folder() + "/guard.csv") << text;
  outcome = dpmpi("resume -q " + run);
  EXPECT_EQ(outcome.code, 3) << outcome.output;
  EXPECT_TRUE(contains(outcome.output, "not those that the run")) << outcome.output;

  fresh();
  const std::string ledger = read_file(run + "/ledger.jsonl");
  std::ofstream(run + "/ledger.jsonl") << ledger.substr(0, ledger.find('\n') + 1);
  outcome = dpmpi("resume -q " + run);
  EXPECT_EQ(outcome.code, 4) << outcome.output;
  EXPECT_TRUE(contains(outcome.output, "not the ledger of the checkpoint")) << outcome.output;
  std::string edited = ledger;
  edited.replace(edited.find("\"count\":"), 9, "\"count\":0");
  std::ofstream(run + "/ledger.jsonl") << edited;
  EXPECT_EQ(dpmpi("resume -q " + run).code, 4);
}

TEST_F(Cli, AccountOfASeededLedgerIsInfinite) {
  const std::string run = folder() + "/seeded-account";
  ASSERT_EQ(dpmpi("-q " + config() + " --set privacy.seed=1 --set run.dir=" + run).code, 0);
  EXPECT_EQ(json::parse(dpmpi("account " + run + "/ledger.jsonl --delta 1e-5 --json").output)["epsilon"],
            "infinity");
}

TEST_F(Cli, AnotherProgramMayNotReplayTheNoise) {
  const std::string run = folder() + "/program", copy = folder() + "/other_dpmpi";
  fs::copy_file(test::program(), copy);
  std::ofstream(copy, std::ios::app | std::ios::binary) << "x";  // same behaviour, other bytes
  ASSERT_EQ(dpmpi("-q " + config() + " --set run.max_hours=1e-12 --set run.dir=" + run).code, 6);
  const Outcome outcome = test::run_command(copy + " resume -q " + run);
  EXPECT_EQ(outcome.code, 4) << outcome.output;
  EXPECT_TRUE(contains(outcome.output, "another build of dpmpi")) << outcome.output;
}

TEST_F(Cli, OfTwoRunsOnOneFolderOneIsRefused) {
  const std::string run = folder() + "/race";
  const Outcome outcome = test::run_command(
      fmt::format("{0} -q {1} --set run.dir={2} & {0} -q {1} --set run.dir={2}; a=$?; wait $!; echo codes $a $?",
                  test::program(), config(), run));
  EXPECT_TRUE(contains(outcome.output, "codes 0 ") != contains(outcome.output, " 0\n")) << outcome.output;
  EXPECT_EQ(file(run + "/certificate.json")["config_digest"], file(run + "/plan.json")["config_digest"]);
}

}  // namespace
}  // namespace dpmpi::runs_test
