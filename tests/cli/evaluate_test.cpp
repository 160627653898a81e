// `dpmpi evaluate` and `dpmpi predict` as users meet them: what they say fits the run, the records and each other.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <sys/stat.h>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "run/directory/files.hpp"
#include "support/process.hpp"
#include "support/programs.hpp"

namespace dpmpi::evaluate_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::Outcome;

using Table = std::vector<std::map<std::string, std::string>>;

Table read_table(const std::string& path) {
  std::istringstream lines(read_file(path));
  std::string line, field;
  std::vector<std::string> names;
  Table table;
  while (std::getline(lines, line)) {
    std::istringstream fields(line);
    std::map<std::string, std::string> row;
    for (std::size_t i = 0; std::getline(fields, field, ','); ++i) {
      if (table.empty() && names.size() == i) names.push_back(field);
      row[names[i]] = field;
    }
    table.push_back(row);
  }
  table.erase(table.begin());
  return table;
}

class TrainedRun : public ::testing::Test {
 protected:
  static Outcome dpmpi(const std::string& arguments, int ranks = 1) {
    const std::string launcher = ranks > 1 ? fmt::format("mpirun -n {} ", ranks) : "";
    return test::run_command(fmt::format("cd {} && {}{} {}", folder(), launcher, test::program(), arguments));
  }
  static std::string folder() { return ::testing::TempDir() + "dpmpi_TrainedRun"; }
  static std::string path(const std::string& name) { return folder() + "/" + name; }

  static void SetUpTestSuite() {
    fs::remove_all(folder());
    fs::create_directories(folder());
    ASSERT_EQ(dpmpi("generate --output sign.csv --records 600 --eval-records 203 --features 4").code, 0);
    std::ofstream classes(path("classes.csv")), same(path("public.csv"));  // three clouds; no copy: that is refused
    classes << "y,a,b\n", same << "class,a,b\n";
    for (int i = 0; i < 300; ++i)
      for (std::ofstream* file : {&classes, &same})
        *file << i % 3 << ',' << (i % 3 == 1 ? 2.0 : 0.1) + 0.01 * (i % 7) << ','
              << (i % 3 == 2 ? 2.0 : 0.2) - 0.01 * (i % 5) << '\n';
    classes.close(), same.close();
    const std::string method = "[method]\nbatch = 50\nsteps = 60\nrate = 2\n[privacy]\nepsilon = 5\ndelta = 1e-4\n";
    std::ofstream(path("sign.ini")) << "[run]\ndir = sign\n[data]\ntrain = sign.csv\neval = sign-eval.csv\n"
                                    << method;
    std::ofstream(path("classes.ini"))
        << "[run]\ndir = classes\n[data]\ntrain = classes.csv\nheader = yes\n[objective]\nname = softmax\nclasses = 3\n"
        << method;
    for (const char* config : {"sign.ini", "classes.ini"}) {
      const Outcome trained = dpmpi(fmt::format("--quiet --config {}", config));
      ASSERT_EQ(trained.code, 0) << trained.output;
    }
  }
};

TEST_F(TrainedRun, EvaluationRepeatsTheLastMetrics) {
  const Outcome outcome = dpmpi("evaluate sign --json");
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  const json said = json::parse(outcome.output);
  std::string last, line;
  std::istringstream lines(read_file(path("sign/metrics.jsonl")));
  while (std::getline(lines, line)) last = line;
  for (const char* name : {"loss", "accuracy", "auc"})
    EXPECT_EQ(said["metrics"][name], json::parse(last)[fmt::format("eval.{}", name)]) << name;

  EXPECT_EQ(said["records"], 203);
  EXPECT_EQ(said["classes"], json({"-1", "1"}));
  const auto& c = said["confusion"];
  EXPECT_EQ(c[0][0].get<int>() + c[0][1].get<int>() + c[1][0].get<int>() + c[1][1].get<int>(), 203);
  EXPECT_DOUBLE_EQ((c[0][0].get<double>() + c[1][1].get<double>()) / 203,
                   said["metrics"]["accuracy"].get<double>());
  const Outcome shown = dpmpi("evaluate sign");
  for (const char* part : {"sign on 203 records", "accuracy", "taken for a class", "probabilities of +1"})
    EXPECT_NE(shown.output.find(part), std::string::npos) << shown.output;
}

