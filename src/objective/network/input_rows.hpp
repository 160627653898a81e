#pragma once
// Level 0 of a micro-batch of records: their features, the constant column, and zeros.

#include <cstddef>
#include <vector>

#include "data/records/records.hpp"
#include "objective/network/shape.hpp"

namespace dpmpi {

/// Rows of floats are read where they stand in memory, but for their last features; of sparse records there are
/// entries alone, and of other records copies.
class InputRows {
 public:
  InputRows(const MlpShape& shape, std::size_t rows);

  /// Takes the rows, and empty ones behind them, up to a multiple of 16. Returns the padded number. The records
  /// must outlive the use of rows(). BugError if they are not of the network's width.
  std::size_t gather(const Rows& rows);
  LevelRows<float> rows() const {
    return sparse_ ? LevelRows<float>(copied_, entries_) : LevelRows<float>(copied_, in_place_, whole_);
  }
  /// Row r is nothing but zeros.
  void zero(std::size_t r);
  /// Of row r, with the bits of squared_norm() of a row in one piece.
  double squared_norm(std::size_t r) const;

 private:
  void gather_entries(const Rows& rows);
  void gather_floats(const Rows& rows);
  void gather_copies(const Rows& rows);
  void make_room(std::size_t whole);

  const MlpShape& shape_;
  std::size_t most_rows_;
  Scratch<float> copied_;  ///< empty until it is needed
  AlignedVector<float> zeros_;
  std::vector<const float*> in_place_;
  std::size_t whole_ = 0;
  SparseRows entries_;
  bool sparse_ = false;
};

}  // namespace dpmpi
