#include "run/look/looks_ledger.hpp"

#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/files/digest.hpp"
#include "core/files/file_reader.hpp"
#include "core/files/untrusted_json.hpp"

namespace dpmpi {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* part = "looks";

bool in_unit_interval(const json& value) {
  return value.is_number() && value.get<double>() > 0 && value.get<double>() < 1;
}

/// As sha256() writes them.
bool is_digest(const std::string& text) {
  return text.size() == sha256("").size() && text.find_first_not_of("0123456789abcdef") == text.npos;
}

/// A look that was killed as it began the ledger left no whole line, and released nothing.
void refuse_empty(const std::string& path) {
  if (read_file(path, file_limit::lines).find('\n') != std::string::npos) return;
  throw DataError(fmt::format(
      "ledger {}: has no whole line: a look was stopped before it released anything; remove the file", path));
}

}  // namespace

std::string LooksHeader::members() const {
  return fmt::format(R"("part":"{}","people":"{}","delta":{}{})", part, people, json(delta).dump(),
                     budget > 0 ? fmt::format(R"(,"budget":{})", json(budget).dump()) : "");
}

void LooksHeader::archive(Archive& archive) {
  archive.field("adjacency", adjacency);
  archive.field("unit", unit);
  archive.field("seeded", seeded);
  archive.field("delta", delta);
  archive.field("budget", budget);
  archive.field("people", people);
}

LooksHeader LooksHeader::read(const std::string& line, const std::string& place) {
  const EventLine parsed = parse_event_line(line, place);
  const auto* const common = std::get_if<EventHeader>(&parsed.content);
  const json header = parse_untrusted_json(line, place);
  if (!common || text_member(header, "part") != part)
    throw PrivacyError(fmt::format("{}: is no ledger of looks: name another file with --ledger", place));
  const json delta = header.value("delta", json()), budget = header.value("budget", json(0));
  const std::string people = text_member(header, "people");
  if (!in_unit_interval(delta) || !budget.is_number() || budget.get<double>() < 0 || !is_digest(people))
    throw PrivacyError(
        fmt::format("{}: delta, budget or people are not what a ledger of looks begins with", place));
  return {common->adjacency, common->unit, common->seeded, delta.get<double>(), budget.get<double>(), people};
}

std::uint64_t look_of_line(const std::string& line, const std::string& place) {
  constexpr std::uint64_t most = std::uint64_t{1} << 53;
  const json event = parse_untrusted_json(line, place),
             number = event.is_object() ? event.value("look", json()) : json();
  if (!number.is_number_unsigned() || number.get<std::uint64_t>() == 0 || number.get<std::uint64_t>() > most)
    throw PrivacyError(fmt::format("{}: does not say of which look it is", place));
  return number.get<std::uint64_t>();
}

LooksLedger::LooksLedger(std::string path) : path_(std::move(path)) {
  if (!fs::exists(path_)) return;
  refuse_empty(path_);
  file_.emplace(Ledger::open(path_));
  header_ = LooksHeader::read(file_->lines().front(), path_ + ":1");
}

void LooksLedger::begin(const LooksHeader& header) {
  verify(!file_, "a ledger begins once");
  try {
    file_.emplace(Ledger::create(path_, {header.adjacency, {}, header.seeded, header.unit}, header.members()));
  } catch (const std::exception&) {
    if (!fs::exists(path_)) throw;
    throw DataError(fmt::format("{}: another look has begun this ledger a moment ago: look again", path_));
  }
  header_ = header;
}

std::uint64_t LooksLedger::next_look() const {
  if (!file_ || file_->lines().size() == 1) return 1;
  return look_of_line(file_->lines().back(), fmt::format("{}:{}", path_, file_->lines().size())) + 1;
}

std::vector<Event> LooksLedger::events() const { return file_ ? file_->events() : std::vector<Event>(); }

}  // namespace dpmpi
