#include "core/numbers/random.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>

#include <Random123/philox.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>

#include "core/errors.hpp"
#include "core/files/digest.hpp"
#include "core/secrecy.hpp"

namespace dpmpi {
namespace {

constexpr std::size_t key_size = 32, key_heap = 1 << 15;

// From OpenSSL's heap for secrets. Its size is within the smallest limit of locked memory that is usual; half of it
// is left to OpenSSL itself, which would fail without. Where there are more keys the rest are on the common heap.
std::uint8_t* new_key_bytes() {
  [[maybe_unused]] static const int ready = CRYPTO_secure_malloc_init(key_heap, key_size);
  void* bytes = CRYPTO_secure_used() < key_heap / 2 ? OPENSSL_secure_zalloc(key_size) : nullptr;
  if (!bytes) bytes = OPENSSL_zalloc(key_size);
  verify(bytes != nullptr, "no memory for a key");
  return static_cast<std::uint8_t*>(bytes);
}

constexpr std::size_t round_up_even(std::size_t n) { return n + n % 2; }

}  // namespace

void SecretKey::Wipe::operator()(std::uint8_t* bytes) const { OPENSSL_secure_clear_free(bytes, key_size); }

SecretKey::SecretKey() : bytes_(new_key_bytes()) {}

SecretKey::SecretKey(const SecretKey& other) : SecretKey() { *this = other; }

SecretKey& SecretKey::operator=(const SecretKey& other) {
  std::copy_n(other.bytes_.get(), key_size, bytes_.get());
  return *this;
}

SecretKey SecretKey::from_system() {
  SecretKey key;
  for (std::size_t have = 0; have < key_size;) {
    const ssize_t got = getrandom(key.bytes_.get() + have, key_size - have, 0);
    if (got < 0 && errno == EINTR) continue;
    verify(got > 0, "the operating system gives no random bits (getrandom)");
    have += static_cast<std::size_t>(got);
  }
  return key;
}

SecretKey SecretKey::from_bytes(std::span<const std::uint8_t, 32> bytes) {
  SecretKey key;
  std::ranges::copy(bytes, key.bytes_.get());
  return key;
}

SecretKey SecretKey::from_seed(std::uint64_t seed) { return SecretKey().derive("dpmpi test seed", seed); }

SecretKey SecretKey::derive(std::string_view purpose, std::uint64_t index) const {
  const std::string message = fmt::format("derive/{}/{}", purpose, index);
  const auto* text = reinterpret_cast<const unsigned char*>(message.data());
  SecretKey key;
  unsigned length = 0;
  verify(HMAC(EVP_sha256(), bytes_.get(), key_size, text, message.size(), key.bytes_.get(), &length) != nullptr &&
             length == key_size,
         "HMAC-SHA256 is not available");
  return key;
}

std::string SecretKey::authenticate(std::string_view message) const {
  Authenticator whole(*this);
  whole.update(message);
  return whole.hex();
}

Authenticator::Authenticator(const SecretKey& key) : context_(EVP_MD_CTX_new()) {
  EVP_PKEY* const own =
      EVP_PKEY_new_raw_private_key(EVP_PKEY_HMAC, nullptr, key.bytes().data(), key.bytes().size());
  const bool ready =
      context_ && own &&
      EVP_DigestSignInit(static_cast<EVP_MD_CTX*>(context_), nullptr, EVP_sha256(), nullptr, own) == 1;
  EVP_PKEY_free(own);  // the context has its share of it
  verify(ready, "HMAC-SHA256 is not available");
  update("authenticate/");
}

Authenticator::~Authenticator() { EVP_MD_CTX_free(static_cast<EVP_MD_CTX*>(context_)); }

void Authenticator::update(std::string_view bytes) {
  verify(EVP_DigestSignUpdate(static_cast<EVP_MD_CTX*>(context_), bytes.data(), bytes.size()) == 1,
         "HMAC-SHA256 failed");
}

std::string Authenticator::hex() {
  std::array<unsigned char, 32> digest{};
  std::size_t length = digest.size();
  verify(EVP_DigestSignFinal(static_cast<EVP_MD_CTX*>(context_), digest.data(), &length) == 1 && length == 32,
         "HMAC-SHA256 failed");
  return fmt::format("{:02x}", fmt::join(digest, ""));
}

// secret stream

SecretStream::SecretStream(const SecretKey& key) : cipher_(key) {}

void SecretStream::words(std::uint64_t step, std::uint32_t site, std::uint64_t first,
                         std::span<std::uint64_t> out) {
  verify(first % 8 == 0 && (first + out.size()) / 8 < (std::uint64_t{1} << 32), "keystream position out of range");
  if (!out.empty()) cipher_.keystream(step, site, static_cast<std::uint32_t>(first / 8), out);
}

std::uint64_t SecretStream::word(std::uint64_t step, std::uint32_t site, std::uint64_t i) {
  std::array<std::uint64_t, 8> block;
  words(step, site, i - i % block.size(), block);
  const std::uint64_t wanted = block[i % block.size()];
  wipe(block);
  return wanted;
}

void SecretStream::normals(std::uint64_t step, std::uint32_t site, std::uint64_t first, std::span<double> out) {
  verify(site < finer_site, "a site whose normals have finer bits");
  std::array<std::uint64_t, 2048> bits;
  for (std::size_t i = 0; i < out.size(); i += bits.size()) {
    const std::size_t count = std::min(bits.size(), out.size() - i), even = round_up_even(count);
    const std::span<std::uint64_t> chunk(bits.data(), even);
    words(step, site, first + i, chunk);
    const auto finer = [&](std::size_t at) { return word(step, finer_site + site, first + i + at); };
    if (even == count) {
      box_muller(chunk, out.subspan(i, count), std::cref(finer));
    } else {  // an odd tail: the last pair gives one normal
      std::array<double, 2048> normal;
      box_muller(chunk, std::span(normal.data(), even), std::cref(finer));
      std::copy_n(normal.begin(), count, out.begin() + static_cast<std::ptrdiff_t>(i));
      wipe(normal);
    }
  }
  wipe(bits.data(), std::min(bits.size(), round_up_even(out.size())) * sizeof bits[0]);
}

SecretReader::~SecretReader() { wipe(buffer_); }

std::uint64_t SecretReader::next() {
  const std::size_t slot = position_ % buffer_.size();
  if (slot == 0) stream_.words(step_, site_, position_, buffer_);
  ++position_;
  return buffer_[slot];
}

std::span<const std::uint64_t, 64> SecretReader::next_block() {
  verify(position_ % buffer_.size() == 0, "a block of words begins where the last one ended");
  stream_.words(step_, site_, position_, buffer_);
  position_ += buffer_.size();
  return buffer_;
}

std::uint64_t SecretReader::below(std::uint64_t n) {
  verify(n > 0, "empty range");
  const std::uint64_t limit = ~std::uint64_t{0} - (~std::uint64_t{0} % n + 1) % n;  // a multiple of n, minus one
  for (;;) {
    const std::uint64_t w = next();
    if (w <= limit) return w % n;
  }
}

// public stream

PublicStream::PublicStream(std::uint64_t seed, std::string_view purpose, std::uint64_t step)
    : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)} {
  const std::string digest = sha256(fmt::format("public/{}/{}", purpose, step));
  high_ = {static_cast<std::uint32_t>(std::stoul(digest.substr(0, 8), nullptr, 16)),
           static_cast<std::uint32_t>(std::stoul(digest.substr(8, 8), nullptr, 16))};
}

