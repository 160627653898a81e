#pragma once
// Rows of floats on their way between ranks. All local.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "data/records/records.hpp"

namespace dpmpi {

/// The entries of a sparse row; 0 of a dense one.
std::uint32_t entries_of(const Records& records, std::size_t row);

/// Empty slots, of which a sparse row i has room for entries[i] entries, and none behind the last of the list.
Records empty_rows(Storage storage, std::size_t features, float bias, std::size_t rows,
                   std::span<const std::uint32_t> entries);

/// Appends the row's label, norm, factors and values.
void append_row(const Records& records, std::size_t row, std::string& to);
/// Bytes that it appends for a row, on average.
std::size_t mean_row_bytes(const Records& records);

/// Rows that were appended, one after the other.
class RowBytes {
 public:
  /// `bytes` must outlive this.
  RowBytes(std::string_view bytes, Storage storage, std::size_t features)
      : rest_(bytes), sparse_(storage == Storage::sparse_f32), entries_(features) {}
  /// Goes to the next row. False if there is none.
  bool next();
  /// Puts it into a row of empty_rows() that has as many entries.
  void put(Records& records, std::size_t row) const;

 private:
  std::string_view take(std::size_t size);
  std::string_view rest_;
  bool sparse_;
  std::size_t entries_;  // of a row, or features
  std::string_view label_, norm_, weight_, offset_, columns_, values_;
};

}  // namespace dpmpi
