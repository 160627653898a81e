// A model is used by somebody who has an ONNX file and nothing else. A second reader, made of python3-onnx and
// numpy, checks the file and says the same as dpmpi predict (compare_onnx.py).
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "run/directory/files.hpp"
#include "run/directory/safetensors.hpp"
#include "support/process.hpp"
#include "support/programs.hpp"
#include "support/text.hpp"

namespace dpmpi::export_test {
namespace {

namespace fs = std::filesystem;
using test::contains;
using test::Outcome;

/// The interpreter that has python3-onnx: Debian's is not always the first.
const std::string& python() {
  static const std::string found = [] {
    for (const char* const name : {"python3", "/usr/bin/python3"})
      if (test::run_command(fmt::format("{} -c \"import onnx, numpy\"", name)).code == 0) return std::string(name);
    return std::string();
  }();
  return found;
}
constexpr const char* no_python = "no python3-onnx (launch/setup --onnx)";

constexpr const char* hospital_columns =
    "age number range=0..110 mean=50 std=20 missing=NULL impute=50 indicator\n"
    "weight number missing=NULL,\"\" indicator\n"
    "sex category words=f,m other\n"
    "height number range=100..220\n"
    "ward category words=A,B,\"C, D\" missing=? impute=A\n"
    "stage ordinal words=I,II,III,IV\n"
    "smoker yes/no true=yes false=no missing=NULL,unknown indicator\n"
    "\"admitted on\" date format=%d.%m.%Y from=2015-01-01 unit=years missing=NULL indicator\n"
    "score number std=3\n"
    "note ignore\n";

/// A table with gaps, words that are not listed, and numbers beyond their ranges.
void write_hospital(const std::string& path, const std::string& label_of_seven) {
  std::ofstream table(path);
  table << "stage,age,admitted on,weight,sex,height,note,ward,smoker,score,outcome\n";
  const std::vector<std::string> stages{"I", "II", "III", "IV"}, sexes{"f", "m", "x"},
      wards{"A", "B", "\"C, D\"", "?"}, smokers{"yes", "no", "NULL", "unknown"};
  for (int i = 0; i < 300; ++i)
    table << fmt::format(
        "{},{},{},{},{},{},n{},{},{},{},{}\n", stages[i % 4u],
        i % 9 == 0 ? "NULL" : fmt::format("{:.2f}", 0.45 * i),
        i % 11 == 0 ? "NULL" : fmt::format("{:02}.{:02}.{}", 1 + i % 28, 1 + i % 12, 2010 + i % 13),
        i % 7 == 0 ? (i % 2 == 0 ? "NULL" : "") : fmt::format("{}", 0.5 + 0.01 * (i % 40)), sexes[i % 3u],
        90 + i % 140, i, wards[i / 3 % 4u], smokers[i / 2 % 4u], 0.1 * (i % 50),
        label_of_seven.empty() ? fmt::format("{}", i % 5)
        : i % 7 < 3            ? label_of_seven
                               : "alive");
}

class Export : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  Outcome shell(const std::string& words) const {
    return test::run_command(fmt::format("cd {} && {}", folder_, words));
  }
  Outcome dpmpi(const std::string& words) const { return shell(test::program() + " " + words); }
  /// A run of some steps on this data, in `run`; m.safetensors is a copy of its model. It is the same model every
  /// time: how far two readers' single precision is apart depends on the weights.
  void train(const std::string& data, const std::string& objective, const std::string& method = "") const {
    fs::remove_all(path("run"));
    std::ofstream(path("a.ini")) << "[data]\n"
                                 << data << "\n[objective]\n"
                                 << objective << "\n[method]\n"
                                 << (method.empty() ? "batch = 60\nsteps = 40\nrate = 0.5\n" : method)
                                 << "[privacy]\nnoise = none\nseed = 1\n[run]\ndir = run\n";
    const Outcome outcome = dpmpi("--config a.ini");
    ASSERT_EQ(outcome.code, 0) << outcome.output;
    fs::copy_file(path("run/model.safetensors"), path("m.safetensors"), fs::copy_options::overwrite_existing);
  }
  Outcome exported(const std::string& words) const { return dpmpi("export " + words + " --output m.onnx"); }
  /// Both say the same of the records of `table`.
  void compare(const std::string& table, const std::string& options = "", const std::string& settings = "") const {
    for (const char* const form : {"csv", "npy"}) {
      const Outcome outcome = dpmpi(fmt::format("predict run --data {} --output p.{} {}", table, form, settings));
      ASSERT_EQ(outcome.code, 0) << outcome.output;
    }
    if (python().empty()) GTEST_SKIP() << no_python;
    const Outcome outcome = shell(fmt::format(
        "{} " DPMPI_SOURCE_DIR "/tests/cli/compare_onnx.py m.onnx {} p.npy p.csv {}", python(), table, options));
    EXPECT_EQ(outcome.code, 0) << outcome.output;
    EXPECT_TRUE(contains(outcome.output, " records, ")) << outcome.output;
  }

