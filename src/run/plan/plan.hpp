#pragma once
// The promise: what will be released, with how much noise, and the epsilon that follows, all from what is public.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "comm/communicator.hpp"
#include "privacy/curator/query.hpp"
#include "privacy/promise/guarantee.hpp"
#include "run/config/config.hpp"
#include "run/preparation/preparation.hpp"

namespace dpmpi {

/// What accounting says about a plan. Costly for some accountants, so one rank computes it for all.
struct Promise {
  double noise_multiplier = 0;  ///< 0 for a method that is not private
  Guarantee guarantee;          ///< of the whole run; epsilon is infinity for a method that is not private
  std::vector<std::pair<double, double>> attacker;  ///< attacker_table: false and true positive rates
  void archive(Archive& archive);
};

/// What a run does, whatever its noise.
struct Outline {
  std::shared_ptr<const MethodPlan> method;
  BlockLayout layout;  ///< of the records
  std::uint64_t steps = 0;
  Adjacency adjacency = Adjacency::add_remove;
  std::uint64_t runs = 1;            ///< the promise is for so many of them on the same records, together
  PreparationPlan preparation = {};  ///< of their columns, in the first step
};

struct TrainingPlan;
struct EvaluationPlan;

struct Plan : Outline {
  std::vector<Query> queries;
  Promise promise;
  std::shared_ptr<const TrainingPlan> training = {};  ///< of models that the objective trains on private records
  std::shared_ptr<const EvaluationPlan> evaluation = {};  ///< of the model on held-out records, if there are any
  double epsilon() const { return promise.guarantee.epsilon; }
  double delta() const { return promise.guarantee.delta; }
  /// Those of the preparation; they stand behind those of the method. Empty: nothing is prepared.
  std::span<const Query> preparing() const { return std::span(queries).last(preparation.releases()); }

  /// Of one run, of all queries at these steps.
  std::vector<Event> events(std::uint64_t first, std::uint64_t last) const;
  std::vector<Event> events() const;  ///< of all runs
  /// Steps are phases, whose duration follows what is secret in them: no file and no message may tell it.
  bool hides_times() const;
  double largest_slack() const;  ///< the largest relative numerical slack of the queries' sensitivities
};

/// The outline of so many runs. The objective of the facts must outlive it. Local, deterministic, touches no
/// record. Throws ConfigError or PrivacyError, as what follows does.
Outline make_outline(const RunConfig& config, const PublicFacts& facts, std::uint64_t runs = 1);
/// The plan but for its promise, which takes long to find: noise as large as the sensitivity, if the config does
/// not say how much. Local, cheap.
Plan make_draft(const RunConfig& config, const Outline& outline);
/// Calibrates the noise to privacy.epsilon by privacy.accountant, or takes privacy.noise_multiplier, and accounts
/// for the whole run; of several runs for all of them together. Local, deterministic.
Promise make_promise(const RunConfig& config, const PublicFacts& facts, const Outline& outline);
/// The plan that keeps a promise of make_promise, but for plan.training. Local, cheap.
Plan make_plan(const RunConfig& config, const Outline& outline, Promise promise);
/// All of them for one run, with plan.training.
Plan make_plan(const RunConfig& config, const PublicFacts& facts);

/// The draft of a run on several ranks. Collective. Throws ConfigError or PrivacyError on all ranks where these do
/// not suit it: their memory, or who of them may be trusted.
Plan draft_on_all_ranks(const Communicator& comm, const RunConfig& config, const PublicFacts& facts);
/// The plan of a run whose outline is that of its draft. Collective. Accounting can be costly (convolutions), so
/// the root makes the promise for all; its refusals are met by all ranks alike.
Plan plan_on_all_ranks(const Communicator& comm, const RunConfig& config, const PublicFacts& facts,
                       const Outline& outline);
/// Both, one after the other.
Plan plan_on_all_ranks(const Communicator& comm, const RunConfig& config, const PublicFacts& facts);

/// plan.json: deterministic text, ends with a newline.
std::string plan_json(const Plan& plan, const RunConfig& config, const PublicFacts& facts);

/// A delta for n units: what option `key` asks for, or what stands for 0: n^-1.1. Throws PrivacyError where it
/// makes no sense.
double delta_for(double asked, std::uint64_t n, const std::string& key);
/// The same by privacy.delta.
double delta_of(const RunConfig& config, const DatasetFacts& data);

/// What the config's method may know: data, objective, adjacency and the privacy target. Throws PrivacyError where
/// delta makes no sense.
PublicFacts public_facts(const RunConfig& config, const DatasetFacts& data, const Objective& objective);

/// The objective of the config for this data. Throws ConfigError if its parameters would not fit in memory.
std::unique_ptr<Objective> make_objective(const RunConfig& config, const DatasetFacts& data);

}  // namespace dpmpi
