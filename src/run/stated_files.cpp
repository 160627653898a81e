#include "stated_files.hpp"

#include <sstream>

#include <fmt/format.h>

#include "dpmpi/core/digest.hpp"
#include "dpmpi/core/untrusted_json.hpp"
#include "dpmpi/privacy/ledger.hpp"
#include "json_difference.hpp"

namespace dpmpi {
using nlohmann::json;

json parsed(const std::string& text, const std::string& place) {
  json value = parse_untrusted_json(text, place);
  if (!value.is_object()) throw Wrong{place, "is no JSON object"};
  return value;
}

Document read_document(const std::string& run, const std::string& file) {
  Document document{read_file(run + "/" + file, file_limit::document), {}};
  document.value = parsed(document.text, file);
  return document;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> all;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) all.push_back(line);
  return all;
}

std::string Book::place(std::size_t number) const { return fmt::format("{}:{}", file, number + 1); }

Book read_book(const std::string& run, const std::string& file) {
  const std::string path = run + "/" + file;
  const LedgerCheck check = verify_ledger(path);
  if (check.bad_line > 0) throw Wrong{fmt::format("{}:{}", file, check.bad_line), check.problem};
  Book book{file, check.head, lines_of(read_file(path, file_limit::lines))};
  book.lines.resize(check.lines);  // there may be more since
  if (sha256(book.lines.back()) != check.head) throw Wrong{file, "was changed while it was read"};
  return book;
}

void same(const std::string& place, const json& stated, const json& expected, const std::string& source) {
  if (const auto difference = first_difference(stated, expected, source))
    throw Wrong{difference->member.empty() ? place : fmt::format("{}: {}", place, difference->member),
                difference->problem};
}

void refuse_other_writing(const std::string& place, std::string_view text, int indent) {
  if (nlohmann::ordered_json::parse(text).dump(indent) != text)
    throw Wrong{place, "is not written as dpmpi writes it: a member is there twice, or it was formatted anew"};
}

}  // namespace dpmpi
