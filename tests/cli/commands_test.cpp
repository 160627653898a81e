// The program as its users meet it: commands, messages, exit codes, files.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "run/directory/files.hpp"
#include "support/process.hpp"
#include "support/programs.hpp"
#include "support/text.hpp"

namespace dpmpi::commands_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::Outcome;

Outcome dpmpi(const std::string& arguments) {
  return test::run_command(fmt::format("{} {}", test::program(), arguments));
}

using test::contains;

class Cli : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    fs::remove_all(folder());
    fs::create_directories(folder());
    ASSERT_EQ(dpmpi("generate --records 10 --output " + folder() + "/new/folder/t.csv").code, 0);
    ASSERT_TRUE(fs::exists(folder() + "/new/folder/t-eval.csv"));
    ASSERT_EQ(dpmpi("generate --output " + folder() + "/t.csv --records 2000 --eval-records 500").code, 0);
    std::ofstream(folder() + "/base.ini")
        << "[data]\ntrain = t.csv\neval = t-eval.csv\nblocks = 4\n[method]\nbatch = 100\nepochs = 5\nrate = 2\n"
           "[privacy]\nepsilon = 2\ndelta = 1e-5\n";
  }
  static std::string folder() { return ::testing::TempDir() + "dpmpi_cli"; }
  static std::string config() { return "--config " + folder() + "/base.ini"; }
  static json file(const std::string& path) { return json::parse(read_file(path)); }
};

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
      {"train", "dpmpi train needs --config: mpirun -n N dpmpi --config FILE"},
      {"--config /nonexistent.ini", "cannot read the config file /nonexistent.ini"},
      {"--config " + folder(), "is a directory"},
      {"--confg x", "unknown option --confg of dpmpi train; did you mean --config?"},
      {config() + " --set rate=1", "expected section.key=value"},
      {"help dpsgd", "did you mean dp-sgd?"},
      {"help audits", "did you mean audit?"},
      {"resume /nonexistent " + config(),
       "--config is an option of dpmpi train, tune, check, plan, audit, not of resume"},
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

TEST_F(Cli, AllConfigProblemsAreReportedAtOnce) {
  std::ofstream(folder() + "/bad.ini")
      << "[data]\ntrain = t.csv\nblocks = -3\n[objective]\nname = logistc\n[method]\nrate = fast\nclip = nan\n"
         "[privacy]\ndelta = 2\nadjacency = both\n";
  const Outcome outcome = dpmpi("--config " + folder() + "/bad.ini");
  EXPECT_EQ(outcome.code, 2);
  for (const char* part :
       {"bad.ini:3: data.blocks = -3", "bad.ini:5: objective.name = logistc is not known (did you mean logistic?)",
        "bad.ini:7: method.rate = fast", "bad.ini:8: method.clip = nan", "bad.ini:10: privacy.delta = 2",
        "bad.ini:11: privacy.adjacency = both", "needs privacy.epsilon"})
    EXPECT_TRUE(contains(outcome.output, part)) << part << "\n" << outcome.output;
  std::ofstream(folder() + "/typo.ini")
      << read_file(folder() + "/base.ini") << "[method]\nlearning_rate = 3\nmomentun = 1\n";
  EXPECT_TRUE(contains(dpmpi("--config " + folder() + "/typo.ini").output,
                       "unknown key method.momentun; did you mean method.momentum?"));
}

