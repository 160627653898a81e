#include "data/formats/hdf5_rows.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "data/formats/hdf5_handle.hpp"
#include "data/memory.hpp"

namespace dpmpi {
namespace {

hid_t memory_type(Element element) {
  const hid_t types[] = {H5T_NATIVE_UINT8, H5T_NATIVE_INT8,  H5T_NATIVE_INT16, H5T_NATIVE_INT32,
                         H5T_NATIVE_INT64, H5T_NATIVE_FLOAT, H5T_NATIVE_DOUBLE};
  return types[static_cast<std::size_t>(element)];
}

/// Bytes of the chunks that a row goes through, and their number.
struct Band {
  std::uint64_t bytes = 0, chunks = 1;
};

Band band_of(const std::vector<hsize_t>& chunk, const std::vector<std::uint64_t>& shape, std::uint64_t bytes) {
  Band band{bytes};
  constexpr std::uint64_t beyond = std::uint64_t{1} << 40;
  for (std::size_t i = 0; i < chunk.size() && band.bytes < beyond; ++i) {
    const std::uint64_t across = i == 0 ? 1 : (shape[i] + chunk[i] - 1) / chunk[i];
    band.chunks *= across;
    band.bytes *= across * std::min<std::uint64_t>(chunk[i], beyond);
  }
  return band;
}

/// A dataset opened such that no chunk is read twice. Chunks are kept where a piece of rows takes a part of them
/// only: if they are packed, or narrower than a row. Others are read past all caches.
Hdf5Handle open_dataset(const Hdf5Handle& file, const Hdf5Field& field, const std::string& path) {
  const auto open = [&](hid_t access) {
    return Hdf5Handle(H5Dopen2(file.id(), field.dataset.c_str(), access), H5Dclose, path);
  };
  const Hdf5Handle access(H5Pcreate(H5P_DATASET_ACCESS), H5Pclose, path);
  H5Pset_chunk_cache(access.id(), 1, 0, 1);
  Hdf5Handle dataset = open(access.id());
  const Hdf5Handle creation(H5Dget_create_plist(dataset.id()), H5Pclose, path);
  const Hdf5Handle type(H5Dget_type(dataset.id()), H5Tclose, path);
  const std::vector<hsize_t> chunk = chunk_of(creation.id(), field.shape.size());
  if (chunk.empty()) return dataset;
  const bool packed = H5Pget_nfilters(creation.id()) > 0;
  const Band band = band_of(chunk, field.shape, H5Tget_size(type.id()));
  if (!packed && band.chunks == 1) return dataset;
  constexpr std::uint64_t most = std::uint64_t{1} << 30;
  if (band.bytes > most) {
    if (!packed) return dataset;
    refuse_file(path,
                fmt::format("a row of dataset {} goes through compressed chunks of {} MiB, of {} at most: write "
                            "it with smaller ones (h5repack -l {}:CHUNK=ROWSxCOLUMNS)",
                            field.dataset, band.bytes >> 20, most >> 20, field.dataset));
  }
  check_memory(band.bytes, available_memory(), fmt::format("{}: chunks of dataset {}", path, field.dataset));
  H5Pset_chunk_cache(access.id(), 10 * band.chunks + 1, band.bytes, 1);
  return open(access.id());
}

/// What is read of one dataset: the bytes at `at` of every row.
struct Part {
  Hdf5Handle dataset, type;
  std::vector<hsize_t> count;  // elements along its dimensions; along the first as many as rows
  std::uint64_t at = 0, bytes = 0;
};

/// Fields side by side.
class Hdf5Array {
 public:
  Hdf5Array(const Hdf5Handle& file, const std::string& path, std::vector<Hdf5Field> fields)
      : path_(path), fields_(std::move(fields)), array_(array_of(fields_, path)) {
    std::uint64_t at = 0;
    for (std::size_t f = 0; f < fields_.size();) {
      std::size_t end = f + 1;  // members of a table that follow one another are read together
      while (end < fields_.size() && !fields_[f].member.empty() && fields_[end].dataset == fields_[f].dataset)
        ++end;
      Part& part = parts_.emplace_back(part_of(file, std::span(fields_).subspan(f, end - f)));
      part.at = at;
      at += part.bytes;
      f = end;
    }
  }

  const ArrayHeader& array() const { return array_; }

