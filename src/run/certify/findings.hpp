#pragma once
// What verify has found in a run directory so far.

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "run/certify/stated_files.hpp"
#include "run/certify/verify.hpp"
#include "run/plan/evaluation_plan.hpp"

namespace dpmpi {

struct VerifiedItems {
  using State = VerifiedItem::State;

  std::string run;    ///< the directory
  std::string place;  ///< what is looked at now: an error that names nothing is there
  std::vector<VerifiedItem> items;

  explicit VerifiedItems(std::string directory) : run(std::move(directory)) {}

  std::string path(const std::string& file) const { return run + "/" + file; }
  bool exists(const std::string& file) const { return std::filesystem::exists(path(file)); }
  bool finished() const { return exists("certificate.json"); }

  void add(State state, const std::string& where, const std::string& detail) {
    items.push_back({state, where, detail});
  }
  void good(const std::string& where, const std::string& detail) { add(State::good, where, detail); }
  void absent(const std::string& where, const std::string& detail) { add(State::absent, where, detail); }
  void unchecked(const std::string& where, const std::string& members, const std::string& why) {
    add(State::unchecked, where, members + ": " + why);
  }

  /// A member that is taken as stated, if it is there: a name or a digest. Throws Failure if it is another thing.
  nlohmann::json stated_text(const nlohmann::json& stated, const std::string& name) const {
    nlohmann::json value = stated.value(name, nlohmann::json());
    if (!value.is_null() && !(value.is_string() && value.get_ref<const std::string&>().size() <= 200))
      throw Failure{place, fmt::format("{} is no text of at most 200 bytes", name)};
    return value;
  }
};

/// Of results whose metrics and intervals follow from the counts by other rules than today's.
inline constexpr const char* of_earlier_rules = "by the rules of an earlier version, which are not known here";

/// The rules by which an evaluation's results were made (EarlierRules); today's, if it says a number that is none.
inline int rules_of(const nlohmann::json& results) {
  if (!results.contains("rules")) return EarlierRules::first;
  return results["rules"] == EarlierRules::of_other_bins ? EarlierRules::of_other_bins : EarlierRules::today;
}

/// A member that only the run itself can say: it has to be there.
inline void take(nlohmann::json& expected, const nlohmann::json& stated, const std::string& name) {
  expected[name] = stated.value(name, nlohmann::json());
}

}  // namespace dpmpi
