#pragma once
// The JSON object of one line of a ledger, member by member. Private to the events.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace dpmpi {

/// Whole numbers above 2^53 do not survive programs that read JSON numbers as doubles.
inline constexpr std::uint64_t largest_whole = 1ULL << 53;

/// Throws the PrivacyError "WHERE: MEMBER is VALUE, allowed: ALLOWED".
[[noreturn]] void refuse(std::string_view where, std::string_view member, std::string_view value,
                         std::string_view allowed);

/// Members are read with errors that name the line, the member, its value and what is allowed.
class Members {
 public:
  /// Throws PrivacyError unless the line is one object whose members are given once. `where` must stay valid.
  Members(std::string_view line, std::string_view where);
  /// Of an object inside of a line.
  Members(nlohmann::json object, std::string_view where);

  bool has(const char* member) const { return object_.contains(member); }

  /// Members whose value is "?" become 1, after a call of `open`.
  void close_open(const std::function<void(const std::string&)>& open);

  /// How a message shows a value: escaped, and not at any length.
  static std::string shown(const nlohmann::json& value);

  double number(const char* member, std::string_view allowed) const;
  /// From `least` to 2^53.
  std::uint64_t whole(const char* member, std::string_view allowed, double least = 1) const;
  bool flag(const char* member) const;
  const nlohmann::json& array(const char* member, std::string_view allowed) const;
  std::string text(const char* member, std::string_view allowed) const;

 private:
  void check_object() const;
  const nlohmann::json& at(const char* member, std::string_view allowed) const;

  std::string_view where_;
  nlohmann::json object_;
};

}  // namespace dpmpi
