#include "data/formats/hdf5_rows.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "data/formats/hdf5_handle.hpp"
#include "data/formats/hdf5_texts.hpp"
#include "data/memory.hpp"

namespace dpmpi {
namespace {

hid_t memory_type(Element element) {
  const hid_t types[] = {H5T_NATIVE_UINT8, H5T_NATIVE_INT8,   H5T_NATIVE_INT16, H5T_NATIVE_INT32,
                         H5T_NATIVE_INT64, H5T_NATIVE_UINT64, H5T_NATIVE_FLOAT, H5T_NATIVE_DOUBLE};
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

/// How a dataset is opened, such that no chunk is unpacked twice: packed chunks are kept while pieces of rows take
/// parts of them. Others are read past all caches.
Hdf5Handle access_to(const Hdf5Handle& dataset, const Hdf5Field& field, const std::string& path) {
  Hdf5Handle access(H5Pcreate(H5P_DATASET_ACCESS), H5Pclose, path);
  H5Pset_chunk_cache(access.id(), 1, 0, 1);
  const Hdf5Handle creation(H5Dget_create_plist(dataset.id()), H5Pclose, path);
  if (H5Pget_nfilters(creation.id()) <= 0) return access;
  const Hdf5Handle type(H5Dget_type(dataset.id()), H5Tclose, path);
  const Band band = band_of(chunk_of(creation.id(), field.shape.size()), field.shape, H5Tget_size(type.id()));
  constexpr std::uint64_t most = std::uint64_t{1} << 30;
  if (band.bytes > most)
    refuse_file(path,
                fmt::format("a row of dataset {} goes through compressed chunks of {} MiB, of {} at most: write "
                            "it with smaller ones (h5repack -l {}:CHUNK=ROWSxCOLUMNS)",
                            field.dataset, band.bytes >> 20, most >> 20, field.dataset));
  check_memory(band.bytes, available_memory(), fmt::format("{}: chunks of dataset {}", path, field.dataset));
  H5Pset_chunk_cache(access.id(), 10 * band.chunks + 1, band.bytes, 1);
  return access;
}

Hdf5Handle open_dataset(const Hdf5Handle& file, const Hdf5Field& field, const std::string& path) {
  const auto open = [&](hid_t access) {
    return Hdf5Handle(H5Dopen2(file.id(), field.dataset.c_str(), access), H5Dclose, path);
  };
  const Hdf5Handle access =
      access_to(open(H5P_DEFAULT), field, path);  // of a dataset that is open it would not count
  return open(access.id());
}

/// Copies `rows` pieces of `bytes` bytes to places that are `stride` bytes apart.
void scatter(const char* from, char* to, std::uint64_t rows, std::uint64_t bytes, std::uint64_t stride) {
  const auto copy = [&](auto size) {
    for (std::uint64_t r = 0; r < rows; ++r) std::memcpy(to + r * stride, from + r * size, size);
  };
  if (bytes == 4) return copy(std::integral_constant<std::uint64_t, 4>());
  if (bytes == 8) return copy(std::integral_constant<std::uint64_t, 8>());
  copy(bytes);
}

/// What is read of one dataset at once: the bytes at `at` of every row.
struct Part {
  std::shared_ptr<const Hdf5Handle> dataset, type;
  std::vector<hsize_t> begin, count;  // elements along its dimensions; along the first those of the rows
  std::uint64_t at = 0, bytes = 0;
  std::shared_ptr<Hdf5Texts> texts = {};  // null: numbers
};

/// Reads rows of a part to `out`, one behind the other.
void read_part(Part& part, std::uint64_t row, std::uint64_t rows, char* out, hid_t transfer,
               const std::string& path) {
  part.begin[0] = row;
  part.count[0] = rows;
  const auto rank = static_cast<int>(part.count.size());
  const Hdf5Handle memory(H5Screate_simple(rank, part.count.data(), nullptr), H5Sclose, path);
  const Hdf5Handle file(H5Dget_space(part.dataset->id()), H5Sclose, path);
  if (H5Sselect_hyperslab(file.id(), H5S_SELECT_SET, part.begin.data(), nullptr, part.count.data(), nullptr) < 0 ||
      H5Dread(part.dataset->id(), part.type->id(), memory.id(), file.id(), transfer, out) < 0)
    refuse_file(path, "what is in it cannot be read: the file is damaged or truncated");
}

/// Fields side by side.
class Hdf5Array {
 public:
  Hdf5Array(const Hdf5Handle& file, const std::string& path, std::vector<Hdf5Field> fields)
      : path_(path), fields_(std::move(fields)), rows_(fields_.front().shape.at(0)) {
    const auto is_member = [](const Hdf5Field& field) { return !field.member.empty() && !field.is_text; };
    for (std::size_t f = 0; f < fields_.size();) {
      std::size_t end = f + 1;  // members of a table that follow one another are read together
      while (end < fields_.size() && is_member(fields_[f]) && is_member(fields_[end]) &&
             fields_[end].dataset == fields_[f].dataset)
        ++end;
      add_parts(file, std::span(fields_).subspan(f, end - f));
      f = end;
    }
    for (const Hdf5Field& field : fields_) row_bytes_ += bytes_of(field);
  }

  std::uint64_t rows() const { return rows_; }
  std::uint64_t row_bytes() const { return row_bytes_; }

  void read(std::uint64_t row, std::uint64_t rows, char* out) {
    for (Part& part : parts_) {
      if (part.texts) {
        std::vector<char>& raw = part.texts->room_for(rows);
        read_part(part, row, rows, raw.data(), part.texts->transfer(), path_);
        for (std::uint64_t r = 0; r < rows; ++r) {
          const Hdf5Text text = part.texts->text(r);
          std::memcpy(out + r * row_bytes_ + part.at, &text, sizeof text);
        }
        continue;
      }
      if (part.bytes == row_bytes_) {
        read_part(part, row, rows, out, H5P_DEFAULT, path_);
        continue;
      }
      scratch_.resize(rows * part.bytes);
      read_part(part, row, rows, scratch_.data(), H5P_DEFAULT, path_);
      scatter(scratch_.data(), out + part.at, rows, part.bytes, row_bytes_);
    }
    std::uint64_t at = 0;
    for (const Hdf5Field& field : fields_) {
      if (field.packed() && !field.is_text) unpack(field, rows, out + at);
      at += bytes_of(field);
    }
  }

 private:
  std::uint64_t width_of(const Hdf5Field& field) const {
    return field.is_text ? 1 : array_of({field}, path_).width;
  }
  std::uint64_t bytes_of(const Hdf5Field& field) const { return width_of(field) * field.cell().bytes(); }

  /// A member or several of a table, or a dataset: of one in chunks that are narrower than its rows a part for each
  /// column of chunks, in which the library finds whole chunks.
  void add_parts(const Hdf5Handle& file, std::span<const Hdf5Field> fields) {
    const Hdf5Field& first = fields.front();
    Part part{std::make_shared<Hdf5Handle>(open_dataset(file, first, path_)),
              {},
              std::vector<hsize_t>(first.shape.size(), 0),
              {first.shape.begin(), first.shape.end()},
              parts_.empty() ? 0 : parts_.back().at + parts_.back().bytes};
    for (const Hdf5Field& field : fields) part.bytes += bytes_of(field);
    if (first.is_text) part.texts = std::make_shared<Hdf5Texts>(*part.dataset, first.member, path_);
    part.type = part.texts ? part.texts->type() : memory_type_of(fields);
    const Hdf5Handle creation(H5Dget_create_plist(part.dataset->id()), H5Pclose, path_);
    const std::vector<hsize_t> chunk = chunk_of(creation.id(), first.shape.size());
    if (chunk.size() != 2) return parts_.push_back(part);
    for (; part.begin[1] < first.shape[1]; part.begin[1] += chunk[1], part.at += part.bytes) {
      part.count[1] = std::min(chunk[1], first.shape[1] - part.begin[1]);
      part.bytes = part.count[1] * first.cell().bytes();
      parts_.push_back(part);
    }
  }

  std::shared_ptr<const Hdf5Handle> memory_type_of(std::span<const Hdf5Field> fields) const {
    if (fields.front().member.empty())
      return std::make_shared<Hdf5Handle>(H5Tcopy(memory_type_of(fields.front())), H5Tclose, path_);
    std::size_t bytes = 0;
    for (const Hdf5Field& field : fields) bytes += field.cell().bytes();
    auto type = std::make_shared<Hdf5Handle>(H5Tcreate(H5T_COMPOUND, bytes), H5Tclose, path_);
    std::size_t at = 0;
    for (const Hdf5Field& field : fields) {
      H5Tinsert(type->id(), field.member.c_str(), at, memory_type_of(field));
      at += field.cell().bytes();
    }
    return type;
  }

  static hid_t memory_type_of(const Hdf5Field& field) {
    return memory_type(field.packed() ? field.raw_cell().element : field.element);
  }

  /// Numbers as their attributes mean them. What stands for none becomes what no format takes for a number.
  void unpack(const Hdf5Field& field, std::uint64_t rows, char* first) const {
    const Hdf5Cell raw = field.raw_cell();
    const std::uint64_t width = width_of(field);
    for (std::uint64_t r = 0; r < rows; ++r)
      for (std::uint64_t j = 0; j < width; ++j) {
        char* const at = first + r * row_bytes_ + j * sizeof(double);
        const double x = field.scale * raw.number(at) + field.offset;
        std::memcpy(at, &x, sizeof x);
      }
  }

  const std::string& path_;
  std::vector<Hdf5Field> fields_;
  std::uint64_t rows_, row_bytes_ = 0;
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
      const std::uint64_t row = array.row_bytes();
      verify(offset % row == 0 && out.size() % row == 0, "whole rows of one array are read");
      return array.read(offset / row, out.size() / row, out.data());
    }
  }

 private:
  static std::uint64_t bytes_of(const Hdf5Array& array) { return array.rows() * array.row_bytes(); }

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
