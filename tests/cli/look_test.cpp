// `dpmpi evaluate --private` as users meet it.
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/cli_folder.hpp"

namespace dpmpi::look_command_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::Outcome;

class LookCommand : public test::Cli {
 protected:
  static std::string folder() { return ::testing::TempDir() + "dpmpi_LookCommand"; }
  static Outcome typed(const std::string& arguments, int ranks = 1) {
    const std::string launcher = ranks > 1 ? fmt::format("mpirun -n {} ", ranks) : "";
    return test::run_command(fmt::format("cd {} && {}{} {}", folder(), launcher, test::program(), arguments));
  }
  static void SetUpTestSuite() {
    fs::remove_all(folder());
    fs::create_directories(folder());
    ASSERT_EQ(typed("generate --output t.csv --records 1000 --eval-records 900 --features 4").code, 0);
    std::ofstream(folder() + "/run.ini")
        << "[run]\ndir = run\n[data]\ntrain = t.csv\nheader = yes\n[method]\nbatch = 50\nsteps = 60\n"
           "[privacy]\nepsilon = 4\ndelta = 1e-4\n";
    const Outcome trained = typed("--quiet --config run.ini");
    ASSERT_EQ(trained.code, 0) << trained.output;
  }
};

TEST_F(LookCommand, SaysWhatItCostsAndWhatItFound) {
  const Outcome first = typed("evaluate run --private t-eval.csv --epsilon 1 --delta 1e-5 --budget 2", 3);
  ASSERT_EQ(first.code, 0) << first.output;
  for (const char* part : {"t-eval.csv.looks.jsonl (begins", "epsilon 1, delta 1e-05, add_remove, 900 records",
                           "of a budget of 2", "accuracy", "run/looks/1"})
    EXPECT_NE(first.output.find(part), std::string::npos) << part << "\n" << first.output;
  const Outcome second = typed("evaluate run --private t-eval.csv --epsilon 1 --json");
  ASSERT_EQ(second.code, 0) << second.output;
  const json answer = json::parse(second.output);
  EXPECT_EQ(answer["look"]["look"], 2);
  const json account = json::parse(typed("account t-eval.csv.looks.jsonl --delta 1e-5 --json").output);
  EXPECT_EQ(account["epsilon"], answer["look"]["all_looks"]["epsilon"])
      << "what was said, and what the ledger says";
  const Outcome third = typed("evaluate run --private t-eval.csv --epsilon 1.5");
  EXPECT_EQ(third.code, 4) << third.output;
  EXPECT_NE(third.output.find("Nothing was counted or spent"), std::string::npos) << third.output;

  const Outcome verified = typed("verify run");
  EXPECT_EQ(verified.code, 0) << verified.output;
  EXPECT_NE(verified.output.find("looks/2/look.json"), std::string::npos) << verified.output;
  EXPECT_EQ(verified.output.find("looks:"), std::string::npos) << "no file that is not read";
  EXPECT_EQ(typed("verify run/looks/1").code, 0);
}

TEST_F(LookCommand, RefusesWhatDoesNotGoTogether) {
  for (const auto& [words, part] : std::vector<std::pair<std::string, std::string>>{
           {"--private t-eval.csv", "say with --epsilon"},
           {"--private t-eval.csv --epsilon 0", "--epsilon"},
           {"--private t-eval.csv --epsilon 1 --data t.csv", "leave out --data, --by"},
           {"--epsilon 1 --ledger a.jsonl", "--epsilon, --ledger: these are for a look"},
           {"--private t.csv --epsilon 1", "is also a training file"},
           {"--private t-eval.csv --epsilon 1 --set privacy.epsilon=8", "settings stay as they are"}}) {
    const Outcome outcome = typed("evaluate run " + words);
    EXPECT_NE(outcome.code, 0) << words;
    EXPECT_NE(outcome.output.find(part), std::string::npos) << words << "\n" << outcome.output;
  }
}

}  // namespace
}  // namespace dpmpi::look_command_test
