// What report reads of a run directory, and the result of an audit. The first byte says which file the rest is; the
// others are as a run leaves them.
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <unistd.h>

#include "check.hpp"
#include "core/errors.hpp"
#include "memory_file.hpp"
#include "run/certify/certified_audit.hpp"
#include "run/report/run_record.hpp"

namespace {

using namespace dpmpi;

constexpr const char* names[] = {"plan.json",    "certificate.json", "metrics.jsonl",
                                 "timing.jsonl", "config.ini",       "roc.json",
                                 "samples.png",  "assessment.json",  "model.safetensors"};
constexpr const char* wholes[] = {
    R"({"epsilon":1,"delta":1e-5,"adjacency":"add_remove","attacker":{},"noise":[],"interval":[0,1],"events":[],"by":{}})",
    R"({"epsilon":1})",
    "{\"step\":1,\"eval.loss\":0.5}\n",
    "{\"step\":1}\n",
    "[data]\ntrain = x\n",
    "[[0,0],[1,1]]",
    "x",
    "{}",
    "x"};

std::string folder() {
  static const std::string made = [] {
    const std::string name = fmt::format("/dev/shm/dpmpi-fuzz-{}", getpid());
    std::filesystem::create_directories(name);
    for (std::size_t i = 0; i < std::size(names); ++i) std::ofstream(name + "/" + names[i]) << wholes[i];
    return name;
  }();
  return made;
}

void use(const RunRecord& run) {
  for (const char* prefix : {"eval.", "method.", ""})
    for (const std::string& name : run.metric_names(prefix)) {
      run.curve("step", name);
      fuzzing::require(run.last(name).has_value());
    }
  for (const auto& [x, y] : run.roc) fuzzing::require(x >= 0 && x <= 1 && y >= 0 && y <= 1);
  if (run.weights) fuzzing::require(run.weights->values.size() == run.weights->rows * run.weights->cols);
  if (run.plan.contains("epsilon") && (!run.finished() || run.certificate.contains("epsilon"))) run.is_private();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t which = data[0] % std::size(names);
  const std::string file = folder() + "/" + names[which];
  std::ofstream(file, std::ios::binary) << text;
  try {
    use(read_run(folder(), true));
  } catch (const DataError&) {
  } catch (const ConfigError&) {
  }
  std::ofstream(file) << wholes[which];
  try {
    certified_audit(fuzzing::MemoryFile(text).path(), "digest", 1, 1e-5);
  } catch (const DataError&) {
  } catch (const PrivacyError&) {
  }
  return 0;
}
