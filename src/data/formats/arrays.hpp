#pragma once
// Binary arrays: rows of equal length behind a header, as in IDX (MNIST family), NumPy's .npy and the native
// format.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "data/formats/format.hpp"
#include "data/records/text.hpp"

namespace dpmpi {

enum class Element { u8, i8, i16, i32, i64, u64, f32, f64 };

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
  /// The array as a section of `file`.
  Section section(std::size_t file, bool labels) const;
};

/// Headers from the first bytes of a file. Throw DataError naming file, byte, value and what is allowed. Local.
ArrayHeader parse_idx_header(std::string_view head, const std::string& file);
ArrayHeader parse_npy_header(std::string_view head, const std::string& file);  ///< C order; f4 f8 i1 i2 i4 i8 u1

/// The header of a .npy file of rows x width float32 in C order.
std::string npy_header(std::uint64_t rows, std::uint64_t width);

/// Throws DataError unless a file has as many bytes as its header announces (a gzipped one is checked as it is
/// read).
void check_size(const Head& head, std::uint64_t announced);

/// A number as it lies in a file.
template <class T>
T number_at(const char* p, bool big_endian = false) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, p, sizeof bytes);
  if (big_endian) std::reverse(bytes, bytes + sizeof bytes);
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

/// A fault of the row at which a piece is, with the number of the record.
void add_row_fault(const Piece& piece, std::uint64_t kind, const std::string& what);

/// Calls row(its first byte) for each row of a piece and moves the position behind it. A row that throws Malformed
/// is left unfinished, and is a fault of that kind.
template <class Row>
void for_each_row(const Piece& piece, Row&& row) {
  for (std::size_t byte = 0; byte < piece.bytes.size(); byte += piece.section.row_bytes) {
    try {
      row(piece.bytes.data() + byte);
    } catch (const Malformed& problem) {
      add_row_fault(piece, problem.kind, problem.what());
    }
    ++piece.position.global_index;
    piece.position.byte += piece.section.row_bytes;
  }
}

/// A file, or two, with an array of labels and an array of features.
class Arrays : public Format {
 public:
  using Format::Format;
  void read(const Piece& piece, const FeatureMap& map, const LabelRule& labels, RecordsBuilder& out) const override;
  void archive(Archive& archive) override;

 protected:
  /// What a row of the features has behind them.
  virtual void read_behind(const char*, RecordsBuilder&) const {}

  ArrayHeader rows_, labels_;  // on ranks that have not seen the file: without offset and rows
};

/// Images and labels in two files of one format, or images alone whose records have no labels.
class ArrayPair final : public Arrays {
 public:
  using ParseHeader = ArrayHeader(std::string_view head, const std::string& file);
  ArrayPair(const ReadingRules& options, std::string_view name, ParseHeader* parse)
      : Arrays(options), name_(name), parse_(parse) {}
  Layout inspect(const std::vector<Head>& files) override;

 private:
  std::string_view name_;
  ParseHeader* parse_;
};

}  // namespace dpmpi
