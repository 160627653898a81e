// Commands as users type them: help, answers, words that are not understood, and where files are found.
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cli/cli_folder.hpp"
#include "run/directory/files.hpp"
#include "support/process.hpp"
#include "support/programs.hpp"
#include "support/text.hpp"

namespace dpmpi::commands_test {
namespace {

namespace fs = std::filesystem;
using test::Cli;
using test::contains;
using test::Outcome;

TEST_F(Cli, HelpListAndVersionNeedNothing) {
  EXPECT_TRUE(contains(dpmpi("help").output, "mpirun -n N dpmpi --config FILE"));
  EXPECT_TRUE(contains(dpmpi("--help").output, "Exit codes: 0 done"));
  EXPECT_TRUE(contains(dpmpi("help dp-sgd").output, "method.clip"));
  EXPECT_TRUE(contains(dpmpi("help privacy").output, "privacy.noise_multiplier"));
  EXPECT_TRUE(contains(dpmpi("help logistic").output, "objective.name = logistic"));
  EXPECT_TRUE(contains(dpmpi("list").output, "dp-sgd"));
  EXPECT_TRUE(contains(dpmpi("list objectives").output, "phase_retrieval"));
  EXPECT_TRUE(contains(dpmpi("--version").output, "dpmpi "));
}

TEST_F(Cli, EveryCommandHasHelpAndOptionsOfOthersAreRefused) {
  for (const std::string command : {"train", "resume", "check", "plan", "account", "calibrate", "verify",
                                    "generate", "convert", "evaluate", "predict", "list", "help"}) {
    const Outcome asked = dpmpi("help " + command), flag = dpmpi(command + " --help");
    EXPECT_EQ(asked.code, 0) << asked.output;
    EXPECT_TRUE(contains(asked.output, "dpmpi " + command) || command == "train") << asked.output;
    EXPECT_EQ(flag.output, asked.output);
  }
  EXPECT_EQ(dpmpi("evaluate some/run --help").output, dpmpi("help evaluate").output);
  for (const std::string words :
       {"list --json", "train --config x --json", "resume x --ranks 2", "list --measure"}) {
    const Outcome refused = dpmpi(words);
    EXPECT_EQ(refused.code, 2) << words;
    EXPECT_TRUE(contains(refused.output, "is an option of dpmpi plan")) << refused.output;
  }
}

TEST_F(Cli, ReferenceManualAndCompletionComeFromTheDeclarations) {
  EXPECT_EQ(dpmpi("help reference").output, read_file(DPMPI_SOURCE_DIR "/docs/reference/options.md"))
      << "write it again: dpmpi help reference > docs/reference/options.md";
  const std::string manual = dpmpi("help man").output;
  for (const char* part :
       {".SH COMMANDS", "method.clip", "objective.name = logistic", "privacy.noise_multiplier"}) {
    std::string escaped = part;
    for (std::size_t at = 0; (at = escaped.find('-', at)) != escaped.npos; at += 2) escaped.insert(at, 1, '\\');
    EXPECT_TRUE(contains(manual, escaped)) << part;
  }
  if (test::run_command("command -v bash").code != 0) GTEST_SKIP() << "no bash";
  std::ofstream(folder() + "/complete.sh")
      << "source <(" << test::program() << " help completion)\n"
      << "ask() { COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); compopt() { :; }; "
         "_dpmpi; echo \"${COMPREPLY[@]}\"; }\n"
      << "ask dpmpi veri\nask dpmpi --set method.momentu\nask mpirun dpmpi help privac\n"
         "ask dpmpi verify run --js\nask dpmpi verify --ra\nask dpmpi plan --ra\n";
  EXPECT_EQ(test::run_command("bash " + folder() + "/complete.sh").output,
            "verify\nmethod.momentum=\nprivacy\n--json\n\n--ranks\n");
}

// Short answers and answers that are longer than the library's buffer.
TEST_F(Cli, AnswersThatCannotBeWrittenAreErrors) {
  std::ofstream(folder() + "/one.jsonl") << "{\"event\":\"gaussian\",\"noise_multiplier\":2,\"count\":1}\n";
  for (const std::string& words : {std::string("--version"), std::string("help reference"), "plan " + config(),
                                   "account " + folder() + "/one.jsonl --delta 1e-5"}) {
    const Outcome refused = dpmpi(words + " > /dev/full");
    EXPECT_EQ(refused.code, 3) << words << "\n" << refused.output;
    EXPECT_TRUE(contains(refused.output, "data error: cannot write")) << words << "\n" << refused.output;
  }
}

TEST_F(Cli, FoldersAreNoEventLists) {
  for (const std::string& words :
       {"account " + folder() + " --delta 1e-5", "calibrate " + folder() + " --epsilon 1 --delta 1e-5"}) {
    const Outcome refused = dpmpi(words);
    EXPECT_EQ(refused.code, 3) << refused.output;
    EXPECT_TRUE(contains(refused.output, "is a folder")) << refused.output;
  }
  const Outcome refused = dpmpi("account x --delta 1e-5 --adjacency both");
  EXPECT_TRUE(contains(refused.output, "one of: add_remove, replace_one")) << refused.output;
}

TEST_F(Cli, WrongCommandsSayWhatIsAllowed) {
  const std::vector<std::pair<std::string, std::string>> wrong{
      {"trian " + config(), "did you mean train?"},
      {"my.ini", "unknown command 'my.ini' (did you mean --config my.ini?)"},
      {"train my.ini", "unexpected argument 'my.ini' (did you mean --config my.ini?)"},
      {"train", "dpmpi train needs --config: mpirun -n N dpmpi --config FILE"},
      {"--config /nonexistent.ini", "cannot read the config file /nonexistent.ini"},
      {"--config " + folder(), "is a directory"},
      {"--confg x", "unknown option --confg of dpmpi train; did you mean --config?"},
      {config() + " --set rate=1", "expected section.key=value"},
      {"help dpsgd", "did you mean dp-sgd?"},
      {"help audits", "did you mean audit?"},
      {"resume /nonexistent " + config(),
       "--config is an option of dpmpi train, tune, site, round, check, suggest, plan, audit, not of resume"},
      {"report /nonexistent " + config(), "--config is an option of dpmpi train"},
      {"list --set run.seed=3", "--set is an option of dpmpi train"},
      {"account x --delta 1e-5x", "--delta 1e-5x is not allowed; it must be a finite number"},
      {"list nothing", "nothing is not allowed; it must be one of: methods, objectives, formats"},
      {"generate --rows 5", "unknown option --rows of dpmpi generate"},
      {"resume /nonexistent", "cannot read the config file"},
  };
  for (const auto& [arguments, message] : wrong) {
    const Outcome outcome = dpmpi(arguments);
    EXPECT_EQ(outcome.code, 2) << arguments << "\n" << outcome.output;
    EXPECT_TRUE(contains(outcome.output, message)) << arguments << "\n" << outcome.output;
  }
}

TEST_F(Cli, TheHomeFolderIsFound) {
  const std::string config_elsewhere = folder() + "/new/home.ini";
  std::ofstream(config_elsewhere) << "[data]\ntrain = ~/t.csv\neval = t-eval.csv\nroot = ~\n[method]\nbatch = 100\n"
                                     "epochs = 1\n[privacy]\nepsilon = 2\ndelta = 1e-5\n[run]\ndir = ~/at-home\n";
  const Outcome outcome = test::run_command(
      fmt::format("HOME={} {} -q --config {}", fs::absolute(folder()).string(), test::program(), config_elsewhere));
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_TRUE(fs::exists(folder() + "/at-home/certificate.json"));
  const auto at_home = [&](const std::string& words) {
    return test::run_command(
        fmt::format("HOME={} {} -q {}", fs::absolute(folder()).string(), test::program(), words));
  };
  for (const std::string words :
       {"verify \"~/at-home\"", "evaluate \"~/at-home\"", "report \"~/at-home\" --output=~/at-home.html",
        "predict \"~/at-home\" --data=~/t-eval.csv --output=~/at-home.csv", "generate --output=~/at-home-too.csv",
        "convert \"~/t.csv\" --output=~/at-home.dpmpi --set data.header=yes"}) {
    const Outcome answer = at_home(words);
    EXPECT_EQ(answer.code, 0) << words << "\n" << answer.output;
  }
  for (const char* made : {"/at-home.html", "/at-home.csv", "/at-home-too.csv", "/at-home.dpmpi"})
    EXPECT_TRUE(fs::exists(folder() + made)) << made;
  for (const std::string named :
       {"plugin --set objective.library=~/none.so",
        "tune_private --set objective.search=method.rate:1:2 --set objective.trainer=~/none.ini"}) {
    const Outcome refused = at_home("plan --config " + config_elsewhere + " --set objective.name=" + named);
    EXPECT_TRUE(contains(refused.output, fs::absolute(folder()).string() + "/none.")) << refused.output;
  }
}

// The system's answer is a signal, which would end the process without a word.
TEST_F(Cli, AFileSizeLimitIsAFullDisk) {
  const Outcome outcome = test::run_command(
      fmt::format("ulimit -f 1; {} generate --output {}/limited.csv --records 5000", test::program(), folder()));
  EXPECT_EQ(outcome.code, 3) << outcome.output;
  EXPECT_TRUE(contains(outcome.output, "limited.csv")) << outcome.output;
  const std::string whole = folder() + "/whole.csv";
  ASSERT_EQ(dpmpi(fmt::format("generate --output {} --records 5000", whole)).code, 0);
  for (const char* as :
       {"features", "table"}) {  // HDF5's library closes files that it could not, and must not twice
    const Outcome half =
        test::run_command(fmt::format("ulimit -f 16; {} convert {} {}/half.h5 --as {} --set data.header=yes",
                                      test::program(), whole, folder(), as));
    EXPECT_EQ(half.code, 3) << half.output;
    EXPECT_TRUE(contains(half.output, "half.h5")) << half.output;
  }
}

}  // namespace
}  // namespace dpmpi::commands_test
