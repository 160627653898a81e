#pragma once
// Rows that stay in their file: whether they can, and where they are (data.memory = map).

#include <cstdint>
#include <memory>

#include "data/load/input_files.hpp"
#include "data/records/mapped_file.hpp"

namespace dpmpi {

/// Throws ConfigError if the dataset's rows are to stay in their file, and cannot: they stand there otherwise than
/// they would in memory. Local; the same on all ranks that know the source.
void check_rows_can_stay(const Dataset& dataset, const Source& source);

/// The rows of consecutive blocks of one file, which stand in it one behind the other.
class MappedBlocks {
 public:
  /// `slots` rows of the section, from byte `begin` of its file on; those behind `end` are empty slots: zeros.
  /// Throws DataError. Local.
  MappedBlocks(const InputFile& file, const Section& rows, std::uint64_t begin, std::uint64_t end,
               std::uint64_t slots);
  /// Where the row number `row` of them is. It keeps all of them.
  std::shared_ptr<const void> at(std::uint64_t row) const;
  const std::shared_ptr<const MappedFile>& file() const { return file_; }

 private:
  std::shared_ptr<const MappedFile> file_;
  std::uint64_t row_bytes_;
  std::shared_ptr<const char> first_;
};

}  // namespace dpmpi
