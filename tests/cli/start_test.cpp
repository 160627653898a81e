// Training that starts from a public model, and leaves some of its layers as they are.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/files/file_reader.hpp"
#include "run/directory/files.hpp"
#include "run/directory/safetensors.hpp"
#include "support/process.hpp"
#include "support/programs.hpp"
#include "support/text.hpp"

namespace dpmpi::start_test {
namespace {

namespace fs = std::filesystem;
using test::contains;
using test::Outcome;

constexpr const char* network = "name = network\nlayers = dense 6, tanh, dense 5, tanh, dense 3\nclasses = 3\n";

class Start : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    for (const char* const name : {"public", "private"}) {
      std::ofstream table(path(std::string(name) + ".csv"));
      const int shift = name[1] == 'u' ? 0 : 5;
      for (int i = 0; i < 240; ++i)
        table << fmt::format("{},{},{},{}\n", 0.1 * ((i + shift) % 11) - 0.5, 0.2 * (i % 7) - 0.6, 0.01 * (i % 50),
                             (i + shift) % 11 / 4);
    }
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  Outcome dpmpi(const std::string& words, int ranks = 1) const {
    const std::string launcher = ranks > 1 ? fmt::format("mpirun -n {} ", ranks) : "";
    return test::run_command(fmt::format("cd {} && {}{} {}", folder_, launcher, test::program(), words), 60);
  }
  void configure(const std::string& table, const std::string& objective, const std::string& privacy) const {
    std::ofstream(path(table + ".ini"))
        << "[data]\ntrain = " << table << ".csv\nheader = no\nlabel = last\nblocks = 8\n"
        << "[objective]\n"
        << objective << "[method]\nbatch = 60\nsteps = 12\nrate = 0.3\n[privacy]\n"
        << privacy;
  }
  /// A model of public records, in the run directory `public`.
  void make_start(const std::string& objective = network) const {
    configure("public", objective, "noise = none\nseed = 3\n");
    const Outcome outcome = dpmpi("--config public.ini --set run.dir=public");
    ASSERT_EQ(outcome.code, 0) << outcome.output;
  }
  void configure_private(const std::string& more, const std::string& objective = network) const {
    configure("private", objective + "start_model = public/model.safetensors\n" + more,
              "epsilon = 3\ndelta = 1e-3\nseed = 4\n");
  }
  Outcome train(const std::string& run, const std::string& more = "", int ranks = 1) const {
    return dpmpi(fmt::format("--config private.ini --set run.dir={} {}", run, more), ranks);
  }
  std::vector<float> tensor(const std::string& run, const std::string& name) const {
    const auto found = read_tensor(path(run + "/model.safetensors"), name, 1000);
    return found ? found->values : std::vector<float>{};
  }
  /// Numbers of all tensors, without what the file says of its run.
  std::string tensors(const std::string& run) const { return parameters_digest(path(run + "/model.safetensors")); }