  const std::string folder_ = ::testing::TempDir() + "dpmpi_Export";
};

constexpr const char* admitted = "\"admitted on\" %d.%m.%Y";

// Every kind of column, with a column that is called like an output; the model file alone gives the same bytes.
TEST_F(Export, ColumnsOfEveryKind) {
  std::ofstream(path("columns.txt")) << hospital_columns << "outcome label positive=dead\n";
  write_hospital(path("t.csv"), "dead");
  train("train = t.csv\ncolumns = columns.txt\nbias = 0.5", "name = logistic");
  const Outcome outcome = exported("run");
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_EQ(outcome.output,
            "wrote m.onnx\n  inputs: age, weight, sex, height, ward, stage, smoker, admitted on and 1 more\n"
            "  outputs: label, probability, score_\n");
  const std::string of_run = read_file(path("m.onnx"));
  ASSERT_EQ(exported("m.safetensors").code, 0);
  EXPECT_EQ(read_file(path("m.onnx")), of_run);
  for (const std::string& part :
       {std::string("Nothing is certified by this file alone"), std::string("none: NOT PRIVATE"),
        parameters_digest(path("m.safetensors")), read_metadata(path("m.safetensors"))["certificate"]})
    EXPECT_TRUE(contains(of_run, part)) << part;
  EXPECT_FALSE(contains(of_run, "t.csv"));
  compare("t.csv", admitted);
}

// Probabilities are those of the records as they are, as predict says.
TEST_F(Export, ClassWeightsAreTakenOff) {
  std::ofstream(path("columns.txt")) << hospital_columns << "outcome label positive=dead\n";
  write_hospital(path("t.csv"), "dead");
  train("train = t.csv\ncolumns = columns.txt", "name = logistic\nclass_weights = dead:20");
  const Outcome plan = dpmpi("plan --config a.ini");
  EXPECT_TRUE(contains(plan.output, "class weights dead:20 (the largest counts as 1)")) << plan.output;
  ASSERT_EQ(exported("run").code, 0);
  compare("t.csv", admitted);
}

TEST_F(Export, CountsAndQuantities) {
  std::ofstream(path("columns.txt")) << hospital_columns << "outcome label\n";
  write_hospital(path("t.csv"), "");
  for (const char* const name : {"squared", "poisson", "mallows", "mlp\nhead = squared\nhidden = 5"}) {
    train("train = t.csv\ncolumns = columns.txt", fmt::format("name = {}", name),
          "batch = 60\nsteps = 40\nrate = 0.1\n");
    ASSERT_EQ(exported("run").code, 0);
    compare("t.csv", admitted);
  }
}

// Predicted counts are those for the exposure of a record, which is an input.
TEST_F(Export, CountsForExposures) {
  std::ofstream(path("columns.txt")) << "size number range=0..30 mean=15 std=10\n"
                                        "years exposure range=0.1..2 missing=NULL impute=1\nw weight range=0..5\n"
                                        "claims label\n";
  std::ofstream table(path("t.csv"));
  table << "years,w,size,claims\n";
  for (int i = 0; i < 300; ++i)
    table << fmt::format("{},{},{},{}\n", i % 7 == 0 ? "NULL" : fmt::format("{}", 0.05 * (i % 60)), i % 9, i % 40,
                         i % 5);
  table.close();
  train("train = t.csv\ncolumns = columns.txt", "name = poisson", "batch = 60\nsteps = 40\nrate = 0.1\n");
  const Outcome outcome = exported("run");
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_TRUE(contains(outcome.output, "inputs: size, years\n  outputs: prediction, score\n")) << outcome.output;
  compare("t.csv");
}

TEST_F(Export, ClassesByTheirWords) {
  std::ofstream(path("columns.txt")) << "size number range=0..30\ncolour category words=red,\"blue, dark\"\n"
                                        "kind label classes=small,\"medium, so\",big\n";
  std::ofstream table(path("t.csv"));
  table << "size,colour,kind\n";
  for (int i = 0; i < 300; ++i)
    table << fmt::format("{},{},{}\n", i % 30, i % 2 == 0 ? "red" : "\"blue, dark\"",
                         i % 30 < 10   ? "small"
                         : i % 30 < 20 ? "\"medium, so\""
                                       : "big");
  table.close();
  const std::string data = "train = t.csv\ncolumns = columns.txt\nheader = yes";
  std::vector<std::string> objectives{"name = softmax\nclasses = 3",
                                      "name = softmax\nclasses = 3\nclass_weights = small:1,big:9"};
  for (const char* const activation : {"relu", "leaky_relu", "tanh", "softplus"})
    objectives.push_back(
        fmt::format("name = mlp\nhead = softmax\nclasses = 3\nhidden = 8,4\nactivation = {}", activation));
  for (const std::string& objective : objectives) {
    train(data, objective);
    const Outcome outcome = exported("m.safetensors");
    ASSERT_EQ(outcome.code, 0) << outcome.output;
    EXPECT_TRUE(contains(outcome.output, "outputs: label, probabilities, score\n")) << outcome.output;
    EXPECT_TRUE(contains(read_file(path("m.onnx")), "[\"small\",\"medium, so\",\"big\"]"));
    compare("t.csv");
  }
}

/// Columns 1 (words) to 5, and a label.
void write_numbers(const std::string& path, bool header) {
  std::ofstream table(path);
  if (header) table << "word,a,b,c,d,y\n";
  for (int i = 0; i < 200; ++i)
    table << fmt::format("{},{},{},{},{},{}\n",
                         i % 3 == 0   ? "M"
                         : i % 3 == 1 ? "F"
                                      : "I",
                         1000.25 + i, 0.1 * (i % 17), i % 13 == 0 ? "NA" : fmt::format("{}", i % 13), 0.001 * i * i,
                         i % 4 < 2 ? -1 : 1);
}

// Settings say which columns there are; those that they name must be known from a table.
TEST_F(Export, TablesWithoutAColumnsFile) {
  write_numbers(path("t.csv"), false);
  train(
      "train = t.csv\nformat = csv\nheader = no\nlabel = last\none_hot = 1:M|F|I\nmissing = 3\nmean = 2:1100,3:0.8\n"
      "std = 2:60\nnormalize = l2",
      "name = hinge");
  Outcome outcome = exported("m.safetensors");
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_TRUE(contains(outcome.output, "inputs: 1, 2, 3, 4, 5\n  outputs: label, score\n")) << outcome.output;
  compare("t.csv", "--columns 1,2,3,4,5");
  train(
      "train = t.csv\nheader = no\nlabel = last\ndrop = 1\nmissing = 3\nmean = 1100,0,0,0\nstd = 60,1,9,9\nscale = 2",
      "name = mlp\nhead = logistic\nhidden = 6");
  outcome = exported("m.safetensors");
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_TRUE(contains(outcome.output, "inputs: features\n")) << outcome.output;
  compare("t.csv", "--columns 2,3,4,5");
  write_numbers(path("t.csv"), true);
  write_numbers(path("t-eval.csv"), true);
  std::ofstream(path("t-eval.csv"), std::ios::app) << "I,1,1,1,1,1\n";
  train(
      "train = t.csv\neval = t-eval.csv\nlabel = y\none_hot = word:M|F\nunknown = zero\nmissing = 3\nmean = a:1100\n"
      "std = a:60,b:2",
      "name = logistic");
  outcome = exported("m.safetensors");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_TRUE(contains(outcome.output, "name a table that has them with --data FILE")) << outcome.output;
  outcome = exported("m.safetensors --data t-eval.csv --set data.header=yes");
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_TRUE(contains(outcome.output, "inputs: word, a, b, c, d\n")) << outcome.output;
  const std::string by_file = read_file(path("m.onnx"));
  ASSERT_EQ(exported("run").code, 0);
  EXPECT_EQ(read_file(path("m.onnx")), by_file);
  compare("t.csv", "", "--set data.header=yes");
}

TEST_F(Export, SparseText) {
  std::ofstream text(path("t.txt"));
  for (int i = 0; i < 200; ++i)
    text << fmt::format("{} {}:{} {}:{} 20:0.5\n", i % 2 == 0 ? 1 : -1, 1 + i % 6, 0.3 + i % 5, 8 + i % 9,
                        0.01 * i);
  text.close();
  for (const char* const objective :
       {"name = logistic", "name = auc\nprior = 0.5", "name = softmax\nclasses = 2"}) {
    const bool classes = contains(objective, "classes"), auc = contains(objective, "auc");
    train(fmt::format("train = t.txt\nfeatures = 20\nscale = 0.5{}", classes ? "\nlabel_map = 1:1,-1:0" : ""),
          objective, auc ? "name = dp-sgda\nbatch = 60\nsteps = 20\n" : "");
    const Outcome outcome = exported("m.safetensors");
    ASSERT_EQ(outcome.code, 0) << outcome.output;
    EXPECT_TRUE(contains(outcome.output, "inputs: features\n")) << outcome.output;
    compare("t.txt", "--libsvm 20");
  }
}

constexpr int image_numbers = 72;  // 2x6x6

/// Images of three kinds, and a label of that kind.
void write_images(const std::string& path, const std::vector<std::string>& labels) {
  std::ofstream table(path);
  for (int i = 0; i < 150; ++i) {
    for (int j = 0; j < image_numbers; ++j)
      table << fmt::format("{:.3f},", std::sin(0.37 * j * (1 + i % 3) + 0.11 * i));
    table << labels[i % 3u] << '\n';
  }
}

// Every kind of layer, every head; images, lists, and images of one place, which are both.
TEST_F(Export, NetworksOfLayers) {
  std::string columns = "--columns 1";
  for (int j = 2; j <= image_numbers; ++j) columns += fmt::format(",{}", j);
  const std::vector<std::string> classes{"0", "1", "2"}, signs{"1", "-1", "1"}, quantities{"0.5", "-1.25", "2"};
  const std::string image = "input = 2x6x6\nlayers = ";
  for (
      const auto& [labels, objective] : std::vector<std::pair<std::vector<std::string>, std::string>>{
          {classes,
           "classes = 3\n" + image +
               "conv 4 3x3 pad 1, relu, maxpool 2, groupnorm 2, residual(conv 4 3 pad 1, leaky_relu, layernorm), "
               "avgpool 2x1 stride 1, softplus, flatten, dense 6, gelu, dense 3"},
          {classes,
           "classes = 3\n" + image +
               "conv 4 3x2 groups 2, tanh, conv 4 2x3 stride 2 pad 1 groups 4, softplus, flatten, dense 3"},
          {classes, "classes = 3\nclass_weights = 0:1,1:5,2:1\nlayers = dense 9, tanh, layernorm, dense 3"},
          {classes,
           "classes = 3\n" + image +
               "conv 4 3 groups 2 standardised, tanh, flatten, dense 5 standardised, tanh, dropout 0.2, dense 3"},
          {classes, "classes = 3\nlayers = embedding 3 of 2-5 8-12, dense 6, tanh, dense 3"},
          {signs,
           "head = logistic\n" + image +
               "conv 3 2x3 stride 2 pad 1, tanh, conv 12 4x3, layernorm, residual(dense 12, tanh), maxpool 1, "
               "conv 2 1, dense 1"},
          {classes,
           "classes = 3\nlayers = dense 12, unflatten 3x2x2, tanh, upsample 2, conv 2 3 pad 1, tanh, flatten, dense 3, "
           "upsample 1"},
          {signs, "head = ramp\nlayers = conv 4 1, relu, flatten, dense 1"},
          {quantities, "head = squared\n" + image + "avgpool 3 stride 2, flatten, dense 4, softplus, dense 1"},
          {quantities, "head = absolute\nlayers = dense 5, leaky_relu, groupnorm 5, dense 1"}}) {
    write_images(path("t.csv"), labels);
    train("train = t.csv\nheader = no\nlabel = last\nblocks = 4", "name = network\n" + objective,
          "batch = 60\nsteps = 15\nrate = 0.03\n");
    ASSERT_EQ(exported("m.safetensors").code, 0) << objective;
    const std::string alone = read_file(path("m.onnx"));
    const Outcome outcome = exported("run");
    ASSERT_EQ(outcome.code, 0) << outcome.output;
    EXPECT_TRUE(contains(outcome.output, "inputs: features\n")) << outcome.output;
    EXPECT_EQ(read_file(path("m.onnx")), alone);
    compare("t.csv", columns);
  }
}

// The group that a record is of has no weight.
TEST_F(Export, AFeatureThatIsNoInput) {
  std::ofstream table(path("t.csv"));
  for (int i = 0; i < 200; ++i)
    table << fmt::format("{},{},{},{}\n", 0.01 * i, i % 2, 0.3 * (i % 7), i % 5 < 2 ? 1 : -1);
  table.close();
  train("train = t.csv\nheader = no\nlabel = last",
        "name = worst_group\ngroup_sizes = 100,100\ngroup_feature = 2\nhidden = 4\nhead = logistic",
        "name = dp-sgda\nbatch = 60\nsteps = 20\ndual_clip = 1\n");
  ASSERT_EQ(exported("m.safetensors").code, 0);
  compare("t.csv", "--columns 1,2,3");
}

// What no rule gives a value has no prediction: a word that is not listed, and a gap without a replacement.
TEST_F(Export, WhatPredictRefusesHasNoScore) {
  if (python().empty()) GTEST_SKIP() << no_python;
  std::ofstream(path("columns.txt")) << "size number range=0..30\ncolour category words=red,blue\n"
                                        "kind label positive=big\n";
  std::ofstream table(path("t.csv"));
  table << "size,colour,kind\n";
  for (int i = 0; i < 100; ++i)
    table << fmt::format("{},{},{}\n", i % 30, i % 2 ? "red" : "blue", i % 3 ? "big" : "-");
  table.close();
  for (const char* const objective :
       {"name = logistic", "name = mlp\nhead = logistic\nhidden = 4",
        "name = network\nhead = logistic\nlayers = conv 3 1, relu, maxpool 1, dense 1"}) {
    train("train = t.csv\ncolumns = columns.txt\nheader = yes", objective);
    ASSERT_EQ(exported("run").code, 0);
    std::ofstream(path("new.csv")) << "size,colour\n40,red\n30,red\n,red\n3,green\n3,\n";
    const Outcome outcome =
        shell(python() + " -B " DPMPI_SOURCE_DIR "/examples/model/score_onnx.py m.onnx new.csv");
    ASSERT_EQ(outcome.code, 0) << outcome.output;
    const std::string& said = outcome.output;
    EXPECT_TRUE(said.starts_with("record,label,probability,score\n1,")) << said;
    const auto second = said.find("\n2,");
    EXPECT_EQ(said.substr(said.find("\n1,") + 2, second - said.find("\n1,") - 2),
              said.substr(second + 2, said.find("\n3,") - second - 2))
        << "40 counts as 30";
    EXPECT_TRUE(contains(said, "\n3,nan,nan,nan\n4,nan,nan,nan\n5,nan,nan,nan\n")) << said;
  }
}

TEST_F(Export, Refusals) {
  std::ofstream(path("t.csv")) << "a,b,y\n1,2,1\n2,1,-1\n1,3,1\n4,2,-1\n";
  const char* const method = "batch = 2\nsteps = 2\n";
  train("train = t.csv\nheader = yes\nblocks = 1", "name = mean", method);
  for (const auto& [words, code, part] :
       {std::tuple{"export run --output m.onnx", 2,
                   "objective.name = mean cannot be written as ONNX: its scores are not"},
        {"export run --output m.csv", 2, "its name must end with .onnx"},
        {"export run", 2, "needs --output"},
        {"export t.csv --output m.onnx", 3, "t.csv is no model file"},
        {"export gone --output m.onnx", 2, "gone is not a run directory"},
        {"export run --output m.onnx --set method.rate=2", 2, "--set method.rate"}}) {
    const Outcome outcome = dpmpi(words);
    EXPECT_EQ(outcome.code, code) << words << outcome.output;
    EXPECT_TRUE(contains(outcome.output, part)) << outcome.output;
  }
  train("train = t.csv\nheader = yes\nblocks = 1", "name = logistic", method);
  std::ofstream(path("wide.csv")) << "a,b,c,y\n1,2,3,1\n";
  fs::copy_file(path("t.csv"), path("t.onnx"));
  for (const auto& [words, code, part] :
       {std::tuple{"export run --data wide.csv --set data.header=yes --output m.onnx", 3,
                   "3 features come from these columns, the records of the run had 2"},
        {"export run --data gone.csv --output m.onnx", 3, "gone.csv"},
        {"export run --data t.onnx --set data.format=csv --output t.onnx", 2, "would replace its input"},
        {"export run --output no/such/folder.onnx", 3, "no/such/folder.onnx"}}) {
    const Outcome outcome = dpmpi(words);
    EXPECT_EQ(outcome.code, code) << words << outcome.output;
    EXPECT_TRUE(contains(outcome.output, part)) << outcome.output;
  }
  std::ofstream(path("columns.txt")) << "a number\nb category words=1,2,3,\xe4\ny label\n";
  train("train = t.csv\ncolumns = columns.txt\nheader = yes\nblocks = 1", "name = logistic", method);
  const Outcome latin = exported("run");
  EXPECT_EQ(latin.code, 2);
  EXPECT_TRUE(contains(latin.output, "word '\\xe4': names in an ONNX graph are UTF-8")) << latin.output;
}

// A generator, values of states, and code in a library: of the run, and of the model file alone.
TEST_F(Export, WhatIsNoScoreOfLayers) {
  std::ofstream(path("t.csv")) << "a,b,y\n1,2,1\n2,1,-1\n1,3,1\n4,2,-1\n";
  ASSERT_EQ(dpmpi("generate --kind gridworld --records 100 --output g.csv").code, 0);
  const std::string two = "train = t.csv\nheader = yes\nblocks = 1", steps = "batch = 2\nsteps = 2\n";
  struct Case {
    std::string data, objective, method, said;
  };
  for (const auto& [data, objective, method, said] : std::vector<Case>{
           {two, "name = wgan\nimage_rows = 1\nimage_columns = 2\ngenerator = 4,8\ncritic = 4\nfakes = 4",
            "name = private-diff\nrate = 0.1\ndual_rate = 0.1\ndual_clip = 1\n" + steps, "objective.name = wgan"},
           {"train = g.csv\nheader = yes\nbias = 0\nblocks = 1", "name = td\nvalue = linear\ndiscount = 0.9",
            "name = dp-sgda\nrate = 0.1\ndual_rate = 0.1\ndual_clip = 1\n" + steps, "objective.name = td"},
           {two, "name = plugin\nlibrary = " DPMPI_PINBALL_PLUGIN,
            "name = zo-hidden\nrelease = all\nsampling = poisson\ndirections = 2\nradius = 0.1\n"
            "clip = 1\nrate = 0.1\n" +
                steps,
            "objective.name = plugin"}}) {
    train(data, objective, method);
    for (const char* const model : {"run", "m.safetensors"}) {
      const Outcome outcome = exported(model);
      const bool alone_and_code = model != std::string("run") && contains(said, "plugin");  // it has no recipe
      EXPECT_EQ(outcome.code, alone_and_code ? 3 : 2) << said << outcome.output;
      EXPECT_TRUE(contains(outcome.output, alone_and_code ? "its objective needs more than the model" : said))
          << outcome.output;
      EXPECT_FALSE(fs::exists(path("m.onnx")));
    }
  }
}

}  // namespace
}  // namespace dpmpi::export_test