TEST_F(Cli, KeysOfOtherProgramsMethodsAndSectionsAreToldByTheirNameHere) {
  const std::vector<std::pair<std::string, std::string>> meant{
      {"method.learning_rate", "did you mean method.rate?"},
      {"method.lr", "did you mean method.rate?"},
      {"method.max_grad_norm", "did you mean method.clip?"},
      {"method.weight_decay", "did you mean objective.l2?"},
      {"method.noise", "did you mean privacy.noise?"},
      {"method.sigma", "did you mean privacy.noise_multiplier?"},
      {"method.epsilon", "did you mean privacy.epsilon?"},
      {"privacy.target", "did you mean privacy.epsilon?"},
      {"data.target", "did you mean data.label?"},
      {"data.path", "did you mean data.train?"},
      {"method.max_iter", "did you mean method.steps?"},
      {"method.b_max", "it is an option of gibo"},
      {"method.passes", "did you mean method.epochs?; it is an option of dp-ftrl, zo-naive, zo-o2nc"},
      {"objective.hidden", "it is an option of auc, mlp"},
      {"method.xyzxyzxyzxyz", "unknown key method.xyzxyzxyzxyz\n"},
      {"metod.rate", "did you mean method.rate?"},
      // Nothing is near, or the word is in more sections than one.
      {"xx.y", "unknown key xx.y\n"},
      {"data.name", "unknown key data.name\n"},
      {"method.points", "unknown key method.points; it is an option of random-search\n"}};
  std::string set;
  for (const auto& [key, hint] : meant) set += " --set " + key + "=1";
  const Outcome outcome = dpmpi(config() + set);
  EXPECT_EQ(outcome.code, 2);
  for (const auto& [key, hint] : meant) {
    const auto at = outcome.output.find("unknown key " + key);
    ASSERT_NE(at, std::string::npos) << key << "\n" << outcome.output;
    const std::string line = outcome.output.substr(at, outcome.output.find('\n', at) + 1 - at);
    EXPECT_TRUE(contains(line, hint)) << hint << "\n" << line;
  }
  EXPECT_TRUE(contains(dpmpi(config() + " --set method.name=zo-o2nc --set method.epochs=3").output,
                       "unknown key method.epochs; did you mean method.passes?; it is an option of"));
}

TEST_F(Cli, TheNumberOfClassesIsAskedFor) {
  for (const char* objective : {"softmax", "mlp", "worst_group"}) {
    const std::string named = config() + " --set objective.name=" + objective;
    const Outcome outcome = dpmpi("plan " + named);
    EXPECT_EQ(outcome.code, 2) << outcome.output;
    EXPECT_TRUE(contains(outcome.output, "objective.classes is not set")) << outcome.output;
    EXPECT_TRUE(contains(dpmpi("plan " + named + " --set objective.classes=0").output, "objective.classes = 0"));
  }
  EXPECT_EQ(dpmpi("plan " + config() + " --set objective.name=mlp --set objective.head=logistic").code, 0);
}

TEST_F(Cli, PositiveLabelsThatNoPublicRecordHasAreRefused) {
  const auto write = [&](const char* name, const char* negative, const char* positive, int from) {
    std::ofstream file(folder() + "/" + name);
    for (int i = 0; i < 100; ++i) file << (i % 2 == 0 ? negative : positive) << "," << from + i << ",1\n";
  };
  write("words.csv", "no", "yes", 0);
  write("words-eval.csv", "no", "yes", 100);
  write("no-eval.csv", "no", "no", 200);
  const auto with = [&](const std::string& more) {
    return dpmpi("-q " + config() + " --set data.train=words.csv --set data.label=first --set data.header=no " +
                 "--set method.batch=10 --set privacy.delta=1e-3 --set run.dir=" + folder() + "/words " + more);
  };
  for (const char* positive : {"Yes", "1"}) {
    const Outcome outcome = with(std::string("--set data.eval=words-eval.csv --set data.positive=") + positive);
    EXPECT_EQ(outcome.code, 3) << outcome.output;
    EXPECT_TRUE(contains(outcome.output, std::string("data.positive = ") + positive + ": ")) << outcome.output;
    EXPECT_TRUE(contains(outcome.output, "public file data.eval")) << outcome.output;
  }
  EXPECT_EQ(with("--set data.eval=no-eval.csv --set data.positive=yes").code, 3);
  const Outcome warned = with("--set data.eval=no-eval.csv --set data.positive=no");
  EXPECT_EQ(warned.code, 0) << warned.output;
  EXPECT_TRUE(contains(warned.output, "every label of data.eval is one of these")) << warned.output;
  // Of private labels nothing is said.
  EXPECT_EQ(with("--set data.eval= --set data.positive=Yes --set run.dir=" + folder() + "/yes").code, 0);
}

