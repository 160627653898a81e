#include "dpmpi/cli/events.hpp"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dpmpi/core/errors.hpp"

namespace dpmpi {

std::string read_text(const std::string& path) {
  std::ifstream file;
  if (path != "-") {
    std::error_code unseen;  // opening says why
    if (std::filesystem::is_directory(path, unseen))
      throw DataError(fmt::format("{}: is a folder, not a file", path));
    file.open(path, std::ios::binary);
  }
  std::istream& in = path == "-" ? std::cin : file;
  if (!in) throw DataError(fmt::format("{}: cannot read: {}", shown_path(path), std::strerror(errno)));
  std::ostringstream text;
  text << in.rdbuf();
  if (in.bad()) throw DataError(fmt::format("{}: cannot read", shown_path(path)));
  return std::move(text).str();
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
