#include "data/formats/hdf5_write.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/errors.hpp"
#include "data/formats/hdf5_handle.hpp"

namespace dpmpi {
namespace {

constexpr const char* failed = "cannot be written by the HDF5 library";

/// A file that is written.
class WrittenHdf5 {
 public:
  explicit WrittenHdf5(const std::string& path)
      : path_(path),
        file_(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose, path, failed) {}

  /// A dataset of `shape`, whose row i lies at row_of(i).
  template <class RowOf>
  void add(const char* name, hid_t type, const std::vector<hsize_t>& shape, RowOf&& row_of) {
    const std::uint64_t row_bytes = H5Tget_size(type) * (shape.size() > 1 ? shape[1] : 1);
    const hsize_t chunk_rows = std::clamp<hsize_t>((std::uint64_t{1} << 20) / row_bytes, 1, shape[0]);
    const Hdf5Handle dataset = create(name, type, shape, chunk_rows);
    std::vector<char> rows(chunk_rows * row_bytes);
    for (hsize_t i = 0; i < shape[0]; i += chunk_rows) {
      const hsize_t count = std::min(chunk_rows, shape[0] - i);
      for (hsize_t r = 0; r < count; ++r) std::memcpy(rows.data() + r * row_bytes, row_of(i + r), row_bytes);
      write(dataset, type, shape, i, count, rows.data());
    }
  }
  /// Hands all of it to the system. Throws DataError if that fails.
  void finish() const {
    if (H5Fflush(file_.id(), H5F_SCOPE_GLOBAL) < 0) refuse_file(path_, failed);
  }

 private:
  Hdf5Handle create(const char* name, hid_t type, const std::vector<hsize_t>& shape, hsize_t chunk_rows) const {
    const Hdf5Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, path_, failed);
    const auto rank = static_cast<int>(shape.size());
    std::vector<hsize_t> chunk = shape;
    chunk[0] = chunk_rows;
    H5Pset_chunk(creation.id(), rank, chunk.data());
    H5Pset_fill_time(creation.id(), H5D_FILL_TIME_NEVER);
    H5Pset_obj_track_times(creation.id(), false);  // the same bytes every time
    const Hdf5Handle space(H5Screate_simple(rank, shape.data(), nullptr), H5Sclose, path_, failed);
    return {H5Dcreate2(file_.id(), name, type, space.id(), H5P_DEFAULT, creation.id(), H5P_DEFAULT), H5Dclose,
            path_, failed};
  }

  void write(const Hdf5Handle& dataset, hid_t type, std::vector<hsize_t> count, hsize_t first, hsize_t rows,
             const char* from) const {
    count[0] = rows;
    std::vector<hsize_t> begin(count.size(), 0);
    begin[0] = first;
    const Hdf5Handle memory(H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr), H5Sclose,
                            path_, failed);
    const Hdf5Handle place(H5Dget_space(dataset.id()), H5Sclose, path_, failed);
    if (H5Sselect_hyperslab(place.id(), H5S_SELECT_SET, begin.data(), nullptr, count.data(), nullptr) < 0 ||
        H5Dwrite(dataset.id(), type, memory.id(), place.id(), H5P_DEFAULT, from) < 0)
      refuse_file(path_, failed);
  }

  const std::string& path_;
  Hdf5Handle file_;
};

}  // namespace

void write_hdf5(const std::string& path, const Records& records, Progress& progress) {
  if (records.storage == Storage::sparse_f32)
    throw ConfigError(
        "sparse records are not written as HDF5: set data.densify = true, or write the native format (an output that "
        "does not end in .h5)");
  keep_hdf5_quiet();
  WrittenHdf5 file(path);
  file.add("labels", H5T_IEEE_F32LE, {records.count},
           [&](std::size_t i) { return static_cast<const void*>(&records.label[i]); });
  const bool bytes = records.storage == Storage::dense_u8;
  file.add("features", bytes ? H5T_STD_U8LE : H5T_IEEE_F32LE, {records.count, records.features},
           [&](std::size_t i) {
             progress.add();
             return bytes ? static_cast<const void*>(records.row_u8(i)) : records.row_f32(i);
           });
  file.finish();
}

}  // namespace dpmpi
