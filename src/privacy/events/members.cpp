#include "privacy/events/members.hpp"

#include <array>
#include <cmath>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/files/untrusted_json.hpp"

namespace dpmpi {
namespace {

using Json = nlohmann::json;

// A matrix of most_explicit_leaves rows that are padded with zeros, and more.
constexpr std::size_t longest_line = 64 * file_limit::mebibyte;

}  // namespace

void refuse(std::string_view where, std::string_view member, std::string_view value, std::string_view allowed) {
  throw PrivacyError(fmt::format("{}: {} is {}, allowed: {}", where, member, value, allowed));
}

Members::Members(std::string_view line, std::string_view where) : where_(where) {
  std::array<std::set<std::string>, deepest_json + 2> seen;  // of the object that is open at each depth
  ShapeLimits limits{std::string(where)};
  const Json::parser_callback_t no_member_twice = [&](int depth, Json::parse_event_t event, Json& parsed) {
    limits.see(depth, event);
    const auto level = static_cast<std::size_t>(depth);
    if (event == Json::parse_event_t::object_start) seen[level + 1].clear();
    if (event == Json::parse_event_t::key && !seen[level].insert(parsed.get<std::string>()).second)
      throw PrivacyError(fmt::format("{}: member {} is given twice", where, shown(parsed)));
    return true;
  };
  if (line.size() > longest_line)
    throw PrivacyError(
        fmt::format("{}: a line of {} bytes; at most {} are allowed", where, line.size(), longest_line));
  try {
    object_ = Json::parse(line, no_member_twice);
  } catch (const DataError& e) {
    throw PrivacyError(e.what());
  } catch (const Json::parse_error& e) {  // whose own message quotes the file
    throw PrivacyError(fmt::format("{}: not a JSON object (at byte {})", where, e.byte));
  } catch (const Json::exception&) {
    throw PrivacyError(fmt::format("{}: not a JSON object with finite numbers", where));
  }
  check_object();
}

Members::Members(Json object, std::string_view where) : where_(where), object_(std::move(object)) {
  check_object();
}

void Members::check_object() const {
  if (!object_.is_object()) throw PrivacyError(fmt::format("{}: not a JSON object: {}", where_, shown(object_)));
}

void Members::close_open(const std::function<void(const std::string&)>& open) {
  for (auto& [member, value] : object_.items())
    if (value == "?") open(member), value = 1;
}

std::string Members::shown(const Json& value) { return shown_json(value); }

double Members::number(const char* member, std::string_view allowed) const {
  const Json& value = at(member, allowed);
  if (!value.is_number()) refuse(where_, member, shown(value), allowed);
  return value.get<double>();
}

std::uint64_t Members::whole(const char* member, std::string_view allowed, double least) const {
  const Json& value = at(member, allowed);
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > largest_whole)  // a double may round it down
    refuse(where_, member, shown(value), allowed);
  const double x = value.is_number() ? value.get<double>() : -1;
  if (!(x >= least && x <= static_cast<double>(largest_whole) && x == std::floor(x)))
    refuse(where_, member, shown(value), allowed);
  return static_cast<std::uint64_t>(x);
}

bool Members::flag(const char* member) const {
  const Json& value = at(member, "true or false");
  if (!value.is_boolean()) refuse(where_, member, shown(value), "true or false");
  return value.get<bool>();
}

const Json& Members::array(const char* member, std::string_view allowed) const {
  const Json& value = at(member, allowed);
  if (!value.is_array()) refuse(where_, member, shown(value), allowed);
  return value;
}

std::string Members::text(const char* member, std::string_view allowed) const {
  const Json& value = at(member, allowed);
  if (!value.is_string()) refuse(where_, member, shown(value), allowed);
  return value.get<std::string>();
}

const Json& Members::at(const char* member, std::string_view allowed) const {
  const auto found = object_.find(member);
  if (found == object_.end()) refuse(where_, member, "missing", allowed);
  return *found;
}

}  // namespace dpmpi