TEST_F(TrainedRun, EveryMetricHasAnIntervalAndAConstantBesideIt) {
  const json said = json::parse(dpmpi("evaluate sign --json").output);
  EXPECT_EQ(said["bootstrap"], 1000);
  for (const char* name : {"loss", "accuracy", "balanced_accuracy", "auc", "average_precision"}) {
    const double value = said["metrics"][name];
    EXPECT_LT(said["intervals"][name][0].get<double>(), value) << name;
    EXPECT_GT(said["intervals"][name][1].get<double>(), value) << name;
    EXPECT_GT(said["constants"][name].get<double>(), 0) << name;
  }
  const auto& c = said["confusion"];
  const double of[2] = {c[0][0].get<double>() + c[0][1].get<double>(),
                        c[1][0].get<double>() + c[1][1].get<double>()};
  EXPECT_DOUBLE_EQ(said["constants"]["accuracy"].get<double>(), std::max(of[0], of[1]) / 203);
  EXPECT_NEAR(said["constants"]["loss"].get<double>(),
              -(of[0] * std::log(of[0] / 203) + of[1] * std::log(of[1] / 203)) / 203, 1e-9);
  const auto& positive = said["by_class"][1];
  EXPECT_EQ(positive["class"], "1");
  EXPECT_EQ(positive["records"], of[1]);
  EXPECT_DOUBLE_EQ(positive["metrics"]["recall"].get<double>(), c[1][1].get<double>() / of[1]);
  EXPECT_EQ(positive["intervals"]["f1"].size(), 2U);

  const Outcome shown = dpmpi("evaluate sign"), bare = dpmpi("evaluate sign --bootstrap 0");
  EXPECT_NE(shown.output.find("95 % interval"), std::string::npos) << shown.output;
  EXPECT_NE(shown.output.find("precision"), std::string::npos) << shown.output;
  EXPECT_EQ(bare.output.find("interval"), std::string::npos) << bare.output;
  const json none = json::parse(dpmpi("evaluate sign --json --bootstrap 0").output);
  EXPECT_FALSE(none.contains("intervals"));
  EXPECT_EQ(none["metrics"], said["metrics"]);
  EXPECT_EQ(none["constants"], said["constants"]);
}

TEST_F(TrainedRun, WhatRecordsDoNotTellIsNotAvailable) {
  std::ofstream(path("positive.csv")) << "label,x1,x2,x3,x4\n1,0.5,0.25,0,1\n1,-0.5,0.25,0,1\n";
  const Outcome shown = dpmpi("evaluate sign --data positive.csv");
  ASSERT_EQ(shown.code, 0) << shown.output;
  EXPECT_NE(shown.output.find("n/a"), std::string::npos) << shown.output;
  EXPECT_EQ(shown.output.find("nan"), std::string::npos) << shown.output;
  const json said = json::parse(dpmpi("evaluate sign --data positive.csv --json").output);
  for (const char* name : {"balanced_accuracy", "auc", "average_precision"}) {
    EXPECT_TRUE(said["metrics"][name].is_null()) << name;
    EXPECT_FALSE(said["intervals"].contains(name)) << name;
  }
}

