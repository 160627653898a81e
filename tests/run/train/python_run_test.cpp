// Runs whose losses are a function of a Python module: what they share with runs of a plugin in C, and what a
// module that somebody else names does not get to do.
#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/files/digest.hpp"
#include "run/directory/files.hpp"
#include "support/process.hpp"
#include "support/programs.hpp"
#include "support/python_host.hpp"

namespace dpmpi::python_run_test {
namespace {

namespace fs = std::filesystem;
using test::Outcome;

class PythonRun : public ::testing::Test {
 protected:
  static std::string folder() { return ::testing::TempDir() + "dpmpi_PythonRun"; }
  static std::string path(const std::string& name) { return folder() + "/" + name; }

  static Outcome dpmpi(const std::string& words, int ranks = 1) {
    fs::remove(path("mark"));
    const std::string launcher = ranks > 1 ? fmt::format("mpirun -n {} ", ranks) : "";
    return test::run_command(fmt::format("cd {} && {}{} {}", folder(), launcher, test::program(), words), 300);
  }
  static bool was_run() { return fs::exists(path("mark")); }

  void SetUp() override {
    if (!test::has_python_host()) GTEST_SKIP() << "there is no libdpmpi_python.so beside this program";
    fs::remove_all(folder());
    fs::create_directories(folder());
    ASSERT_EQ(dpmpi("generate --output train.csv --records 300 --eval-records 60 --features 4").code, 0);
    fs::copy(DPMPI_SOURCE_DIR "/examples/python/pinball.py", path("pinball.py"));
    write("marking.py", fmt::format("import pathlib\npathlib.Path('{}').touch()\n", path("mark")) +
                            read_file(path("pinball.py")));
  }
  static void write(const std::string& name, const std::string& text) { std::ofstream(path(name)) << text; }

