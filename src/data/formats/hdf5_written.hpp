#pragma once
// A new HDF5 file. For hdf5_*.cpp alone.

#include <string>
#include <vector>

#include "data/formats/hdf5_handle.hpp"

namespace dpmpi {

/// Datasets are in chunks of whole rows, not compressed, and have the same bytes every time. Local. All throw
/// DataError if the file cannot be written.
class WrittenHdf5 {
 public:
  /// Replaces the file `path`, which must outlive this.
  explicit WrittenHdf5(const std::string& path);
  /// An empty dataset. `shape`: its first dimension counts the rows.
  Hdf5Handle create(const std::string& name, hid_t type, const std::vector<hsize_t>& shape,
                    hsize_t chunk_rows) const;
  /// Writes `rows` rows of a dataset from row `first` on. `shape`: the dataset's.
  void write(const Hdf5Handle& dataset, hid_t type, std::vector<hsize_t> shape, hsize_t first, hsize_t rows,
             const void* from) const;
  /// Hands all of it to the system.
  void finish() const;
  const std::string& path() const { return path_; }
  static constexpr const char* failed = "cannot be written by the HDF5 library";

 private:
  const std::string& path_;
  Hdf5Handle file_;
};

}  // namespace dpmpi