  void read(std::uint64_t row, std::uint64_t rows, char* out) {
    for (Part& part : parts_) {
      if (part.bytes == array_.row_bytes()) {
        read(part, row, rows, out);
        continue;
      }
      scratch_.resize(rows * part.bytes);
      read(part, row, rows, scratch_.data());
      for (std::uint64_t r = 0; r < rows; ++r)
        std::memcpy(out + r * array_.row_bytes() + part.at, scratch_.data() + r * part.bytes, part.bytes);
    }
    std::uint64_t at = 0;
    for (const Hdf5Field& field : fields_) {
      const std::uint64_t width = width_of(field);
      if (field.packed())
        for (std::uint64_t r = 0; r < rows; ++r) unpack(field, out + r * array_.row_bytes() + at, width);
      at += width * sizeof(double);
    }
  }

 private:
  std::uint64_t width_of(const Hdf5Field& field) const { return array_of({field}, path_).width; }

  Part part_of(const Hdf5Handle& file, std::span<const Hdf5Field> fields) const {
    const Hdf5Field& first = fields.front();
    const std::size_t size = element_bytes(array_.element);
    const bool is_table = !first.member.empty();
    Part part{open_dataset(file, first, path_),
              {is_table ? H5Tcreate(H5T_COMPOUND, fields.size() * size) : H5Tcopy(memory_type(array_.element)),
               H5Tclose, path_},
              {first.shape.begin(), first.shape.end()}};
    for (std::size_t f = 0; is_table && f < fields.size(); ++f)
      H5Tinsert(part.type.id(), fields[f].member.c_str(), f * size, memory_type(array_.element));
    part.bytes = fields.size() * width_of(first) * size;
    return part;
  }

  void read(Part& part, std::uint64_t row, std::uint64_t rows, char* out) const {
    std::vector<hsize_t> begin(part.count.size(), 0);
    begin[0] = row;
    part.count[0] = rows;
    const auto rank = static_cast<int>(part.count.size());
    const Hdf5Handle memory(H5Screate_simple(rank, part.count.data(), nullptr), H5Sclose, path_);
    const Hdf5Handle file(H5Dget_space(part.dataset.id()), H5Sclose, path_);
    if (H5Sselect_hyperslab(file.id(), H5S_SELECT_SET, begin.data(), nullptr, part.count.data(), nullptr) < 0 ||
        H5Dread(part.dataset.id(), part.type.id(), memory.id(), file.id(), H5P_DEFAULT, out) < 0)
      refuse_file(path_, "numbers in it cannot be read: the file is damaged or truncated");
  }

  /// Numbers as their attributes mean them. What stands for none becomes what no format takes for a number.
  static void unpack(const Hdf5Field& field, char* values, std::uint64_t width) {
    for (std::uint64_t j = 0; j < width; ++j) {
      auto x = number_at<double>(values + j * sizeof(double));
      const bool is_gap = std::ranges::find(field.gaps, x) != field.gaps.end();
      x = is_gap ? std::numeric_limits<double>::quiet_NaN() : field.scale * x + field.offset;
      std::memcpy(values + j * sizeof x, &x, sizeof x);
    }
  }

  const std::string& path_;
  std::vector<Hdf5Field> fields_;
  ArrayHeader array_;
  std::vector<Part> parts_;
  std::vector<char> scratch_;
};

class Hdf5Rows final : public FileContent {
 public:
  Hdf5Rows(std::string path, const std::vector<std::vector<Hdf5Field>>& arrays)
      : path_(std::move(path)), file_(open_hdf5(path_)) {
    for (const auto& fields : arrays) {
      arrays_.emplace_back(file_, path_, fields);
      size_ += bytes_of(arrays_.back());
    }
  }
  std::uint64_t size() const override { return size_; }

  void read(std::uint64_t offset, std::span<char> out) override {
    for (Hdf5Array& array : arrays_) {
      if (const std::uint64_t bytes = bytes_of(array); offset >= bytes) {
        offset -= bytes;
        continue;
      }
      const std::uint64_t row = array.array().row_bytes();
      verify(offset % row == 0 && out.size() % row == 0, "whole rows of one array are read");
      return array.read(offset / row, out.size() / row, out.data());
    }
  }

 private:
  static std::uint64_t bytes_of(const Hdf5Array& array) { return array.array().rows * array.array().row_bytes(); }

  std::string path_;
  Hdf5Handle file_;
  std::vector<Hdf5Array> arrays_;
  std::uint64_t size_ = 0;
};

}  // namespace

std::unique_ptr<FileContent> hdf5_rows(const std::string& path, const std::vector<std::vector<Hdf5Field>>& arrays) {
  return std::make_unique<Hdf5Rows>(path, arrays);
}

}  // namespace dpmpi
