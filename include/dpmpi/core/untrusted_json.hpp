#pragma once
// JSON from files that may come from anybody.

#include <string>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "dpmpi/core/errors.hpp"
#include "dpmpi/core/file_reader.hpp"

namespace dpmpi {

/// Deeper than anything that dpmpi writes, and than what recursion over a value may take of the stack.
inline constexpr int deepest_json = 16;

/// Throws DataError that names `place` and the byte unless `text` is one JSON value (in UTF-8, with finite
/// numbers), nested at most deepest_json deep and no longer than a document can be. The text itself is not quoted.
template <class Json = nlohmann::json>
Json parse_untrusted_json(std::string_view text, const std::string& place) {
  if (text.size() > file_limit::document)
    throw DataError(
        fmt::format("{}: {} bytes of JSON; at most {} are allowed", place, text.size(), file_limit::document));
  const auto not_deep = [&](int depth, typename Json::parse_event_t, Json&) {
    if (depth > deepest_json) throw DataError(fmt::format("{}: nested more than {} deep", place, deepest_json));
    return true;
  };
  try {
    return Json::parse(text, not_deep);
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
