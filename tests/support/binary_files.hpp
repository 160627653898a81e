#pragma once
// Bytes of IDX and NumPy files, by their format descriptions.

#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace dpmpi::test {

inline std::string idx_file(int type, const std::vector<std::uint32_t>& shape, const std::string& data) {
  std::string out = {'\0', '\0', static_cast<char>(type), static_cast<char>(shape.size())};
  for (const std::uint32_t n : shape)
    for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>((n >> shift) & 0xff);
  return out + data;
}

inline std::string npy_file(const std::string& type, const std::string& shape, const std::string& data,
                            const std::string& order = "False") {
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}", type, order, shape);
  header.resize((10 + header.size() + 64) / 64 * 64 - 10 - 1, ' ');
  header += '\n';
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size() & 0xff) +
         static_cast<char>(header.size() >> 8) + header + data;
}

}  // namespace dpmpi::test
