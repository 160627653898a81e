#include "data/formats/native.hpp"

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cstddef>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "data/memory.hpp"
#include "data/records/text.hpp"

namespace dpmpi {
namespace {

static_assert(std::endian::native == std::endian::little, "the native format is written as it lies in memory");

constexpr std::uint32_t native_version = 1, version_as_in_memory = 2;

/// The header as it lies in the file.
struct HeaderBytes {
  char magic[8] = {};
  std::uint32_t version = native_version, storage = 0;
  std::uint64_t records = 0, features = 0, entries = 0;
  char zero[20] = {};
  std::uint32_t checksum = 0;
};
static_assert(sizeof(HeaderBytes) == NativeHeader::bytes);

std::uint32_t checksum(const HeaderBytes& raw) {
  return static_cast<std::uint32_t>(
      crc32(0, reinterpret_cast<const Bytef*>(&raw), offsetof(HeaderBytes, checksum)));
}

template <class T>
std::vector<T> read_array(InputFile& file, std::uint64_t offset, std::uint64_t count) {
  check_memory(count * sizeof(T), available_memory(), file.path(), false);
  std::vector<T> values(count);
  const std::span<char> bytes(reinterpret_cast<char*>(values.data()), count * sizeof(T));
  if (file.read(offset, bytes) < bytes.size()) refuse_file(file.path(), "truncated");
  return values;
}

/// The entries of sparse rows lie at places that the rows tell: every rank reads the header of the file, which it
/// has open, and its own entries.
void read_sparse(const Piece& piece, const FeatureMap& map, const LabelRule& labels, RecordsBuilder& out) {
  InputFile& file = *piece.file;
  Position& at = piece.position;
  const NativeHeader header = parse_native_header(file.read(0, NativeHeader::bytes), file.path());
  const std::size_t rows = piece.bytes.size() / piece.section.row_bytes;
  const auto begin = read_array<std::uint64_t>(file, at.byte, rows + 1);
  const auto refuse = [&](std::size_t row, const std::string& what) {
    refuse_file(file.path(), fmt::format("record {}: {}", at.global_index - at.first_index + row + 1, what));
  };
  for (std::size_t i = 0; i < rows; ++i)
    if (begin[i] > begin[i + 1] || begin[i + 1] > header.entries)
      refuse(i, fmt::format("row offsets {}, {} are not ascending in 0..{}", show_field(begin[i]),
                            show_field(begin[i + 1]), show_field(header.entries)));
  const std::uint64_t first = begin.front(), entries = begin.back() - first;
  const auto column = read_array<std::uint32_t>(file, header.columns() + 4 * first, entries);
  const auto value = read_array<float>(file, header.values() + 4 * first, entries);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::uint64_t e = begin[i] - first; e < begin[i + 1] - first; ++e) {
      if (column[e] >= header.features || (e > begin[i] - first && column[e] <= column[e - 1]))
        refuse(i, fmt::format("column {} is not ascending in 0..{}", show_field(column[e]), header.features - 1));
      try {
        out.entry(column[e], map(column[e], static_cast<double>(value[e])));
      } catch (const Malformed& problem) {
        refuse(i, problem.what());
      }
    }
    out.finish_row(labels.unlabelled() ? labels.label_of_none() : out.added_label());
  }
  at.global_index += rows;
  at.byte += rows * piece.section.row_bytes;
}

}  // namespace

Layout Native::inspect(const std::vector<Head>& files) {
  const Head& head = files[0];
  if (head.gzip)
    refuse_file(head.path, "the native format is read by byte ranges and cannot be gzipped: decompress it");
  const NativeHeader header = parse_native_header(head.bytes, head.path);
  check_size(head, header.end());
  labels_ = header.label_array();
  rows_ = header.row_array();
  as_in_memory_ = header.as_in_memory;
  Section rows = rows_.section(0, false);
  if (as_in_memory_) {
    rows.row_bytes = header.row_bytes();
    padding_ = rows.row_bytes - rows_.row_bytes();
  }
  if (header.storage == Storage::sparse_f32) {
    rows.row_bytes = sizeof(std::uint64_t);
    if (options_.densify)
      throw ConfigError("data.densify is for LIBSVM text: convert the file again with data.storage = dense");
  }
  return {.storage = header.storage, .features = header.features, .sections = {labels_.section(0, true), rows}};
}

