// Whole gibo runs: killed and resumed on other numbers of ranks, and what they leave on disk.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <fmt/format.h>

#include "dpmpi/run/files.hpp"
#include "support/run_folder.hpp"

namespace dpmpi {
namespace {

namespace fs = std::filesystem;
using testing::Outcome;

class GiboRun : public testing::RunFolder {
 protected:
  void configure(const std::string& method) const {
    std::ofstream(config_) << "[run]\ncheckpoint_every = 3\n[data]\nblocks = 4\nbias = 0\ntrain = " << folder_
                           << "/train.csv\neval = " << folder_
                           << "/train-eval.csv\n[method]\nname = gibo\nsteps = 10\n"
                           << method << "[privacy]\nnoise_multiplier = 1\ndelta = 1e-4\nseed = 5\n"
                           << "adjacency = replace_one\n";
  }
};

// T19: what was published before a kill is what a resumed run publishes, although the table of losses, the factor
// and the weights are made again: same model, same metrics, same ledger.
TEST_F(GiboRun, KilledRunsEndWithTheSameBytes) {
  configure("trace_tol = 1\nmemory = window:8\nstep = adagrad\ncenter = per_sample\n");
  const std::string whole = folder_ + "/whole", killed = folder_ + "/killed";
  ASSERT_EQ(launch(2, "none", config_ + " run.dir=" + whole).code, 0);
  EXPECT_NE(launch(3, "step@1#6=kill", config_ + " run.dir=" + killed).code, 0);
  EXPECT_NE(launch_when_free(2, "release@0#4=kill", killed).code, 0);
  EXPECT_FALSE(fs::exists(killed + "/certificate.json"));
  EXPECT_EQ(launch_when_free(4, "none", killed).code, 0);
  for (const char* name : {"model.safetensors", "ledger.jsonl", "metrics.jsonl", "certificate.json"})
    EXPECT_EQ(read_file(whole + "/" + name), read_file(killed + "/" + name)) << name;
}

}  // namespace
}  // namespace dpmpi
