// Which games are played with a config's mechanism, and on which records.

#include "dpmpi/run/audit.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "dpmpi/core/errors.hpp"
#include "dpmpi/core/random.hpp"
#include "dpmpi/data/load.hpp"
#include "dpmpi/data/text.hpp"
#include "dpmpi/run/audit_records.hpp"
#include "dpmpi/run/guards.hpp"
#include "dpmpi/run/progress.hpp"
#include "dpmpi/run/settings_table.hpp"

namespace dpmpi {
namespace {

/// The rules that look at a position by itself: the empty slots of a dataset need not be there.
bool by_position(const Query& query) {
  return !query.relay && !std::holds_alternative<WithoutReplacement>(query.sampling) &&
         !std::holds_alternative<Disjoint>(query.sampling);
}

/// Where one record can do most: at the beginning of the order of a public shuffle, elsewhere at 0.
std::uint64_t worst_place(const std::vector<Query>& queries, const BlockLayout& layout) {
  for (const Query& query : queries) {
    std::vector<std::uint32_t> slots;
    std::uint64_t among = layout.records;
    if (const auto* rule = std::get_if<Shuffled>(&query.sampling)) slots = shuffle_slots(*rule, layout);
    if (const auto* rule = std::get_if<Disjoint>(&query.sampling)) {
      slots = shuffle_slots(rule->seed, layout);
      if (rule->places == Disjoint::Places::by_block) among = layout.size(0);
    }
    if (slots.empty()) continue;
    const auto end = slots.begin() + static_cast<std::ptrdiff_t>(among);
    return static_cast<std::uint64_t>(std::min_element(slots.begin(), end) - slots.begin());
  }
  return 0;
}

double feature_norm(const Records& records, std::uint32_t row) {
  const double norm = static_cast<double>(records.norm[row]), bias = static_cast<double>(records.bias);
  return std::sqrt(std::max(1e-6, norm * norm - bias * bias));
}

/// Row i of `results`: distances of candidate i from all others and from nobody, and the effect of its run (of the
/// last row: of nobody's). The distances, or if there are none, those of the effects.
std::vector<double> distances_of(const std::vector<std::vector<double>>& results) {
  const std::size_t count = results.size() - 1;
  std::vector<double> all;
  for (std::size_t i = 0; i < count; ++i)
    all.insert(all.end(), results[i].begin(), results[i].begin() + static_cast<std::ptrdiff_t>(count + 1));
  if (std::ranges::any_of(all, [](double d) { return d > 0; })) return all;
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t j = 0; j <= count; ++j)
      for (std::size_t k = count + 1; k < std::min(results[i].size(), results[j].size()); ++k)
        all[i * (count + 1) + j] += (results[i][k] - results[j][k]) * (results[i][k] - results[j][k]);
  return all;
}

class Auditor {
 public:
  Auditor(const Communicator& world, const std::string& path, const std::vector<std::string>& overrides,
          bool quiet);
  AuditReport run();

 private:
  /// The differing record in its two forms; without a first one its slot is empty there.
  struct Pair {
    RowSource first, second;
  };
  void read_public_records();
  Pair choose_pair();
  Pair worst_pair(const Records& candidates, const std::vector<double>& distances) const;
  std::uint64_t choice_key() const;
  std::vector<double> distances_between(const Records& candidates);
  std::vector<double> effect_of_second(const Shard& first, const Shard& second, Observer& observer);
  Shard dataset(std::uint64_t place, std::span<const RowSource> rows, bool among_public) const;
  GameResult distinguish(const Pair& pair, bool among_public);
  GameResult one_run(const Pair& pair);
  std::vector<double> evidence_of(const Records& suspects, std::size_t count, const std::vector<char>& second);
  void judge(GameResult& result) const;

