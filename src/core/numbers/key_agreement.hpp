#pragma once
// Keys that two parties agree on although everybody reads what they send each other: X25519 (RFC 7748), and from
// what it gives both of them HKDF-SHA256 (RFC 5869), as OpenSSL has them. Who the other party is must be known
// otherwise: whoever exchanges public keys on their way agrees on keys with both.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/numbers/random.hpp"

namespace dpmpi {

using PublicKey = std::array<std::uint8_t, 32>;

/// What a party tells everybody of its secret key.
PublicKey public_key_of(const SecretKey& own);
/// The key that the parties have together for one purpose: the same whichever of them asks. Throws DataError if
/// `other` is no public key (a point of low order, which would give everybody the same key).
SecretKey agreed_key(const SecretKey& own, const PublicKey& other, std::string_view purpose);

std::string hex_of(const PublicKey& key);
/// Throws DataError unless `text` is 64 hexadecimal digits. `what`: whose key, for the message.
PublicKey parse_public_key(std::string_view text, std::string_view what);

/// `plain` for whoever has `key`, bound to `context` (ChaCha20-Poly1305, RFC 8439). A key seals one text.
std::string seal(const SecretKey& key, std::string_view plain, std::string_view context);
inline constexpr std::size_t seal_bytes = 16;  ///< that a sealed text has more
/// The text again; empty if it was not sealed under this key and context.
std::string open_sealed(const SecretKey& key, std::string_view sealed, std::string_view context);

}  // namespace dpmpi