// A file for each group tells the same.
TEST_F(TrainedRun, MetricsByAColumnAreThoseOfItsParts) {
  std::istringstream lines(read_file(path("sign-eval.csv")));
  std::string line;
  std::getline(lines, line);
  std::ofstream both(path("both.csv")), part(path("part.csv"));
  for (std::ofstream* file : {&both, &part}) *file << line << '\n';
  for (int i = 0; std::getline(lines, line); ++i) {
    const std::string record = line.substr(0, line.rfind(',')) + (i % 3 == 0 ? ",1\n" : ",0\n");
    both << record;
    if (i % 3 == 0) part << record;
  }
  both.close(), part.close();
  const json alone = json::parse(dpmpi("evaluate sign --json --data part.csv").output);
  for (const char* by : {"x4", "4"})
    for (const int ranks : {1, 3}) {
      const Outcome outcome = dpmpi(fmt::format("evaluate sign --json --data both.csv --by {}", by), ranks);
      ASSERT_EQ(outcome.code, 0) << outcome.output;
      const json groups = json::parse(outcome.output)["by_group"];
      ASSERT_EQ(groups.size(), 2U);
      EXPECT_EQ(groups[1]["group"], "1");
      EXPECT_EQ(groups[1]["records"], alone["records"]);
      for (const char* name : {"accuracy", "balanced_accuracy", "auc", "average_precision"}) {
        EXPECT_EQ(groups[1]["metrics"][name], alone["metrics"][name]) << name;
        EXPECT_EQ(groups[1]["intervals"][name], alone["intervals"][name]) << name;
      }
      EXPECT_NEAR(groups[1]["metrics"]["loss"].get<double>(), alone["metrics"]["loss"].get<double>(), 1e-6);
    }
  const Outcome shown = dpmpi("evaluate sign --data both.csv --by x4");
  EXPECT_NE(shown.output.find("x4  records"), std::string::npos) << shown.output;
}

TEST_F(TrainedRun, AnyNumberOfRanksSaysTheSame) {
  const std::string data = " --data classes.csv";
  for (const std::string words :
       {"evaluate sign --json", "evaluate classes --json --data public.csv", "evaluate sign"}) {
    const Outcome alone = dpmpi(words);
    ASSERT_EQ(alone.code, 0) << alone.output;
    EXPECT_EQ(dpmpi(words, 3).output, alone.output);
  }
  for (const char* ending : {".csv", ".npy"}) {
    ASSERT_EQ(dpmpi(fmt::format("predict classes --quiet{} --output one{}", data, ending)).code, 0);
    ASSERT_EQ(dpmpi(fmt::format("predict classes --quiet{} --output three{}", data, ending), 3).code, 0);
    EXPECT_EQ(read_file(path(fmt::format("one{}", ending))), read_file(path(fmt::format("three{}", ending))));
  }
}

// Features go by their place: the same columns in another order would be scored without meaning.
TEST_F(TrainedRun, RefusesColumnsInAnotherOrder) {
  std::ofstream(path("turned.csv")) << "label,x2,x1,x3,x4\n1,0.5,0.25,0,1\n-1,0.5,0.25,0,1\n";
  for (const char* words :
       {"evaluate sign --data turned.csv", "predict sign --data turned.csv --output turned-out.csv",
        "--config sign.ini --set data.eval=turned.csv --set run.dir=turned"}) {
    const Outcome outcome = dpmpi(words);
    EXPECT_EQ(outcome.code, 3) << words;
    EXPECT_NE(outcome.output.find("its features are x2,x1,x3,x4, those of the training file x1,x2,x3,x4"),
              std::string::npos)
        << outcome.output;
  }
}

TEST_F(TrainedRun, PredictionsReplaceNoInput) {
  const std::string data = read_file(path("sign.csv"));
  const Outcome outcome = dpmpi("predict sign --data sign-eval.csv --output sign.csv");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.output.find("would replace its input"), std::string::npos) << outcome.output;
  EXPECT_EQ(read_file(path("sign.csv")), data);
}

