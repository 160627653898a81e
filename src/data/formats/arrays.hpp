#pragma once
// Binary arrays: IDX (MNIST family), NumPy .npy, and the native record format. All have fixed rows behind a header.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/records/records.hpp"

namespace dpmpi {

enum class Element { u8, i8, i16, i32, i64, f32, f64 };

std::size_t element_bytes(Element element);

/// Where an array's elements are in its file.
struct ArrayHeader {
  Element element = Element::u8;
  bool big_endian = false;
  std::uint64_t offset = 0;  ///< byte of the first element
  std::uint64_t rows = 0;    ///< first dimension
  std::uint64_t width = 1;   ///< product of the others

  std::uint64_t row_bytes() const { return width * element_bytes(element); }
  std::uint64_t end() const { return offset + rows * row_bytes(); }  ///< size that the file must have
  /// Fills rows and width. Throws DataError for a dimension 0 or a size beyond 2^62 bytes.
  void set_shape(const std::vector<std::uint64_t>& shape, const std::string& file);
  /// Element j of the row at `row`.
  double value(const char* row, std::size_t j) const;
};

/// Headers from the first bytes of a file. Throw DataError naming file, byte, value and what is allowed. Local.
ArrayHeader parse_idx_header(std::string_view head, const std::string& file);
ArrayHeader parse_npy_header(std::string_view head, const std::string& file);  ///< C order; f4 f8 i1 i2 i4 i8 u1

/// The header of a .npy file of rows x width float32 in C order.
std::string npy_header(std::uint64_t rows, std::uint64_t width);

/// Header of the native format: 64 bytes, little-endian, with a CRC-32; then labels (float32 x records), then
///   dense:  rows (float32 or bytes, records x features, no padding)
///   sparse: row_begin (uint64 x records + 1), columns (uint32 x entries), values (float32 x entries).
struct NativeHeader {
  Storage storage = Storage::dense_f32;
  std::uint64_t records = 0, features = 0, entries = 0;
  static constexpr std::size_t bytes = 64;

  std::uint64_t labels() const { return bytes; }                 ///< byte of the first label
  std::uint64_t rows() const { return labels() + 4 * records; }  ///< byte of the first row, or of row_begin
  std::uint64_t columns() const { return rows() + 8 * (records + 1); }
  std::uint64_t values() const { return columns() + 4 * entries; }
  std::uint64_t end() const;  ///< size that the file must have
  ArrayHeader label_array() const;
  ArrayHeader row_array() const;  ///< dense only

  std::string encode() const;
};
NativeHeader parse_native_header(std::string_view head, const std::string& file);

enum class Format { libsvm, csv, tsv, idx, npy, native };

/// data.format, or for `auto`: by magic number, by the name's ending (.csv, .tsv, .svm, .libsvm), by the first
/// lines. Throws DataError if nothing fits.
Format detect_format(const std::string& setting, const std::string& file, std::string_view head);
std::string_view format_name(Format format);

}  // namespace dpmpi