  const Communicator& world_;
  const std::string& path_;
  const std::vector<std::string>& overrides_;
  bool quiet_;
  RunConfig config_;
  PublicFacts facts_;
  std::unique_ptr<Objective> objective_;
  Plan plan_;
  RecordShape shape_;
  BlockLayout layout_;
  AuditedRun mechanism_;
  Groups groups_;
  Shard public_;
  std::vector<RowSource> public_rows_;
  Records candidates_;
  std::vector<float> start_;
  std::uint64_t place_ = 0;
  double error_ = 0;  // of one game
};

Auditor::Auditor(const Communicator& world, const std::string& path, const std::vector<std::string>& overrides,
                 bool quiet)
    : world_(world),
      path_(path),
      overrides_(overrides),
      quiet_(quiet),
      config_(path, overrides),
      groups_(world, config_.audit.ranks) {
  if (!config_.method->is_private())
    throw ConfigError(
        fmt::format("dpmpi audit: {} adds no noise, so there is no promise to test", config_.method_name));
  if (!config_.data.eval.empty()) refuse_private_evaluation(config_.data);
  {
    const HideFields hide(!config_.data.show_values);
    facts_.data = inspect(world, config_.data, DataRole::training);
  }
  objective_ = make_objective(config_, facts_.data);
  facts_ = public_facts(config_, facts_.data, *objective_);
  plan_ = agreed_plan(world, config_, facts_);
  shape_ = RecordShape::of(facts_.data, config_.data);
  layout_ = BlockLayout::of(facts_.data, resolve_blocks(config_, facts_));
  if (!groups_.idle()) objective_->open(groups_.own, config_.data);
  mechanism_ = {[this] {
                  RunConfig fresh(path_, overrides_);
                  return std::move(fresh.method);
                },
                objective_.get(),
                facts_,
                plan_.promise.noise_multiplier,
                plan_.queries,
                plan_.steps,
                config_.privacy.trust == "root"};
  place_ = worst_place(plan_.queries, layout_);
  if (!groups_.idle()) start_ = start_point(mechanism_);
  if (world.is_root() && !quiet) print_settings(config_, facts_, plan_, layout_, world.size());
}

// Public, so every rank reads all of them.
void Auditor::read_public_records() {
  if (config_.data.eval.empty()) return;
  const Communicator alone = Communicator::alone();
  const DatasetFacts facts = inspect(alone, config_.data, DataRole::evaluation);
  if (facts.features != facts_.data.features)
    throw DataError(
        fmt::format("data.eval has {} features, data.train has {}", facts.features, facts_.data.features));
  public_ = load(alone, config_.data, DataRole::evaluation, BlockLayout::of(facts, 1), Ownership::even(1, 1),
                 objective_->label_kind(), objective_->classes());
  const Records& records = public_.blocks.front().records;
  for (std::uint32_t i = 0; i < records.count; ++i)
    if (!std::isnan(records.label[i])) public_rows_.push_back({&records, i});
}

/// A dataset with these rows from `place` on; in the other slots nothing, or public records.
Shard Auditor::dataset(std::uint64_t place, std::span<const RowSource> rows, bool among_public) const {
  if (!among_public && std::ranges::all_of(plan_.queries, by_position))
    return compact_shard(groups_.own, shape_, facts_.data, layout_, place, rows);
  return shard_of(groups_.own, shape_, facts_.data, layout_, [&](std::uint64_t i) -> RowSource {
    if (i >= place && i - place < rows.size()) return rows[i - place];
    return among_public ? public_rows_[i % public_rows_.size()] : RowSource{};
  });
}

// Every candidate takes part in a run of its own, in which all others are looked at, too: what counts is how far
// two of them are apart along a run that one of them is in. Where sums are not seen, how far their runs are apart:
// all have the same noise.
std::vector<double> Auditor::distances_between(const Records& candidates) {
  const std::size_t count = candidates.count;
  std::string own;
  Observer observer(*objective_, candidates, std::vector(count, place_), layout_);
  observer.measure_distances();
  for (std::size_t i = groups_.number; !groups_.idle() && i <= count; i += groups_.count) {
    const RowSource row = i < count ? RowSource{&candidates, static_cast<std::uint32_t>(i)} : RowSource{};
    play(groups_.own, mechanism_, dataset(place_, std::span(&row, 1), false), choice_key(), start_, observer);
    if (!groups_.own.is_root()) continue;
    std::vector<double> result;
    for (std::size_t j = 0; j <= count; ++j) result.push_back(i < count ? observer.distance(i, j) : 0);
    result.insert(result.end(), observer.effect().begin(), observer.effect().end());
    own.append(reinterpret_cast<const char*>(result.data()), result.size() * sizeof(double));
  }
  std::vector<std::string> by_group;
  for (auto& part : world_.gather(own))
    if (!part.empty()) by_group.push_back(std::move(part));
  std::vector<double> all(count * (count + 1));
  if (world_.is_root()) {
    std::vector<std::vector<double>> results(count + 1);
    for (std::size_t i = 0; i <= count; ++i) {
      const std::string& part = by_group[i % groups_.count];
      const std::size_t runs = (count + 1 - i % groups_.count + groups_.count - 1) / groups_.count;
      results[i].resize(part.size() / runs / sizeof(double));
      std::memcpy(results[i].data(), part.data() + i / groups_.count * (part.size() / runs), part.size() / runs);
    }
    all = distances_of(results);
  }
  world_.broadcast(std::span(all));
  return all;
}

Auditor::Pair Auditor::worst_pair(const Records& candidates, const std::vector<double>& distances) const {
  const std::size_t count = candidates.count;
  const bool replace = plan_.adjacency == Adjacency::replace_one;
  std::size_t here = 0, there = replace && count > 1 ? 1 : count;
  double most = -1;
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t j = replace ? 0 : count; j < count + (replace ? 0 : 1); ++j)
      if (const double apart = distances[i * (count + 1) + j]; i != j && apart > most)
        most = apart, here = i, there = j;
  const auto source = [&](std::size_t i) {
    return i < count ? RowSource{&candidates, static_cast<std::uint32_t>(i)} : RowSource{};
  };
  return {source(there), source(here)};
}

