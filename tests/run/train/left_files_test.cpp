// What a finished run leaves on disk: no file but the root's checkpoint folder holds the key, and no file says
// anything of the records.
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "run/directory/files.hpp"
#include "support/run_folder.hpp"

namespace dpmpi::left_files_test {
namespace {

namespace fs = std::filesystem;

class LeftFiles : public test::RunFolder {};

// A finished run of zo-o2nc that keeps its key: these files and no others, the key in one of them alone, and of the
// data nothing but public metrics. Traps: a key in a log, and losses, clip rates or counts of records as telemetry.
TEST_F(LeftFiles, AreThoseThatAreAllowed) {
  std::ofstream(config_) << fmt::format(
      "[run]\ndir = {0}/run\nkeep_key = true\ncheckpoint_every = 7\n[data]\nblocks = 4\ntrain = {0}/train.csv\neval = "
      "{0}/train-eval.csv\n[method]\nname = zo-o2nc\ninner = 16\nbatch = 4\n[privacy]\nnoise_multiplier = 1\n"
      "delta = 1e-4\n[report]\neval_every = 5\n",
      folder_);
  const test::Outcome outcome = launch(2, "none", config_);
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  const std::string record = read_file(run_ + "/checkpoint/key"), key = record.substr(record.find('\n') + 1, 32);
  std::string hex;
  for (const char c : key) hex += fmt::format("{:02x}", static_cast<unsigned char>(c));
  const auto holds_key = [&](std::string text) {
    if (text.find(key) != text.npos) return true;
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
    return text.find(hex) != text.npos;
  };
  ASSERT_TRUE(holds_key(record) && holds_key("key = " + hex));
  EXPECT_FALSE(holds_key(outcome.output)) << "the log";
  std::set<std::string> names;
  for (const auto& file : fs::recursive_directory_iterator(run_)) {
    if (file.is_directory()) continue;
    const std::string name = fs::relative(file.path(), run_);
    names.insert(name);
    EXPECT_EQ(holds_key(read_file(file.path())), name == "checkpoint/key") << name;
  }
  EXPECT_EQ(names, (std::set<std::string>{"assessment.json", "certificate.json", "checkpoint/key", "config.ini",
                                          "ledger.jsonl", "metrics.jsonl", "model.safetensors", "plan.json",
                                          "roc.json", "timing.jsonl"}));
  std::istringstream metrics(read_file(run_ + "/metrics.jsonl"));
  for (std::string line; std::getline(metrics, line);) {
    const auto values = nlohmann::json::parse(line);
    for (const auto& [name, value] : values.items())
      EXPECT_TRUE(name == "step" || name == "epsilon" || name.starts_with("eval.") ||
                  name.starts_with("constant.") || name.starts_with("clip.") || name == "warnings")
          << line;
  }
}

}  // namespace
}  // namespace dpmpi::left_files_test
