#pragma once
// How many records are of each class, and have each word of a category: which cells are counted, and what follows
// from the noisy counts.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "data/columns/columns_file.hpp"
#include "data/records/records.hpp"

namespace dpmpi {

/// What labels are where they are classes.
struct ClassCells {
  bool signs = false;              ///< -1 and +1; or 0, 1, ...
  std::vector<std::string> names;  ///< none: labels are quantities, and are not counted
  static ClassCells of(const ColumnsFile& file, LabelKind kind, std::size_t classes);
  std::size_t cell(float label) const {
    return signs ? static_cast<std::size_t>(label > 0) : static_cast<std::size_t>(label);
  }
};

/// Those of a category: its words, then other words and missing values, as it has features for them.
struct CategoryCells {
  std::size_t column = 0;  ///< position in ColumnsFile::columns
  std::vector<std::string> names;
};

/// A record is in one cell of the classes and in one of each category, or in none of them.
struct WordCells {
  ClassCells classes;
  std::vector<CategoryCells> categories;
  double rare = 0;  ///< words of categories with a smaller share are rare; 0: categories are not counted

  static WordCells of(const ColumnsFile& file, ClassCells classes, double rare);
  /// Of how many cells a record is in one.
  std::size_t groups() const { return categories.size() + (classes.names.empty() ? 0 : 1); }
  std::size_t count() const;
};

/// Noisy counts as shares of their sum, none below 0. Empty where the sum does not stand out of its noise.
std::vector<double> shares_of(std::span<const double> counts, double noise_std);

/// The words of a category with a smaller share than `least`; `counts` has those of its words first. None where
/// their sum does not stand out of its noise.
std::vector<std::string> rare_words(const ColumnRule& category, std::span<const double> counts, double noise_std,
                                    double least);

}  // namespace dpmpi