Auditor::Pair Auditor::choose_pair() {
  constexpr std::size_t most_public = 16;
  const Records made_up = made_up_records(shape_, *objective_);
  std::vector<RowSource> rows;
  if (const std::int64_t chosen = config_.audit.canary; chosen > 0) {
    if (static_cast<std::uint64_t>(chosen) > public_rows_.size())
      throw ConfigError(fmt::format("audit.canary = {}: data.eval has {} records", chosen, public_rows_.size()));
    rows.push_back(public_rows_[static_cast<std::size_t>(chosen) - 1]);
  }
  const bool only_partner = !rows.empty();
  if (!only_partner || plan_.adjacency == Adjacency::replace_one) {
    for (std::uint32_t i = 0; i < made_up.count; ++i) rows.push_back({&made_up, i});
    for (std::size_t i = 0; i < std::min(most_public, public_rows_.size()); ++i) rows.push_back(public_rows_[i]);
  }
  if (rows.size() < (plan_.adjacency == Adjacency::replace_one ? 2U : 1U))
    throw ConfigError(
        fmt::format("dpmpi audit: no made-up record suits objective.name = {}; give public records "
                    "of its kind (data.eval)",
                    config_.objective_name));
  candidates_ = gather_rows(shape_, rows);
  auto distances = distances_between(candidates_);
  if (only_partner)  // the other pairs do not count
    std::fill(distances.begin() + static_cast<std::ptrdiff_t>(rows.size() + 1), distances.end(), -2.0);
  return worst_pair(candidates_, distances);
}

void Auditor::judge(GameResult& result) const {
  if (result.false_alarms) {
    const auto table =
        attacker_table(plan_.events(), plan_.adjacency, plan_.promise.guarantee, {*result.false_alarms});
    result.allowed = table.front().second;
  }
  result.holds = result.bound <= plan_.epsilon() && (!result.found || *result.found <= *result.allowed);
}

std::uint64_t Auditor::choice_key() const {
  return PublicStream(static_cast<std::uint64_t>(config_.audit.seed), "choice").word(0);
}

// Two runs with one key: the same noise.
std::vector<double> Auditor::effect_of_second(const Shard& first, const Shard& second, Observer& observer) {
  play(groups_.own, mechanism_, first, choice_key(), start_, observer);
  const std::vector<double> before(observer.effect().begin(), observer.effect().end());
  play(groups_.own, mechanism_, second, choice_key(), start_, observer);
  std::vector<double> difference(observer.effect().begin(), observer.effect().end());
  for (std::size_t j = 0; j < difference.size(); ++j) difference[j] -= before[j];
  return difference;
}

GameResult Auditor::distinguish(const Pair& pair, bool among_public) {
  GameResult result{.game = among_public ? "canary" : "distinguish"};
  if (among_public && public_rows_.empty()) {
    result.remark = "needs public records: data.eval";
    return result;
  }
  std::vector<RowSource> rows;
  for (const RowSource& row : {pair.first, pair.second})
    if (row.records) rows.push_back(row);
  const Records suspects = gather_rows(shape_, rows);
  const Shard first = groups_.idle() ? Shard() : dataset(place_, std::span(&pair.first, 1), among_public);
  const Shard second = groups_.idle() ? Shard() : dataset(place_, std::span(&pair.second, 1), among_public);
  Observer observer(*objective_, suspects, std::vector(rows.size(), place_), layout_);

  if (!groups_.idle()) observer.expect(effect_of_second(first, second, observer));

  const auto runs = static_cast<std::uint64_t>(config_.audit.runs);
  Progress progress(world_.is_root() ? config_.report.progress : "none", 0, runs, !plan_.hides_times(), "run");
  const Transcripts all =
      play_rounds(groups_,
                  [&](const Communicator& group, bool in_second, std::uint64_t key) {
                    play(group, mechanism_, in_second ? second : first, key, start_, observer);
                    return observer.transcript();
                  },
                  {runs, static_cast<std::uint64_t>(config_.audit.seed), [&](std::uint64_t done) {
                     if (progress.due(done)) progress.update(done, result.game);
                   }});
  progress.close();
  result.runs = runs;
  if (!world_.is_root()) return result;
  const Proof proof = prove(all.first, all.second, plan_.delta(), error_);
  result.test = proof.test, result.bound = proof.epsilon;
  result.found = proof.found, result.false_alarms = proof.false_alarms;
  judge(result);
  return result;
}

