#pragma once
// The program's own format, which `convert` writes: it is read by byte ranges, without parsing.

#include "data/formats/arrays.hpp"

namespace dpmpi {

/// The header: 64 bytes, little-endian, with a CRC-32; then labels (float32 x records), then
///   dense:  rows (float32 or bytes, records x features, no padding)
///   sparse: row_begin (uint64 x records + 1), columns (uint32 x entries), values (float32 x entries).
struct NativeHeader {
  Storage storage = Storage::dense_f32;
  std::uint64_t records = 0, features = 0, entries = 0;
  static constexpr std::size_t bytes = 64;
  static constexpr std::string_view magic = "DPMPIREC";

  std::uint64_t labels() const { return bytes; }                 ///< byte of the first label
  std::uint64_t rows() const { return labels() + 4 * records; }  ///< byte of the first row, or of row_begin
  std::uint64_t columns() const { return rows() + 8 * (records + 1); }
  std::uint64_t values() const { return columns() + 4 * entries; }
  std::uint64_t end() const;  ///< size that the file must have
  ArrayHeader label_array() const;
  ArrayHeader row_array() const;  ///< dense only

  std::string encode() const;
};
/// From the first bytes of a file. Throws DataError. Local.
NativeHeader parse_native_header(std::string_view head, const std::string& file);

class Native final : public Arrays {
 public:
  using Arrays::Arrays;
  Layout inspect(const std::vector<Head>& files) override;
  void read(const Piece& piece, const FeatureMap& map, const LabelRule& labels, RecordsBuilder& out) const override;
};

}  // namespace dpmpi
