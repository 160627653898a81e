#include "run/audit/setup.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/numbers/random.hpp"
#include "data/load/held_out.hpp"
#include "data/load/load.hpp"
#include "data/load/throw_on_all_ranks.hpp"
#include "data/records/stored_as.hpp"
#include "run/objective/on_ranks.hpp"
#include "run/objective/public_start.hpp"
#include "run/suggest/suggest.hpp"
#include "run/train/input_checks.hpp"

namespace dpmpi {
namespace {

/// The rules that look at a position by itself: the empty slots of a dataset need not be there.
bool by_position(const Query& query) {
  return !std::holds_alternative<WithoutReplacement>(query.sampling) &&
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

/// No more than the config lets take part.
std::uint32_t records_of_canary(const RunConfig& config) {
  if (!config.data.by_person()) return 1;
  const std::int64_t wanted = config.audit.person_records, most = config.data.person_records;
  return static_cast<std::uint32_t>(most > 0 ? std::min(wanted, most) : wanted);
}

std::unique_ptr<const RunConfig> settled_config(const Communicator& all, const std::string& path,
                                                std::vector<std::string> overrides, ConfigOf whose) {
  auto config = std::make_unique<RunConfig>(path, overrides, whose);
  settle(all, config, overrides);
  return config;
}

}  // namespace

AuditSetup::AuditSetup(const Communicator& all, const std::string& path, const std::vector<std::string>& overrides,
                       ConfigOf whose)
    : world(all),
      settled(settled_config(all, path, overrides, whose)),
      config(*settled),
      files(config.find_files()),
      groups(all, config.audit.ranks) {
  if (!config.is_private())
    throw ConfigError("dpmpi audit: privacy.noise = none promises nothing, so there is nothing to test");
  if (config.trainer())
    throw ConfigError(
        fmt::format("dpmpi audit: objective.name = {} trains models on somebody's records, and an audit reads "
                    "nobody's: audit {}, and this config's method with another objective",
                    config.objective_name, config.trainer()->path()));
  if (config.prepare.on())
    throw ConfigError(
        "dpmpi audit: data.prepare = private counts records before the training, and an audit plays the training "
        "alone: audit the config with data.prepare = none and the same noise (privacy.noise_multiplier)");
  if (!files.evaluation.empty()) refuse_private_evaluation(files);
  facts.data = inspect(world, files.training);
  parts_of(config.data.test_share, facts.data);  // an audit is of the training
  objective = make_objective(config, facts.data);
  give_start(world, config.start, *objective);
  facts = public_facts(config, facts.data, *objective);
  plan = plan_on_all_ranks(world, config, facts);
  shape = RecordShape::of(facts.data, config.data);
  if (!groups.idle()) give_public_records(groups.own, *objective, files);
  mechanism = {plan.method, objective.get(), plan.queries, plan.adjacency, config.privacy.trust == "root"};
  place = worst_place(plan.queries, plan.layout) / canary_stride() * canary_stride();
  person_records = records_of_canary(config);
  if (!groups.idle()) start_ = start_point(mechanism);
  read_public_records();
  try_worst_case();
}

// By one run of its own on every rank, all alike: the kernels of a group run where its records are.
void AuditSetup::try_worst_case() {
  const auto hides = [](const Query& q) { return q.hides_times() || q.as<LastIterateRun>(); };
  if (!objective->gradients() || std::ranges::any_of(plan.queries, hides)) return;
  worst_ = std::make_unique<WorstCase>(*objective);
  run_at_worst_ = mechanism;
  run_at_worst_.objective = worst_.get();
  const Communicator alone = Communicator::alone();
  const Records canary = worst_case_canaries(shape, 1, false);
  const RowSource row{&canary, 0};
  Attacker attacker(*worst_, canary, {place}, plan.layout);
  try {
    run_game(alone, run_at_worst_,
             shard_of(alone, shape, facts.data, plan.layout,
                      [&](std::uint64_t i) { return i == place ? row : RowSource{}; }),
             common_key(), start_point(run_at_worst_), attacker);
  } catch (const NotOffered&) {
    worst_.reset();
  } catch (const ConfigError&) {  // the method asks more of an objective
    worst_.reset();
  }
}

// Public, so every rank reads all of them.
void AuditSetup::read_public_records() {
  const Dataset& evaluation = files.evaluation;
  if (evaluation.empty()) return;
  const DatasetFacts found = inspect(world, evaluation);
  check_alike(world, evaluation.key, found, facts.data);
  const Communicator alone = Communicator::alone();
  public_ = load(alone, evaluation, BlockLayout::of(found, 1), Ownership::even(1, 1), objective->label_kind(),
                 objective->classes());
  store_as(facts.data.storage, public_);
  const Records& records = public_.blocks.front().records;
  for (std::uint32_t i = 0; i < records.count; ++i)
    if (!std::isnan(records.label[i])) public_rows.push_back({&records, i});
}

std::uint64_t AuditSetup::common_key() const { return PublicStream(seed(), "choice").word(0); }

Shard AuditSetup::dataset(std::uint64_t at, std::span<const RowSource> canaries, bool among_public) const {
  if (groups.idle()) return {};
  std::vector<RowSource> rows(canaries.size() * canary_stride());
  for (std::size_t i = 0; i < canaries.size(); ++i)
    for (std::size_t k = 0; k < canary_slots(); ++k) {
      RowSource& row = rows[i * canary_stride() + k] = canaries[i];
      if (canary_stride() == 1) row.copies = person_records;
    }
  if (!among_public && std::ranges::all_of(plan.queries, by_position))
    return compact_shard(groups.own, shape, facts.data, plan.layout, at, rows);
  return shard_of(groups.own, shape, facts.data, plan.layout, [&](std::uint64_t i) -> RowSource {
    if (i >= at && i - at < rows.size()) return rows[i - at];
    return among_public ? public_rows[i % public_rows.size()] : RowSource{};
  });
}

void AuditSetup::run(const Shard& shard, std::uint64_t key, Attacker& attacker, bool at_worst) const {
  run_game(groups.own, at_worst ? run_at_worst_ : mechanism, shard, key, start_, attacker);
}

void AuditSetup::run_briefly(const Shard& shard, std::uint64_t key, Attacker& attacker) const {
  constexpr std::uint64_t enough = 65;  // steps 0, 1, 2, 4, ... 64 are measured
  RunParts brief = mechanism;
  if (std::ranges::none_of(plan.queries, [](const Query& q) { return q.as<LastIterateRun>(); }))
    brief.played = enough;
  run_game(groups.own, brief, shard, key, start_, attacker);
}

}  // namespace dpmpi
