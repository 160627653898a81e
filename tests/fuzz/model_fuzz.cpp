// Model files (evaluate, predict, verify, objective.start_model) and checkpoints (resume, verify).
#include "check.hpp"
#include "core/errors.hpp"
#include "core/files/digest.hpp"
#include "memory_file.hpp"
#include "run/directory/checkpoint.hpp"
#include "run/directory/safetensors.hpp"
#include "run/directory/start_tensors.hpp"

namespace {

using namespace dpmpi;

template <class Read>
void attempt(Read&& read) {
  try {
    read();
  } catch (const DataError&) {
  }
}

std::string with_length(std::string_view header, std::string_view tensors) {
  const std::uint64_t size = header.size();
  return std::string(reinterpret_cast<const char*>(&size), sizeof size) + std::string(header) +
         std::string(tensors);
}

void read_model(std::string_view bytes) {
  const fuzzing::MemoryFile file(bytes);
  const std::vector<ParameterGroup> groups = {{"weights", 0, 2, 1}, {"bias", 2, 1, 1}};
  attempt([&] { read_metadata(file.path()); });
  attempt([&] { fuzzing::require(parameters_digest(file.path()).size() == 64); });
  attempt([&] { fuzzing::require(read_safetensors(file.path(), groups).size() == 3); });
  attempt([&] { fuzzing::require(read_start_tensors(file.path(), groups).size() == 3); });
}

void read_saved(std::string_view bytes) {
  attempt([&] { SavedCheckpoint(fuzzing::MemoryFile(bytes).path(), nullptr).facts(); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  read_model(bytes);
  read_saved(bytes);
  // With a right length and a right checksum, or the fuzzer would never come further.
  read_model(with_length(bytes, "twelve bytes"));
  read_saved("dpmpi checkpoint 5\n" + sha256(bytes) + std::string(64, '0') + std::string(bytes));
  return 0;
}
