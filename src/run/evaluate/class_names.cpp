#include "run/evaluate/class_names.hpp"

#include <set>

#include <fmt/format.h>

#include "data/records/options.hpp"

namespace dpmpi {

std::vector<std::string> class_names(const Objective& objective, const std::vector<std::string>& label_map) {
  if (objective.label_kind() != LabelKind::class_) return {};
  std::vector<std::string> numbers;
  for (std::size_t k = 0; k < objective.classes(); ++k) numbers.push_back(fmt::format("{}", k));
  std::vector<std::size_t> words(numbers.size());
  std::vector<std::string> names = numbers;
  for (const std::string& entry : label_map) {
    const auto [word, number] = split_entry(entry, "data.label_map");
    const double k = option_number(number, "data.label_map");
    if (!(k >= 0 && k < static_cast<double>(names.size()))) continue;
    const auto c = static_cast<std::size_t>(k);
    names[c] = ++words[c] == 1 ? word : numbers[c];
  }
  const std::set<std::string> different(names.begin(), names.end());
  return different.size() < names.size() ? numbers : names;
}

}  // namespace dpmpi
