#include "core/numbers/key_agreement.hpp"

#include <algorithm>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>

#include "core/errors.hpp"
#include "core/secrecy.hpp"

namespace dpmpi {
namespace {

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using KeyContext = std::unique_ptr<EVP_PKEY_CTX, decltype(&EVP_PKEY_CTX_free)>;
using CipherContext = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;

const unsigned char* bytes_in(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

Key private_key(const SecretKey& own) {
  Key key(EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, nullptr, own.bytes().data(), own.bytes().size()),
          &EVP_PKEY_free);
  verify(key != nullptr, "X25519 is not available");
  return key;
}

/// HKDF-SHA256 of what X25519 gave.
SecretKey key_from(std::array<std::uint8_t, 32>& shared, std::string_view info) {
  KeyContext context(EVP_PKEY_CTX_new_id(EVP_PKEY_HKDF, nullptr), &EVP_PKEY_CTX_free);
  std::array<std::uint8_t, 32> derived{};
  std::size_t length = derived.size();
  const bool done =
      context && EVP_PKEY_derive_init(context.get()) == 1 &&
      EVP_PKEY_CTX_set_hkdf_md(context.get(), EVP_sha256()) == 1 &&
      EVP_PKEY_CTX_set1_hkdf_key(context.get(), shared.data(), static_cast<int>(shared.size())) == 1 &&
      EVP_PKEY_CTX_add1_hkdf_info(context.get(), bytes_in(info), static_cast<int>(info.size())) == 1 &&
      EVP_PKEY_derive(context.get(), derived.data(), &length) == 1 && length == derived.size();
  wipe(shared);
  verify(done, "HKDF is not available");
  SecretKey key = SecretKey::from_bytes(derived);
  wipe(derived);
  return key;
}

/// Its key is used once, so the nonce may be the same for all.
constexpr std::array<unsigned char, 12> no_nonce{};

}  // namespace

PublicKey public_key_of(const SecretKey& own) {
  const Key key = private_key(own);
  PublicKey open{};
  std::size_t length = open.size();
  verify(EVP_PKEY_get_raw_public_key(key.get(), open.data(), &length) == 1 && length == open.size(),
         "X25519 is not available");
  return open;
}

SecretKey agreed_key(const SecretKey& own, const PublicKey& other, std::string_view purpose) {
  const Key mine = private_key(own);
  const Key theirs(EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, nullptr, other.data(), other.size()),
                   &EVP_PKEY_free);
  const KeyContext context(EVP_PKEY_CTX_new(mine.get(), nullptr), &EVP_PKEY_CTX_free);
  std::array<std::uint8_t, 32> shared{};
  std::size_t length = shared.size();
  if (!theirs || !context || EVP_PKEY_derive_init(context.get()) != 1 ||
      EVP_PKEY_derive_set_peer(context.get(), theirs.get()) != 1 ||
      EVP_PKEY_derive(context.get(), shared.data(), &length) != 1 || length != shared.size())
    throw DataError(fmt::format("{} is no public key with which a key can be agreed on", hex_of(other)));
  const PublicKey open = public_key_of(own);
  return key_from(
      shared, fmt::format("dpmpi {} {} {}", hex_of(std::min(open, other)), hex_of(std::max(open, other)), purpose));
}

std::string hex_of(const PublicKey& key) { return fmt::format("{:02x}", fmt::join(key, "")); }

PublicKey parse_public_key(std::string_view text, std::string_view what) {
  PublicKey key{};
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  if (text.size() != 2 * key.size() || text.find_first_not_of("0123456789abcdef") != text.npos)
    throw DataError(fmt::format("{} is not a public key of 64 hexadecimal digits", what));
  for (std::size_t i = 0; i < key.size(); ++i)
    key[i] = static_cast<std::uint8_t>(16 * digit(text[2 * i]) + digit(text[2 * i + 1]));
  return key;
}

std::string seal(const SecretKey& key, std::string_view plain, std::string_view context) {
  const CipherContext cipher(EVP_CIPHER_CTX_new(), &EVP_CIPHER_CTX_free);
  std::string sealed(plain.size() + seal_bytes, '\0');
  auto* out = reinterpret_cast<unsigned char*>(sealed.data());
  int length = 0;
  const bool done =
      cipher &&
      EVP_EncryptInit_ex(cipher.get(), EVP_chacha20_poly1305(), nullptr, key.bytes().data(), no_nonce.data()) ==
          1 &&
      EVP_EncryptUpdate(cipher.get(), nullptr, &length, bytes_in(context), static_cast<int>(context.size())) == 1 &&
      EVP_EncryptUpdate(cipher.get(), out, &length, bytes_in(plain), static_cast<int>(plain.size())) == 1 &&
      EVP_EncryptFinal_ex(cipher.get(), out + plain.size(), &length) == 1 &&
      EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_AEAD_GET_TAG, seal_bytes, out + plain.size()) == 1;
  verify(done, "ChaCha20-Poly1305 is not available");
  return sealed;
}

std::string open_sealed(const SecretKey& key, std::string_view sealed, std::string_view context) {
  if (sealed.size() < seal_bytes) return {};
  const CipherContext cipher(EVP_CIPHER_CTX_new(), &EVP_CIPHER_CTX_free);
  std::string tag(sealed.substr(sealed.size() - seal_bytes));
  sealed.remove_suffix(seal_bytes);
  std::string plain(sealed.size(), '\0');
  auto* out = reinterpret_cast<unsigned char*>(plain.data());
  int length = 0;
  const bool ready =
      cipher &&
      EVP_DecryptInit_ex(cipher.get(), EVP_chacha20_poly1305(), nullptr, key.bytes().data(), no_nonce.data()) ==
          1 &&
      EVP_DecryptUpdate(cipher.get(), nullptr, &length, bytes_in(context), static_cast<int>(context.size())) == 1 &&
      EVP_DecryptUpdate(cipher.get(), out, &length, bytes_in(sealed), static_cast<int>(sealed.size())) == 1 &&
      EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_AEAD_SET_TAG, seal_bytes, tag.data()) == 1;
  verify(ready, "ChaCha20-Poly1305 is not available");
  if (EVP_DecryptFinal_ex(cipher.get(), out, &length) != 1) {
    wipe(plain);
    return {};
  }
  return plain;
}

}  // namespace dpmpi