// The tables of evaluate, formed again from the rows of predict.
TEST_F(TrainedRun, PredictionsAddUpToTheEvaluation) {
  ASSERT_EQ(dpmpi("predict sign --data sign-eval.csv --output sign-out.csv").code, 0);
  const Table rows = read_table(path("sign-out.csv")), records = read_table(path("sign-eval.csv"));
  ASSERT_EQ(rows.size(), records.size());
  int confusion[2][2] = {};
  double predicted[10] = {}, found[10] = {}, count[10] = {};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].at("record"), std::to_string(i + 1));
    const bool truth = std::stod(records[i].at("label")) > 0, guess = rows[i].at("prediction") == "1";
    const double p = std::stod(rows[i].at("probability"));
    EXPECT_EQ(guess, p > 0.5);
    ++confusion[truth][guess];
    const std::size_t bin = std::min<std::size_t>(9, static_cast<std::size_t>(10 * p));
    predicted[bin] += p, found[bin] += truth, count[bin] += 1;
  }
  const json said = json::parse(dpmpi("evaluate sign --json").output);
  double error = 0;
  for (std::size_t k : {0, 1})
    for (std::size_t j : {0, 1}) EXPECT_EQ(said["confusion"][k][j], confusion[k][j]);
  for (std::size_t b = 0; b < 10; ++b) {
    const auto& bin = said["calibration"][b];
    EXPECT_EQ(bin["records"], count[b]);
    if (count[b] == 0) continue;
    EXPECT_NEAR(bin["predicted"].get<double>(), predicted[b] / count[b], 1e-5);
    EXPECT_NEAR(bin["found"].get<double>(), found[b] / count[b], 1e-12);
    error += std::abs(predicted[b] - found[b]) / 203;
  }
  EXPECT_GT(error, 0);
  EXPECT_NEAR(said["metrics"]["calibration_error"].get<double>(), error, 1e-5);
}

TEST_F(TrainedRun, ClassesHaveAProbabilityEach) {
  ASSERT_EQ(dpmpi("predict classes --data classes.csv --output classes-out.csv").code, 0);
  ASSERT_EQ(dpmpi("predict classes --data classes.csv --output classes-out.npy").code, 0);
  const std::string numpy = read_file(path("classes-out.npy"));
  EXPECT_NE(numpy.find("'shape': (300, 3)"), std::string::npos);
  const std::size_t begin = numpy.size() - 300 * 3 * sizeof(float);
  EXPECT_EQ(begin % 64, 0u);
  const json said = json::parse(dpmpi("evaluate classes --data public.csv --json").output);
  const Table rows = read_table(path("classes-out.csv"));
  ASSERT_EQ(rows.size(), 300u);
  int right = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    float logit[3];
    std::memcpy(logit, numpy.data() + begin + i * sizeof logit, sizeof logit);
    double total = 0;
    for (const float z : logit) total += std::exp(z);
    for (std::size_t k = 0; k < 3; ++k)
      EXPECT_NEAR(std::stod(rows[i].at(fmt::format("probability_{}", k))), std::exp(logit[k]) / total, 1e-5);
    right += rows[i].at("prediction") == std::to_string(i % 3);
  }
  EXPECT_DOUBLE_EQ(said["metrics"]["accuracy"].get<double>(), right / 300.0);
}

// What a policy is worth is no prediction of the reward that a transition brought.
TEST_F(TrainedRun, ValuesOfAPolicyAreNoPredictions) {
  ASSERT_EQ(dpmpi("generate --kind gridworld --records 300 --eval_records 90 --output grid.csv").code, 0);
  std::ofstream(path("grid.ini"))
      << "[run]\ndir = grid\n[data]\ntrain = grid.csv\neval = grid-eval.csv\nbias = 0\n"
         "[objective]\nname = td\nvalue = linear\ndiscount = 0.9\n[method]\nname = "
         "dp-sgda\nbatch = 100\nsteps = 5\ndual_rate = 1\ndual_clip = 5\n[privacy]\nepsilon = 1\ndelta = 1e-4\n";
  const Outcome trained = dpmpi("--quiet --config grid.ini");
  ASSERT_EQ(trained.code, 0) << trained.output;
  const Outcome evaluated = dpmpi("evaluate grid --json");
  ASSERT_EQ(evaluated.code, 0) << evaluated.output;
  EXPECT_FALSE(json::parse(evaluated.output)["metrics"].contains("mae")) << evaluated.output;
  // Its measures are exact sums on every rank: of public records on any number of ranks, of others on one.
  const Outcome by_two = dpmpi("evaluate grid --json", 2);
  EXPECT_EQ(by_two.code, 0) << by_two.output;
  EXPECT_EQ(json::parse(by_two.output), json::parse(evaluated.output));
  fs::copy(path("grid-eval.csv"), path("grid-given.csv"));
  const Outcome given = dpmpi("evaluate grid --data grid-given.csv --json");
  ASSERT_EQ(given.code, 0) << given.output;
  EXPECT_EQ(json::parse(given.output)["metrics"], json::parse(evaluated.output)["metrics"]);
  const Outcome refused = dpmpi("evaluate grid --data grid-given.csv", 2);
  EXPECT_EQ(refused.code, 2) << refused.output;
  EXPECT_NE(refused.output.find("every rank would see exact sums over the records of --data, by which td measures: "
                                "start it on one rank, without mpirun"),
            refused.output.npos)
      << refused.output;
  ASSERT_EQ(dpmpi("predict grid --data grid-eval.csv --output grid-out.csv").code, 0);
  EXPECT_EQ(read_file(path("grid-out.csv")).substr(0, 13), "record,score\n");
}