void Native::read(const Piece& piece, const FeatureMap& map, const LabelRule& labels, RecordsBuilder& out) const {
  if (out.storage() == Storage::sparse_f32 && !piece.section.labels)
    read_sparse(piece, map, labels, out);
  else
    Arrays::read(piece, map, labels, out);
}

void Native::archive(Archive& archive) {
  Arrays::archive(archive);
  archive.field("as_in_memory", as_in_memory_);
  archive.field("padding", padding_);
}

// Kernels read it along with the row, when the row is mapped.
void Native::read_behind(const char* padding, RecordsBuilder&) const {
  if (std::any_of(padding, padding + padding_, [](char byte) { return byte != 0; }))
    throw Malformed("what stands behind its features is not zero: convert the source again");
}

std::uint64_t NativeHeader::rows() const {
  const std::uint64_t end = labels() + 4 * records;
  return as_in_memory ? round_up(end, cache_line) : end;
}

std::uint64_t NativeHeader::row_bytes() const {
  const std::uint64_t bytes = row_array().row_bytes();
  return as_in_memory ? round_up(bytes, cache_line) : bytes;
}

std::uint64_t NativeHeader::end() const {
  if (storage == Storage::sparse_f32) return values() + 4 * entries;
  return rows() + records * row_bytes();
}

ArrayHeader NativeHeader::label_array() const { return {Element::f32, false, labels(), records, 1}; }

ArrayHeader NativeHeader::row_array() const {
  return {storage == Storage::dense_u8 ? Element::u8 : Element::f32, false, rows(), records, features};
}

std::string NativeHeader::encode() const {
  HeaderBytes raw;
  if (as_in_memory) raw.version = version_as_in_memory;
  std::ranges::copy(magic, raw.magic);
  raw.storage = static_cast<std::uint32_t>(storage);
  raw.records = records;
  raw.features = features;
  raw.entries = entries;
  raw.checksum = checksum(raw);
  return {reinterpret_cast<const char*>(&raw), sizeof raw};
}

NativeHeader parse_native_header(std::string_view head, const std::string& file) {
  if (!head.starts_with(NativeHeader::magic))
    refuse_file(file, fmt::format("is not a dpmpi record file: it starts with {}, not {}",
                                  show_field(head.substr(0, 8)), NativeHeader::magic));
  if (head.size() < NativeHeader::bytes)
    refuse_file(file, fmt::format("is cut off inside the header ({} bytes)", head.size()));
  const auto raw = number_at<HeaderBytes>(head.data());
  if (raw.version != native_version && raw.version != version_as_in_memory)
    refuse_file(file, fmt::format("format version {} is not supported: {} and {} are; convert the source again",
                                  raw.version, native_version, version_as_in_memory));
  if (raw.checksum != checksum(raw))
    refuse_file(file, "header is damaged (its checksum at byte 60 does not match)");
  if (raw.storage > 2)
    refuse_file(file, fmt::format("storage {} at byte 12 is not allowed: 0, 1, 2 are", raw.storage));
  const NativeHeader h{static_cast<Storage>(raw.storage), raw.records, raw.features, raw.entries,
                       raw.version == version_as_in_memory};
  if (h.as_in_memory && h.storage == Storage::sparse_f32)
    refuse_file(file, "storage 2 (sparse rows) at byte 12 is not allowed in format version 2: 0 and 1 are");
  constexpr std::uint64_t limit = std::uint64_t{1} << 40, widest = std::uint64_t{1} << 32;
  if (h.records == 0 || h.records > limit || h.features == 0 || h.features > widest || h.entries > limit ||
      h.features > (std::uint64_t{1} << 60) / h.records)
    refuse_file(file, fmt::format("impossible size: {} records, {} features, {} entries", show_field(h.records),
                                  h.features, show_field(h.entries)));
  return h;
}

}  // namespace dpmpi
