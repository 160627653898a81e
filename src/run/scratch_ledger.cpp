#include "dpmpi/run/scratch_ledger.hpp"

#include <atomic>
#include <filesystem>

#include <unistd.h>

#include <fmt/format.h>

namespace dpmpi {
namespace {

namespace fs = std::filesystem;

std::string new_path() {
  static std::atomic<std::uint64_t> count{0};
  constexpr const char* memory = "/dev/shm";
  const fs::path folder = ::access(memory, W_OK) == 0 ? fs::path(memory) : fs::temp_directory_path();
  return (folder / fmt::format("dpmpi-scratch-{}-{}.jsonl", ::getpid(), count++)).string();
}

}  // namespace

ScratchLedger::ScratchLedger(const EventHeader& header)
    : path_(new_path()), ledger_(Ledger::create(path_, header)) {}

ScratchLedger::~ScratchLedger() {
  std::error_code ignored;
  fs::remove(path_, ignored);
}

}  // namespace dpmpi