TEST_F(TrainedRun, NamesOfFilesMayBeOfAnyBytes) {
  fs::copy(path("sign-eval.csv"), path("caf\xe9.csv"));
  const Outcome evaluated = dpmpi("evaluate sign --json --data caf\xe9.csv");
  ASSERT_EQ(evaluated.code, 0) << evaluated.output;
  EXPECT_EQ(json::parse(evaluated.output)["metrics"], json::parse(dpmpi("evaluate sign --json").output)["metrics"]);
}

TEST_F(TrainedRun, EpisodesThatAreTooLongAreRefusedOnAllRanksAtOnce) {
  ASSERT_EQ(
      dpmpi("generate --kind gridworld --records 300 --eval_records 90 --episode_steps 2 --output e.csv").code, 0);
  std::string eval = read_file(path("e-eval.csv"));
  eval[eval.rfind('\n', eval.size() - 2) + 1] = '9';  // transitions of the last record, which the last rank has
  std::ofstream(path("e-eval.csv")) << eval;
  std::ofstream(path("e.ini"))
      << "[run]\ndir = episodes\n[data]\ntrain = e.csv\neval = e-eval.csv\nbias = 0\nblocks = 4\n"
         "[objective]\nname = td\nunit = episode\nepisode_steps = 2\nvalue = linear\ndiscount = 0.9\n"
         "[method]\nname = dp-sgda\nbatch = 100\nsteps = 5\ndual_rate = 1\ndual_clip = 5\n"
         "[privacy]\nepsilon = 1\ndelta = 1e-4\n";
  const Outcome refused = dpmpi("--quiet --config e.ini", 2);
  EXPECT_EQ(refused.code, 3) << refused.output;
  EXPECT_NE(refused.output.find("dpmpi: data error: objective.episode_steps = 2: record 90 is an episode of '9'"),
            refused.output.npos)
      << refused.output;  // and not of rank 1 alone, which would have ended the job under the others
  EXPECT_FALSE(fs::exists(path("episodes"))) << "before a ledger is begun";
}

