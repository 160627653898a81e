#include "run/plan/plan.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <new>
#include <stdexcept>

#include "core/errors.hpp"
#include "core/numbers/real.hpp"
#include "data/columns/columns_file.hpp"
#include "data/memory.hpp"
#include "data/records/text.hpp"
#include "privacy/curves/gaussian_curve.hpp"
#include "run/plan/model_memory.hpp"
#include "run/plan/releases.hpp"
#include "run/plan/trains_models.hpp"

namespace dpmpi {
namespace {

// These queries, and those of what they repeat.
std::vector<QuerySpec> with_those_of_runs(std::vector<QuerySpec> queries) {
  std::vector<QuerySpec> all = queries;
  for (const QuerySpec& query : queries)
    if (const auto* best = query.as<BestOfRuns>(); best && best->candidates)
      for (const RunCandidate& candidate : *best->candidates)
        for (const QuerySpec& own : with_those_of_runs(candidate.queries)) all.push_back(own);
  return all;
}

// data.blocks, resolved: `auto` is the largest power of two up to 16 that leaves every block, in a step of every
// query, one expected row and the effort of 64 (N1).
std::uint32_t blocks_of(const RunConfig& config, const MethodPlan& method, std::uint64_t records) {
  if (config.data.blocks > 0) return static_cast<std::uint32_t>(config.data.blocks);
  std::uint32_t blocks = 16;
  for (const auto& query : with_those_of_runs(method.queries(1.0))) {
    const double batch = expected_batch(query.sampling, records);
    while (blocks > 1 && (batch / blocks < 1 || batch / blocks * query.effort < 64)) blocks /= 2;
  }
  return blocks;
}

double largest_slack_of(const std::vector<Query>& queries) {
  double slack = 0;
  for (const Query& query : queries) {
    slack = std::max(slack, query.eta);
    if (!query.trainings) continue;
    for (const std::vector<Query>& training : *query.trainings) slack = std::max(slack, largest_slack_of(training));
  }
  return slack;
}

Releases releases_of(const Outline& outline) {
  const auto specs = [method = outline.method, preparation = outline.preparation](double multiplier) {
    std::vector<QuerySpec> all = method->queries(multiplier);
    for (QuerySpec& query : preparation.queries(multiplier)) all.push_back(std::move(query));
    return all;
  };
  return {specs, outline.layout, outline.steps, outline.adjacency, outline.runs};
}

}  // namespace

double delta_for(double asked, std::uint64_t units, const std::string& key) {
  const auto n = static_cast<double>(units);
  const double delta = asked > 0 ? asked : std::pow(n, -1.1);
  if (asked > 0 && delta * n > 1)
    throw PrivacyError(
        fmt::format("{} = {} is above 1/n = {:.3g}: a mechanism that publishes a whole record would "
                    "keep that promise; choose a smaller delta",
                    key, delta, 1 / n));
  if (delta >= 1) throw PrivacyError(fmt::format("delta = n^-1.1 is not below 1 for n = {}: set {}", units, key));
  return delta;
}

double delta_of(const RunConfig& config, const DatasetFacts& data) {
  return delta_for(config.privacy.delta, data.units(), "privacy.delta");
}

std::vector<Event> Plan::events(std::uint64_t first, std::uint64_t last) const {
  return events_of(queries, first, last);
}

std::vector<Event> Plan::events() const { return times(events(0, steps), runs); }

bool Plan::hides_times() const {
  return std::ranges::any_of(queries, [](const Query& query) { return query.hides_times(); });
}

double Plan::largest_slack() const { return largest_slack_of(queries); }

void Promise::archive(Archive& archive) {
  archive.field("noise_multiplier", noise_multiplier);
  archive.field("epsilon", guarantee.epsilon);
  archive.field("delta", guarantee.delta);
  archive.field("least", guarantee.least);
  const auto pairs = [&](const char* name, auto& list, const char* first, const char* second) {
    std::uint64_t size = list.size();
    archive.field(name, size);
    list.resize(size);
    for (auto& [one, other] : list) {
      archive.field(first, one);
      archive.field(second, other);
    }
  };
  std::vector<std::pair<std::string, std::string>> refusals(guarantee.refusals.begin(), guarantee.refusals.end());
  pairs("by", guarantee.by, "name", "bound");
  pairs("refusals", refusals, "name", "reason");
  pairs("attacker", attacker, "rate", "power");
  guarantee.refusals = {refusals.begin(), refusals.end()};
}

Outline make_outline(const RunConfig& config, const PublicFacts& facts, std::uint64_t runs) {
  if (!config.automatic().empty())
    throw ConfigError(
        fmt::format("{} = auto, and no numbers were found for it", fmt::join(config.automatic(), ", ")));
  std::shared_ptr<const MethodPlan> method = config.method->plan(facts);
  const std::uint32_t blocks = blocks_of(config, *method, facts.data.records);
  Outline outline{method, BlockLayout::of(facts.data, blocks), method->steps, facts.adjacency, runs};
  if (config.prepare.on()) {
    const ColumnsFile& file = *config.data.columns_file;
    const Objective& objective = *facts.objective;
    WordCells words =
        WordCells::of(file, ClassCells::of(file, objective.label_kind(), objective.classes()), config.prepare.rare);
    outline.preparation =
        PreparationPlan::of(file, std::move(words), config.prepare.share, facts.rho, method->steps);
  }
  return outline;
}

Plan make_draft(const RunConfig& config, const Outline& outline) {
  const double given = config.privacy.noise_multiplier;
  return {outline, releases_of(outline).declare(config, !config.is_private() ? 0 : given > 0 ? given : 1), {}};
}

Promise make_promise(const RunConfig& config, const PublicFacts& facts, const Outline& outline) {
  const double delta = delta_of(config, facts.data);
  if (!config.is_private()) return no_promise(facts.adjacency, delta);
  return promise_of(config, releases_of(outline), config.privacy.noise_multiplier, config.privacy.epsilon, delta);
}

Plan make_plan(const RunConfig& config, const Outline& outline, Promise promise) {
  Plan plan{outline, releases_of(outline).declare(config, promise.noise_multiplier), std::move(promise)};
  if (!config.is_private()) return plan;
  refuse_short_noise(plan.queries, plan.runs, plan.promise.guarantee);
  if (config.privacy.epsilon > 0 && plan.epsilon() > config.privacy.epsilon)
    throw PrivacyError(fmt::format("the calibrated plan has epsilon {} above privacy.epsilon = {}", plan.epsilon(),
                                   config.privacy.epsilon));
  return plan;
}

Plan make_plan(const RunConfig& config, const PublicFacts& facts) {
  const Outline outline = make_outline(config, facts);
  Plan plan = make_plan(config, outline, make_promise(config, facts, outline));
  if (const auto* const trains = trains_models(facts))
    plan.training = trains->plan(config, plan, trains->promise(config, plan));
  return plan;
}

PublicFacts public_facts(const RunConfig& config, const DatasetFacts& data, const Objective& objective) {
  PublicFacts facts{data, &objective, config.privacy.which()};
  facts.bias = static_cast<float>(config.data.bias);
  facts.delta = delta_of(config, data);
  if (!config.is_private()) {
    facts.rho = infinity;
    return facts;
  }
  facts.epsilon = config.privacy.epsilon;
  facts.noise_multiplier = config.privacy.noise_multiplier;
  facts.ranks_trusted = config.privacy.trust == "cluster";
  facts.rho = config.privacy.noise_multiplier > 0 ? 1 / config.privacy.noise_multiplier
                                                  : gdp_mu(config.privacy.epsilon, facts.delta);
  return facts;
}

namespace {

/// Nothing that a table says of its records is passed over in silence.
void take_factors(const RunConfig& config, Objective& objective) {
  if (!config.data.columns_file) return;
  const ColumnsFile& file = *config.data.columns_file;
  objective.record_factors = file.factors();
  const RecordFactors heeded = objective.heeds();
  std::vector<std::string> problems;
  const auto column_of = [&](ColumnKind kind) {
    const ColumnRule* const column = file.of_kind(kind);
    return column ? fmt::format("{}: column {}", file.place(*column), show(column->name)) : "";
  };
  objective.factor_columns = {column_of(ColumnKind::weight), column_of(ColumnKind::exposure)};
  const auto refuse = [&](ColumnKind kind, const char* who_does) {
    problems.push_back(
        fmt::format("{} is of kind {}, which objective.name = {} does not heed: {} (the kind ignore leaves it out)",
                    column_of(kind), column_kind_name(kind), config.objective_name, who_does));
  };
  if (objective.record_factors.weight && !heeded.weight)
    refuse(ColumnKind::weight, "losses of linear models, softmax, mlp, network, auc, worst_group and wgan do");
  if (objective.record_factors.exposure && !heeded.exposure)
    refuse(ColumnKind::exposure, "poisson does, whose labels are counts");
  if (!problems.empty()) throw ConfigError(fmt::format("{}", fmt::join(problems, "\n  ")));
}

}  // namespace

std::unique_ptr<Objective> make_objective(const RunConfig& config, const DatasetFacts& data) {
  try {
    auto objective = config.objective->make({data.features, data.storage, static_cast<float>(config.data.bias)});
    objective->l2 = config.l2;
    take_factors(config, *objective);
    const double bytes = model_memory(config.method_name, *objective, data.features);
    if (bytes > static_cast<double>(available_memory()))
      throw ConfigError(fmt::format(
          "objective.{} has {} parameters: about {:.1f} GB a rank, and {:.1f} GB are free", config.objective_name,
          objective->dim(), bytes * 1e-9, static_cast<double>(available_memory()) * 1e-9));
    return objective;
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  }
  throw ConfigError(
      fmt::format("objective.{} does not fit in memory: make its layers, classes or data.features smaller",
                  config.objective_name));
}

}  // namespace dpmpi
