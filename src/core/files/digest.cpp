#include "core/files/digest.hpp"

#include <array>

#include <openssl/evp.h>

#include "core/errors.hpp"

namespace dpmpi {

// The algorithm is looked up once: that takes as long as the digest of a short line.
Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  static const EVP_MD* const algorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  verify(context_ && algorithm && EVP_DigestInit_ex(static_cast<EVP_MD_CTX*>(context_), algorithm, nullptr) == 1,
         "SHA-256 is not available");
}

Sha256::~Sha256() { EVP_MD_CTX_free(static_cast<EVP_MD_CTX*>(context_)); }

void Sha256::update(std::string_view bytes) {
  verify(EVP_DigestUpdate(static_cast<EVP_MD_CTX*>(context_), bytes.data(), bytes.size()) == 1, "SHA-256 failed");
}

std::string Sha256::hex() {
  std::array<unsigned char, 32> digest{};
  unsigned length = 0;
  verify(EVP_DigestFinal_ex(static_cast<EVP_MD_CTX*>(context_), digest.data(), &length) == 1 && length == 32,
         "SHA-256 failed");
  std::string hex;
  for (const unsigned char byte : digest) hex += {"0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15]};
  return hex;
}

std::string sha256(std::string_view bytes) {
  Sha256 digest;
  digest.update(bytes);
  return digest.hex();
}

}  // namespace dpmpi