  /// A config of this loss.
  static std::string config(const std::string& loss, const std::string& seed = "seed = 1\n") {
    write("run.ini", "[data]\nblocks = 4\ntrain = train.csv\neval = train-eval.csv\n[objective]\n" + loss +
                         "\n[method]\nname = zo-hidden\nrelease = all\ndirections = 2\nrate = 0.1\n"
                         "steps = 20\n[privacy]\nepsilon = 3\ndelta = 1e-4\n" +
                         seed + "[report]\nprogress = none\n");
    return "--quiet --config run.ini --set run.dir=";
  }
  static std::string python(const std::string& file) {
    return "name = python\nparameters = 0.7\nmodule = ./" + file;
  }
  static std::string result(const std::string& run) {
    return read_file(path(run + "/model.safetensors")) + read_file(path(run + "/ledger.jsonl"));
  }
  /// The tensors of a model file, without its header, which knows the config.
  static std::string tensors(const std::string& run) {
    const std::string model = read_file(path(run + "/model.safetensors"));
    return model.substr(model.size() - 5 * sizeof(float));
  }
  /// Of the public records, in the metrics of this step.
  static double public_loss(const std::string& run, int step) {
    const std::string metrics = read_file(path(run + "/metrics.jsonl")), name = "\"eval.loss\":";
    const std::size_t line = metrics.find(fmt::format("{{\"step\":{},", step));
    EXPECT_NE(line, metrics.npos) << metrics;
    return std::stod(metrics.substr(metrics.find(name, line) + name.size()));
  }
};

TEST_F(PythonRun, HasTheModelOfThePluginInCOnAnyNumberOfRanks) {
  const std::string by_python = config(python("pinball.py"));
  for (const int ranks : {1, 3}) {
    const Outcome outcome = dpmpi(fmt::format("{}python{}", by_python, ranks), ranks);
    ASSERT_EQ(outcome.code, 0) << outcome.output;
  }
  EXPECT_EQ(result("python1"), result("python3"));
  const Outcome outcome =
      dpmpi(config("name = plugin\nparameters = quantile=0.7\nlibrary = " DPMPI_PINBALL_PLUGIN) + "plugin");
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_EQ(tensors("python1"), tensors("plugin"));
}

TEST_F(PythonRun, GoesByTheOtherMethodsOfLossesToo) {
  for (const std::string method : {"name = zo-o2nc\ninner = 4\nbatch = 20\nfirst_batch = 60\n",
                                   "name = gibo\nsteps = 3\nbatch = fixed\nb = 4\nmemory = window:6\n",
                                   "name = random-search\ncandidates = 9\nblock = 3\n"}) {
    config(python("pinball.py"));
    std::string text = read_file(path("run.ini"));
    const std::size_t begin = text.find("name = zo-hidden"), end = text.find("[privacy]");
    write("run.ini", text.replace(begin, end - begin, method));
    for (const int ranks : {1, 3}) {
      const Outcome outcome = dpmpi(fmt::format("--quiet --config run.ini --set run.dir=run{}", ranks), ranks);
      ASSERT_EQ(outcome.code, 0) << method << outcome.output;
    }
    EXPECT_EQ(result("run1"), result("run3")) << method;
    fs::remove_all(path("run1")), fs::remove_all(path("run3"));
  }
}

TEST_F(PythonRun, DoesNotImportWhatARunDirectoryNames) {
  ASSERT_EQ(dpmpi(config(python("marking.py"), "") + "run").code, 0);
  ASSERT_TRUE(was_run()) << "the module leaves its mark";
  for (const std::string words : {"evaluate run", "evaluate run --data train-eval.csv --json",
                                  "predict run --data train-eval.csv --output o.csv", "audit run",
                                  "plan --config run/config.ini", "--config run/config.ini --set run.dir=again"}) {
    const Outcome outcome = dpmpi(words);
    EXPECT_EQ(outcome.code, 2) << words << ": " << outcome.output;
    EXPECT_NE(outcome.output.find("objective.module = ./marking.py: a run directory names code"), std::string::npos)
        << outcome.output;
    EXPECT_FALSE(was_run()) << words;
  }
  for (const std::string words : {"verify run", "report run --output page.html"}) {
    const Outcome outcome = dpmpi(words);
    EXPECT_EQ(outcome.code, 0) << words << ": " << outcome.output;
    EXPECT_FALSE(was_run()) << words;
  }
  const Outcome named = dpmpi("evaluate run --data train-eval.csv --set objective.module=./marking.py");
  EXPECT_EQ(named.code, 0) << named.output;
  EXPECT_TRUE(was_run());
}

// Its digest stands in config, plan and ledger, as a plugin's does.
TEST_F(PythonRun, TakesNoOtherFileThanTheOneThatItBeganWith) {
  ASSERT_EQ(dpmpi(config(python("marking.py")) + "run").code, 0);
  const std::string digest = file_digest(path("marking.py"));
  EXPECT_NE(read_file(path("run/config.ini")).find("module_digest = " + digest), std::string::npos);
  write("other.py", read_file(path("marking.py")) + "\n");
  const Outcome outcome = dpmpi("evaluate run --data train-eval.csv --set objective.module=./other.py");
  EXPECT_EQ(outcome.code, 4) << outcome.output;
  EXPECT_NE(outcome.output.find("is not the one of objective.module_digest"), std::string::npos) << outcome.output;
  EXPECT_FALSE(was_run());
}

// One rank meets the record that a module cannot read: the job ends everywhere, and says nothing of the record.
TEST_F(PythonRun, EndsWithTheLineOfAnExceptionAndWithoutItsWords) {
  std::string text = read_file(path("pinball.py"));
  const std::string from = "    r = residuals(w, X, y)\n";
  text.replace(text.find(from), from.size(),
               "    if w[0] and y.max() > 0:\n        print('a label of', y.max())\n"
               "        raise ValueError(f'a label of {y.max()}')\n" +
                   from + "");
  write("raising.py",
        text + "\n\ndef synthetic(count, columns):\n    return np.ones((count, columns)), np.zeros(count)\n");
  for (const int ranks : {1, 3}) {
    const Outcome outcome = dpmpi(fmt::format("{}run{}", config(python("raising.py")), ranks), ranks);
    EXPECT_EQ(outcome.code, 3) << outcome.output;
    EXPECT_NE(outcome.output.find("ValueError (its words are not shown"), std::string::npos) << outcome.output;
    EXPECT_EQ(outcome.output.find("a label of"), std::string::npos) << outcome.output;
  }
}

// Handlers of logs keep the stream that they found, and types of exceptions may be named after a record.
TEST_F(PythonRun, SaysNothingOfRecordsByStreamsOrTypesThatTheModuleMade) {
  std::string text = read_file(path("pinball.py"));
  const std::string from = "    r = residuals(w, X, y)\n";
  text.replace(text.find(from), from.size(),
               "    logging.warning('a label of %s', y[0])\n    taken.write(f'a label of {y[0]}\\n')\n"
               "    if w[0] and y.max() > 0:\n"
               "        raise type(f'a label of {y.max()}', (LookupError,), {})('x')\n" +
                   from);
  write("telling.py",
        "import logging, sys\nlogging.basicConfig()\ntaken = sys.stderr\nprint('the module is read')\n" + text +
            "\n\ndef synthetic(count, columns):\n    return np.ones((count, columns)), np.full(count, -9.0)\n");
  const Outcome outcome = dpmpi(config(python("telling.py")) + "run");
  EXPECT_EQ(outcome.code, 3) << outcome.output;
  EXPECT_NE(outcome.output.find("the module is read"), std::string::npos) << outcome.output;
  EXPECT_NE(outcome.output.find("LookupError (its words are not shown"), std::string::npos) << outcome.output;
  std::size_t told = 0, at = 0;
  while ((at = outcome.output.find("a label of ", at)) != std::string::npos) {
    EXPECT_EQ(outcome.output.substr(at += 11, 2), "-9") << outcome.output;
    ++told;
  }
  EXPECT_GT(told, 0U) << "what is made up may be printed";
}

TEST_F(PythonRun, BeginsWithATrialOfTheLoss) {
  std::string text = read_file(path("pinball.py"));
  const std::string from = "    return np.where(r < 0, quantile - 1, quantile) * r\n";
  text.replace(text.find(from), from.size(), "    return r - r.mean()\n");
  write("mean.py", text);
  for (const int ranks : {1, 3}) {
    const Outcome outcome = dpmpi(config(python("mean.py")) + "run", ranks);
    EXPECT_EQ(outcome.code, 4) << outcome.output;
    EXPECT_NE(outcome.output.find("the loss of synthetic record "), std::string::npos) << outcome.output;
    EXPECT_FALSE(fs::exists(path("run")));
  }
}

// The published example, on fewer days and with fewer steps.
TEST_F(PythonRun, FitsTheClinicOfTheExample) {
  const std::string clinic = DPMPI_SOURCE_DIR "/examples/python/clinic";
  for (const std::string days : {"2000 1 > clinic.csv", "500 2 > clinic-eval.csv"})
    ASSERT_EQ(test::run_command(fmt::format("cd {} && /usr/bin/python3 {}.py {}", folder(), clinic, days)).code, 0);
  for (const int ranks : {1, 3}) {
    const Outcome outcome = dpmpi(fmt::format("--quiet --config {0}.ini --set objective.module={0}.py --set "
                                              "data.root=. --set method.batch=200 --set method.steps=8 --set "
                                              "privacy.seed=1 --set run.dir=run{1}",
                                              clinic, ranks),
                                  ranks);
    ASSERT_EQ(outcome.code, 0) << outcome.output;
  }
  EXPECT_EQ(result("run1"), result("run3"));
  EXPECT_LT(public_loss("run1", 8), 0.8 * public_loss("run1", 0));
}

// Half a minute of processor time, most of it for the public model.
TEST_F(PythonRun, SlowTransformerOfTheExampleLearnsPrivateText) {
  if (test::run_command("/usr/bin/python3 -c \"import torch\"").code != 0)
    GTEST_SKIP() << "python3-torch is not installed";
  const std::string transformer = DPMPI_SOURCE_DIR "/examples/python/transformer";
  for (const std::string words :
       {"text public 20000 1 > public.csv", "text private 4000 2 > private.csv",
        "text private 200 3 > private-eval.csv", "pretrain public.csv weights.npz > weights"}) {
    const Outcome outcome = test::run_command(
        fmt::format("cd {} && OMP_NUM_THREADS=1 /usr/bin/python3 {}.py {}", folder(), transformer, words), 600);
    ASSERT_EQ(outcome.code, 0) << outcome.output;
  }
  const std::string weights = read_file(path("weights"));
  for (const int ranks : {1, 3}) {
    const Outcome outcome =
        dpmpi(fmt::format(
                  "--quiet --config {0}.ini --set objective.module={0}.py --set \"objective.parameters={1}\" --set "
                  "data.root=. --set data.blocks=3 --set method.steps=5 --set privacy.seed=1 --set run.dir=run{2}",
                  transformer, weights.substr(0, weights.find('\n')), ranks),
              ranks);
    ASSERT_EQ(outcome.code, 0) << outcome.output;
  }
  EXPECT_EQ(result("run1"), result("run3"));
  EXPECT_LT(public_loss("run1", 5), public_loss("run1", 0));
}

}  // namespace
}  // namespace dpmpi::python_run_test
