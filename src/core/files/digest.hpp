#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace dpmpi {

inline constexpr std::size_t sha256_digits = 64;  ///< in hexadecimal

/// SHA-256 in lower-case hex digits.
std::string sha256(std::string_view bytes);

/// Incremental SHA-256 for data that is not in one piece.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;
  void update(std::string_view bytes);
  std::string hex();  ///< ends the digest

 private:
  void* context_;
};

}  // namespace dpmpi
