// Replicas that drift apart are noticed, whether iterates are hidden or released.
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "data/synthetic/generate.hpp"
#include "problems/changed_method.hpp"
#include "run/train/train.hpp"
#include "support/mpi_harness.hpp"

namespace dpmpi::replicas_mpi_test {
namespace {

namespace fs = std::filesystem;

std::string folder() { return ::testing::TempDir() + "dpmpi_replicas"; }

/// One rank's state is off by one bit, from some step on.
class Drifting final : public Algorithm {
 public:
  Drifting(std::unique_ptr<Algorithm> algorithm, bool here, std::uint64_t& done)
      : algorithm_(std::move(algorithm)), here_(here), done_(done) {}

  void step(Curator& curator, std::uint64_t t) override {
    algorithm_->step(curator, t);
    done_ = t + 1;
    const auto bytes = algorithm_->replicated();
    state_.assign(bytes.begin(), bytes.end());
    if (here_ && t >= 100) state_[0] ^= std::byte{1};
  }
  std::span<const float> iterate() override { return algorithm_->iterate(); }
  std::span<const std::byte> replicated() override { return state_.empty() ? algorithm_->replicated() : state_; }
  void archive(Archive& archive) override { algorithm_->archive(archive); }

 private:
  std::unique_ptr<Algorithm> algorithm_;
  bool here_;
  std::uint64_t& done_;
  std::vector<std::byte> state_;
};

void expect_end(const Communicator& comm, const std::string& method, const std::string& privacy) {
  if (comm.is_root()) {
    fs::remove_all(folder());
    fs::create_directories(folder());
    GenerateOptions options;
    options.records = 200, options.eval_records = 10, options.features = 5;
    options.output = folder() + "/train.csv";
    generate(options);
    std::ofstream(folder() + "/run.ini") << fmt::format(
        "[run]\ndir = {0}/run\n[data]\ntrain = {0}/train.csv\nheader = yes\nblocks = 3\n[method]\nsteps = 1000\n{1}\n"
        "[privacy]\nnoise_multiplier = 50\ndelta = 1e-5\n{2}\n[report]\nprogress = none\n",
        folder(), method, privacy);
  }
  comm.barrier();
  RunConfig config(folder() + "/run.ini", {});
  std::uint64_t done = 0;
  config.method = std::make_unique<test::ChangedSettings>(std::move(config.method), [&](auto algorithm) {
    return std::make_unique<Drifting>(std::move(algorithm), comm.rank() == 2, done);
  });
  EXPECT_THROW(train(comm, config, {.quiet = true}), CommError);
  EXPECT_GE(done, 101u);
  EXPECT_LE(done, 101u + 50);
}

TEST(Replicas, OfHiddenIteratesThatDriftApartEndTheRun) {
  test::for_each_size({3}, [](const Communicator& comm) {
    expect_end(comm, "name = zo-hidden\ndirections = 3\nwindow = 500\nshare = 0.5\nball = 0.2\nfeature_bound = 1",
               "adjacency = replace_one\ntrust = cluster");
  });
}

// A29 of the min-max methods.
TEST(Replicas, OfMinMaxPairsThatDriftApartEndTheRun) {
  test::for_each_size({3}, [](const Communicator& comm) {
    for (const char* name : {"private-diff", "dp-sgda"})
      expect_end(comm, fmt::format("name = {}\nbatch = 20\n[objective]\nname = auc\nprior = 0.2", name), "");
  });
}

}  // namespace
}  // namespace dpmpi::replicas_mpi_test
