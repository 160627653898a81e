#pragma once
// The files that sites and their coordinator hand each other. All of them may pass through anybody's hands: what is
// secret in them is sealed or masked, and whoever reads one takes nothing in it for granted.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/numbers/key_agreement.hpp"
#include "data/records/records.hpp"

namespace dpmpi {

/// What a site says of itself before the run begins: all of it public.
struct JoinFile {
  std::string config;      ///< RunConfig::digest()
  std::uint32_t site = 0;  ///< which of data.shards is its own, from 0
  PublicKey key{};
  DatasetFacts facts;  ///< of its own records

  std::string text() const;
  static JoinFile read(const std::string& path);  ///< throws DataError
};

/// What the coordinator asks of the sites for one step: the state that all steps before it have released, and who
/// takes part.
struct RoundFile {
  std::uint64_t round = 1, rounds = 1;  ///< the step that it makes, from 1, of all steps
  std::string config, plan;             ///< digests: RunConfig::digest(), SHA-256 of plan.json
  std::string run_salt, salt;           ///< random: of this run, and of this file
  std::uint32_t blocks = 0;             ///< of the run
  std::uint64_t words = 0;              ///< of a part
  DatasetFacts facts;                   ///< of all records; names of features stay with the coordinator
  PublicKey coordinator{};
  std::vector<PublicKey> sites;        ///< of all
  std::vector<std::uint32_t> present;  ///< who takes part, ascending
  std::string seals;                   ///< of each of these, the keys of its blocks, then that of its persons
  std::string state;                   ///< of the algorithm: released values alone

  std::size_t keys_of_site() const { return blocks_of_site() + std::size_t{1}; }
  std::uint32_t blocks_of_site() const { return blocks / static_cast<std::uint32_t>(sites.size()); }
  /// Names the run: whoever changes config, plan or a key begins another one.
  std::string run() const;
  /// SHA-256 of all but the seals: what masks, seals and parts are bound to.
  std::string digest() const;
  /// For people to compare: the keys of all.
  std::string fingerprint() const;
  /// For the present sites in their order; `keys` are one behind the other.
  void put_seal(const SecretKey& coordinator_key, std::uint32_t site, std::string_view keys);
  /// Throws PrivacyError if it was not sealed for this site by the coordinator of the file.
  std::string open_seal(const SecretKey& site_key, std::uint32_t site) const;

  std::string text() const;
  static RoundFile read(const std::string& path);  ///< throws DataError

 private:
  std::string header() const;
};

/// What a site hands over: its part of a round's sum behind masks.
struct PartFile {
  std::string round;       ///< RoundFile::digest()
  std::uint32_t site = 0;  ///< from 0
  std::string tags;        ///< of its blocks (tags_of_blocks)
  std::vector<std::int64_t> part;

  /// With a MAC under the key that the site has together with the coordinator.
  std::string text(const SecretKey& own, const PublicKey& coordinator) const;
  /// Throws DataError unless it is a part of this round by one of its sites.
  static PartFile read(const std::string& path, const RoundFile& round, const SecretKey& coordinator_key);
};

}  // namespace dpmpi
