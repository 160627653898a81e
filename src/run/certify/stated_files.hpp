#pragma once
// The files of a run directory as somebody may have left them, read by who does not believe them.

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace dpmpi {

/// Thrown at the first thing that is wrong.
struct Failure {
  std::string place, problem;
};

/// A JSON object; `place` begins the message. All JSON that verify looks at is read by this.
nlohmann::json parsed(const std::string& text, const std::string& place);

/// A JSON file.
struct Document {
  std::string text;
  nlohmann::json value;
};
Document read_document(const std::string& run, const std::string& file);

/// A file of JSON lines.
std::vector<std::string> lines_of(const std::string& text);

/// A ledger with a chain that holds.
struct LedgerText {
  std::string file, head;
  std::vector<std::string> lines;

  std::string place(std::size_t number) const;  ///< of a line, which are numbered from 0: "ledger.jsonl:1"
  nlohmann::json line(std::size_t number) const { return parsed(lines[number], place(number)); }
  nlohmann::json header() const { return line(0); }
};
/// Of a run that goes on, the lines that are there by now.
LedgerText read_ledger_text(const std::string& run, const std::string& file);

/// Throws Failure unless the value has the expected members, none more and none less (first_difference).
void same(const std::string& place, const nlohmann::json& stated, const nlohmann::json& expected,
          const std::string& source);
/// Throws Failure unless JSON was written as the program writes it, with this indent (-1: on one line). Readers
/// disagree about members that are there twice.
void refuse_other_writing(const std::string& place, std::string_view text, int indent);
/// The same of a whole document, which ends with a newline.
void refuse_other_writing(const std::string& place, const Document& document);
/// The same of a ledger's header and events: what the ledger's writer makes of their values are their bytes.
void refuse_other_writing(const LedgerText& ledger);

}  // namespace dpmpi
