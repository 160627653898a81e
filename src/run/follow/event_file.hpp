#pragma once
// The event files of TensorBoard: records (TFRecord framing) of a protocol buffer each, by hand, for two kinds of
// events are all that is needed. Fields as in tensorflow/core/util/event.proto and framework/summary.proto.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dpmpi {

/// CRC-32C (Castagnoli, reflected, RFC 3720), rotated and shifted as the framing wants it.
std::uint32_t masked_crc32c(std::string_view bytes);

/// A record: its length (8 bytes), the CRC of that, the bytes, the CRC of these; little endian.
std::string event_record(std::string_view bytes);

/// The event that a file begins with.
std::string version_event();
/// Scalars of one step, by their tags. An event has a time; in place of one, which would be secret, it gets its
/// step: the same run always gives the same bytes.
std::string scalar_event(std::uint64_t step, const std::vector<std::pair<std::string, float>>& scalars);

}  // namespace dpmpi