// Models are trained again for every record that is scored: from the file that the run had.
TEST_F(TrainedRun, ModelsComeFromTheFileOfTheRun) {
  const std::string names = "y,a,b\n", one = names + "1,2,1\n-1,-2,1\n1,3,-1\n-1,-3,2\n";
  std::ofstream(path("models.csv")) << one;
  std::ofstream(path("scored.csv")) << names + "1,2,2\n-1,-1,1\n1,1,3\n-1,-2,0\n1,2,0\n-1,-1,-1\n";
  std::ofstream(path("wide.csv")) << "y,a,b,c\n1,2,2,1\n-1,-1,1,1\n";
  std::ofstream(path("models.ini"))
      << "[run]\ndir = models\n[data]\ntrain = scored.csv\nheader = yes\nblocks = 2\nbias = 0\n[objective]\n"
         "name = tune_logistic\ntrain = models.csv\nridge = 0.01,1\n[method]\nname = gibo\nsteps = 1\nbatch = fixed\n"
         "b = 2\nclip = 1\nbox_lo = -1\nbox_hi = 1\n[privacy]\nnoise_multiplier = 10\ndelta = 0.01\n"
         "adjacency = replace_one\n";
  const Outcome trained = dpmpi("-q --config models.ini");
  ASSERT_EQ(trained.code, 0) << trained.output;
  const std::string predict = "predict models --output m.csv --data ", evaluate = "evaluate models --data ";
  std::ofstream(path("others.csv")) << names + "1,2,2\n-1,-1,1\n";
  for (const std::string& words : {predict + "others.csv", evaluate + "others.csv"})
    EXPECT_EQ(dpmpi(words).code, 0) << dpmpi(words).output;
  const Outcome wide = dpmpi(predict + "wide.csv");
  EXPECT_EQ(wide.code, 3) << wide.output;
  EXPECT_NE(wide.output.find("/wide.csv has 3 features, the records of the run had 2"), std::string::npos)
      << wide.output;
  for (const char* const words : {"predict models --data others.csv --output models.csv",
                                  "audit models --set audit.runs=40 --output models.csv"}) {
    const Outcome over = dpmpi(words);
    EXPECT_EQ(over.code, 2) << over.output;
    EXPECT_NE(over.output.find("would replace its input"), std::string::npos) << over.output;
  }
  std::ofstream(path("models.csv")) << one + "1,4,4\n";
  for (const std::string& words :
       {predict + "others.csv", evaluate + "others.csv", std::string("audit models --set audit.runs=40")})
    for (const int ranks : {1, 3}) {
      const Outcome changed = dpmpi(words, ranks);
      EXPECT_EQ(changed.code, 3) << changed.output;
      EXPECT_NE(changed.output.find(
                    "objective.train = models.csv is not the file on which models were trained in this run"),
                std::string::npos)
          << changed.output;
    }
}

TEST_F(TrainedRun, RecordsNeedNoLabels) {
  std::istringstream lines(read_file(path("classes.csv")));
  std::ofstream bare(path("bare.csv")), svm(path("bare.svm"));
  for (std::string line; std::getline(lines, line);) {
    bare << line.substr(2) << '\n';
    const std::size_t comma = line.rfind(',');
    if (line[0] != 'y') svm << "1:" << line.substr(2, comma - 2) << " 2:" << line.substr(comma + 1) << '\n';
  }
  bare.close(), svm.close();
  ASSERT_EQ(dpmpi("predict classes --data classes.csv --output labelled.csv").code, 0);
  for (const char* data : {"bare.csv", "bare.svm --set data.features=2 --set data.densify=true"}) {
    const Outcome outcome =
        dpmpi(fmt::format("predict classes --output un.csv --set data.label=none --data {}", data));
    ASSERT_EQ(outcome.code, 0) << outcome.output;
    EXPECT_EQ(read_file(path("un.csv")), read_file(path("labelled.csv"))) << data;
  }
  const Outcome training = dpmpi("--config classes.ini --set run.dir=none --set data.label=none");
  EXPECT_EQ(training.code, 2) << training.output;
  EXPECT_NE(training.output.find("training needs labels"), std::string::npos) << training.output;
  const Outcome evaluating = dpmpi("evaluate classes --data bare.csv --set data.label=none");
  EXPECT_EQ(evaluating.code, 2) << evaluating.output;
}

// The published example reads the model itself.
TEST_F(TrainedRun, TheExampleAgreesWithPredict) {
  ASSERT_EQ(dpmpi("predict sign --data sign-eval.csv --output sign-out.csv").code, 0);
  const Table rows = read_table(path("sign-out.csv")), records = read_table(path("sign-eval.csv"));
  std::ofstream bare(path("bare.txt"));
  for (const auto& record : records) {
    for (const auto& [name, value] : record)
      if (name != "label") bare << value << ' ';
    bare << '\n';
  }
  bare.close();
  const std::string here = "cd " + folder() + " && ";
  const Outcome compiled = test::run_command(here + DPMPI_SCORE_EXAMPLE + " sign < bare.txt");
  ASSERT_EQ(compiled.code, 0) << compiled.output;
  std::istringstream said(compiled.output);
  for (const auto& row : rows) {
    double p = 0;
    ASSERT_TRUE(said >> p);
    EXPECT_NEAR(p, std::stod(row.at("probability")), 1e-5);
  }
}

