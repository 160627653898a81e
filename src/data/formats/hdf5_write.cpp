#include "data/formats/hdf5_write.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/errors.hpp"
#include "data/formats/hdf5_written.hpp"

namespace dpmpi {
namespace {

/// Writes a dataset of `shape`, whose row i lies at row_of(i).
template <class RowOf>
void write_dataset(const WrittenHdf5& file, const char* name, hid_t type, const std::vector<hsize_t>& shape,
                   RowOf&& row_of) {
  const std::uint64_t row_bytes = H5Tget_size(type) * (shape.size() > 1 ? shape[1] : 1);
  const hsize_t chunk_rows = std::clamp<hsize_t>((std::uint64_t{1} << 20) / row_bytes, 1, shape[0]);
  const Hdf5Handle dataset = file.create(name, type, shape, chunk_rows);
  std::vector<char> rows(chunk_rows * row_bytes);
  for (hsize_t i = 0; i < shape[0]; i += chunk_rows) {
    const hsize_t count = std::min(chunk_rows, shape[0] - i);
    for (hsize_t r = 0; r < count; ++r) std::memcpy(rows.data() + r * row_bytes, row_of(i + r), row_bytes);
    file.write(dataset, type, shape, i, count, rows.data());
  }
}

}  // namespace

void write_hdf5(const std::string& path, const Records& records, Progress& progress) {
  if (records.storage == Storage::sparse_f32)
    throw ConfigError(
        "sparse records are not written as HDF5: set data.densify = true, or write the native format (an output that "
        "does not end in .h5)");
  const WrittenHdf5 file(path);
  write_dataset(file, "labels", H5T_IEEE_F32LE, {records.count},
                [&](std::size_t i) { return static_cast<const void*>(&records.label[i]); });
  const bool bytes = records.storage == Storage::dense_u8;
  write_dataset(file, "features", bytes ? H5T_STD_U8LE : H5T_IEEE_F32LE, {records.count, records.features},
                [&](std::size_t i) {
                  progress.add();
                  return bytes ? static_cast<const void*>(records.row_u8(i)) : records.row_f32(i);
                });
  file.finish();
}

}  // namespace dpmpi
