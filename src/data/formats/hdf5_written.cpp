#include "data/formats/hdf5_written.hpp"

namespace dpmpi {
namespace {

Hdf5Handle new_hdf5(const std::string& path) {
  keep_hdf5_quiet();
  return {H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose, path, WrittenHdf5::failed};
}

}  // namespace

WrittenHdf5::WrittenHdf5(const std::string& path) : path_(path), file_(new_hdf5(path)) {}

Hdf5Handle WrittenHdf5::create(const std::string& name, hid_t type, const std::vector<hsize_t>& shape,
                               hsize_t chunk_rows) const {
  const Hdf5Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, path_, failed);
  const auto rank = static_cast<int>(shape.size());
  std::vector<hsize_t> chunk = shape;
  chunk[0] = chunk_rows;
  H5Pset_chunk(creation.id(), rank, chunk.data());
  if (H5Tis_variable_str(type) <= 0) H5Pset_fill_time(creation.id(), H5D_FILL_TIME_NEVER);
  H5Pset_obj_track_times(creation.id(), false);  // the same bytes every time
  const Hdf5Handle space(H5Screate_simple(rank, shape.data(), nullptr), H5Sclose, path_, failed);
  return {H5Dcreate2(file_.id(), name.c_str(), type, space.id(), H5P_DEFAULT, creation.id(), H5P_DEFAULT), H5Dclose,
          path_, failed};
}

void WrittenHdf5::write(const Hdf5Handle& dataset, hid_t type, std::vector<hsize_t> shape, hsize_t first,
                        hsize_t rows, const void* from) const {
  shape[0] = rows;
  std::vector<hsize_t> begin(shape.size(), 0);
  begin[0] = first;
  const Hdf5Handle memory(H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr), H5Sclose, path_,
                          failed);
  const Hdf5Handle place(H5Dget_space(dataset.id()), H5Sclose, path_, failed);
  if (H5Sselect_hyperslab(place.id(), H5S_SELECT_SET, begin.data(), nullptr, shape.data(), nullptr) < 0 ||
      H5Dwrite(dataset.id(), type, memory.id(), place.id(), H5P_DEFAULT, from) < 0)
    refuse_file(path_, failed);
}

void WrittenHdf5::finish() const {
  if (H5Fflush(file_.id(), H5F_SCOPE_GLOBAL) < 0) refuse_file(path_, failed);
}

}  // namespace dpmpi
