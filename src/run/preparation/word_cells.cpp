#include "run/preparation/word_cells.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "data/columns/added_attributes.hpp"

namespace dpmpi {

ClassCells ClassCells::of(const ColumnsFile& file, LabelKind kind, std::size_t classes) {
  if (kind == LabelKind::sign) return {true, {"-1", "+1"}};
  if (kind != LabelKind::class_) return {};
  if (const ColumnRule* const label = file.label(); label != nullptr && label->words.size() == classes)
    return {false, label->words};
  ClassCells cells;
  for (std::size_t k = 0; k < classes; ++k) cells.names.push_back(fmt::format("{}", k));
  return cells;
}

WordCells WordCells::of(const ColumnsFile& file, ClassCells classes, double rare) {
  WordCells cells{std::move(classes), {}, rare};
  if (!(rare > 0)) return cells;
  for (const std::size_t c : categories_without_rare(file)) {
    const ColumnRule& rule = file.columns[c];
    CategoryCells category{c, rule.words};
    if (rule.other) category.names.emplace_back("(another word)");
    if (rule.indicator) category.names.emplace_back("(missing)");
    cells.categories.push_back(std::move(category));
  }
  return cells;
}

std::size_t WordCells::count() const {
  std::size_t all = classes.names.size();
  for (const CategoryCells& category : categories) all += category.names.size();
  return all;
}

std::vector<double> shares_of(std::span<const double> counts, double noise_std) {
  constexpr double half = 0.5;  // of a record
  const double sum = std::accumulate(counts.begin(), counts.end(), 0.0);
  if (sum <= std::max(half, 5 * noise_std * std::sqrt(static_cast<double>(counts.size())))) return {};
  std::vector<double> shares;
  for (const double count : counts) shares.push_back(std::max(count, 0.0));
  const double all = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) share /= all;
  return shares;
}

std::vector<std::string> rare_words(const ColumnRule& category, std::span<const double> counts, double noise_std,
                                    double least) {
  const std::vector<double> shares = shares_of(counts, noise_std);
  std::vector<std::string> rare;
  for (std::size_t w = 0; w < category.words.size() && !shares.empty(); ++w)
    if (shares[w] < least) rare.push_back(category.words[w]);
  return rare;
}

}  // namespace dpmpi
