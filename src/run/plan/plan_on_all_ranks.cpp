#include "core/errors.hpp"
#include "data/load/throw_on_all_ranks.hpp"
#include "data/memory.hpp"
#include "run/plan/made_by_root.hpp"
#include "run/plan/plan.hpp"
#include "run/plan/trains_models.hpp"

#include <fmt/format.h>

namespace dpmpi {
namespace {

void refuse_phases_on_untrusted_ranks(const Plan& plan, int ranks) {
  for (const auto& query : plan.queries)
    if (query.needs_trusted_ranks() && ranks > 1)
      throw PrivacyError(fmt::format(
          "query {}: this method has values between its releases that no noise protects, and all {} ranks see them. "
          "Set privacy.trust = cluster, which puts every rank inside the boundary (the certificate says so), or run "
          "on one rank",
          query.name, ranks));
}

// Ranks of one machine share its memory. `each`: every rank runs the method by itself, on all of its records.
void refuse_what_does_not_fit(const Communicator& comm, const Footprint& footprint, bool each) {
  if (footprint.ranks + footprint.root <= 0) return;
  const Communicator node = comm.node();
  std::int64_t roots[] = {comm.is_root() ? 1 : 0};
  node.sum(roots);
  const double needed =
      each ? (footprint.ranks + footprint.root) * node.size()
           : footprint.ranks * node.size() / comm.size() + static_cast<double>(roots[0]) * footprint.root;
  const auto available = static_cast<double>(available_memory());
  throw_on_all_ranks(comm, [&] {
    if (needed > available)
      throw ConfigError(
          fmt::format("{}: {:.1f} GB on the {} of {} ranks that share this machine, and {:.1f} GB are free",
                      footprint.what, needed * 1e-9, node.size(), comm.size(), available * 1e-9));
  });
}

}  // namespace

namespace {

void refuse_untrusted_trainers(const RunConfig& trainer, int ranks) {
  if (ranks > 1 && trainer.privacy.trust != "cluster")
    throw PrivacyError(fmt::format(
        "objective.trainer = {}: models are trained by all {} ranks, and each of them reads all of the "
        "trainer's data. Set privacy.trust = cluster there, which says so in the certificate, or run on one rank",
        trainer.path(), ranks));
}

}  // namespace

Plan draft_on_all_ranks(const Communicator& comm, const RunConfig& config, const PublicFacts& facts) {
  Plan draft = make_draft(config, make_outline(config, facts));
  if (trains_models(facts)) refuse_untrusted_trainers(*config.trainer(), comm.size());
  refuse_what_does_not_fit(comm, draft.method->footprint, false);
  if (!facts.ranks_trusted) refuse_phases_on_untrusted_ranks(draft, comm.size());
  return draft;
}

Plan plan_on_all_ranks(const Communicator& comm, const RunConfig& config, const PublicFacts& facts,
                       const Outline& outline) {
  Plan plan =
      make_plan(config, outline, made_by_root<Promise>(comm, [&] { return make_promise(config, facts, outline); }));
  if (const auto* const trains = trains_models(facts)) {
    plan.training = trains->plan(
        config, plan, made_by_root<TrainingPromise>(comm, [&] { return trains->promise(config, plan); }));
    refuse_what_does_not_fit(comm, plan.training->plan.method->footprint, true);
  }
  return plan;
}

Plan plan_on_all_ranks(const Communicator& comm, const RunConfig& config, const PublicFacts& facts) {
  return plan_on_all_ranks(comm, config, facts, draft_on_all_ranks(comm, config, facts));
}

}  // namespace dpmpi
