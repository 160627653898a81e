#include "run/certify/stated_files.hpp"

#include <sstream>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/files/digest.hpp"
#include "core/files/run_file.hpp"
#include "core/files/untrusted_json.hpp"
#include "privacy/events/ledger.hpp"
#include "run/certify/json_difference.hpp"

namespace dpmpi {
using nlohmann::json;

json parsed(const std::string& text, const std::string& place) {
  json value = parse_untrusted_json(text, place);
  if (!value.is_object()) throw Failure{place, "is no JSON object"};
  return value;
}

Document read_document(const std::string& run, const std::string& file) {
  Document document{read_run_file(run + "/" + file, file_limit::document), {}};
  document.value = parsed(document.text, file);
  return document;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> all;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) all.push_back(line);
  return all;
}

std::string LedgerText::place(std::size_t number) const { return fmt::format("{}:{}", file, number + 1); }

LedgerText read_ledger_text(const std::string& run, const std::string& file) {
  const std::string path = run + "/" + file;
  const LedgerCheck check = verify_ledger(path);
  if (check.bad_line > 0) throw Failure{fmt::format("{}:{}", file, check.bad_line), check.problem};
  LedgerText ledger{file, check.head, lines_of(read_run_file(path, file_limit::lines))};
  ledger.lines.resize(check.lines);  // there may be more since
  if (sha256(ledger.lines.back()) != check.head) throw Failure{file, "was changed while it was read"};
  return ledger;
}

void same(const std::string& place, const json& stated, const json& expected, const std::string& source) {
  if (const auto difference = first_difference(stated, expected, source))
    throw Failure{difference->member.empty() ? place : fmt::format("{}: {}", place, difference->member),
                  difference->problem};
}

namespace {

[[noreturn]] void refuse_as_formatted_anew(const std::string& place) {
  throw Failure{place, "is not written as dpmpi writes it: a member is there twice, or it was formatted anew"};
}

// Numbers in the shortest form that reads back, as in ledgers. (The JSON library's is not always the shortest.)
std::string written(const nlohmann::ordered_json& value) {
  if (value.is_number_float()) return fmt::format("{}", value.get<double>());
  if (!value.is_array()) return value.dump();
  std::vector<std::string> elements;
  for (const auto& element : value) elements.push_back(written(element));
  return fmt::format("[{}]", fmt::join(elements, ","));
}

// The line of an event again, from the values that stand in it: first the event's members, then all others.
std::string written_again(const std::string& line, const std::string& place) {
  const Event event = std::get<Event>(parse_event_line(line, place).content);
  const auto members = nlohmann::ordered_json::parse(line),
             of_event = nlohmann::ordered_json::parse(to_json(event));
  std::string others;
  for (const auto& [name, value] : members.items())
    if (!of_event.contains(name))
      others += fmt::format("{}{}:{}", others.empty() ? "" : ",", json(name).dump(), written(value));
  return to_json(event, others);
}

}  // namespace

void refuse_other_writing(const std::string& place, std::string_view text, int indent) {
  if (nlohmann::ordered_json::parse(text).dump(indent) != text) refuse_as_formatted_anew(place);
}

void refuse_other_writing(const std::string& place, const Document& document) {
  std::string_view text = document.text;
  if (!text.ends_with('\n')) throw Failure{place, "does not end with a newline, as dpmpi writes it"};
  text.remove_suffix(1);
  refuse_other_writing(place, text, 2);
}

void refuse_other_writing(const LedgerText& ledger) {
  refuse_other_writing(ledger.place(0), ledger.lines[0], -1);
  for (std::size_t i = 1; i < ledger.lines.size(); ++i)
    if (written_again(ledger.lines[i], ledger.place(i)) != ledger.lines[i])
      refuse_as_formatted_anew(ledger.place(i));
}

}  // namespace dpmpi
