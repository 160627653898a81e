// config.ini, which every command that looks at a run directory reads.
#include "check.hpp"
#include "core/errors.hpp"
#include "core/ini.hpp"
#include "core/options.hpp"
#include "data/records/options.hpp"
#include "memory_file.hpp"

namespace {

using namespace dpmpi;

// What was read is written and reads back.
void check_round_trip(const IniEntry& entry) {
  if (entry.value.find('\n') != entry.value.npos) return;
  const auto again = parse_ini("[s]\nkey = " + ini_value(entry.value) + "\n", "fuzz");
  fuzzing::require(again.size() == 1 && again[0].name == "s.key" && again[0].value == entry.value);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    for (const IniEntry& entry : parse_ini(text, "fuzz")) check_round_trip(entry);
    const Settings settings = read_ini(fuzzing::MemoryFile(text).path());
    Options options("data");
    DataOptions fields;
    fields.declare(options);
    std::vector<std::string> problems;
    options.read(settings, problems);
    check_unknown(settings, {&options}, problems);
    fields.validate(problems);
  } catch (const ConfigError&) {
  }
  return 0;
}
