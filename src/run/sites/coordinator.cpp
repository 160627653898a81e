#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/console/log.hpp"
#include "core/console/print.hpp"
#include "core/errors.hpp"
#include "core/fault.hpp"
#include "core/files/digest.hpp"
#include "core/files/durable.hpp"
#include "core/secrecy.hpp"
#include "data/load/load.hpp"
#include "privacy/curator/commitment.hpp"
#include "run/directory/checkpoint.hpp"
#include "run/directory/directory.hpp"
#include "run/directory/files.hpp"
#include "run/sites/exchanged.hpp"
#include "run/sites/line_log.hpp"
#include "run/sites/secret_file.hpp"
#include "run/sites/sites.hpp"
#include "run/train/read_inputs.hpp"
#include "run/train/training.hpp"

namespace dpmpi {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t words_of_flags = 1;  // behind the coordinates of a sum

/// The coordinator's files beside those of the run.
struct Desk {
  explicit Desk(std::string directory) : run(std::move(directory)) {}
  std::string run;
  std::string folder() const { return run + "/sites"; }
  std::string key() const { return folder() + "/key"; }
  std::string round() const { return folder() + "/round"; }
  std::string config() const { return folder() + "/config.ini"; }
  std::string place() const { return folder() + "/place"; }  ///< which file the key is: another one in every copy
  std::string names() const { return folder() + "/names"; }  ///< of the features
  std::string tags() const { return folder() + "/tags"; }    ///< of all blocks, from the first round on
  std::string combined() const { return folder() + "/rounds.jsonl"; }  ///< which parts each round was made of
};

std::uint64_t inode_of(const std::string& path) { return DurableFile(path, O_RDONLY, 0).inode(); }

/// Two copies of the folder would add the same noise to two sums, whose difference tells what a left-out site has.
/// Throws PrivacyError if this is one.
void check_original(const Desk& desk) {
  if (read_file(desk.place(), file_limit::document) == std::to_string(inode_of(desk.key()))) return;
  throw PrivacyError(fmt::format(
      "{} is a copy, or was restored from a backup: only the run that dpmpi round open has made goes on, for two copies "
      "would add the same noise to two sums. Go on with the original, or begin a new run",
      desk.run));
}

std::string random_digits() { return SecretKey::from_system().authenticate("salt"); }

// For tests the noise is that of one job.
SecretKey key_of_run(const SecretKey& coordinator, const RunConfig& config) {
  return config.privacy.seeded() ? SecretKey::from_seed(static_cast<std::uint64_t>(config.privacy.seed))
                                 : coordinator.derive("run of sites");
}

/// The files by which the sites joined, in the order of data.shards. Throws all that is wrong with them.
std::vector<JoinFile> read_joined(const RunConfig& config, const std::vector<std::string>& paths) {
  const std::size_t sites = config.data.shards.size();
  std::vector<std::optional<JoinFile>> found(sites);
  Problems problems;
  for (const std::string& path : paths)
    problems.attempt([&] {
      JoinFile join = JoinFile::read(path);
      if (join.site >= sites)
        throw DataError(fmt::format("{}: site {}, but data.shards names {}", path, join.site + 1, sites));
      if (!config.has_digest(join.config))
        throw DataError(
            fmt::format("{}: site {} joined with other settings than {}", path, join.site + 1, config.path()));
      try {
        agreed_key(SecretKey::from_system(), join.key, "joined");
      } catch (const DataError& e) {
        throw DataError(fmt::format("{}: {}", path, e.what()));
      }
      if (found[join.site]) throw DataError(fmt::format("{}: site {} has joined twice", path, join.site + 1));
      found[join.site] = std::move(join);
    });
  for (std::size_t s = 0; s < sites; ++s)
    problems.attempt([&] {
      if (!found[s])
        throw DataError(fmt::format("site {} has not joined: its file is not among those given", s + 1));
      const bool alike = !found[0] || (found[s]->facts.features == found[0]->facts.features &&
                                       found[s]->facts.storage == found[0]->facts.storage);
      if (!alike)
        throw DataError(fmt::format("site {} has {} features, but site 1 has {} (or another element type)", s + 1,
                                    found[s]->facts.features, found[0]->facts.features));
      for (std::size_t other = 0; other < s; ++other)
        if (found[other] && found[other]->key == found[s]->key)
          throw DataError(
              fmt::format("sites {} and {} have the same key: each needs one of its own", other + 1, s + 1));
    });
  problems.raise();
  std::vector<JoinFile> joined;
  for (auto& join : found) joined.push_back(std::move(*join));
  return joined;
}

DatasetFacts facts_of_all(const std::vector<JoinFile>& joined, const RunConfig& config) {
  DatasetFacts all = joined.front().facts;
  all.records = 0;
  all.slots_of_unit = config.data.slots_of_unit();
  for (const JoinFile& join : joined) {
    all.shards.push_back(join.facts.records);
    all.records += join.facts.records;
  }
  return all;
}

/// Fresh salt and seals: no mask of another file fits.
void write_round(const Desk& desk, RoundFile round, const SecretKey& coordinator, const SecretKey& run_key) {
  round.salt = random_digits();
  round.seals.clear();
  const std::uint32_t blocks = round.blocks_of_site();
  for (const std::uint32_t site : round.present) {
    std::string keys;
    keys.reserve(std::size_t{32} * round.keys_of_site());
    const auto add = [&](const SecretKey& key) {
      keys.append(reinterpret_cast<const char*>(key.bytes().data()), key.bytes().size());
    };
    for (std::uint32_t block = site * blocks; block < (site + 1) * blocks; ++block)
      add(key_of_block(run_key, block));
    add(key_of_persons(run_key, site));
    round.put_seal(coordinator, site, keys);
    wipe(keys);
  }
  write_file(desk.round(), round.text());
}

std::string state_of(Algorithm& algorithm) {
  Archive archive;
  algorithm.archive(archive);
  return archive.bytes();
}

std::vector<std::uint32_t> all_sites(std::size_t sites) {
  std::vector<std::uint32_t> all(sites);
  for (std::uint32_t s = 0; s < sites; ++s) all[s] = s;
  return all;
}

/// The parts of all present sites, in their order. Throws all that is wrong with the files.
std::vector<PartFile> read_parts(const RoundFile& round, const SecretKey& coordinator,
                                 const std::vector<std::string>& paths) {
  std::vector<std::optional<PartFile>> found(round.sites.size());
  Problems problems;
  for (const std::string& path : paths)
    problems.attempt([&] {
      PartFile part = PartFile::read(path, round, coordinator);
      if (found[part.site])
        throw DataError(fmt::format("{}: a part of site {} is given twice", path, part.site + 1));
      found[part.site] = std::move(part);
    });
  problems.raise();
  std::vector<PartFile> parts;
  std::vector<std::uint32_t> missing;
  for (const std::uint32_t site : round.present)
    if (found[site])
      parts.push_back(std::move(*found[site]));
    else
      missing.push_back(site + 1);
  if (!missing.empty())
    throw DataError(fmt::format(
        "round {} has no part of site {}: its masks are in the parts of all others, so the sum cannot be read. Wait for "
        "it, or 'dpmpi round repeat' the round without it",
        round.round, fmt::join(missing, ", ")));
  return parts;
}

/// The tags of all blocks. The first round fixes them: what a site hands over later is of the same records.
std::string tags_of_all(const Desk& desk, const RoundFile& round, const std::vector<PartFile>& parts) {
  std::string tags;
  if (!fs::exists(desk.tags())) {
    for (const PartFile& part : parts) tags += part.tags;
    verify(parts.size() == round.sites.size(), "the first round has all sites");
    write_file(desk.tags(), tags);
    return tags;
  }
  tags = read_file(desk.tags());
  const std::size_t of_a_site = sha256_digits * round.blocks_of_site();
  for (const PartFile& part : parts)
    if (tags.substr(part.site * of_a_site, of_a_site) != part.tags)
      throw DataError(fmt::format(
          "the records of site {} are not those with which the run began: it puts back its file, or a new run begins "
          "(its budget adds to what this run has spent)",
          part.site + 1));
  return tags;
}

/// Whether the sum of a round was read.
bool was_combined(const LineLog& rounds, const RoundFile& round) {
  return !rounds.lines().empty() && rounds.lines().back().value("round", std::uint64_t{0}) >= round.round;
}

/// Writes down what the sum of a round is made of before it is read: another sum with the same noise would give the
/// difference away.
void note_parts(const Desk& desk, const RoundFile& round, const std::vector<PartFile>& parts) {
  nlohmann::ordered_json line{{"round", round.round}, {"file", round.digest()}};
  for (const PartFile& part : parts) {
    line["sites"].push_back(part.site + 1);
    line["parts"].push_back(
        sha256({reinterpret_cast<const char*>(part.part.data()), part.part.size() * sizeof part.part[0]}));
  }
  LineLog rounds(desk.combined());
  if (!was_combined(rounds, round)) return rounds.append(line, 0644);
  if (rounds.lines().back() != nlohmann::json::parse(line.dump()))
    throw PrivacyError(fmt::format(
        "round {} was combined before, from other parts: the same noise on another sum would give the difference away. "
        "Give the parts that {} names",
        round.round, desk.combined()));
}

/// What the parts come to.
class SumOfParts final : public JobSums {
 public:
  SumOfParts(const RoundFile& round, const std::vector<PartFile>& parts)
      : round_(round.round), total_(round.words, 0) {
    for (const PartFile& part : parts)
      for (std::size_t j = 0; j < total_.size(); ++j) total_[j] += static_cast<std::uint64_t>(part.part[j]);
    if (!masks_cancel())
      throw DataError(fmt::format(
          "the masks of round {} do not cancel: a site has agreed on keys with others than the sites of this run. "
          "Compare the fingerprint of the keys ({}), then 'dpmpi round repeat' it",
          round.round, round.fingerprint()));
  }
  ~SumOfParts() override { wipe(total_); }
  SumOfParts(const SumOfParts&) = delete;
  SumOfParts& operator=(const SumOfParts&) = delete;

