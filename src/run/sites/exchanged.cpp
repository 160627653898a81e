#include "run/sites/exchanged.hpp"

#include <algorithm>
#include <cstring>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "core/files/digest.hpp"
#include "core/files/untrusted_json.hpp"
#include "run/plan/json_values.hpp"

namespace dpmpi {
namespace {

constexpr std::string_view round_magic = "dpmpi round 1\n", part_magic = "dpmpi part 1\n";
constexpr std::size_t key_bytes = 32;
constexpr std::uint64_t most_sites = 1000, most_steps_of_sites = std::uint64_t{1} << 40;

/// Members of an object that came from anybody.
class Members {
 public:
  Members(std::string_view text, std::string place)
      : json_(parse_untrusted_json<nlohmann::json>(text, place)), place_(std::move(place)) {
    if (!json_.is_object()) throw DataError(fmt::format("{}: is not an object of JSON", place_));
  }
  std::uint64_t number(const char* name, std::uint64_t most) const { return number_in(at(name), name, most); }
  std::string text(const char* name) const {
    if (!at(name).is_string()) wrong(name, "a text");
    return at(name).get<std::string>();
  }
  std::string digest(const char* name) const {
    std::string digits = text(name);
    if (digits.size() != sha256_digits || digits.find_first_not_of("0123456789abcdef") != digits.npos)
      wrong(name, "64 hexadecimal digits");
    return digits;
  }
  PublicKey key(const char* name) const {
    return parse_public_key(text(name), fmt::format("{}: {}", place_, name));
  }
  Storage storage() const {
    const auto found = storages().find(text("storage"));
    if (found == storages().end()) wrong("storage", "one of dense_f32, dense_u8, sparse_f32");
    return found->second;
  }
  std::vector<std::uint64_t> numbers(const char* name, std::uint64_t most) const {
    std::vector<std::uint64_t> all;
    for (const auto& entry : list(name)) all.push_back(number_in(entry, name, most));
    return all;
  }
  std::vector<PublicKey> keys(const char* name) const {
    std::vector<PublicKey> all;
    for (const auto& entry : list(name)) {
      if (!entry.is_string()) wrong(name, "a list of public keys");
      all.push_back(parse_public_key(entry.get<std::string>(), fmt::format("{}: {}", place_, name)));
    }
    return all;
  }
  [[noreturn]] void wrong(const char* name, std::string_view needed) const {
    throw DataError(fmt::format("{}: {} is not {}", place_, name, needed));
  }

