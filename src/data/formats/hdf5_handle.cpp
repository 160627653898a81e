#include "data/formats/hdf5_handle.hpp"

namespace dpmpi {

void keep_hdf5_quiet() {
  // At the program's end the library would close files again that could not be closed on a full disk, and crash.
  [[maybe_unused]] static const herr_t once = H5dont_atexit();
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  H5PLset_loading_state(0);
}

Hdf5Handle open_hdf5(const std::string& path) {
  keep_hdf5_quiet();
  const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, path);
  H5Pset_file_locking(access.id(), 0, 1);  // no rank keeps another one off
  return {H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.id()), H5Fclose, path,
          "is no HDF5 file, or a damaged or truncated one"};
}

std::vector<hsize_t> chunk_of(hid_t creation, std::size_t rank) {
  if (H5Pget_layout(creation) != H5D_CHUNKED) return {};
  std::vector<hsize_t> chunk(rank, 1);
  H5Pget_chunk(creation, static_cast<int>(rank), chunk.data());
  return chunk;
}

}  // namespace dpmpi
