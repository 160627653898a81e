#pragma once
// A table written as HDF5: a dataset for each column, of numbers or of texts.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace dpmpi {

struct NewHdf5Column {
  std::string name;
  bool is_text = false;
  std::size_t longest = 0;  ///< bytes of the longest text
};

/// Numbers are float64; texts have a fixed length, or any if the longest has more than 64 bytes. Local. All throw
/// DataError if the file cannot be written.
class NewHdf5Table {
 public:
  /// Replaces the file `path`. `records`: how many will be added, at least one.
  NewHdf5Table(const std::string& path, const std::vector<NewHdf5Column>& columns, std::uint64_t records);
  ~NewHdf5Table();
  NewHdf5Table(const NewHdf5Table&) = delete;
  NewHdf5Table& operator=(const NewHdf5Table&) = delete;

  /// The value of a column in the record that is begun: of texts, and of numbers.
  void put(std::size_t column, std::string_view text);
  void put(std::size_t column, double number);
  void end_record();
  /// After the last record: hands all of it to the system.
  void finish();

 private:
  class File;
  std::unique_ptr<File> file_;
};

}  // namespace dpmpi
