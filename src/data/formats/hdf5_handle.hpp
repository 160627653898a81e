#pragma once
// What the HDF5 library lends, given back. For hdf5_*.cpp alone: no other source knows the library.

#include <hdf5.h>

#include <string>
#include <utility>
#include <vector>

#include "data/formats/file.hpp"

namespace dpmpi {

/// A file, dataset, type, ... of the library.
class Hdf5Handle {
 public:
  using Close = herr_t (*)(hid_t);
  /// Throws DataError with the problem of the file at `path` for an id that stands for a failure.
  Hdf5Handle(hid_t id, Close close, const std::string& path,
             const char* problem = "is damaged or truncated: the HDF5 library cannot read it")
      : id_(id), close_(close) {
    if (id < 0) refuse_file(path, problem);
  }
  Hdf5Handle(Hdf5Handle&& other) noexcept
      : id_(std::exchange(other.id_, H5I_INVALID_HID)), close_(std::exchange(other.close_, nullptr)) {}
  Hdf5Handle& operator=(Hdf5Handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }
  ~Hdf5Handle() {
    if (close_ != nullptr) close_(id_);
  }
  hid_t id() const { return id_; }

 private:
  hid_t id_;
  Close close_;
};

/// Before the library is asked anything else: it prints nothing, and looks for no plugin.
void keep_hdf5_quiet();

/// A file to be read. Any number of processes may have it open. Throws DataError.
Hdf5Handle open_hdf5(const std::string& path);

/// Elements of a chunk along each of a dataset's `rank` dimensions; empty if it lies in one piece.
std::vector<hsize_t> chunk_of(hid_t creation, std::size_t rank);

}  // namespace dpmpi
