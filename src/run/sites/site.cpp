#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>

#include "core/console/log.hpp"
#include "core/console/print.hpp"
#include "core/errors.hpp"
#include "core/files/digest.hpp"
#include "core/files/durable.hpp"
#include "core/files/untrusted_json.hpp"
#include "core/secrecy.hpp"
#include "data/load/load.hpp"
#include "data/load/throw_on_all_ranks.hpp"
#include "privacy/curator/commitment.hpp"
#include "run/directory/files.hpp"
#include "run/sites/exchanged.hpp"
#include "run/sites/line_log.hpp"
#include "run/sites/masks.hpp"
#include "run/sites/secret_file.hpp"
#include "run/sites/sites.hpp"
#include "run/train/read_inputs.hpp"
#include "run/train/training.hpp"

namespace dpmpi {
namespace {

namespace fs = std::filesystem;

/// What a site has handed over, a line each: the memory that keeps it from handing over two sums behind one mask.
class Handed {
 public:
  /// Beside the key, whatever name leads there. Throws ConfigError if another step with this key is under way,
  /// PrivacyError if the log is gone: without it the key could hide two sums behind one mask.
  explicit Handed(const std::string& key) : lock_(open(path_of(key))), log_(path_of(key)) {}
  static std::string path_of(const std::string& key) { return fs::canonical(key).string() + ".rounds"; }
  bool knows_run(const RoundFile& round) const {
    return std::ranges::any_of(log_.lines(),
                               [&](const auto& line) { return text_member(line, "run") == round.run(); });
  }
  /// Another run, or one whose keys were exchanged on their way: nobody has compared them.
  void refuse_unknown(const RoundFile& round) const {
    if (round.round == 1 || knows_run(round)) return;
    throw PrivacyError(fmt::format(
        "the file is of round {} of a run in whose first round this key had no part: the keys in it are not those that "
        "the sites compared then. Ask the coordinator which run this is",
        round.round));
  }
  void refuse_earlier(const RoundFile& round) const {
    for (const auto& line : log_.lines())
      if (text_member(line, "run") == round.run() && line.value("round", std::uint64_t{0}) > round.round)
        throw PrivacyError(fmt::format(
            "round {} is over: this site has handed over its part of round {} of this run. An old file of "
            "a round came again; ask for the one that is open",
            round.round, line.value("round", std::uint64_t{0})));
  }
  /// Before the part is written. Throws PrivacyError if another one was handed over for the same file.
  void note(const RoundFile& round, const std::string& part) {
    const std::string file = round.digest(), digest = sha256(part);
    for (const auto& line : log_.lines()) {
      if (text_member(line, "file") != file) continue;
      if (text_member(line, "part") == digest) return;
      throw PrivacyError(fmt::format(
          "this site has handed over another part for this file of round {}: its records, the program or the processor "
          "have changed since. Two parts behind one mask would give the difference away; ask the coordinator to repeat "
          "the round (dpmpi round repeat)",
          round.round));
    }
    log_.append({{"run", round.run()}, {"round", round.round}, {"file", file}, {"part", digest}}, 0600);
  }

 private:
  static DurableFile open(const std::string& path) {
    if (!fs::exists(path))
      throw PrivacyError(fmt::format(
          "{} is not there: it says what this key has handed over. Put it back beside the key (dpmpi site join makes "
          "both)",
          path));
    DurableFile file(path, O_RDWR, 0);
    bool unsupported = false;
    if (!file.lock(unsupported))
      throw ConfigError(fmt::format("{} is in use: another dpmpi site step with this key has not ended", path));
    return file;
  }

  DurableFile lock_;
  LineLog log_;
};

/// Keeps what the job's ranks have summed, behind masks.
class MaskedSum final : public JobSums {
 public:
  MaskedSum(const RoundFile& round, std::uint32_t site, std::optional<SecretKey> own)
      : round_(round), site_(site), own_(std::move(own)) {}
  void join(std::uint32_t, std::uint64_t t, std::span<std::int64_t> part) override {
    verify(t + 1 == round_.round && part.size() == round_.words, "the sum that the round is for");
    add_masks(round_, site_, *own_, part);
    part_.assign(part.begin(), part.end());
  }
  std::vector<std::int64_t> take() { return std::move(part_); }