  const std::string folder_ = ::testing::TempDir() + "dpmpi_Start";
};

// A step of next to nothing leaves what was read.
TEST_F(Start, TrainingBeginsAtTheFile) {
  for (const std::string objective :
       {network, "name = softmax\nclasses = 3\n", "name = mlp\nclasses = 3\nhidden = 4\n"}) {
    fs::remove_all(path("public"));
    fs::remove_all(path("run"));
    make_start(objective);
    configure_private("", objective);
    Outcome outcome = train("run", "--set method.rate=1e-30");
    ASSERT_EQ(outcome.code, 0) << outcome.output;
    EXPECT_TRUE(contains(outcome.output, "| start                | public/model.safetensors, SHA-256 "));
    EXPECT_TRUE(
        contains(outcome.output, "PUBLIC: the promise does not cover those on whose records it was trained"));
    EXPECT_EQ(tensors("run"), tensors("public"));
    const auto certificate = nlohmann::json::parse(read_file(path("run/certificate.json")));
    EXPECT_TRUE(contains(certificate["assumptions"].dump(), file_digest(path("public/model.safetensors"))));
    outcome = dpmpi("verify run");
    EXPECT_EQ(outcome.code, 0) << outcome.output;
  }
}

TEST_F(Start, LayersThatAreNotTrainedStay) {
  make_start();
  configure_private("train_layers = 3\n");
  const Outcome plan = dpmpi("plan --config private.ini");
  EXPECT_TRUE(contains(plan.output, "network, 35 parameters")) << plan.output;
  EXPECT_TRUE(contains(plan.output, "dense 6: 6, 24 parameters, 18 products, not trained")) << plan.output;
  EXPECT_TRUE(contains(plan.output, "dense 5: 5, 35 parameters, 30 products ")) << plan.output;
  const Outcome outcome = train("run");
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  for (const char* const name : {"1.weight", "1.bias", "5.weight", "5.bias"}) {
    EXPECT_FALSE(tensor("run", name).empty()) << name;
    EXPECT_EQ(tensor("run", name), tensor("public", name)) << name;
  }
  for (const char* const name : {"3.weight", "3.bias"})
    EXPECT_NE(tensor("run", name), tensor("public", name)) << name;
  EXPECT_EQ(nlohmann::json::parse(read_file(path("run/plan.json")))["dim"], 35);

  // The run's own model needs no start, and the file alone is a model of all layers.
  fs::remove_all(path("public"));
  fs::copy_file(path("run/model.safetensors"), path("alone.safetensors"));
  for (const char* const words :
       {"verify run", "predict run --data public.csv --output by_run.npy --set data.label=last",
        "predict alone.safetensors --data public.csv --output by_file.npy --set data.label=last",
        "export run --output by_run.onnx", "export alone.safetensors --output by_file.onnx",
        "evaluate run --data public.csv"}) {
    const Outcome used = dpmpi(words);
    EXPECT_EQ(used.code, 0) << words << used.output;
  }
  EXPECT_EQ(read_file(path("by_run.npy")), read_file(path("by_file.npy")));
  EXPECT_EQ(read_file(path("by_run.onnx")), read_file(path("by_file.onnx")));
}

// The public file has no adapters, and the run's own model has all tensors. It is used as any other.
TEST_F(Start, AdaptersAreTrainedInPlaceOfTheirLayers) {
  make_start();
  const std::string adapted =
      "name = network\nlayers = dense 6 adapter 1, tanh, dense 5 adapter 2, tanh, dense 3\nclasses = 3\n";
  configure("private", adapted, "epsilon = 3\ndelta = 1e-3\nseed = 4\n");
  Outcome outcome = train("run");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_TRUE(
      contains(outcome.output,
               "objective.layers: layers 1, 3: a layer with an adapter stays as objective.start_model has it"))
      << outcome.output;
  configure_private("", adapted);
  outcome = dpmpi("plan --config private.ini");
  EXPECT_TRUE(contains(outcome.output, "dense 6 adapter 1: 6, 33 parameters, 18 products, 9 trained"))
      << outcome.output;
  EXPECT_TRUE(contains(outcome.output, "network, 49 parameters")) << outcome.output;
  for (const int ranks : {1, 3}) {
    outcome = train(fmt::format("run{}", ranks), "", ranks);
    ASSERT_EQ(outcome.code, 0) << outcome.output;
  }
  EXPECT_EQ(tensors("run1"), tensors("run3"));
  for (const char* const name : {"1.weight", "1.bias", "3.weight", "3.bias"})
    EXPECT_EQ(tensor("run1", name), tensor("public", name)) << name;
  EXPECT_NE(tensor("run1", "5.weight"), tensor("public", "5.weight"));
  for (const char* const name : {"1.adapter_down", "1.adapter_up", "3.adapter_down", "3.adapter_up"}) {
    const std::vector<float> numbers = tensor("run1", name);
    EXPECT_FALSE(numbers.empty()) << name;
    EXPECT_EQ(std::ranges::count(numbers, 0.0F), 0) << name;
  }
  fs::remove_all(path("public"));
  for (const char* const words :
       {"verify run1", "predict run1 --data public.csv --output by_run.npy --set data.label=last",
        "predict run1/model.safetensors --data public.csv --output by_file.npy --set data.label=last",
        "export run1 --output by_run.onnx", "export run1/model.safetensors --output by_file.onnx"}) {
    outcome = dpmpi(words);
    EXPECT_EQ(outcome.code, 0) << words << outcome.output;
  }
  EXPECT_EQ(read_file(path("by_run.npy")), read_file(path("by_file.npy")));
  EXPECT_EQ(read_file(path("by_run.onnx")), read_file(path("by_file.onnx")));
  EXPECT_EQ(read_file(path("by_run.onnx")).find("adapter"), std::string::npos) << "it has merged weights";
}

TEST_F(Start, AnyNumberOfRanksHasTheSameBytes) {
  make_start();
  configure_private("train_layers = from 3\n");
  for (const int ranks : {1, 3}) {
    const Outcome outcome = train(fmt::format("run{}", ranks), "", ranks);
    ASSERT_EQ(outcome.code, 0) << outcome.output;
  }
  EXPECT_EQ(tensors("run1"), tensors("run3"));
  EXPECT_EQ(read_file(path("run1/ledger.jsonl")), read_file(path("run3/ledger.jsonl")));
}

// Stopped after the first step, and gone on on other ranks; another file is refused.
TEST_F(Start, ARunGoesOnWithTheSameFileOnly) {
  make_start();
  configure_private("train_layers = from 3\n");
  ASSERT_EQ(train("whole").code, 0);
  const Outcome stopped = train("run", "--set run.max_hours=1e-9");
  ASSERT_EQ(stopped.code, 6) << stopped.output;
  fs::rename(path("public/model.safetensors"), path("kept"));
  Outcome outcome = dpmpi("resume run --set run.max_hours=0", 2);
  EXPECT_EQ(outcome.code, 3) << outcome.output;
  EXPECT_TRUE(contains(outcome.output, "is not here: training starts from it")) << outcome.output;
  fs::copy_file(path("whole/model.safetensors"), path("public/model.safetensors"));
  outcome = dpmpi("resume run --set run.max_hours=0", 2);
  EXPECT_EQ(outcome.code, 3) << outcome.output;
  EXPECT_TRUE(contains(outcome.output, "is not the file of objective.start_digest")) << outcome.output;
  fs::rename(path("kept"), path("public/model.safetensors"));
  outcome = dpmpi("resume run --set run.max_hours=0", 2);
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_EQ(tensors("run"), tensors("whole"));
}

TEST_F(Start, AllThatDoesNotFitIsTold) {
  make_start();
  configure_private("", "name = network\nlayers = dense 6, tanh, dense 4, tanh, tanh, dense 3\nclasses = 3\n");
  for (const int ranks : {1, 3}) {
    const Outcome outcome = train("run", "", ranks);
    EXPECT_EQ(outcome.code, 3) << outcome.output;
    for (const char* const said :
         {"model.safetensors does not fit:", "tensor \"3.weight\" has the shape [6,5], where the model has [6,4]",
          "tensor \"3.bias\" has the shape [5,1], where the model has [4,1]",
          "tensor \"6.weight\" is not there; its shape is [4,3]", "tensor \"6.bias\" is not there",
          "tensor \"5.weight\" is none of the model's", "tensor \"5.bias\" is none"})
      EXPECT_TRUE(contains(outcome.output, said)) << said << "\n" << outcome.output;
    EXPECT_FALSE(fs::exists(path("run")));
  }
  EXPECT_TRUE(contains(dpmpi("plan --config private.ini").output, "tensor \"3.bias\" has the shape"));
}

TEST_F(Start, SettingsThatDoNotGoTogetherAreRefused) {
  make_start();
  configure_private("train_layers = 9\n");
  Outcome outcome = train("run");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_TRUE(
      contains(outcome.output, "objective.train_layers = 9: 9 is no layer; it takes numbers of layers from 1 to 5"))
      << outcome.output;
  configure_private("train_layers = 2\n");
  outcome = train("run");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_TRUE(contains(outcome.output, "the layers of objective.train_layers have no parameters"))
      << outcome.output;
  configure("private", std::string(network) + "train_layers = 3\n", "epsilon = 3\ndelta = 1e-3\n");
  outcome = train("run");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_TRUE(contains(outcome.output, "objective.train_layers: layers that are not trained stay as"))
      << outcome.output;
  configure_private("");
  outcome = train("run", "--set method.name=zo-o2nc");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_TRUE(contains(outcome.output, "method.name = zo-o2nc starts elsewhere; dp-sgd and dp-ftrl start there"))
      << outcome.output;
  outcome = train("run", "--set objective.start_model=gone.safetensors");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_TRUE(contains(outcome.output, "objective.start_model = gone.safetensors: ")) << outcome.output;
  outcome = train("run", "--set objective.start_model=private.csv");
  EXPECT_EQ(outcome.code, 3);
  EXPECT_TRUE(contains(outcome.output, "private.csv is no model file, or is cut")) << outcome.output;
}

}  // namespace
}  // namespace dpmpi::start_test