  void join(std::uint32_t, std::uint64_t t, std::span<std::int64_t> part) override {
    verify(t + 1 == round_ && part.size() == total_.size(), "the sum that the round is for");
    for (std::size_t j = 0; j < part.size(); ++j)
      part[j] = static_cast<std::int64_t>(static_cast<std::uint64_t>(part[j]) + total_[j]);
  }

 private:
  // Then the flags are of no site that asks to stop, and the rest is within what lattices are made for.
  bool masks_cancel() const {
    constexpr std::int64_t largest = std::int64_t{1} << 62;
    return total_.back() == 0 && std::ranges::all_of(total_, [](std::uint64_t word) {
             return static_cast<std::int64_t>(word)<largest&& static_cast<std::int64_t>(word)> - largest;
           });
  }
  std::uint64_t round_;
  std::vector<std::uint64_t> total_;
};

/// The config that goes on with the run, or begins it.
std::unique_ptr<RunConfig> config_of(const Desk& desk, bool begun, bool quiet) {
  std::vector<std::string> settings{"run.dir=" + desk.run};
  if (quiet) settings.emplace_back("report.progress=none");
  return begun ? std::make_unique<RunConfig>(desk.run + "/config.ini", settings, ConfigOf::run)
               : std::make_unique<RunConfig>(desk.config(), settings);
}

void take_step(Training& run) {
  fault_point("step");
  run.started = Training::Clock::now();
  run.algorithm->step(*run.curator, run.next);
  ++run.next;
  if (run.evaluation_due()) run.evaluate();
  if (run.next < run.plan.steps) run.save_checkpoint();
}

void check_plan(const Training& run, const RoundFile& round) {
  if (sha256(run.plan_text) != round.plan)
    throw PrivacyError(
        "the plan is not the one that the round was opened with: the program or the config was changed since");
  if (run.next + 1 != round.round && run.next != round.round)
    throw DataError(
        fmt::format("the round's file is of round {}, but {} steps are done: files of different times stand "
                    "together. Put back those that belong together",
                    round.round, run.next));
}

/// The round after the one that was combined, of the same sites.
void open_next(const Desk& desk, RoundFile round, Training& run, const SecretKey& coordinator) {
  const std::size_t present = round.present.size();
  const double spent = Spending(run.plan, run.config.privacy.accountant).up_to(run.next);
  print_user("round {} of {} combined, {} of {} sites: epsilon {:.4g} so far, {:.4g} after all rounds\n", run.next,
             round.rounds, present, round.sites.size(), spent, run.plan.epsilon());
  round.round = run.next + 1;
  round.state = state_of(*run.algorithm);
  write_round(desk, std::move(round), coordinator, run.root->key->key);
  fmt::print("{}\n", desk.round());
}

// What is left of the rounds is who was in which.
void clear(const Desk& desk) {
  wipe_secret(desk.key());
  for (const std::string& file : {desk.round(), desk.config(), desk.tags(), desk.names(), desk.place()})
    fs::remove(file);
}

/// Throws ConfigError if the run is finished, after it has ended what a kill has left undone.
void refuse_no_round(const Desk& desk) try { refuse_finished(desk.run, false); } catch (const ConfigError&) {
  clear(desk);
  throw;
}

}  // namespace

