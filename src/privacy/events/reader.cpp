#include "privacy/events/reader.hpp"

#include <algorithm>

#include "core/files/digest.hpp"

namespace dpmpi {
namespace {

constexpr std::size_t most_patterns = 64;  // queries of a plan, and then some

// A whole number as JSON has it, not too long to be exact.
bool is_whole_number(std::string_view text) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return !text.empty() && text.size() <= 15 && (text.size() == 1 || text.front() != '0') &&
         std::all_of(text.begin(), text.end(), is_digit);
}

// Of a line `A,"steps":[first,last]B,"prev":"<64 hex digits>"}`, the way this program writes them, what is left
// without the two numbers and the link; their text. Quotation marks end strings, so that the two members are
// members in every line with the same rest, or in none.
struct Parts {
  std::string_view before, between, prev;
};
std::optional<Parts> parts_of(std::string_view line) {
  constexpr std::string_view steps = ",\"steps\":[", link = ",\"prev\":\"", end = "\"}";
  constexpr std::size_t tail = link.size() + sha256_digits + end.size();
  if (line.size() < tail || !line.ends_with(end)) return {};
  const std::size_t at = line.size() - tail;
  const std::string_view prev = line.substr(at + link.size(), sha256_digits);
  const auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  if (line.substr(at, link.size()) != link || !std::all_of(prev.begin(), prev.end(), is_hex)) return {};

  const std::size_t open = line.find(steps);
  if (open >= at) return {};
  const std::size_t first = open + steps.size(), close = line.find(']', first), comma = line.find(',', first);
  if (close >= at || comma >= close) return {};
  if (!is_whole_number(line.substr(first, comma - first)) ||
      !is_whole_number(line.substr(comma + 1, close - comma - 1)))
    return {};
  return Parts{line.substr(0, first), line.substr(close, at - close), prev};
}

}  // namespace

EventLine EventReader::read(std::string_view line, std::string_view where) {
  const auto parts = parts_of(line);
  if (!parts) return parse_event_line(line, where);
  pattern_.assign(parts->before).append(parts->between);
  if (const auto found = known_.find(pattern_); found != known_.end())
    return {found->second, std::string(parts->prev)};
  EventLine parsed = parse_event_line(line, where);
  if (const auto* event = std::get_if<Event>(&parsed.content); event && known_.size() < most_patterns)
    known_.emplace(pattern_, *event);
  return parsed;
}

}  // namespace dpmpi
