#include "run/warnings/class_balance.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "data/records/text.hpp"

namespace dpmpi {

std::vector<Measure> balance_measures(const Preparation& preparation) {
  // The largest of many noisy counts lies above the count of the largest class, so it has to stand out.
  constexpr double deviations = 5;
  const auto counts = preparation.class_counts();
  if (counts.empty() || *std::ranges::max_element(counts) <= deviations * preparation.words_noise_std()) return {};
  const std::vector<double> shares = shares_of(counts, preparation.words_noise_std());
  if (shares.empty()) return {};
  return {{"constant.prepared_accuracy", three_digits(*std::ranges::max_element(shares))}};
}

std::optional<Warning> scarce_classes(const Preparation& preparation) {
  constexpr double deviations = 3;
  constexpr std::size_t shown = 5;
  const auto counts = preparation.class_counts();
  const std::vector<std::string>& names = preparation.words().classes.names;
  std::vector<std::string> scarce;
  std::string list;
  for (std::size_t k = 0; k < counts.size(); ++k) {
    if (counts[k] > deviations * preparation.words_noise_std()) continue;
    scarce.push_back(names[k]);
    if (scarce.size() <= shown) list += fmt::format("{}{}", scarce.size() > 1 ? ", " : "", show(names[k]));
  }
  if (scarce.empty()) return std::nullopt;
  if (scarce.size() > shown) list += fmt::format(" and {} more", scarce.size() - shown);
  return Warning{
      "balance",
      fmt::format(
          "data.prepare counted hardly any records of {} class{} ({}): no more than their noise, of deviation {}, may "
          "make up. A private model may never predict {}. Look at more than accuracy; take a larger epsilon or more "
          "records, or leave {} out",
          scarce.size(), scarce.size() == 1 ? "" : "es", list, three_digits_text(preparation.words_noise_std()),
          scarce.size() == 1 ? "it" : "them", scarce.size() == 1 ? "it" : "them"),
      {{"scarce", scarce}, {"noise_std", preparation.words_noise_std()}}};
}

}  // namespace dpmpi
