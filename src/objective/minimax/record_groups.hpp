#pragma once
// Which group a record is in, and how much it counts there.

#include <cstdint>
#include <optional>
#include <vector>

#include "data/records/blocks.hpp"
#include "objective/minimax/worst_group.hpp"

namespace dpmpi {

class RecordGroups {
 public:
  /// Throws ConfigError if the sizes are not those of two or more groups, or nothing in the records can be a group.
  explicit RecordGroups(const WorstGroupSettings& settings);

  std::size_t count() const { return weight_.size(); }
  double weight(std::size_t group) const { return weight_[group]; }  ///< n / n_g
  /// Nothing if what should hold the group is no group's number.
  std::optional<std::size_t> of(const Records& records, std::uint32_t i) const;
  /// Throws DataError for the first record without a group. Local.
  void check(const Shard& shard) const;

 private:
  std::size_t feature_;  ///< from 1; 0: the label
  bool signs_;
  std::vector<double> weight_;
};

}  // namespace dpmpi