void PublicStream::words(std::uint64_t first, std::span<std::uint64_t> out) const {
  verify(first % 2 == 0, "public words start at an even position");
  const r123::Philox4x32 philox;
  for (std::size_t i = 0; i < out.size(); i += 2) {
    const std::uint64_t block = (first + i) / 2;
    const r123::Philox4x32::ctr_type counter{
        {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32), high_[0], high_[1]}};
    const auto r = philox(counter, r123::Philox4x32::key_type{{key_[0], key_[1]}});
    out[i] = r[0] | std::uint64_t{r[1]} << 32;
    if (i + 1 < out.size()) out[i + 1] = r[2] | std::uint64_t{r[3]} << 32;
  }
}

std::uint64_t PublicStream::word(std::uint64_t i) const {
  std::array<std::uint64_t, 2> pair;
  words(i & ~std::uint64_t{1}, pair);
  return pair[i & 1];
}

double PublicStream::uniform(std::uint64_t i) const { return (static_cast<double>(word(i) >> 11) + 0.5) * 0x1p-53; }

std::uint64_t PublicStream::below(std::uint64_t i, std::uint64_t n) const {
  verify(n > 0, "empty range");
  __extension__ using uint128 = unsigned __int128;
  return static_cast<std::uint64_t>((uint128{word(i)} * n) >> 64);
}

void PublicStream::normals(std::uint64_t first, std::span<double> out) const {
  std::array<std::uint64_t, 1024> bits;
  std::array<double, 1024> normal;
  for (std::size_t i = 0; i < out.size(); i += bits.size()) {
    const std::size_t count = std::min(bits.size(), out.size() - i), even = round_up_even(count);
    words(first + i, std::span(bits.data(), even));
    box_muller(std::span<const std::uint64_t>(bits.data(), even), std::span(normal.data(), even));
    std::copy_n(normal.begin(), count, out.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

void PublicStream::normals(std::uint64_t first, std::span<float> out) const {
  std::array<double, 1024> chunk;
  for (std::size_t i = 0; i < out.size(); i += chunk.size()) {
    const std::size_t count = std::min(chunk.size(), out.size() - i);
    normals(first + i, std::span<double>(chunk.data(), count));
    std::transform(chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(count),
                   out.begin() + static_cast<std::ptrdiff_t>(i), [](double x) { return static_cast<float>(x); });
  }
}

std::vector<std::uint32_t> PublicStream::permutation(std::uint32_t n) const {
  std::vector<std::uint32_t> order(n);
  for (std::uint32_t i = 0; i < n; ++i) order[i] = i;
  for (std::uint32_t i = n; i > 1; --i) std::swap(order[i - 1], order[below(i, i)]);
  return order;
}

}  // namespace dpmpi
