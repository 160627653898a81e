// What a run holds as the model grows: parameters, and nothing beside them that grows as they do.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "run/plan/model_memory.hpp"
#include "support/programs.hpp"
#include "support/run_folder.hpp"
#include "support/shards.hpp"

namespace dpmpi::memory_test {
namespace {

class RunMemory : public test::RunFolder {
 protected:
  /// Sparse logistic regression on 64 records of 4 features out of `features`, 4 directions (a frame that does not
  /// fit one tile), a checkpoint after every step.
  void configure(std::size_t features, const std::string& evaluation = "") {
    std::filesystem::remove_all(run_);
    for (const unsigned seed : {1U, 2U}) {
      std::mt19937 bits(seed);
      std::ofstream data(fmt::format("{}/{}.svm", folder_, seed));
      for (int i = 0; i < 64; ++i) {
        data << (bits() % 2 ? "+1" : "-1");
        for (std::size_t j = 0; j < 4; ++j)
          data << ' ' << j * (features / 4) + 1 + bits() % (features / 4) << ":0.5";
        data << '\n';
      }
    }
    std::ofstream(config_) << fmt::format(
        "[run]\ndir = {0}\ncheckpoint_every = 1\n[data]\nblocks = 4\ntrain = {1}/1.svm\nfeatures = {2}\n{3}\n"
        "[method]\nname = zo-hidden\nrelease = all\ndirections = 4\nsteps = 2\nrate = 1\n"
        "ball = 10\nshare = 0.5\nwindow = 2\n[privacy]\nnoise_multiplier = 1\ndelta = 1e-4\n"
        "adjacency = replace_one\n[report]\neval_every = 1\n",
        run_, folder_, features, evaluation);
  }

  /// A network of 2000 features and so many hidden units on dense records.
  void configure_network(std::size_t hidden) {
    std::filesystem::remove_all(run_);
    std::ofstream data(folder_ + "/dense.csv");
    for (int i = 0; i < 16; ++i) {
      data << i % 2;
      for (int j = 0; j < 2000; ++j) data << ',' << (i * j) % 7;
      data << '\n';
    }
    data.close();
    std::ofstream(config_) << fmt::format(
        "[run]\ndir = {}\n[data]\nblocks = 1\ntrain = {}/dense.csv\nheader = no\nlabel = 1\n[objective]\nname = mlp\n"
        "classes = 10\nhidden = {}\n[method]\nname = zo-hidden\nrelease = all\ndirections = 8\nsteps = 1\nrate = 0.01\n"
        "ball = 10\n[privacy]\nnoise_multiplier = 1\ndelta = 1e-4\nadjacency = replace_one\n",
        run_, folder_, hidden);
  }

  /// A linear scorer on the sparse records above.
  void configure_saddle(const std::string& method, std::size_t features) {
    configure(features);
    std::ofstream(config_) << fmt::format(
        "[run]\ndir = {}\n[data]\nblocks = 4\ntrain = {}/1.svm\nfeatures = {}\n[objective]\nname = auc\nprior = "
        "0.5\n[method]\nname = {}\nsteps = 4\nbatch = 16\nclip = 1\nrate = 0.1\n{}[privacy]\nnoise_multiplier = "
        "1\ndelta = 1e-4\n",
        run_, folder_, features, method, method == "private-diff" ? "restart = 2\n" : "");
  }

  /// Peak resident bytes of a run, of which a part is done.
  static double peak(const std::string& fault, const std::string& what, int code) {
    const auto outcome = test::run_command(fmt::format("SHOW_PEAK=1 {} {} {}", test::fault_program(), fault, what));
    EXPECT_EQ(outcome.code, code) << outcome.output;
    const std::string mark = "peak resident memory: ";
    const std::size_t at = outcome.output.find(mark);
    return at == outcome.output.npos ? NAN : 1024 * std::stod(outcome.output.substr(at + mark.size()));
  }

  static constexpr std::size_t small = 1'100'000, more = 1'100'000;
};

// The iterate in double, with noise across the directions: from the start to a stop with a checkpoint, and from the
// checkpoint to the model. A float32 vector more would be 12 bytes.
TEST_F(RunMemory, AZoHiddenRunHoldsEightBytesAParameter) {
  double begun[2], ended[2];
  for (const int i : {0, 1}) {
    configure(small + static_cast<std::size_t>(i) * more);
    begun[i] = peak("step@0#1=usr1", config_, 6);
    ended[i] = peak("none", run_, 0);
    EXPECT_GT(std::filesystem::file_size(run_ + "/model.safetensors"), 4 * small);
  }
  EXPECT_NEAR((begun[1] - begun[0]) / more, 8, 2);
  EXPECT_NEAR((ended[1] - ended[0]) / more, 8, 2);
}

// Evaluations on the way look at a float32 copy.
TEST_F(RunMemory, EvaluatingTakesFourMore) {
  double whole[2];
  for (const int i : {0, 1}) {
    configure(small + static_cast<std::size_t>(i) * more, "eval = " + folder_ + "/2.svm");
    whole[i] = peak("none", config_, 0);
  }
  EXPECT_NEAR((whole[1] - whole[0]) / more, 12, 2);
}

// What is checked before a run is not less than what it then takes, and not twice as much.
TEST_F(RunMemory, AMinMaxRunTakesWhatIsCheckedBefore) {
  for (const std::string method : {"dp-sgda", "private-diff"}) {
    double whole[2], checked[2];
    for (const int i : {0, 1}) {
      const std::size_t features = static_cast<std::size_t>(i + 1) * small;
      configure_saddle(method, features);
      whole[i] = peak("none", config_, 0);
      const auto auc =
          test::make_objective("auc", {features, Storage::sparse_f32, 1}, {{"objective.prior", "0.5"}});
      checked[i] = model_memory(method, *auc, features);
    }
    EXPECT_LE(whole[1] - whole[0], checked[1] - checked[0]) << method;
    EXPECT_GE(whole[1] - whole[0], (checked[1] - checked[0]) / 2) << method;
  }
}

// A network's packed weights are moved to the probed points part by part: no point stands in memory.
TEST_F(RunMemory, ANetworkTakesFourMore) {
  double whole[2];
  for (const int i : {0, 1}) {
    configure_network(500 * (1 + static_cast<std::size_t>(i)));
    whole[i] = peak("none", config_, 0);
  }
  EXPECT_NEAR((whole[1] - whole[0]) / (500 * 2001), 12, 2);
}

}  // namespace
}  // namespace dpmpi::memory_test
