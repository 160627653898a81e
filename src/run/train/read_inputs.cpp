#include "run/train/read_inputs.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/console/heartbeat.hpp"
#include "core/console/log.hpp"
#include "core/errors.hpp"
#include "data/load/load.hpp"
#include "data/load/throw_on_all_ranks.hpp"
#include "data/records/labels.hpp"
#include "data/records/stored_as.hpp"
#include "data/records/text.hpp"
#include "run/certify/named_code.hpp"
#include "run/evaluate/mean_gradient.hpp"
#include "run/objective/on_ranks.hpp"
#include "run/objective/public_start.hpp"
#include "run/plan/time_estimate.hpp"
#include "run/train/input_checks.hpp"
#include "run/train/stop_requests.hpp"
#include "run/warnings/constant_predictor.hpp"

namespace dpmpi {
namespace {

/// Blocks by which records can be looked at, whatever the plan makes of them.
std::uint32_t some_blocks(const DatasetFacts& facts, int ranks) {
  const std::size_t least = static_cast<std::size_t>(std::max(16, ranks));
  return static_cast<std::uint32_t>(round_up(least, std::max<std::size_t>(1, facts.shards.size())));
}

// Before anything of a private file is shown as if it were public. Collective.
void refuse_private_files(const Training& run, Problems& problems) {
  const auto check = [&](void (*refuse)(const DataFiles&)) {
    problems.attempt([&] {
      throw_on_all_ranks(run.comm, [&] {
        if (run.root && run.config.is_private()) refuse(run.files);
      });
    });
  };
  check(refuse_private_evaluation);
  check(refuse_private_models);
  if (problems.has(ExitCode::privacy)) problems.raise();
}

void look_at_public_records(Training& run, bool training_seen) {
  const Dataset& evaluation = run.files.evaluation;
  if (evaluation.empty()) return;
  run.public_data = inspect(run.comm, evaluation);
  if (!training_seen) return;
  check_alike(run.comm, evaluation.key, run.public_data, run.facts.data);
}

// A site's file is read by the ranks that own its blocks and by no others: there no block moves to another site's
// rank.
Ownership owners_of(const Training& run) {
  const BlockLayout& layout = run.plan.layout;
  if (run.options.job) return {std::vector<std::uint32_t>(static_cast<std::size_t>(run.comm.size()) + 1, 0)};
  if (run.files.training.by_site) return Ownership::even(layout.blocks, run.comm.size());
  const TimeShares uneven =
      time_shares(step_cost(run.plan, *run.objective, run.facts.ranks_trusted), Machine(), layout.blocks);
  return Ownership::balanced(layout.blocks, run.comm.size(), uneven.root, uneven.afterwards);
}

// Root only.
SecretKey key_of(const Training& run) {
  if (run.root->key) return run.root->key->key;
  if (run.options.job) return *run.options.job->key;
  if (run.config.privacy.seeded()) return SecretKey::from_seed(static_cast<std::uint64_t>(run.config.privacy.seed));
  return SecretKey::from_system();
}

Shard load_checked(const Training& run, const Dataset& dataset, const BlockLayout& layout,
                   const Ownership& ownership, const PlacedPersons& persons = {}) {
  const ShowFields show(dataset.shows_values());
  const auto check = [&](const Shard& records) {
    const bool fits = records.facts.features == run.facts.data.features;  // else that is said by now
    if (fits) run.objective->check_records(records);
  };
  Shard shard = load(run.comm, dataset, layout, ownership, run.objective->label_kind(), run.objective->classes(),
                     {.key = persons.key, .site_key = persons.site_key, .look = check});
  if (dataset.rules.persons == ReadingRules::Persons::nothing) throw_on_all_ranks(run.comm, [&] { check(shard); });
  return shard;
}

// Where data.positive says which labels are +1, the public records tell whether it names the right ones: private
// labels are counted nowhere. Collective.
void check_positive_labels(const Training& run) {
  const std::vector<std::string>& positive = run.files.evaluation.rules.positive;
  if (positive.empty() || run.files.evaluation.rules.label == no_label) return;
  std::array<std::int64_t, 2> found{};
  for (const Block& block : run.public_records.blocks)
    for (const float label : block.records.label)
      if (!std::isnan(label)) ++found[label > 0];
  run.comm.sum(found);
  if (found[1] == 0 && found[0] > 0)
    throw DataError(fmt::format(
        "data.positive = {}: no label of the public file data.eval is one of these; write labels as the file has them "
        "(or leave data.eval out, if it has none of them and the training file does)",
        fmt::join(positive, ",")));
}

void read_public_records(Training& run) {
  if (run.public_data.records == 0) return;  // there are none, or nobody could look at them
  const std::uint32_t blocks = some_blocks(run.public_data, run.comm.size());
  run.public_records = load_checked(run, run.files.evaluation, BlockLayout::of(run.public_data, blocks),
                                    Ownership::even(blocks, run.comm.size()));
  store_as(run.facts.data.storage, run.public_records);
  check_positive_labels(run);
  run.constant = best_constant(run.comm, *run.objective, run.public_records);
}

// The blocks of one site of several, from its own file alone, numbered among those of all.
Shard load_site(const Training& run, const BlockLayout& layout) {
  const SiteJob& job = *run.options.job;
  const auto sites = static_cast<std::uint32_t>(run.facts.data.shards.size()), of_a_site = layout.blocks / sites;
  Dataset own = run.files.training;
  own.parts = {own.parts.at(*job.site)};
  own.by_site = false;
  DatasetFacts facts = run.facts.data;
  facts.records = facts.shards.at(*job.site);
  facts.shards.clear();
  Shard shard = load_checked(run, own, BlockLayout::of(facts, of_a_site),
                             Ownership::even(of_a_site, run.comm.size()), {.site_key = job.persons_key});
  for (Block& block : shard.blocks) {
    block.id += *job.site * of_a_site;
    block.first_index += layout.begin(*job.site * of_a_site);
    verify(block.records.units() == layout.size(block.id), "a site's blocks are those of the run");
  }
  shard.layout = layout;
  shard.facts.records = layout.records;
  return shard;
}

void read_private_records(Training& run) {
  const bool planned = !run.owners.first.empty();
  const std::uint32_t blocks = some_blocks(run.facts.data, run.comm.size());
  const BlockLayout own = planned ? run.plan.layout : BlockLayout::of(run.facts.data, blocks);
  const BlockLayout layout = run.parts ? run.parts->whole_layout(own) : own;
  const Ownership owners = planned ? run.owners : Ownership::even(blocks, run.comm.size());
  if (run.root) run.root->secret = key_of(run);
  if (const SiteJob* const job = run.options.job) {
    run.records = job->site ? load_site(run, layout) : Shard{run.facts.data, layout, {}};
    return;
  }
  run.records =
      load_checked(run, run.files.training, layout, owners, {.key = run.root ? run.root->secret : std::nullopt});
  if (run.parts) {
    HeldOut::Parts parts = run.parts->split(std::move(run.records), own);
    run.records = std::move(parts.training), run.held_out = std::move(parts.held_out);
  }
  const std::uint32_t first = owners.begin(run.comm.rank()), last = owners.end(run.comm.rank());
  debug("blocks {} to {} of {}, {} slots", first, last, layout.blocks, layout.begin(last) - layout.begin(first));
}

// Names of features are on the root. Collective.
void find_columns(Training& run) {
  throw_on_all_ranks(run.comm, [&] {
    if (run.root)
      run.column_places = places_of_columns(*run.config.data.columns_file, run.config.prepare.rare > 0,
                                            run.facts.data.feature_names);
  });
  std::uint64_t columns = run.column_places.size();
  run.comm.broadcast(columns);
  run.column_places.resize(columns);
  run.comm.broadcast(std::span<std::uint64_t>(run.column_places));
}

// The objective's own, and what is taken for granted of it.
void read_other_records(Training& run, Problems& problems) {
  const bool given = problems.attempt([&] {
    give_public_records(run.comm, *run.objective, run.files);
    throw_on_all_ranks(run.comm, [&] { run.public_models = digests_of(run.files.models); });
  });
  if (run.trains_models) problems.attempt([&] { run.trains_models->read_records(run.comm, run.files); });
  if (given && run.plan.method) problems.attempt([&] { run.plan.method->check_assumptions(*run.objective); });
}

}  // namespace

void refuse_place(const Communicator& comm, const RunConfig& config) {
  throw_on_all_ranks(comm, [&] {
    if (!comm.is_root()) return;
    refuse_old_stop_file(config.run);
    refuse_impossible(config.run.dir);
    refuse_taken(config.run.dir);
  });
}

void look_at_inputs(Training& run, Problems& problems) {
  const RunConfig& config = run.config;
  const InStage stage(Stage::load);
  refuse_private_files(run, problems);
  const bool seen = problems.attempt(
      [&] { run.facts.data = run.options.job ? run.options.job->facts : inspect(run.comm, run.files.training); });
  problems.attempt([&] { look_at_public_records(run, seen); });
  if (!seen) return;
  if (config.prepare.on()) problems.attempt([&] { find_columns(run); });
  problems.attempt([&] {
    run.parts = parts_of(config.data.test_share, run.facts.data);
    if (run.options.resume) permit_code(config);  // the root is beyond open_run: nobody gets facts before
    run.objective = make_objective(config, run.facts.data);
    give_start(run.comm, config.start, *run.objective);
    if (config.report.gradient_norm)
      check_mean_gradient(config.objective_name, *run.objective, !config.data.eval.empty());
    run.trains_models = trains_models(run.objective.get());
    run.facts = public_facts(config, run.facts.data, *run.objective);
    if (run.parts) CountedScores::of(*run.objective, config.objective_name);
    run.plan = draft_on_all_ranks(run.comm, config, run.facts);
    run.owners = owners_of(run);
  });
}

void read_records_again(Training& run) {
  const InStage stage(Stage::load);
  run.records.blocks.clear(), run.held_out.blocks.clear(), run.public_records.blocks.clear();
  read_public_records(run);
  read_private_records(run);
  if (run.root) run.root->secret.reset();
  throw_on_all_ranks(run.comm, [&] { run.stamps.check(); });
}

void read_inputs(Training& run, Problems& problems) {
  if (!run.objective) return;
  const InStage stage(Stage::load);
  read_other_records(run, problems);
  problems.attempt([&] { read_public_records(run); });
  problems.attempt([&] { read_private_records(run); });
}

}  // namespace dpmpi
