#include "run/warnings/before_training.hpp"

#include <algorithm>

#include "method/clipped_records.hpp"
#include "run/plan/plan.hpp"
#include "run/warnings/clip_share.hpp"
#include "run/warnings/column_sizes.hpp"

namespace dpmpi {
namespace {

// Gradients of what was learned are short: at the end a clip may be far above them and still be a good one.
constexpr double little_at_start = 0.1, little_at_end = 0.01;

/// Of all queries the most for one record, in flops.
double work_of_record(const Objective& objective, const std::vector<Query>& queries) {
  double effort = 1;
  for (const Query& query : queries) effort = std::max(effort, query.effort);
  return effort * objective.flops_per_record();
}

void look_at_clip(const Communicator& comm, Algorithm& algorithm, double work, const Shard& shard,
                  const std::string& where, double little, Findings& findings) {
  const SizesOverClip sizes = algorithm.sizes_over_clip();
  if (!sizes) return;
  const ClipShare share = clip_share(comm, sizes, shard, work);
  if (!comm.is_root() || share.records == 0) return;
  findings.measures = share.measures();
  if (auto warning = share.warning(where, little)) findings.warnings.push_back(std::move(*warning));
}

/// Without noise a clip costs nothing.
bool noised(const std::vector<Query>& queries) { return std::ranges::any_of(queries, &Query::is_private); }

}  // namespace

Findings look_before_training(const Communicator& comm, Objective& objective, Algorithm& at_start,
                              const std::vector<Query>& queries, const Shard& public_records,
                              const std::string& names) {
  Findings findings;
  look_at_clip(comm, at_start, work_of_record(objective, queries), public_records, "at the start point",
               noised(queries) ? little_at_start : 0, findings);
  auto uneven = uneven_columns(comm, public_records, names);
  if (uneven && comm.is_root()) findings.warnings.insert(findings.warnings.begin(), std::move(*uneven));
  return findings;
}

Findings look_before_training(const Communicator& comm, const RunConfig& config, const PublicFacts& facts,
                              Objective& objective, const Shard& public_records) {
  const Outline outline = make_outline(config, facts);
  std::vector<Query> queries;
  for (const QuerySpec& spec : outline.method->queries(config.is_private() ? 1 : 0))
    queries.push_back(
        Query::declare(spec, static_cast<std::uint32_t>(queries.size()), outline.adjacency, facts.data.records));
  const auto algorithm = outline.method->start(objective, queries);
  return look_before_training(comm, objective, *algorithm, queries, public_records, facts.data.feature_names);
}

Findings look_after_training(const Communicator& comm, Objective& objective, Algorithm& at_end,
                             const std::vector<Query>& queries, const Shard& public_records) {
  Findings findings;
  look_at_clip(comm, at_end, work_of_record(objective, queries), public_records, "at the end",
               noised(queries) ? little_at_end : 0, findings);
  return findings;
}

}  // namespace dpmpi
