#pragma once
// Records with values that occur nowhere else, in every file format, and how to recognise them in a message.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include <zlib.h>

#include <fmt/format.h>

#include "core/numbers/random.hpp"
#include "support/binary_files.hpp"

namespace dpmpi::test {

/// Records first .. first + count - 1 of all that there are in any file.
struct CanaryRecords {
  static constexpr std::uint64_t features = 4, pixels = 12;
  std::uint64_t first = 0, count = 0;
  std::uint64_t end() const { return first + count; }

  /// Eight characters, others for every record and feature.
  static std::string text(std::uint64_t record, std::uint64_t feature) {
    return fmt::format("0.3{:05}", (record * features + feature) * 7919 % 100000);
  }
  static float value(std::uint64_t record, std::uint64_t feature) { return std::stof(text(record, feature)); }
  static std::string pixel_row(std::uint64_t record) {
    std::string row;
    for (std::uint64_t j = 0; j < pixels; ++j)
      row += static_cast<char>(PublicStream(record, "pixels").below(j, 256));
    return row;
  }

  std::string table(const std::string& delimiter) const {
    std::string out = fmt::format("label{0}north{0}east{0}south{0}west\n", delimiter);
    for (std::uint64_t i = first; i < end(); ++i) {
      out += fmt::format("{}", i % 2);
      for (std::uint64_t j = 0; j < features; ++j) out += delimiter + text(i, j);
      out += '\n';
    }
    return out;
  }
  std::string libsvm() const {
    std::string out;
    for (std::uint64_t i = first; i < end(); ++i) {
      out += fmt::format("{}", i % 2);
      for (std::uint64_t j = 0; j < features; ++j) out += fmt::format(" {}:{}", j + 1, text(i, j));
      out += '\n';
    }
    return out;
  }
  std::string floats(bool big_endian) const;
  std::string images() const {
    std::string out;
    for (std::uint64_t i = first; i < end(); ++i) out += pixel_row(i);
    return out;
  }
  std::string labels() const {
    std::string out;
    for (std::uint64_t i = first; i < end(); ++i) out += static_cast<char>(i % 2);
    return out;
  }
};

template <class T>
std::string raw_bytes(T x, bool big_endian = false) {
  std::string bytes(sizeof x, '\0');
  std::memcpy(bytes.data(), &x, sizeof x);
  if (big_endian) std::reverse(bytes.begin(), bytes.end());
  return bytes;
}

inline std::string CanaryRecords::floats(bool big_endian) const {
  std::string out;
  for (std::uint64_t i = first; i < end(); ++i)
    for (std::uint64_t j = 0; j < features; ++j) out += raw_bytes(value(i, j), big_endian);
  return out;
}

/// Finds records in messages: as text, as double, as pixels, and as two neighbouring values of float32 of either
/// byte order or widened to double. One widened value alone is no sign: a coordinate of a model is a float32, too,
/// and one in 550 between 0.3 and 0.4 equals a record's.
class CanarySearch {
 public:
  explicit CanarySearch(const CanaryRecords& records) {
    for (std::uint64_t i = records.first; i < records.end(); ++i) {
      for (std::uint64_t j = 0; j < CanaryRecords::features; ++j) add_value(i, j);
      const std::string row = CanaryRecords::pixel_row(i);
      for (std::size_t at = 0; at + 8 <= row.size(); ++at) add(row.substr(at), i);
    }
  }
  /// The records that `bytes` show.
  std::set<std::uint64_t> in(const std::string& bytes) const {
    std::set<std::uint64_t> found;
    for (std::size_t at = 0; at + 8 <= bytes.size(); ++at) {
      const std::uint64_t eight = key(bytes.data() + at);
      if (!perhaps_[slot(eight)]) continue;
      if (const auto record = of_.find(eight); record != of_.end()) found.insert(record->second);
      if (const auto pair = widened_.find(eight); pair != widened_.end())
        if (at + 16 <= bytes.size() && key(bytes.data() + at + 8) == pair->second.next)
          found.insert(pair->second.record);
    }
    return found;
  }

 private:
  static std::uint64_t key(const char* eight) {
    std::uint64_t x = 0;
    std::memcpy(&x, eight, sizeof x);
    return x;
  }
  static std::size_t slot(std::uint64_t eight) { return eight * 0x9e3779b97f4a7c15u >> 44; }
  void add(const std::string& bytes, std::uint64_t record) {
    of_[key(bytes.data())] = record;
    perhaps_[slot(key(bytes.data()))] = true;
  }
  void add_value(std::uint64_t i, std::uint64_t j) {
    add(CanaryRecords::text(i, j), i);
    add(raw_bytes(std::stod(CanaryRecords::text(i, j))), i);
    if (j + 1 == CanaryRecords::features) return;
    const float x = CanaryRecords::value(i, j), next = CanaryRecords::value(i, j + 1);
    for (const bool big_endian : {false, true}) add(raw_bytes(x, big_endian) + raw_bytes(next, big_endian), i);
    const std::uint64_t wide = key(raw_bytes(static_cast<double>(x)).data());
    widened_[wide] = {key(raw_bytes(static_cast<double>(next)).data()), i};
    perhaps_[slot(wide)] = true;
  }
  struct Neighbour {
    std::uint64_t next;
    std::uint64_t record;
  };
  std::unordered_map<std::uint64_t, std::uint64_t> of_;     // records by eight bytes that only they have
  std::unordered_map<std::uint64_t, Neighbour> widened_;    // by a float32 as a double, with the next feature's
  std::vector<bool> perhaps_ = std::vector<bool>(1 << 20);  // for most bytes no is quick
};

/// What gzip data in `bytes` hold, wherever they begin.
inline std::string inflated(const std::string& bytes) {
  const std::string magic("\x1f\x8b\x08");
  std::string out, piece(1 << 16, '\0');
  for (std::size_t at = bytes.find(magic); at != bytes.npos; at = bytes.find(magic, at + 1)) {
    z_stream stream{};
    inflateInit2(&stream, 15 + 16);
    std::string rest = bytes.substr(at);
    stream.next_in = reinterpret_cast<Bytef*>(rest.data());
    stream.avail_in = static_cast<uInt>(rest.size());
    for (int code = Z_OK; code == Z_OK;) {
      stream.next_out = reinterpret_cast<Bytef*>(piece.data());
      stream.avail_out = static_cast<uInt>(piece.size());
      code = inflate(&stream, Z_NO_FLUSH);
      out.append(piece, 0, piece.size() - stream.avail_out);
    }
    inflateEnd(&stream);
  }
  return out;
}

}  // namespace dpmpi::test
