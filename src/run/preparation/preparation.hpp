#pragma once
// The scale of a table's columns where nobody knows it (data.prepare = private): noisy counts of the training
// records, released before the first step and composed with it in one promise, and the columns file that follows
// from them. docs/theory/preparation.md has the proof.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/files/archive.hpp"
#include "data/columns/columns_file.hpp"
#include "privacy/curator/curator.hpp"
#include "privacy/curator/query.hpp"
#include "run/preparation/size_cells.hpp"

namespace dpmpi {

/// Which numbers are released, each in step 0. By their names in ledgers:
///
///   col_octaves  records by column and octave of their number, missing ones apart
///   col_zoom     records by column and even cell of the octaves that hold any
///   col_values   the same once more, of the part of these that holds them
///
/// A record is in one cell of each column, so a release moves by sqrt(columns) at most, in the Euclidean norm.
struct PreparationPlan {
  static constexpr std::size_t releases = 3;
  static constexpr const char* results = "preparation.json";

  std::size_t columns = 0;      ///< whose scale is asked for; 0: nothing is prepared
  double noise_multiplier = 0;  ///< of each release
  std::uint64_t steps = 0;      ///< of the run

  /// `share` of the budget of a run whose Gaussian promise is `rho` (PublicFacts::rho): of its square.
  static PreparationPlan of(const ColumnsFile& file, double share, double rho, std::uint64_t steps);
  bool empty() const { return columns == 0; }
  /// Their noise does not depend on the plan's multiplier, but that 0 is no noise.
  std::vector<QuerySpec> queries(double noise_multiplier) const;
};

/// The file as the table is read before anything is known: every number as it stands, those beyond 1e30 as that,
/// and a missing one as missing_number. Local.
ColumnsFile as_they_stand(const ColumnsFile& file);

/// Numbers of the features that hold the columns without scale. `names`: DatasetFacts::feature_names. Throws
/// ConfigError if a name is that of two features, or of none.
std::vector<std::uint64_t> places_of_columns(const ColumnsFile& file, const std::string& names);

class Preparation {
 public:
  /// Of the columns of `file` without scale, which must outlive it; `noise_std` of the counts.
  Preparation(const ColumnsFile& file, double noise_std);

  /// Counts the records behind the curator, which were read as_they_stand. `queries`: those of the plan.
  /// Collective.
  void release(Curator& curator, std::span<const Query> queries, const std::vector<std::uint64_t>& places);
  bool released() const { return !counts_.back().empty(); }

  /// The columns file by which records are read from then on, and the same as a file.
  std::string columns_text() const;
  ColumnsFile columns() const { return {columns_text(), file_.path + " (prepared)"}; }
  /// preparation.json.
  nlohmann::ordered_json json() const;
  /// Names of the columns of which no count stands out of its noise, so that their scale is a guess. A function of
  /// the counts, as all is.
  std::vector<std::string> guessed() const;
  double noise_std() const { return noise_std_; }
  /// The counts of such a file. Throws DataError if it has not those of these columns.
  void read(const nlohmann::json& file);
  void archive(Archive& archive);

 private:
  std::span<const double> of_column(std::size_t release, std::size_t column) const;
  bool is_guess(std::size_t column) const;
  Bounds first(std::size_t column) const;
  Bounds last(std::size_t column) const;
  Scale scale(std::size_t column) const;

  const ColumnsFile& file_;
  std::vector<std::size_t> asked_;  // positions in the file
  double noise_std_;
  std::array<std::vector<double>, PreparationPlan::releases> counts_;  // by column and cell
};

}  // namespace dpmpi
