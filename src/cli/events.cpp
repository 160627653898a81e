#include "cli/events.hpp"

#include <cmath>
#include <iostream>

#include <fmt/format.h>
#include <fmt/ranges.h>

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

Adjacency adjacency_of(const std::optional<EventHeader>& header, const std::optional<Adjacency>& asked,
                       const std::string& path) {
  if (!header) return asked.value_or(Adjacency::add_remove);
  if (asked && *asked != header->adjacency)
    throw PrivacyError(fmt::format("{} is a ledger under {}; its noise multipliers mean something else under {}",
                                   shown_path(path), name(header->adjacency), name(*asked)));
  return header->adjacency;
}

std::string json_value(double x) { return std::isfinite(x) ? fmt::format("{}", x) : "\"infinity\""; }

std::string json_members(const std::vector<std::pair<std::string, double>>& values) {
  std::vector<std::string> members;
  for (const auto& [key, value] : values) members.push_back(fmt::format("\"{}\": {}", key, json_value(value)));
  return fmt::format("{{{}}}", fmt::join(members, ", "));
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
