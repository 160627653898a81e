#include "run/follow/event_file.hpp"

#include <array>
#include <bit>
#include <concepts>

namespace dpmpi {
namespace {

constexpr std::array<std::uint32_t, 256> crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1) ^ ((rest & 1) != 0 ? 0x82f63b78u : 0u);
    table[byte] = rest;
  }
  return table;
}

std::uint32_t crc32c(std::string_view bytes) {
  static constexpr auto table = crc_table();
  std::uint32_t crc = ~std::uint32_t{0};
  for (const char c : bytes) crc = (crc >> 8) ^ table[(crc ^ static_cast<unsigned char>(c)) & 0xff];
  return ~crc;
}

template <std::unsigned_integral T>
std::string little_endian(T value) {
  std::string bytes;
  for (std::size_t i = 0; i < sizeof value; ++i) bytes += static_cast<char>((value >> (8 * i)) & 0xff);
  return bytes;
}

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>((value & 0x7f) | 0x80);
  return bytes + static_cast<char>(value);
}

// A field begins with its number and how long its value is.
enum Wire : std::uint64_t { whole = 0, eight_bytes = 1, text = 2, four_bytes = 5 };
std::string field(std::uint64_t number, Wire wire, const std::string& value) {
  return varint(number << 3 | wire) + (wire == text ? varint(value.size()) : "") + value;
}
std::string field(std::uint64_t number, double value) {
  return field(number, eight_bytes, little_endian(std::bit_cast<std::uint64_t>(value)));
}
std::string field(std::uint64_t number, float value) {
  return field(number, four_bytes, little_endian(std::bit_cast<std::uint32_t>(value)));
}

}  // namespace

std::uint32_t masked_crc32c(std::string_view bytes) { return std::rotr(crc32c(bytes), 15) + 0xa282ead8u; }

std::string event_record(std::string_view bytes) {
  const std::string length = little_endian(std::uint64_t{bytes.size()});
  return length + little_endian(masked_crc32c(length)) + std::string(bytes) + little_endian(masked_crc32c(bytes));
}

std::string version_event() { return field(1, 0.0) + field(3, text, "brain.Event:2"); }

std::string scalar_event(std::uint64_t step, const std::vector<std::pair<std::string, float>>& scalars) {
  std::string summary;
  for (const auto& [tag, value] : scalars) summary += field(1, text, field(1, text, tag) + field(2, value));
  return field(1, static_cast<double>(step)) + field(2, whole, varint(step)) + field(5, text, summary);
}

}  // namespace dpmpi
