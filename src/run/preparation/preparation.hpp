#pragma once
// The scale of a table's columns where nobody knows it, the balance of its classes and its rare words (data.prepare
// = private): noisy counts of the training records, released before the first step and composed with it in one
// promise, and the columns file that follows from them. docs/theory/preparation.md has the proof.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/files/archive.hpp"
#include "data/columns/added_attributes.hpp"
#include "data/columns/columns_file.hpp"
#include "privacy/curator/curator.hpp"
#include "privacy/curator/query.hpp"
#include "run/preparation/size_cells.hpp"
#include "run/preparation/word_cells.hpp"

namespace dpmpi {

/// Which numbers are released, each in step 0. By their names in ledgers:
///
///   col_octaves  records by column and octave of their number, missing ones apart
///   col_zoom     records by column and even cell of the octaves that hold any
///   col_values   the same once more, of the part of these that holds them
///   col_words    by class, and by word of each category whose rare words are asked for
///
/// A record is in one cell of each column, so a release moves by sqrt(columns) at most, in the Euclidean norm.
struct PreparationPlan {
  static constexpr std::size_t of_numbers = 3;  ///< releases
  static constexpr double coarser = 2;          ///< the noise of col_words, whose counts need not be as good
  static constexpr const char* results = "preparation.json";

  std::size_t columns = 0;      ///< whose scale is asked for; 0: nothing is prepared
  WordCells words;              ///< of col_words; no groups: there is no such release
  double noise_multiplier = 0;  ///< of each release but col_words
  std::uint64_t steps = 0;      ///< of the run

  /// `share` of the budget of a run whose Gaussian promise is `rho` (PublicFacts::rho): of its square.
  static PreparationPlan of(const ColumnsFile& file, WordCells words, double share, double rho,
                            std::uint64_t steps);
  bool empty() const { return columns == 0; }
  std::size_t releases() const { return empty() ? 0 : of_numbers + (words.groups() > 0 ? 1 : 0); }
  /// Their noise does not depend on the plan's multiplier, but that 0 is no noise.
  std::vector<QuerySpec> queries(double noise_multiplier) const;
};

/// The file as the table is read before anything is known: every number as it stands, those beyond 1e30 as that,
/// and a missing one as missing_number. Local.
ColumnsFile as_they_stand(const ColumnsFile& file);

/// Numbers of the features that hold the columns without scale, and, if `words` are counted, behind them of the
/// first features of categories_without_rare. `names`: DatasetFacts::feature_names. Throws ConfigError if a name is
/// that of two features, or of none.
std::vector<std::uint64_t> places_of_columns(const ColumnsFile& file, bool words, const std::string& names);

class Preparation {
 public:
  /// Of the columns of `file` without scale, which must outlive it, and of the words of the plan; `queries`: those
  /// of the plan, as they were declared.
  Preparation(const ColumnsFile& file, WordCells words, std::span<const Query> queries);

  /// Counts the records behind the curator, which were read as_they_stand. `queries`: those of the plan.
  /// Collective.
  void release(Curator& curator, std::span<const Query> queries, const std::vector<std::uint64_t>& places);
  bool released() const { return !counts_[PreparationPlan::of_numbers - 1].empty(); }

  /// The columns file by which records are read from then on, and the same as a file.
  std::string columns_text() const;
  ColumnsFile columns() const { return {columns_text(), file_.path + " (prepared)"}; }
  /// preparation.json.
  nlohmann::ordered_json json() const;
  /// Names of the columns of which no count stands out of its noise, so that their scale is a guess. A function of
  /// the counts, as all is.
  std::vector<std::string> guessed() const;
  double noise_std() const { return noise_std_; }
  /// Noisy counts of the classes, and their deviation; empty: labels are quantities.
  std::span<const double> class_counts() const;
  double words_noise_std() const { return words_noise_std_; }
  const WordCells& words() const { return words_; }
  /// The counts of such a file. Throws DataError if it has not those of these columns.
  void read(const nlohmann::json& file);
  void archive(Archive& archive);

 private:
  std::span<const double> of_column(std::size_t release, std::size_t column) const;
  bool is_guess(std::size_t column) const;
  Bounds first(std::size_t column) const;
  Bounds last(std::size_t column) const;
  Scale scale(std::size_t column) const;
  void release_words(Curator& curator, const Query& query, std::span<const std::uint64_t> places);
  std::span<const double> of_category(std::size_t category) const;
  std::vector<std::string> rare_of(std::size_t category) const;
  std::vector<AddedAttributes> found_scales() const;
  void add_words(nlohmann::ordered_json& out) const;
  void read_words(const nlohmann::json& file);

  const ColumnsFile& file_;
  std::vector<std::size_t> asked_;  // positions in the file
  WordCells words_;
  double noise_std_, words_noise_std_ = 0;
  std::array<std::vector<double>, PreparationPlan::of_numbers> counts_;  // by column and cell
  std::vector<double> word_counts_;                                      // by class, then by category and cell
};

}  // namespace dpmpi
