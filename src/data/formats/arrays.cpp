#include "data/formats/arrays.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>
#include <zlib.h>

#include "core/errors.hpp"
#include "data/formats/file.hpp"
#include "data/records/text.hpp"

namespace dpmpi {
namespace {

static_assert(std::endian::native == std::endian::little, "the native format is written as it lies in memory");

constexpr std::string_view native_magic = "DPMPIREC";
constexpr std::uint32_t native_version = 1;

template <class T>
T load(const char* p, bool big_endian) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, p, sizeof bytes);
  if (big_endian) std::reverse(bytes, bytes + sizeof bytes);
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

Element idx_element(unsigned code, const std::string& file) {
  switch (code) {
    case 0x08:
      return Element::u8;
    case 0x09:
      return Element::i8;
    case 0x0b:
      return Element::i16;
    case 0x0c:
      return Element::i32;
    case 0x0d:
      return Element::f32;
    case 0x0e:
      return Element::f64;
    default:
      break;
  }
  refuse_file(
      file,
      fmt::format("IDX element type 0x{:02x} at byte 2 is not allowed: 0x08, 0x09, 0x0b, 0x0c, 0x0d, 0x0e are",
                  code));
}

}  // namespace

std::size_t element_bytes(Element element) {
  switch (element) {
    case Element::u8:
    case Element::i8:
      return 1;
    case Element::i16:
      return 2;
    case Element::i32:
    case Element::f32:
      return 4;
    case Element::i64:
    case Element::f64:
      break;
  }
  return 8;
}

void ArrayHeader::set_shape(const std::vector<std::uint64_t>& shape, const std::string& file) {
  constexpr std::uint64_t limit = std::uint64_t{1} << 62;
  std::uint64_t total = element_bytes(element);
  for (const std::uint64_t n : shape) {
    if (n == 0) refuse_file(file, "holds no records (a dimension is 0)");
    if (n > limit / total)
      refuse_file(file, fmt::format("dimension {} makes the array larger than 2^62 bytes", show_field(n)));
    total *= n;
  }
  rows = shape[0];
  width = 1;
  for (std::size_t i = 1; i < shape.size(); ++i) width *= shape[i];
}

double ArrayHeader::value(const char* row, std::size_t j) const {
  const char* const p = row + j * element_bytes(element);
  switch (element) {
    case Element::u8:
      return load<std::uint8_t>(p, false);
    case Element::i8:
      return load<std::int8_t>(p, false);
    case Element::i16:
      return load<std::int16_t>(p, big_endian);
    case Element::i32:
      return load<std::int32_t>(p, big_endian);
    case Element::i64:
      return static_cast<double>(load<std::int64_t>(p, big_endian));
    case Element::f32:
      return static_cast<double>(load<float>(p, big_endian));
    case Element::f64:
      break;
  }
  return load<double>(p, big_endian);
}

ArrayHeader parse_idx_header(std::string_view head, const std::string& file) {
  if (head.size() < 4) refuse_file(file, fmt::format("is cut off inside the IDX header ({} bytes)", head.size()));
  if (head[0] != 0 || head[1] != 0)
    refuse_file(file, fmt::format("is not an IDX file: it starts with {}, not with two zero bytes",
                                  show_field(head.substr(0, 2))));
  ArrayHeader h;
  h.element = idx_element(static_cast<unsigned char>(head[2]), file);
  h.big_endian = true;
  const auto dimensions = static_cast<std::size_t>(static_cast<unsigned char>(head[3]));
  if (dimensions == 0) refuse_file(file, "IDX dimension count 0 at byte 3 is not allowed: 1 or more are");
  h.offset = 4 + 4 * dimensions;
  if (head.size() < h.offset)
    refuse_file(file, fmt::format("is cut off inside the IDX header ({} bytes)", head.size()));
  std::vector<std::uint64_t> shape;
  for (std::size_t i = 0; i < dimensions; ++i) shape.push_back(load<std::uint32_t>(head.data() + 4 + 4 * i, true));
  h.set_shape(shape, file);
  return h;
}

std::uint64_t NativeHeader::end() const {
  if (storage == Storage::sparse_f32) return values() + 4 * entries;
  return row_array().end();
}

ArrayHeader NativeHeader::label_array() const { return {Element::f32, false, labels(), records, 1}; }

ArrayHeader NativeHeader::row_array() const {
  return {storage == Storage::dense_u8 ? Element::u8 : Element::f32, false, rows(), records, features};
}

std::string NativeHeader::encode() const {
  std::string out(native_magic);
  const auto put = [&](auto value) { out.append(reinterpret_cast<const char*>(&value), sizeof value); };
  put(native_version);
  put(static_cast<std::uint32_t>(storage));
  put(records);
  put(features);
  put(entries);
  out.resize(bytes - 4, '\0');
  put(static_cast<std::uint32_t>(
      crc32(0, reinterpret_cast<const Bytef*>(out.data()), static_cast<uInt>(out.size()))));
  return out;
}

NativeHeader parse_native_header(std::string_view head, const std::string& file) {
  if (!head.starts_with(native_magic))
    refuse_file(file, fmt::format("is not a dpmpi record file: it starts with {}, not {}",
                                  show_field(head.substr(0, 8)), native_magic));
  if (head.size() < NativeHeader::bytes)
    refuse_file(file, fmt::format("is cut off inside the header ({} bytes)", head.size()));
  const char* const p = head.data();
  const auto version = load<std::uint32_t>(p + 8, false);
  if (version != native_version)
    refuse_file(file, fmt::format("format version {} is not supported: {} is; convert the source again", version,
                                  native_version));
  const auto sum = crc32(0, reinterpret_cast<const Bytef*>(p), NativeHeader::bytes - 4);
  if (load<std::uint32_t>(p + NativeHeader::bytes - 4, false) != static_cast<std::uint32_t>(sum))
    refuse_file(file, "header is damaged (its checksum at byte 60 does not match)");
  const auto storage = load<std::uint32_t>(p + 12, false);
  if (storage > 2) refuse_file(file, fmt::format("storage {} at byte 12 is not allowed: 0, 1, 2 are", storage));
  NativeHeader h{static_cast<Storage>(storage), load<std::uint64_t>(p + 16, false),
                 load<std::uint64_t>(p + 24, false), load<std::uint64_t>(p + 32, false)};
  constexpr std::uint64_t limit = std::uint64_t{1} << 40, widest = std::uint64_t{1} << 32;
  if (h.records == 0 || h.records > limit || h.features == 0 || h.features > widest || h.entries > limit ||
      h.features > (std::uint64_t{1} << 60) / h.records)
    refuse_file(file, fmt::format("impossible size: {} records, {} features, {} entries", show_field(h.records),
                                  h.features, show_field(h.entries)));
  return h;
}

}  // namespace dpmpi
