#include "comm/scatter_keys.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "core/secrecy.hpp"

namespace dpmpi {

std::vector<SecretKey> scatter_keys(const Communicator& comm, const std::vector<std::vector<SecretKey>>& keys) {
  constexpr std::size_t size = 32;
  std::vector<std::string> parts(keys.size());
  for (std::size_t r = 0; r < keys.size(); ++r) {
    parts[r].reserve(size * keys[r].size());  // what a string leaves behind when it grows would not be wiped
    for (const SecretKey& key : keys[r]) parts[r].append(reinterpret_cast<const char*>(key.bytes().data()), size);
  }
  std::string received = comm.scatter(parts);
  std::vector<SecretKey> own;
  for (std::size_t at = 0; at < received.size(); at += size)
    own.push_back(SecretKey::from_bytes(
        std::span<const std::uint8_t, size>(reinterpret_cast<const std::uint8_t*>(received.data()) + at, size)));
  for (std::string& part : parts) wipe(part);
  wipe(received);
  return own;
}

}  // namespace dpmpi
