#include "run/config/candidates.hpp"

#include <algorithm>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "run/config/hints.hpp"
#include "run/config/sections.hpp"

namespace dpmpi {
namespace {

constexpr std::size_t most_candidates = 1000;

/// "method.rate" and the values that are listed for it.
struct Listed {
  std::string key;
  std::vector<std::string> values;
};

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) parts.push_back(part);
  if (text.empty() || text.back() == separator) parts.emplace_back();
  return parts;
}

/// The method with other settings, read and checked by itself.
std::shared_ptr<const MethodSettings> read_method(const MethodEntry& entry, const Settings& settings,
                                                  std::vector<std::string>& problems) {
  Options section("method");
  std::string name;
  declare_method(section, name);
  std::unique_ptr<MethodSettings> method = entry.make();
  method->declare(section);
  section.read(settings, problems);
  method->validate(problems);
  return method;
}

std::string problem_of(const Listed& listed, const std::vector<Listed>& before, const MethodEntry& entry) {
  Options section("method");
  entry.make()->declare(section);
  std::vector<std::string> known;
  for (const auto& declaration : section.declarations()) known.push_back(declaration.name);
  if (std::ranges::find(known, listed.key) == known.end())
    return fmt::format("{} is not an option of {} ({})", listed.key, entry.name,
                       hint_for(listed.key, known, entry.name, ""));
  if (std::ranges::find(before, listed.key, &Listed::key) != before.end())
    return fmt::format("{} is there twice", listed.key);
  for (auto value = listed.values.begin(); value != listed.values.end(); ++value) {
    if (value->empty()) return fmt::format("{}: a value is empty", listed.key);
    if (std::find(listed.values.begin(), value, *value) != value)
      return fmt::format("{}: {} is there twice", listed.key, *value);
  }
  return {};
}

/// Empty if there are problems.
std::vector<Listed> parse(const std::string& search, const MethodEntry& entry, std::vector<std::string>& problems) {
  std::vector<Listed> all;
  std::istringstream entries(search);
  std::size_t combinations = 1;
  for (std::string text; entries >> text;) {
    const auto equals = text.find('=');
    std::string problem = fmt::format("{}: entries are written method.key=value,value,...", text);
    if (equals != text.npos) {
      Listed listed{text.substr(0, equals), split(text.substr(equals + 1), ',')};
      problem = problem_of(listed, all, entry);
      combinations *= listed.values.size();
      if (combinations > most_candidates) problem = fmt::format("more than {} combinations", most_candidates);
      all.push_back(std::move(listed));
    }
    if (problem.empty()) continue;
    problems.push_back("tune.search: " + problem);
    return {};
  }
  return all;
}

}  // namespace

std::vector<TuningCandidate> candidates(const std::string& search, const MethodEntry& method,
                                        const Settings& settings, std::vector<std::string>& problems) {
  std::vector<TuningCandidate> all{{}};
  for (const Listed& listed : parse(search, method, problems)) {
    std::vector<TuningCandidate> longer;
    for (const TuningCandidate& candidate : all)
      for (const std::string& value : listed.values) {
        longer.push_back(candidate);
        longer.back().settings.push_back(fmt::format("{}={}", listed.key, value));
      }
    all = std::move(longer);
  }
  for (TuningCandidate& candidate : all) {
    Settings own = settings;
    for (const std::string& setting : candidate.settings) apply_override(own, setting);
    std::vector<std::string> wrong;
    candidate.method = read_method(method, own, wrong);
    std::erase_if(wrong, [&](const std::string& problem) {  // an option that is not searched for: said before
      return std::ranges::find(problems, problem) != problems.end();
    });
    for (const std::string& problem : wrong)
      problems.push_back(fmt::format("tune.search with {}: {}", fmt::join(candidate.settings, " "), problem));
    if (!wrong.empty()) break;
  }
  return all;
}

}  // namespace dpmpi
