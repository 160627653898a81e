#include "run/warnings/guessed_columns.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "data/records/text.hpp"

namespace dpmpi {

std::optional<Warning> guessed_columns(const Preparation& preparation) {
  constexpr std::size_t shown = 5;
  const std::vector<std::string> names = preparation.guessed();
  if (names.empty()) return std::nullopt;
  std::string list;
  for (std::size_t i = 0; i < std::min(shown, names.size()); ++i)
    list += fmt::format("{}{}", i > 0 ? ", " : "", show(names[i]));
  if (names.size() > shown) list += fmt::format(" and {} more", names.size() - shown);
  return Warning{
      "preparation",
      fmt::format(
          "the scale of {} column{} is a guess ({}): data.prepare counted no more records in any of its cells "
          "than their noise, of deviation {}, may make up. Take a larger privacy.prepare_share or "
          "privacy.epsilon, or write what is publicly known (range, mean, std) into the columns file",
          names.size(), names.size() == 1 ? "" : "s", list, three_digits_text(preparation.noise_std())),
      {{"guessed", names}, {"noise_std", preparation.noise_std()}}};
}

}  // namespace dpmpi
