#pragma once
// JSON from files that may come from anybody.

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "core/files/file_reader.hpp"
#include "core/files/run_file.hpp"

namespace dpmpi {

/// Deeper than anything that dpmpi writes, and than what recursion over a value may take of the stack.
inline constexpr int deepest_json = 16;

/// More than any object has that dpmpi writes. Libraries compare a member with all before it.
inline constexpr std::size_t most_members = 1000;

/// Follows a parser of the JSON library, and throws DataError that names `place` where values are nested more than
/// deepest_json deep or an object has more than most_members members.
class ShapeLimits {
 public:
  explicit ShapeLimits(std::string place) : place_(std::move(place)) {}

  template <class Event>
  void see(int depth, Event event) {
    if (depth > deepest_json) throw DataError(fmt::format("{}: nested more than {} deep", place_, deepest_json));
    const auto level = static_cast<std::size_t>(depth);
    if (event == Event::object_start) members_[level + 1] = 0;
    if (event == Event::key && ++members_[level] > most_members)
      throw DataError(fmt::format("{}: an object with more than {} members", place_, most_members));
  }

 private:
  std::string place_;
  std::array<std::size_t, deepest_json + 2> members_{};  // so far, of the object that is open at each depth
};

/// Throws DataError that names `place` and the byte unless `text` is one JSON value (in UTF-8, with finite
/// numbers) within ShapeLimits and no longer than a document can be. The text itself is not quoted.
template <class Json = nlohmann::json>
Json parse_untrusted_json(std::string_view text, const std::string& place) {
  if (text.size() > file_limit::document)
    throw DataError(
        fmt::format("{}: {} bytes of JSON; at most {} are allowed", place, text.size(), file_limit::document));
  ShapeLimits limits(place);
  const auto within = [&](int depth, typename Json::parse_event_t event, Json&) {
    limits.see(depth, event);
    return true;
  };
  try {
    return Json::parse(text, within);
  } catch (const nlohmann::json::parse_error& e) {
    throw DataError(fmt::format("{}: is not JSON (at byte {})", place, e.byte));
  } catch (const nlohmann::json::exception&) {
    throw DataError(fmt::format("{}: holds a number that is not finite", place));
  }
}

/// The same of a whole file.
template <class Json = nlohmann::json>
Json read_untrusted_json(const std::string& path, const std::string& place) {
  return parse_untrusted_json<Json>(read_file(path, file_limit::document), place);
}
template <class Json = nlohmann::json>
Json read_untrusted_json(const std::string& path) {
  return read_untrusted_json<Json>(path, path);
}

/// Of a whole file of a run directory, through no link.
template <class Json = nlohmann::json>
Json read_run_json(const std::string& path) {
  return parse_untrusted_json<Json>(read_run_file(path, file_limit::document), path);
}

/// The text of a member of an object; empty if it has none.
inline std::string text_member(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

/// How a message shows a value: escaped, and not at any length.
template <class Json>
std::string shown_json(const Json& value) {
  const std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  return text.size() <= 60 ? text : text.substr(0, 60) + "...";
}

/// How a message shows a name that a directory or a file gives, in which anything may stand: as it is if that is
/// plain, else like any other text.
inline std::string shown_name(const std::string& name) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  const bool as_it_is = !name.empty() && name.size() <= 60 && name.find_first_not_of(plain) == name.npos;
  return as_it_is ? name : shown_json(nlohmann::json(name));
}

}  // namespace dpmpi