TEST_F(Cli, ATakenFolderIsRefusedBeforeDataAreLookedFor) {
  const std::string run = folder() + "/taken";
  ASSERT_EQ(dpmpi("-q " + config() + " --set run.dir=" + run).code, 0);
  const Outcome outcome = dpmpi("-q " + config() + " --set data.train=absent.csv --set run.dir=" + run);
  EXPECT_EQ(outcome.code, 2) << outcome.output;
  EXPECT_TRUE(contains(outcome.output, "already holds a finished run")) << outcome.output;
}

TEST_F(Cli, AFolderThatCannotBeIsRefusedBeforeDataAreLookedFor) {
  const std::string file = folder() + "/t.csv";
  for (const std::string& dir : {file, file + "/below/it"}) {
    const Outcome outcome = dpmpi("-q " + config() + " --set data.train=absent.csv --set run.dir=" + dir);
    EXPECT_EQ(outcome.code, 2) << outcome.output;
    EXPECT_TRUE(contains(outcome.output, "config error: run.dir = " + dir + ": " + file + " is no folder"))
        << outcome.output;
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

TEST_F(Cli, AnEpsilonThatLeavesNoNoiseIsNotBlamedOnDelta) {
  const Outcome outcome = dpmpi("plan " + config() + " --set privacy.epsilon=1000");
  EXPECT_EQ(outcome.code, 4) << outcome.output;
  EXPECT_TRUE(contains(outcome.output, "Choose a smaller privacy.epsilon")) << outcome.output;
  EXPECT_FALSE(contains(outcome.output, "delta")) << outcome.output;
}

TEST_F(Cli, RefusalsOfPrivacyExitWith4) {
  EXPECT_EQ(dpmpi(config() + " --set privacy.delta=0.01").code, 4);
  EXPECT_EQ(dpmpi(config() + " --set method.sampling=wor").code, 4);
  EXPECT_EQ(dpmpi(config() + " --set data.normalize=standard").code, 2);
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

TEST_F(Cli, TrainingRecordsAreNoEvaluationSet) {
  const Outcome outcome = dpmpi(config() + " --set data.eval=t.csv --set run.dir=" + folder() + "/same");
  EXPECT_EQ(outcome.code, 4) << outcome.output;
  EXPECT_TRUE(contains(outcome.output, "is also a training file")) << outcome.output;
  fs::create_symlink(folder() + "/t.csv", folder() + "/link.csv");
  EXPECT_EQ(dpmpi(config() + " --set data.train= --set data.shards=t.csv,t-eval.csv --set data.eval=link.csv").code,
            4);
}

// A table that is not understood: its first line may be a private record.
TEST_F(Cli, NoMessageQuotesAPrivateRecord) {
  std::ofstream(folder() + "/odd.csv") << "SECRET;1;2\n3;4;5\n";
  for (const char* command : {"", "plan "}) {
    const Outcome outcome = dpmpi(command + config() + " --set data.train=odd.csv --set data.header=no");
    EXPECT_TRUE(outcome.code == 2 || outcome.code == 3) << outcome.output;
    EXPECT_TRUE(contains(outcome.output, "odd.csv")) << outcome.output;
    EXPECT_FALSE(contains(outcome.output, "SECRET")) << outcome.output;
  }
  EXPECT_TRUE(contains(
      dpmpi(config() + " --set data.train=odd.csv --set data.header=no --set data.show_values=true").output,
      "SECRET"));
}

TEST_F(Cli, DeltaBelowWhatTheSamplerCanKeepIsRefused) {
  const Outcome outcome = dpmpi("plan " + config() + " --set privacy.delta=1e-300");
  EXPECT_EQ(outcome.code, 4) << outcome.output;
  EXPECT_TRUE(contains(outcome.output, "too small for noise that ends at 10.5")) << outcome.output;
  EXPECT_EQ(dpmpi("plan " + config() + " --set privacy.delta=1e-12").code, 0);
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

// The system's answer is a signal, which would end the process without a word.
TEST_F(Cli, AFileSizeLimitIsAFullDisk) {
  const Outcome outcome = test::run_command(
      fmt::format("ulimit -f 1; {} generate --output {}/limited.csv --records 5000", test::program(), folder()));
  EXPECT_EQ(outcome.code, 3) << outcome.output;
  EXPECT_TRUE(contains(outcome.output, "limited.csv")) << outcome.output;
}

}  // namespace
}  // namespace dpmpi::commands_test
