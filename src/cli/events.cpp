#include "cli/events.hpp"

#include <iostream>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/files/file_reader.hpp"

namespace dpmpi {

std::string read_text(const std::string& path) {
  if (path != "-") return read_file(path, file_limit::lines);
  std::string text, piece(FileReader::piece_bytes, '\0');
  while (std::cin.read(piece.data(), static_cast<std::streamsize>(piece.size())) || std::cin.gcount() > 0) {
    text.append(piece, 0, static_cast<std::size_t>(std::cin.gcount()));
    if (text.size() > file_limit::lines)
      throw DataError(fmt::format("standard input: at most {} bytes are allowed", file_limit::lines));
  }
  if (std::cin.bad()) throw DataError("standard input: cannot read");
  return text;
}

std::string shown_path(const std::string& path) { return path == "-" ? "standard input" : path; }

void add_adjacency(Options& options, std::optional<Adjacency>& adjacency) {
  options.add_words(
      "adjacency", adjacency, "of a file without header",
      {{"", std::nullopt}, {"add_remove", Adjacency::add_remove}, {"replace_one", Adjacency::replace_one}});
}

Adjacency adjacency_of(const std::optional<EventHeader>& header, const std::optional<Adjacency>& asked,
                       const std::string& path) {
  if (!header) return asked.value_or(Adjacency::add_remove);
  if (asked && *asked != header->adjacency)
    throw PrivacyError(fmt::format("{} is a ledger under {}; its noise multipliers mean something else under {}",
                                   shown_path(path), name(header->adjacency), name(*asked)));
  return header->adjacency;
}

void put_answer(OrderedJson& out, const Guarantee& guarantee, Adjacency adjacency, double asked) {
  out["epsilon"] = json_number(guarantee.epsilon);
  out["delta"] = guarantee.delta;
  out["by"] = json_by(guarantee);
  out["adjacency"] = name(adjacency);
  out["interval"] = OrderedJson::array({json_number(guarantee.least), json_number(asked)});
}

std::string evidence(const Guarantee& guarantee) {
  std::string text;
  for (const auto& [name, bound] : guarantee.by) text += fmt::format("  {:<8} at most {}\n", name, bound);
  if (guarantee.least > 0) text += fmt::format("  {:<8} at least {}\n", "any", guarantee.least);
  for (const auto& [name, reason] : guarantee.refusals)
    text += fmt::format("  {:<8} does not apply: {}\n", name, reason);
  return text;
}

}  // namespace dpmpi