void open_run_of_sites(const RunConfig& config, const std::vector<std::string>& paths) {
  check_for_sites(config);
  if (config.run.dir.empty())
    throw ConfigError("run.dir is not set: say where the run is kept (--set run.dir=...)");
  const Communicator alone = Communicator::alone();
  refuse_place(alone, config);
  const Desk desk(config.run.dir);
  if (fs::exists(desk.folder()))
    throw ConfigError(fmt::format("{} is there: the run was opened before. Choose another run.dir", desk.folder()));
  const std::vector<JoinFile> joined = read_joined(config, paths);
  const SecretKey coordinator = SecretKey::from_system(), run_key = key_of_run(coordinator, config);
  const SiteJob job{.facts = facts_of_all(joined, config), .key = run_key};
  const TrainOptions options{.quiet = true, .job = &job};
  Training run(alone, config, options);
  Problems problems;
  look_at_inputs(run, problems);
  problems.raise();
  check_for_sites(run.plan, config.method_name);
  read_inputs(run, problems);
  problems.raise();
  make_plan(run);
  const auto algorithm = run.plan.method->start(*run.objective, run.plan.queries);
  RoundFile round{.rounds = run.plan.steps,
                  .config = config.digest(),
                  .plan = sha256(run.plan_text),
                  .run_salt = random_digits(),
                  .salt = {},
                  .blocks = run.plan.layout.blocks,
                  .words = run.plan.queries.front().dim + words_of_flags,
                  .facts = job.facts,
                  .coordinator = public_key_of(coordinator),
                  .sites = {},
                  .present = all_sites(joined.size()),
                  .seals = {},
                  .state = state_of(*algorithm)};
  for (const JoinFile& join : joined) round.sites.push_back(join.key);
  fs::create_directories(desk.folder());
  fs::permissions(desk.folder(), fs::perms::owner_all);
  write_secret(desk.key(), coordinator);
  write_file(desk.place(), std::to_string(inode_of(desk.key())));
  write_file(desk.config(), config.resolved());
  write_file(desk.names(), job.facts.feature_names);
  write_round(desk, round, coordinator, run_key);
  print_user("{} sites, {} rounds: epsilon {:.4g}, delta {:.3g} after all of them\nall sites compare: {}\n",
             joined.size(), round.rounds, run.plan.epsilon(), run.plan.delta(), round.fingerprint());
  fmt::print("{}\n", desk.round());
}