TEST_F(TrainedRun, Refusals) {
  struct Case {
    const char* words;
    int code;
    const char* message;
  };
  std::ofstream(path("wide.csv")) << "y,a,b,c\n1,2,3,4\n";
  for (const char* array : {"x.npy", "y.npy"}) std::ofstream(path(array)) << "of a pair";
  fs::copy(path("sign"), path("other"));
  std::fstream model(path("other/model.safetensors"), std::ios::in | std::ios::out | std::ios::binary);
  model.seekp(-1, std::ios::end);
  model.put('\x11');
  model.close();
  ASSERT_EQ(::mkfifo(path("pipe.csv").c_str(), 0600), 0);
  fs::copy(path("sign"), path("cut"));
  fs::resize_file(path("cut/model.safetensors"), 5);
  fs::copy(path("sign"), path("unfinished"));
  fs::remove(path("unfinished/certificate.json"));
  fs::copy(path("unfinished"), path("lost"));
  fs::create_directory(path("unfinished/checkpoint"));
  std::ofstream(path("unfinished/checkpoint/latest")) << "a killed run leaves one";
  for (
      const Case& c : std::vector<Case>{
          {"evaluate sign --data sign.csv", 4, "is also a training file"},
          {"evaluate other", 4, "is not the model of"},
          {"evaluate cut", 3, "is no model file, or is cut"},
          {"evaluate unfinished", 3, "dpmpi resume unfinished"},
          {"evaluate lost", 3, "nothing is left to resume"},
          {"evaluate nothing", 2, "nothing is not a run directory"},
          {"evaluate classes", 2, "name the records with --data FILE"},
          {"evaluate classes --data wide.csv", 3, "wide.csv has 3 features, the records of the run had 2"},
          {"evaluate classes --data gone.csv", 3, "gone.csv"},
          {"evaluate sign --data sign-eval.csv --by x9", 2, "--by x9: there is no such feature"},
          {"evaluate sign --by x1", 2, "the records are of more than 50 groups"},
          {"evaluate", 2, "needs --run: mpirun -n N dpmpi evaluate RUN"},
          {"evaluate sign --bootstrap 99", 2, "--bootstrap = 99, allowed: 0, or at least 100"},
          {"evaluate sign --bootstrap -1", 2, "--bootstrap"},
          {"evaluate sign --threshold 0.4", 2, "--threshold is an option of dpmpi predict"},
          {"evaluate sign --output x.csv", 2, "--output: these are for a look at private records"},
          {"evaluate sign --data sign.csv --set data.train=sign-eval.csv", 2, "--set data.train"},
          {"evaluate sign --set method.name=sgd", 2, "--set method.name"},
          {"evaluate sign --config sign.ini", 2,
           "--config is an option of dpmpi train, tune, site, round, check, suggest, plan, audit, not of evaluate"},
          {"predict sign --data sign-eval.csv --output sign-eval.csv", 2, "would replace its input"},
          {"predict sign --data x.npy,y.npy --output x.npy", 2, "would replace its input"},
          {"predict sign --data sign-eval.csv --output /dev/zero.csv/x.npy", 3, "/dev/zero.csv"},
          {"predict sign --data sign-eval.csv --output pipe.csv", 3, "pipe or device"},
          {"predict sign --data sign-eval.csv --output sign/metrics.csv.txt", 2, "must end with .csv or .npy"},
          {"report sign --output sign/ledger.jsonl", 2, "belongs to a run"},
          {"predict sign --data sign.csv", 2, "needs --output: mpirun -n N dpmpi predict RUN --data FILE --output"},
          {"predict sign --data sign.csv --output no/such/folder.csv", 3, "no/such/folder.csv"}})
    // The command line is looked at before MPI starts.
    for (const int ranks : c.code == 2 ? std::vector{1} : std::vector{1, 2}) {
      const Outcome outcome = dpmpi(c.words, ranks);
      EXPECT_EQ(outcome.code, c.code) << c.words << ": " << outcome.output;
      EXPECT_NE(outcome.output.find(c.message), std::string::npos) << c.words << ": " << outcome.output;
    }
}

}  // namespace
}  // namespace dpmpi::evaluate_test
