#pragma once
#include <string>
#include <string_view>

namespace dpmpi {

/// SHA-256 as 64 lower-case hex digits.
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