void combine_round(const std::string& directory, const std::vector<std::string>& paths, bool quiet) {
  const Desk desk(directory);
  refuse_no_round(desk);
  const RunLock lock(desk.folder());
  const SecretKey coordinator = read_secret(desk.key());
  const RoundFile round = RoundFile::read(desk.round());
  const std::vector<PartFile> parts = read_parts(round, coordinator, paths);
  check_original(desk);
  const std::string tags = tags_of_all(desk, round, parts);
  SumOfParts sums(round, parts);
  const bool begun = has_checkpoint(directory);
  const auto config = config_of(desk, begun, quiet);
  SiteJob job{.facts = round.facts, .sums = &sums, .key = key_of_run(coordinator, *config), .tags = tags};
  job.facts.slots_of_unit = config->data.slots_of_unit();
  job.facts.feature_names = read_file(desk.names(), file_limit::document);
  TrainOptions options{
      .resume = begun ? std::optional(directory) : std::nullopt, .quiet = quiet || begun, .job = &job};
  const Communicator alone = Communicator::alone();  // outlives the run, which refers to it
  const auto run = prepare(alone, *config, options);
  check_plan(*run, round);
  note_parts(desk, round, parts);
  fault_point("parts");
  if (run->next < round.round) take_step(*run);
  options.quiet = quiet;  // of the rounds between, only the first says all of its settings
  if (run->next < run->plan.steps) return open_next(desk, round, *run, coordinator);
  finish(*run);
  clear(desk);
}

void repeat_round(const std::string& directory, const std::vector<std::int64_t>& without) {
  const Desk desk(directory);
  refuse_no_round(desk);
  const RunLock lock(desk.folder());
  const SecretKey coordinator = read_secret(desk.key());
  RoundFile round = RoundFile::read(desk.round());
  check_original(desk);
  if (was_combined(LineLog(desk.combined()), round))
    throw PrivacyError(fmt::format(
        "round {} was combined: a second sum would differ from the first by what left-out sites have. Combine the same "
        "parts again, and go on with the next round",
        round.round));
  round.present = all_sites(round.sites.size());
  for (const std::int64_t site : without) {
    if (site < 1 || static_cast<std::size_t>(site) > round.sites.size())
      throw ConfigError(fmt::format("--without {}: there are {} sites, from 1 on", site, round.sites.size()));
    std::erase(round.present, static_cast<std::uint32_t>(site - 1));
  }
  if (round.present.size() < 2)
    throw PrivacyError("a sum of one site is that site's own: a round takes two sites or more");
  if (round.round == 1 && round.present.size() < round.sites.size())
    throw ConfigError(
        "the first round fixes which records the run is about, so it takes all sites: open a run without the site");
  const auto config = config_of(desk, has_checkpoint(directory), true);
  write_round(desk, round, coordinator, key_of_run(coordinator, *config));
  print_user("round {} again, with {} of {} sites\n", round.round, round.present.size(), round.sites.size());
  fmt::print("{}\n", desk.round());
}

}  // namespace dpmpi
