#pragma once
// Protocol Buffers' wire format, as far as writing an ONNX file needs it.
//
// A library was looked at first. Debian's libonnx-dev links 7 MB of libonnx and libprotobuf into the program on
// every node of a cluster, to write one small file on one of them, and its headers do not compile without
// libprotobuf-dev beside them. A schema of our own would need protoc wherever dpmpi is built. The format itself has
// two rules, which do not change (protobuf.dev/programming-guides/encoding), and nothing is read here: what others
// make of the bytes is tested with python3-onnx.

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace dpmpi {

/// The fields of a message, one behind the other, as bytes.
class WireMessage {
 public:
  /// int32, int64, enum and bool; negative numbers as int64.
  WireMessage& whole(std::uint32_t field, std::int64_t value) {
    varint(std::uint64_t{field} << 3);
    varint(static_cast<std::uint64_t>(value));
    return *this;
  }
  WireMessage& real(std::uint32_t field, float value) {
    varint((std::uint64_t{field} << 3) | 5);
    const auto bits = std::bit_cast<std::uint32_t>(value);
    for (int shift = 0; shift < 32; shift += 8) bytes_ += static_cast<char>((bits >> shift) & 0xff);
    return *this;
  }
  /// string, bytes, and messages inside of messages.
  WireMessage& text(std::uint32_t field, std::string_view value) {
    begin(field, value.size());
    bytes_ += value;
    return *this;
  }
  WireMessage& message(std::uint32_t field, const WireMessage& inner) { return text(field, inner.bytes_); }
  /// What stands before `size` bytes that somebody else writes.
  WireMessage& begin(std::uint32_t field, std::uint64_t size) {
    varint((std::uint64_t{field} << 3) | 2);
    varint(size);
    return *this;
  }

  const std::string& bytes() const { return bytes_; }

 private:
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>((value & 0x7f) | 0x80);
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

}  // namespace dpmpi
