#include "privacy/curator/commitment.hpp"

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "comm/scatter_keys.hpp"
#include "core/errors.hpp"
#include "core/files/digest.hpp"
#include "core/secrecy.hpp"

namespace dpmpi {
namespace {

template <class Container>
std::string_view bytes_of(const Container& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0])};
}

// Every bit that a kernel can see of a block.
std::string content_digest(const Records& r) {
  Sha256 digest;
  digest.update(fmt::format("{} {} {} {}", static_cast<int>(r.storage), r.count, r.features, r.bias));
  for (const auto part : {bytes_of(r.all_f32()), bytes_of(r.all_u8()), bytes_of(r.row_scale), bytes_of(r.row_begin),
                          bytes_of(r.column), bytes_of(r.value), bytes_of(r.label), bytes_of(r.person_begin),
                          bytes_of(r.weight), bytes_of(r.offset)})
    digest.update(part);
  return digest.hex();
}

}  // namespace

SecretKey key_of_block(const SecretKey& key, std::uint32_t block) { return key.derive("selection", block); }

std::vector<SecretKey> own_block_keys(const Communicator& comm, const Shard& shard,
                                      const std::optional<SecretKey>& key) {
  return own_block_keys(comm, shard, [&](std::uint32_t block) { return key_of_block(*key, block); });
}

std::vector<SecretKey> own_block_keys(const Communicator& comm, const Shard& shard, const KeyOfBlock& key_of) {
  std::string owned;
  for (const auto& block : shard.blocks) owned.append(reinterpret_cast<const char*>(&block.id), sizeof block.id);
  const auto owners = comm.gather(owned);
  std::vector<std::vector<SecretKey>> keys(owners.size());
  for (std::size_t r = 0; r < owners.size(); ++r)  // on the root
    for (std::size_t i = 0; i < owners[r].size(); i += sizeof(std::uint32_t)) {
      std::uint32_t id = 0;
      std::memcpy(&id, owners[r].data() + i, sizeof id);
      keys[r].push_back(key_of(id));
    }
  std::vector<SecretKey> own = scatter_keys(comm, keys);
  verify(own.size() == shard.blocks.size(), "selection keys do not match the blocks");
  return own;
}

std::string tags_of_blocks(const Communicator& comm, const Shard& shard, const KeyOfBlock& key_of) {
  const std::vector<SecretKey> block_keys = own_block_keys(comm, shard, key_of);
  std::string tags;
  for (std::size_t i = 0; i < block_keys.size(); ++i)
    tags += block_keys[i].derive("commitment").authenticate(content_digest(shard.blocks[i].records));
  return fmt::format("{}", fmt::join(comm.gather(tags), ""));
}

std::string commitment_of(const SecretKey& key, const std::string& tags) {
  return key.derive("commitment").authenticate(tags);
}

std::string commitment_to(const Communicator& comm, const Shard& shard, const std::optional<SecretKey>& key) {
  const std::string tags =
      tags_of_blocks(comm, shard, [&](std::uint32_t block) { return key_of_block(*key, block); });
  return comm.is_root() ? commitment_of(*key, tags) : "";
}

}  // namespace dpmpi