 private:
  const RoundFile& round_;
  std::uint32_t site_;
  std::optional<SecretKey> own_;
  std::vector<std::int64_t> part_;
};

/// The dataset of one site alone.
Dataset own_dataset(const RunConfig& config, std::uint32_t site) {
  Dataset own = config.find_files().training;
  own.parts = {own.parts.at(site)};
  own.by_site = false;
  return own;
}

std::uint32_t own_site(const RoundFile& round, const SecretKey& key, const std::string& path) {
  const auto found = std::ranges::find(round.sites, public_key_of(key));
  if (found == round.sites.end())
    throw DataError(
        fmt::format("{}: the key of this site is not among those of the run: it joined another one", path));
  const auto site = static_cast<std::uint32_t>(found - round.sites.begin());
  if (std::ranges::find(round.present, site) == round.present.end())
    throw DataError(fmt::format("{}: site {} is left out of this file of round {}: nothing is asked of it", path,
                                site + 1, round.round));
  return site;
}

void check_config(const RoundFile& round, const RunConfig& config, const std::string& path) {
  if (config.data.shards.size() != round.sites.size() || !config.has_digest(round.config))
    throw ConfigError(fmt::format(
        "{} is of a run with another config than {}: all sites and the coordinator have the same settings "
        "(but [run], [report] and data.root)",
        path, config.path()));
}

/// The keys of this site's blocks, as the coordinator sealed them, and then that of its persons.
std::vector<SecretKey> sealed_keys(const RoundFile& round, std::uint32_t site, const SecretKey& own) {
  std::string bytes = round.open_seal(own, site);
  std::vector<SecretKey> keys;
  for (std::size_t at = 0; at < bytes.size(); at += 32)
    keys.push_back(SecretKey::from_bytes(
        std::span<const std::uint8_t, 32>(reinterpret_cast<const std::uint8_t*>(bytes.data()) + at, 32)));
  wipe(bytes);
  return keys;
}

/// What the site's root finds out before any rank reads records.
struct Asked {
  RoundFile round;
  std::uint32_t site = 0;
  std::optional<SecretKey> own;
  std::vector<SecretKey> keys;  ///< sealed_keys

