// The ledger of all looks at the same people: its first line, and of which look each other line is.
#include <string>
#include <string_view>

#include "check.hpp"
#include "core/errors.hpp"
#include "memory_file.hpp"
#include "run/look/looks_ledger.hpp"

namespace {

using namespace dpmpi;

template <class Read>
void attempt(Read&& read) {
  try {
    read();
  } catch (const PrivacyError&) {
  } catch (const DataError&) {
  }
}

// What was read is in range, and is read again from what it is written as.
void read_header(const std::string& line) {
  const LooksHeader header = LooksHeader::read(line, "fuzz");
  fuzzing::require(header.delta > 0 && header.delta < 1 && header.budget >= 0 && header.people.size() == 64);
  std::string written = Ledger::in_memory({header.adjacency, {}, header.seeded, header.unit}).lines().front();
  written.pop_back();  // the brace
  const LooksHeader again = LooksHeader::read(written + "," + header.members() + "}", "fuzz");
  fuzzing::require(again.adjacency == header.adjacency && again.unit == header.unit &&
                   again.seeded == header.seeded && again.delta == header.delta && again.budget == header.budget &&
                   again.people == header.people);
}

void read_ledger(std::string_view text) {
  const fuzzing::MemoryFile file(text);
  const LooksLedger ledger(file.path());
  if (!ledger.header()) return;
  fuzzing::require(ledger.next_look() > 0);
  ledger.events();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string first(text.substr(0, text.find('\n')));
  attempt([&] { read_header(first); });
  attempt([&] { fuzzing::require(look_of_line(first, "fuzz") > 0); });
  attempt([&] { read_ledger(text); });
  return 0;
}
