// Event files read back by a decoder that shares no code with the writer: a CRC bit by bit, and a reader of
// protocol buffers.
#include "run/follow/event_file.hpp"

#include <bit>
#include <cstdint>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace dpmpi::event_file_test {
namespace {

/// Polynomial division of the message, most significant coefficient first, as RFC 3720 defines it.
std::uint32_t crc_by_division(std::string_view bytes) {
  constexpr std::uint32_t polynomial = 0x1edc6f41;
  std::vector<int> bits;
  for (const char c : bytes)
    for (int i = 0; i < 8; ++i) bits.push_back(static_cast<unsigned char>(c) >> i & 1);
  for (int i = 0; i < 32; ++i) bits.push_back(0);
  for (std::size_t i = 0; i < 32; ++i) bits[i] ^= 1;
  std::uint32_t rest = 0;
  for (const int bit : bits) {
    const bool high = (rest & 0x80000000u) != 0;
    rest = rest << 1 | static_cast<std::uint32_t>(bit);
    if (high) rest ^= polynomial;
  }
  std::uint32_t reflected = 0;
  for (int i = 0; i < 32; ++i) reflected |= (rest >> i & 1u) << (31 - i);
  return ~reflected;
}

std::uint32_t masked(std::uint32_t crc) { return (crc >> 15 | crc << 17) + 0xa282ead8u; }

std::uint32_t unmasked(std::uint32_t value) {
  const std::uint32_t turned = value - 0xa282ead8u;
  return turned << 15 | turned >> 17;
}

template <class T>
T take(std::string_view& bytes) {
  if (bytes.size() < sizeof(T)) throw std::runtime_error("the end is missing");
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);  // this machine is little endian, as the files are
  bytes.remove_prefix(sizeof value);
  return value;
}

std::vector<std::string> records_of(std::string_view file) {
  std::vector<std::string> records;
  while (!file.empty()) {
    const std::string_view length = file.substr(0, 8);
    const auto size = take<std::uint64_t>(file);
    if (take<std::uint32_t>(file) != masked(crc_by_division(length))) throw std::runtime_error("length");
    records.emplace_back(file.substr(0, size));
    file.remove_prefix(size);
    if (take<std::uint32_t>(file) != masked(crc_by_division(records.back()))) throw std::runtime_error("content");
  }
  return records;
}

std::uint64_t take_varint(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = take<std::uint8_t>(bytes);
    value |= std::uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
}

/// Fields of a message by number, each as the bytes of its value, in order.
std::multimap<std::uint64_t, std::string> fields_of(std::string_view message) {
  std::multimap<std::uint64_t, std::string> fields;
  while (!message.empty()) {
    const std::uint64_t key = take_varint(message);
    std::size_t size = 0;
    if ((key & 7) == 0) {
      const std::uint64_t value = take_varint(message);
      fields.emplace(key >> 3, std::string(reinterpret_cast<const char*>(&value), sizeof value));
      continue;
    }
    if ((key & 7) == 1) size = 8;
    if ((key & 7) == 2) size = take_varint(message);
    if ((key & 7) == 5) size = 4;
    if (size > message.size()) throw std::runtime_error("a field ends behind its message");
    fields.emplace(key >> 3, std::string(message.substr(0, size)));
    message.remove_prefix(size);
  }
  return fields;
}

template <class T>
T as(const std::string& bytes) {
  std::string_view rest = bytes;
  return take<T>(rest);
}

TEST(EventFile, ChecksumsAreThoseOfTheStandard) {
  std::string rising, falling;
  for (char i = 0; i < 32; ++i) rising += i, falling += static_cast<char>(31 - i);
  // RFC 3720, appendix B.4, and the check value of catalogues of CRCs.
  EXPECT_EQ(unmasked(masked_crc32c(std::string(32, '\0'))), 0x8a9136aau);
  EXPECT_EQ(unmasked(masked_crc32c(std::string(32, '\xff'))), 0x62a8ab43u);
  EXPECT_EQ(unmasked(masked_crc32c(rising)), 0x46dd794eu);
  EXPECT_EQ(unmasked(masked_crc32c(falling)), 0x113fdb5cu);
  EXPECT_EQ(unmasked(masked_crc32c("123456789")), 0xe3069283u);
  EXPECT_EQ(unmasked(masked_crc32c("")), 0u);
}

TEST(EventFile, AnotherReaderFindsTheVersionStepsTagsAndValues) {
  const std::uint64_t large = (std::uint64_t{1} << 40) + 300;
  const std::string file =
      event_record(version_event()) + event_record(scalar_event(0, {{"epsilon", 0.0f}})) +
      event_record(scalar_event(large, {{"eval/loss", 0.25f}, {std::string(300, 't'), -1.5e-20f}})) +
      event_record(scalar_event(127, {}));
  const auto records = records_of(file);
  ASSERT_EQ(records.size(), 4u);
  EXPECT_EQ(fields_of(records[0]).find(3)->second, "brain.Event:2");

  const auto event = fields_of(records[2]);
  EXPECT_EQ(as<double>(event.find(1)->second), static_cast<double>(large));
  EXPECT_EQ(as<std::uint64_t>(event.find(2)->second), large);
  const auto summary = fields_of(event.find(5)->second);
  ASSERT_EQ(summary.count(1), 2u);
  auto value = summary.find(1);
  EXPECT_EQ(fields_of(value->second).find(1)->second, "eval/loss");
  EXPECT_EQ(as<float>(fields_of(value->second).find(2)->second), 0.25f);
  ++value;
  EXPECT_EQ(fields_of(value->second).find(1)->second, std::string(300, 't'));
  EXPECT_EQ(as<float>(fields_of(value->second).find(2)->second), -1.5e-20f);
  EXPECT_TRUE(fields_of(fields_of(records[3]).find(5)->second).empty());
}

TEST(EventFile, AFlippedBitIsSeen) {
  const std::string file = event_record(scalar_event(3, {{"epsilon", 1.0f}}));
  EXPECT_EQ(records_of(file).size(), 1u);
  for (std::size_t at = 0; at < file.size(); ++at) {
    std::string other = file;
    other[at] = static_cast<char>(other[at] ^ 4);
    EXPECT_THROW(records_of(other), std::exception) << at;
  }
}

}  // namespace
}  // namespace dpmpi::event_file_test