/// One run with every canary in its second form where second[i] says so; the evidence for that, on the root.
std::vector<double> Auditor::evidence_of(const Records& suspects, std::size_t count,
                                         const std::vector<char>& second) {
  const bool replace = plan_.adjacency == Adjacency::replace_one;
  std::vector<std::uint64_t> places(count);
  std::iota(places.begin(), places.end(), std::uint64_t{0});
  if (replace) {
    const std::vector<std::uint64_t> again = places;
    places.insert(places.end(), again.begin(), again.end());
  }
  std::vector<RowSource> rows(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (second[i])
      rows[i] = {&suspects, static_cast<std::uint32_t>(i)};
    else if (replace)
      rows[i] = {&suspects, static_cast<std::uint32_t>(i + count)};
  }
  Observer observer(*objective_, suspects, places, layout_);
  std::vector<double> evidence(count);
  if (groups_.number == 0) {
    const std::uint64_t key = PublicStream(static_cast<std::uint64_t>(config_.audit.seed), "one run").word(0);
    play(groups_.own, mechanism_, dataset(0, rows, false), key, start_, observer);
    for (std::size_t i = 0; world_.is_root() && i < count; ++i)
      evidence[i] = observer.evidence()[i] - (replace ? observer.evidence()[i + count] : 0);
  }
  return evidence;
}

GameResult Auditor::one_run(const Pair& pair) {
  GameResult result{.game = "one_run", .test = "likelihood ratio of the releases", .runs = 1};
  const bool replace = plan_.adjacency == Adjacency::replace_one;
  const auto seed = static_cast<std::uint64_t>(config_.audit.seed);
  const std::size_t wanted =
      std::min<std::size_t>(static_cast<std::size_t>(config_.audit.canaries), facts_.data.records);
  const Records suspects = random_canaries(shape_, *objective_, wanted * (replace ? 2 : 1),
                                           feature_norm(*pair.second.records, pair.second.row), seed);
  const std::size_t count = suspects.count / (replace ? 2 : 1);
  if (count < 16) {
    result.remark = "fewer than 16 records that the objective takes fit the data";
    return result;
  }
  std::vector<char> second(count);
  for (std::size_t i = 0; i < count; ++i) second[i] = PublicStream(seed, "coins").word(i) % 2 == 1;
  const auto evidence = evidence_of(suspects, count, second);
  result.canaries = count;
  if (!world_.is_root()) return result;

  result.bound = prove_by_guessing(evidence, second, plan_.delta(), error_);
  judge(result);
  return result;
}

AuditReport Auditor::run() {
  read_public_records();
  const std::string& chosen = config_.audit.game;
  const auto plays = [&](const char* game) { return chosen == "all" || chosen == game; };
  error_ = (1 - config_.audit.confidence) / (chosen == "all" ? 3 : 1);
  if (chosen == "canary" && public_rows_.empty())
    throw ConfigError("audit.game = canary needs public records: data.eval is not set");
  AuditReport report{config_.path(),
                     config_.digest(),
                     config_.method_name,
                     config_.objective_name,
                     std::string(name(plan_.adjacency)),
                     plan_.epsilon(),
                     plan_.delta(),
                     config_.audit.confidence,
                     static_cast<std::uint64_t>(config_.audit.seed),
                     {}};
  const Pair pair = choose_pair();
  if (plays("distinguish")) report.games.push_back(distinguish(pair, false));
  if (plays("canary")) report.games.push_back(distinguish(pair, true));
  if (plays("one_run")) report.games.push_back(one_run(pair));
  return report;
}

}  // namespace

AuditReport audit(const Communicator& world, const std::string& path, const std::vector<std::string>& overrides,
                  bool quiet) {
  return Auditor(world, path, overrides, quiet).run();
}

}  // namespace dpmpi
