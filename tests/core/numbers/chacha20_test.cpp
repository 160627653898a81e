#include "core/numbers/chacha20.hpp"

#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include <gtest/gtest.h>
#include <openssl/evp.h>

#include "core/numbers/random.hpp"

namespace dpmpi::chacha20_test {
namespace {

// The keystream by OpenSSL, under the counter and nonce of RFC 8439.
std::vector<std::uint64_t> by_openssl(const SecretKey& key, std::uint64_t step, std::uint32_t site,
                                      std::uint32_t block, std::size_t words) {
  std::array<unsigned char, 16> iv;
  std::memcpy(iv.data(), &block, 4);
  std::memcpy(iv.data() + 4, &site, 4);
  std::memcpy(iv.data() + 8, &step, 8);
  const std::unique_ptr<EVP_CIPHER_CTX, void (*)(EVP_CIPHER_CTX*)> context(EVP_CIPHER_CTX_new(),
                                                                           &EVP_CIPHER_CTX_free);
  EXPECT_EQ(EVP_EncryptInit_ex(context.get(), EVP_chacha20(), nullptr, key.bytes().data(), iv.data()), 1);
  std::vector<std::uint64_t> out(words, 0);
  auto* bytes = reinterpret_cast<unsigned char*>(out.data());
  int written = 0;
  EXPECT_EQ(EVP_EncryptUpdate(context.get(), bytes, &written, bytes, static_cast<int>(8 * words)), 1);
  return out;
}

TEST(ChaCha20, IsThatOfOpenSslForEveryLengthAndPlace) {
  const SecretKey key = SecretKey::from_seed(21);
  ChaCha20 cipher(key);
  for (const std::size_t words : {1, 7, 8, 9, 64, 127, 128, 129, 255, 256, 257, 385, 511, 512, 1024, 3001})
    for (const std::uint32_t block : {0u, 1u, 15u, 16u, 33u, 0xfffffe00u}) {
      std::vector<std::uint64_t> out(words, 7);
      cipher.keystream(0x0123456789abcdef, 0x80000001, block, out);
      ASSERT_EQ(out, by_openssl(key, 0x0123456789abcdef, 0x80000001, block, words)) << words << " from " << block;
    }
}

TEST(ChaCha20, WritesNothingBehindWhatItWasAskedFor) {
  ChaCha20 cipher(SecretKey::from_seed(21));
  for (std::size_t words = 0; words < 600; words += 37) {
    std::vector<std::uint64_t> out(words + 1, 7);
    cipher.keystream(3, 2, 1, std::span(out).first(words));
    EXPECT_EQ(out.back(), 7U);
  }
}

TEST(NearestPoint, IsTheFloorOfHalfMore) {
  for (const double base : {0.0, 1.0, 2.0, 1e6, 0x1p40 + 1, 0x1p51 - 1, 0x1p52, 0x1p60})
    for (const double part : {0.0, 0x1p-60, 0.25, std::nextafter(0.5, 0), 0.5, std::nextafter(0.5, 1), 0.75})
      for (const double sign : {-1, 1}) {
        const double x = sign * (base + part);
        EXPECT_EQ(nearest_point(x), static_cast<std::int64_t>(std::floor(x + 0.5))) << x;
      }
}

}  // namespace
}  // namespace dpmpi::chacha20_test
