#pragma once
// The keystream of ChaCha20 (RFC 8439), by this processor's widest vectors or by OpenSSL: the same bits.

#include <cstdint>
#include <memory>
#include <span>

namespace dpmpi {

class SecretKey;

class ChaCha20 {
 public:
  explicit ChaCha20(const SecretKey& key);
  ~ChaCha20();
  ChaCha20(ChaCha20&&) noexcept;
  ChaCha20(const ChaCha20&) = delete;
  ChaCha20& operator=(const ChaCha20&) = delete;

  /// The keystream from a block of 64 bytes on, under the nonce (site, step). It ends before block 2^32.
  void keystream(std::uint64_t step, std::uint32_t site, std::uint32_t block, std::span<std::uint64_t> out);

 private:
  struct Cipher;
  std::unique_ptr<Cipher> cipher_;
};

}  // namespace dpmpi