  SecretKey key_of_block(std::uint32_t block) const { return keys.at(block - site * round.blocks_of_site()); }
  std::optional<Handed> handed;
};

Asked read_asked(const Communicator& comm, const RunConfig& config, const SiteStep& files) {
  Asked asked;
  throw_on_all_ranks(comm, [&] {
    asked.round = RoundFile::read(files.round);
    check_config(asked.round, config, files.round);
    if (!comm.is_root()) return;
    asked.own = read_secret(files.key);
    asked.site = own_site(asked.round, *asked.own, files.round);
    asked.keys = sealed_keys(asked.round, asked.site, *asked.own);
    asked.handed.emplace(files.key);
    check_output(files.output, files.key, {Handed::path_of(files.key), files.round});
    asked.handed->refuse_unknown(asked.round);
    asked.handed->refuse_earlier(asked.round);
  });
  comm.agree(asked.round.digest(), "the file of the round");
  comm.broadcast(asked.site);
  asked.round.facts.slots_of_unit = config.data.slots_of_unit();
  return asked;
}

/// Records, objective and plan, as every rank of one job would have them.
void read_own_records(Training& run, const RoundFile& round) {
  Problems problems;
  look_at_inputs(run, problems);
  problems.raise();
  check_for_sites(run.plan, run.config.method_name);
  read_inputs(run, problems);
  problems.raise();
  throw_on_all_ranks(run.comm, [&] {
    run.stamps.check();
    if (run.records.facts.features != round.facts.features || run.records.facts.storage != round.facts.storage)
      throw DataError(fmt::format("{} has {} features (or another element type); it had {} when the site joined",
                                  run.files.training.parts.at(*run.options.job->site).names,
                                  run.records.facts.features, round.facts.features));
  });
  make_plan(run);
  if (sha256(run.plan_text) != round.plan || run.plan.layout.blocks != round.blocks)
    throw PrivacyError(
        "the coordinator's plan is not the one that this config gives here: it runs another version of dpmpi, or "
        "promises something else");
}

void show_promise(const Training& run, const Asked& asked) {
  const RoundFile& round = asked.round;
  print_user("round {} of {}, site {} of {}: epsilon {:.4g}, delta {:.3g}, {} after all rounds\n", round.round,
             round.rounds, asked.site + 1, round.sites.size(), run.plan.epsilon(), run.plan.delta(),
             name(run.plan.adjacency));
  if (!asked.handed->knows_run(round))
    print_user("first round of this run: compare this with the other sites, by telephone, say: {}\n",
               round.fingerprint());
}

/// Whether two archives name the same fields of the same lengths: else what comes from the coordinator would leave
/// vectors of other lengths than the algorithm has made.
bool same_fields(std::string_view a, std::string_view b) {
  const auto number = [](std::string_view text, std::size_t at) {
    std::uint64_t value = 0;
    std::memcpy(&value, text.data() + at, sizeof value);
    return value;
  };
  if (a.size() != b.size()) return false;
  for (std::size_t at = 0; at < a.size();) {
    for (int part = 0; part < 2; ++part) {  // a name, then what it names
      const std::uint64_t length = number(a, at);
      if (number(b, at) != length) return false;
      at += sizeof length;
      if (part == 0 && a.substr(at, length) != b.substr(at, length)) return false;
      at += length;
    }
  }
  return true;
}

void go_to_state(Algorithm& algorithm, const std::string& state) {
  Archive start;
  algorithm.archive(start);
  if (!same_fields(start.bytes(), state))
    throw DataError("the state in the round's file is not that of this method and objective");
  Archive archive(state);
  algorithm.archive(archive);
  archive.finish();
}

/// One step, up to where its sum leaves the site.
void step_until_sum(Training& run, const RoundFile& round, const KeyOfBlock& key_of, JobSums& sums) {
  run.curator = std::make_unique<Curator>(run.comm, run.records, run.plan.queries,
                                          run.objective->micro_batch_rows(), key_of, sums);
  run.algorithm = run.plan.method->start(*run.objective, run.plan.queries);
  go_to_state(*run.algorithm, round.state);
  run.curator->resume_at(round.round - 1);
  bool handed_over = false;
  try {
    run.algorithm->step(*run.curator, round.round - 1);
  } catch (const HandedOver&) {
    handed_over = true;
  }
  verify(handed_over, "a step releases its sum");
}

}  // namespace

void join_run(const RunConfig& config, std::int64_t site, const std::string& key, const std::string& output) {
  check_for_sites(config);
  const std::size_t sites = config.data.shards.size();
  if (site < 1 || static_cast<std::size_t>(site) > sites)
    throw ConfigError(fmt::format("--site {}: data.shards names {} sites, from 1 on", site, sites));
  check_output(output, key, {key + ".rounds"});
  const auto own = static_cast<std::uint32_t>(site - 1);
  const DatasetFacts facts = inspect(Communicator::alone(), own_dataset(config, own));
  const SecretKey secret = SecretKey::from_system();
  write_secret(key, secret);
  try {
    write_file(Handed::path_of(key), "", 0600);
    write_file(output, JoinFile{config.digest(), own, public_key_of(secret), facts}.text());
  } catch (...) {  // nobody has the public key, and a second try makes another
    wipe_secret(key);
    throw;
  }
  print_user("{}: {} records, {} features, and the public key. {} is secret: it stays here\n", output,
             facts.records, facts.features, key);
}

void step_at_site(const Communicator& comm, const RunConfig& config, const SiteStep& files) {
  check_for_sites(config);
  Asked asked = read_asked(comm, config, files);
  MaskedSum sums(asked.round, asked.site, asked.own);
  const KeyOfBlock key_of = [&](std::uint32_t block) { return asked.key_of_block(block); };
  const SiteJob job{.facts = asked.round.facts,
                    .sums = &sums,
                    .site = asked.site,
                    .persons_key = comm.is_root() ? std::optional(asked.keys.back()) : std::nullopt};
  const TrainOptions options{.quiet = true, .job = &job};
  Training run(comm, config, options);
  comm.agree(run.program.digest, "the program");
  read_own_records(run, asked.round);
  if (comm.is_root()) show_promise(run, asked);
  step_until_sum(run, asked.round, key_of, sums);
  const std::string tags = tags_of_blocks(comm, run.records, key_of);
  throw_on_all_ranks(comm, [&] {
    if (!comm.is_root()) return;
    const PartFile part{asked.round.digest(), asked.site, tags, sums.take()};
    const std::string text = part.text(*asked.own, asked.round.coordinator);
    asked.handed->note(asked.round, text);
    write_file(files.output, text);
  });
}

}  // namespace dpmpi