 private:
  const nlohmann::json& at(const char* name) const {
    const auto found = json_.find(name);
    if (found == json_.end()) throw DataError(fmt::format("{}: has no {}", place_, name));
    return *found;
  }
  const nlohmann::json& list(const char* name) const {
    if (!at(name).is_array() || at(name).empty() || at(name).size() > most_sites)
      wrong(name, fmt::format("a list of 1 to {} entries", most_sites));
    return at(name);
  }
  std::uint64_t number_in(const nlohmann::json& entry, const char* name, std::uint64_t most) const {
    if (!entry.is_number_unsigned() || entry.get<std::uint64_t>() > most)
      wrong(name, fmt::format("a whole number of at most {}", most));
    return entry.get<std::uint64_t>();
  }
  nlohmann::json json_;
  std::string place_;
};

/// The lines that a file begins with, and what is behind them.
struct Framed {
  std::string_view header, rest;
  Framed(std::string_view text, std::string_view magic, const std::string& path, const char* what) {
    const std::size_t end = text.find('\n', std::min(magic.size(), text.size()));
    if (!text.starts_with(magic) || end == text.npos)
      throw DataError(fmt::format("{} is not {} of this version of dpmpi", path, what));
    header = text.substr(magic.size(), end - magic.size());
    rest = text.substr(end + 1);
  }
};

const char* storage_name(Storage storage) {
  for (const auto& [name, value] : storages())
    if (value == storage) return name.c_str();
  return "";
}

void put_width(OrderedJson& out, const DatasetFacts& facts) {
  out["features"] = facts.features;
  out["storage"] = storage_name(facts.storage);
  out["row_entries"] = facts.row_entries;
}

void take_width(const Members& members, DatasetFacts& facts) {
  facts.features = members.number("features", std::uint64_t{1} << 40);
  facts.storage = members.storage();
  facts.row_entries = members.number("row_entries", std::uint64_t{1} << 40);
}

std::string purpose_of_seal(const std::string& digest) { return "round " + digest; }

}  // namespace

std::string JoinFile::text() const {
  OrderedJson out{{"dpmpi_join", 1}, {"config", config}, {"site", site + 1}, {"key", hex_of(key)}};
  out["records"] = facts.records;
  put_width(out, facts);
  out["feature_names"] = facts.feature_names;
  return out.dump(2, ' ', true, OrderedJson::error_handler_t::replace) + "\n";
}

JoinFile JoinFile::read(const std::string& path) {
  const Members members(read_file(path, file_limit::document), path);
  if (members.number("dpmpi_join", 1) != 1) members.wrong("dpmpi_join", "1");
  JoinFile join{.config = members.digest("config"),
                .site = static_cast<std::uint32_t>(members.number("site", most_sites)),
                .key = members.key("key"),
                .facts = {}};
  if (join.site-- == 0) members.wrong("site", "a number from 1 on");
  join.facts.records = members.number("records", std::uint64_t{1} << 48);
  take_width(members, join.facts);
  join.facts.feature_names = members.text("feature_names");
  return join;
}

std::string RoundFile::run() const {
  std::string all = config + plan + run_salt + hex_of(coordinator);
  for (const PublicKey& key : sites) all += hex_of(key);
  return sha256(all);
}

std::string RoundFile::fingerprint() const {
  std::string all = hex_of(coordinator);
  for (const PublicKey& key : sites) all += hex_of(key);
  const std::string digits = sha256(all);
  std::string text;
  for (std::size_t i = 0; i < 32; i += 4) text += (i == 0 ? "" : " ") + digits.substr(i, 4);
  return text;
}

std::string RoundFile::header() const {
  OrderedJson out{{"round", round},       {"rounds", rounds}, {"config", config}, {"plan", plan},
                  {"run_salt", run_salt}, {"salt", salt},     {"blocks", blocks}, {"words", words}};
  out["records"] = facts.shards;
  put_width(out, facts);
  out["coordinator"] = hex_of(coordinator);
  for (const PublicKey& key : sites) out["sites"].push_back(hex_of(key));
  for (const std::uint32_t site : present) out["present"].push_back(site + 1);
  return out.dump();
}

std::string RoundFile::digest() const { return sha256(header() + "\n" + state); }

void RoundFile::put_seal(const SecretKey& coordinator_key, std::uint32_t site, std::string_view keys) {
  const std::string own = digest();
  seals += seal(agreed_key(coordinator_key, sites.at(site), purpose_of_seal(own)), keys, own);
}

std::string RoundFile::open_seal(const SecretKey& site_key, std::uint32_t site) const {
  const auto place = static_cast<std::size_t>(std::ranges::find(present, site) - present.begin());
  const std::size_t size = key_bytes * keys_of_site() + seal_bytes;
  std::string keys = open_sealed(agreed_key(site_key, coordinator, purpose_of_seal(digest())),
                                 std::string_view(seals).substr(place * size, size), digest());
  if (keys.empty())
    throw PrivacyError(
        "the round's file was not written for this site by its coordinator, or was changed on its way: ask for it "
        "again");
  return keys;
}

std::string RoundFile::text() const { return std::string(round_magic) + header() + "\n" + seals + state; }

RoundFile RoundFile::read(const std::string& path) {
  const std::string text = read_file(path, file_limit::none);
  const Framed framed(text, round_magic, path, "the file of a round");
  const Members members(framed.header, path);
  RoundFile file;
  file.round = members.number("round", most_steps_of_sites),
  file.rounds = members.number("rounds", most_steps_of_sites);
  file.config = members.digest("config"), file.plan = members.digest("plan");
  file.run_salt = members.digest("run_salt"), file.salt = members.digest("salt");
  file.blocks = static_cast<std::uint32_t>(members.number("blocks", 1u << 20));
  file.words = members.number("words", std::uint64_t{1} << 40);
  file.facts.shards = members.numbers("records", std::uint64_t{1} << 48);
  for (const std::uint64_t records : file.facts.shards) file.facts.records += records;
  take_width(members, file.facts);
  file.coordinator = members.key("coordinator");
  file.sites = members.keys("sites");
  // Of two sites with one key the masks of a third would cancel.
  if (std::set(file.sites.begin(), file.sites.end()).size() < file.sites.size())
    members.wrong("sites", "a list of different keys");
  for (const std::uint64_t site : members.numbers("present", file.sites.size())) {
    const bool ascends = site > (file.present.empty() ? 0 : file.present.back() + 1);
    if (!ascends) members.wrong("present", "an ascending list of sites");
    file.present.push_back(static_cast<std::uint32_t>(site - 1));
  }
  if (file.facts.shards.size() != file.sites.size()) members.wrong("records", "one number for each site");
  if (file.round == 0 || file.round > file.rounds) members.wrong("round", "one of the rounds");
  if (file.blocks == 0 || file.blocks % file.sites.size() != 0)
    members.wrong("blocks", "the same number for each site");
  if (file.present.size() < 2) members.wrong("present", "a list of two sites or more");
  const std::size_t sealed = file.present.size() * (key_bytes * file.keys_of_site() + seal_bytes);
  if (framed.rest.size() < sealed) throw DataError(fmt::format("{} was cut off", path));
  file.seals = framed.rest.substr(0, sealed);
  file.state = framed.rest.substr(sealed);
  return file;
}

std::string PartFile::text(const SecretKey& own, const PublicKey& coordinator) const {
  const OrderedJson header{{"round", round}, {"site", site + 1}, {"tags", tags}};
  std::string body = header.dump() + "\n";
  body.append(reinterpret_cast<const char*>(part.data()), part.size() * sizeof part[0]);
  return std::string(part_magic) + body + agreed_key(own, coordinator, "part").authenticate(body);
}

PartFile PartFile::read(const std::string& path, const RoundFile& round, const SecretKey& coordinator_key) {
  const std::string text = read_file(path, file_limit::none);
  const Framed framed(text, part_magic, path, "a site's part");
  const Members members(framed.header, path);
  PartFile file{.round = members.digest("round"),
                .site = static_cast<std::uint32_t>(members.number("site", round.sites.size())),
                .tags = members.text("tags"),
                .part = {}};
  if (file.round != round.digest())
    throw DataError(fmt::format(
        "{} is for another round than the one that is open (round {} of {}), or for an earlier file of it: ask the "
        "site for a part of the file that is open",
        path, round.round, round.rounds));
  if (file.site-- == 0 || std::ranges::find(round.present, file.site) == round.present.end())
    throw DataError(fmt::format("{}: site {} does not take part in this round", path, file.site + 1));
  const std::uint64_t size = round.words * sizeof(std::int64_t);
  const std::size_t tag_digits = sha256_digits * round.blocks_of_site();
  if (framed.rest.size() != size + sha256_digits || file.tags.size() != tag_digits)
    throw DataError(fmt::format("{} has {} bytes of numbers and tags; {} were expected: it was cut off or changed",
                                path, framed.rest.size() + file.tags.size(), size + sha256_digits + tag_digits));
  const std::string body = fmt::format("{}\n{}", framed.header, framed.rest.substr(0, size));
  if (agreed_key(coordinator_key, round.sites[file.site], "part").authenticate(body) != framed.rest.substr(size))
    throw DataError(fmt::format(
        "{} was not written by site {} (its MAC does not fit): it was changed on its way, or is somebody else's",
        path, file.site + 1));
  file.part.resize(round.words);
  std::memcpy(file.part.data(), framed.rest.data(), size);
  return file;
}

}  // namespace dpmpi
