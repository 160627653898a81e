// Events: the lines of ledgers and lists (verify, account, calibrate, resume) and those of a plan (account --plan,
// report, verify).
#include <sstream>

#include "check.hpp"
#include "core/errors.hpp"
#include "core/files/untrusted_json.hpp"
#include "memory_file.hpp"
#include "privacy/events/ledger.hpp"
#include "privacy/events/planned_events.hpp"

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
void check_event(const Event& event) {
  check(event, "fuzz");
  fuzzing::require(std::get<Event>(parse_event_line(to_json(event), "fuzz").content) == event);
}

void read_list(std::string_view text) {
  std::istringstream lines{std::string(text)};
  for (const Event& event : read_events(lines, "fuzz").events) check_event(event);
}

void read_ledger(std::string_view text) {
  const LedgerCheck found = verify_ledger(fuzzing::MemoryFile(text).path());
  fuzzing::require(found.bad_line > 0 || (found.lines > 0 && found.head.size() == 64));
}

// With unknowns, as calibrate reads them.
void read_template(std::string_view text) {
  parse_event_line(text.substr(0, text.find('\n')), "fuzz", [](const std::string&) {});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  attempt([&] { read_list(text); });
  attempt([&] { read_ledger(text); });
  attempt([&] { read_template(text); });
  attempt([&] {
    for (const Event& event : planned_events(parse_untrusted_json(text, "fuzz"), "fuzz")) check_event(event);
  });
  return 0;
}
