#pragma once
// The program's own format, which `convert` writes: it is read by byte ranges, without parsing.

#include "data/formats/arrays.hpp"

namespace dpmpi {

/// The header: 64 bytes, little-endian, with a CRC-32; then labels (float32 x records), then
///   dense:  rows (float32 or bytes, records x features, no padding)
///   sparse: row_begin (uint64 x records + 1), columns (uint32 x entries), values (float32 x entries).
/// Version 2 has dense rows as they stand in memory, so that they can be mapped: from the next multiple of 64 bytes
/// on, each padded by zeros to a multiple of 64 bytes.
struct NativeHeader {
  Storage storage = Storage::dense_f32;
  std::uint64_t records = 0, features = 0, entries = 0;
  bool as_in_memory = false;  ///< version 2
  static constexpr std::size_t bytes = 64;
  static constexpr std::string_view magic = "DPMPIREC";

  std::uint64_t labels() const { return bytes; }  ///< byte of the first label
  std::uint64_t rows() const;                     ///< byte of the first row, or of row_begin
  std::uint64_t row_bytes() const;                ///< dense only: from one row to the next
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
  void archive(Archive& archive) override;
  bool rows_can_stay() const override { return as_in_memory_; }

 private:
  void read_behind(const char* padding, RecordsBuilder& out) const override;
  bool as_in_memory_ = false;
  std::uint64_t padding_ = 0;  // bytes behind each row
};

}  // namespace dpmpi
