// The promise and the cost of a config, before the data: headers are read and lines are counted, no value.

#include <cmath>
#include <cstdio>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/events.hpp"
#include "cli/search.hpp"
#include "core/console/progress.hpp"
#include "core/errors.hpp"
#include "privacy/promise/group_guarantee.hpp"
#include "run/plan/person_sampling.hpp"
#include "run/plan/plan.hpp"
#include "run/plan/plan_timing.hpp"
#include "run/plan/settings_table.hpp"
#include "run/plan/time_estimate.hpp"
#include "run/planned_config.hpp"

namespace dpmpi {
namespace {

using Json = nlohmann::ordered_json;

Json predicted(const Plan& plan, const StepCost& cost, const Machine& machine,
               const std::vector<std::int64_t>& ranks) {
  Json out{{"machine",
            {{"source", machine.source},
             {"latency_seconds", machine.latency},
             {"seconds_per_byte", machine.inverse_bandwidth},
             {"flops_per_second", machine.flops},
             {"seconds_per_record", machine.record_seconds},
             {"seconds_per_noise_value", machine.noise_seconds}}},
           {"ranks", Json::object()}};
  for (const std::int64_t n : ranks) {
    const Prediction p = predict(cost, machine, static_cast<int>(n));
    out["ranks"][std::to_string(n)] = {{"seconds_per_step", p.step()},
                                       {"compute", p.compute},
                                       {"communication", p.communication},
                                       {"total_seconds", p.step() * static_cast<double>(plan.steps)}};
  }
  return out;
}

/// What the promise per record is worth to somebody with several records.
void print_group(const Plan& plan, const std::string& accountant) {
  constexpr std::uint64_t size = 5;
  try {
    const Guarantee g = group_epsilon_guarantee(plan.events(), size, plan.adjacency, plan.delta(), accountant);
    fmt::print(
        "\nthis promise is for a record: somebody with {} records has epsilon {} or less (for other numbers: "
        "dpmpi account --group; for persons: data.person)\n",
        size, rounded_up(g.epsilon));
  } catch (const PrivacyError&) {  // nothing is known of these events
  }
}

/// The other way of drawing persons, where it can be compared.
void print_person_sampling(const Plan& plan, const RunConfig& config) {
  const auto other = compare_person_sampling(plan, config);
  if (!other) return;
  const bool records = config.data.samples_records();
  const double ratio = records ? 1 / other->noise_ratio : other->noise_ratio;
  fmt::print(
      "\nwith data.person_sampling = {} the same promise has {:.3g} times this noise on the mean of as many gradients\n"
      "  if everybody has {} records; if they have m on average, {}\n",
      records ? "persons" : "records", ratio, other->records,
      records ? fmt::format("m/{} times that", other->records) : fmt::format("{}/m times that", other->records));
}

void print_promise(const Plan& plan, const RunConfig& config) {
  const Unit unit = config.data.unit();
  const Guarantee& g = plan.promise.guarantee;
  fmt::print("\nevents of the whole run\n");
  for (const auto& [mechanism, count] : uses(plan.events())) fmt::print("  {}\n", to_json({mechanism, count}));
  if (plan.evaluation) {
    fmt::print("and of its evaluation, on other {}\n", plural(unit));
    for (const auto& [mechanism, count] : uses(plan.evaluation->events()))
      fmt::print("  {}\n", to_json({mechanism, count}));
  }
  if (std::isinf(g.epsilon)) {
    fmt::print("\nNOT PRIVATE: epsilon is infinite\n");
    return;
  }
  fmt::print("\nepsilon at delta {:.6g} under {}: in [{}, {}]\n{}", g.delta, name(plan.adjacency), g.least,
             g.epsilon, evidence(g));
  fmt::print("\nwhat an attacker can find out who knows all but one {}\n", name(unit));
  for (const auto& [rate, power] : attacker_of_everybody(plan))
    fmt::print("  of the members at most {:>9} % are found at {:>4} % false alarms\n", rounded_up(100 * power),
               100 * rate);
  // Records of one person may be in both parts, of which the events of the training say too little
  // (docs/guide/held_out.md).
  if (unit == Unit::record && !plan.evaluation) print_group(plan, config.privacy.accountant);
  print_person_sampling(plan, config);
}

void print_cost(const Plan& plan, const StepCost& cost, const Machine& machine,
                const std::vector<std::int64_t>& ranks) {
  fmt::print("\nper step: {:.4g} flops, {:.4g} records, up to the root {} bytes a rank, down {} bytes\n",
             cost.flops, cost.records, cost.up, cost.down);
  if (cost.own_values > 0)
    fmt::print("and {:.4g} normals that every rank draws by itself (directions, noise across them): {:.3g} s\n",
               cost.own_values, cost.own_values * machine.noise_seconds);
  fmt::print(
      "predicted by latency {:.3g} s, {:.3g} s a byte, {:.3g} flops/s, {:.3g} s a record at least, {:.3g} s a noise value\n({})\n",
      machine.latency, machine.inverse_bandwidth, machine.flops, machine.record_seconds, machine.noise_seconds,
      machine.source);
  for (const std::int64_t n : ranks) {
    const Prediction p = predict(cost, machine, static_cast<int>(n));
    fmt::print("  {:>4} rank{} {:.3g} s a step (compute {:.3g}, messages {:.3g}), {} in total\n", n,
               n == 1 ? ": " : "s:", p.step(), p.compute, p.communication,
               duration_text(p.step() * static_cast<double>(plan.steps)));
  }
}

void print_memory(const Footprint& footprint) {
  if (footprint.ranks + footprint.root <= 0) return;
  fmt::print("\nbeside the records {:.3g} GB over all ranks and {:.3g} GB at the root at most: {}\n",
             footprint.ranks * 1e-9, footprint.root * 1e-9, footprint.what);
}

void print_alternatives(const std::vector<NoiseAlternative>& all) {
  if (all.empty()) return;
  fmt::print(
      "\nnoise in the sum of all gradients so far, at the same promise (root mean square over the steps, in "
      "clips over mu), and what the root keeps for it, in rows of a number a parameter:\n");
  for (const auto& [settings, error, rows, taken] : all)
    fmt::print("  {:<32} {:>10.4g} {:>10}{}\n", settings, error, rows, taken ? "  taken" : "");
}

Json alternatives_json(const std::vector<NoiseAlternative>& all) {
  Json list = Json::array();
  for (const auto& [settings, error, rows, taken] : all)
    list.push_back({{"settings", settings}, {"error", error}, {"rows", rows}, {"taken", taken}});
  return list;
}

struct PlanRequest {
  std::string config;
  std::vector<std::string> overrides, searches;
  std::vector<std::int64_t> ranks = {1, 2, 4, 8};
  bool measure = false, json = false;
};

/// Collective; prints on the root.
int show_plan(const Communicator& comm, const PlanRequest& typed) {
  const PlannedConfig planned = planned_config(comm, typed.config, typed.overrides);
  const RunConfig& config = *planned.config;
  Objective& objective = *planned.objective;
  const Machine machine =
      typed.measure ? measure_machine(comm, planned.facts, objective, static_cast<float>(config.data.bias))
                    : Machine();
  if (!comm.is_root()) return static_cast<int>(ExitCode::done);

  const Plan plan = planned.plan();
  const StepCost cost = step_cost(plan, objective);
  const Footprint& footprint = plan.method->footprint;
  if (typed.json) {
    Json out = Json::parse(plan_json(plan, config, planned.facts));
    out["predicted"] = predicted(plan, cost, machine, typed.ranks);
    if (footprint.ranks + footprint.root > 0)
      out["memory"] = {{"ranks_bytes", footprint.ranks}, {"root_bytes", footprint.root}};
    if (const auto all = plan.method->noise_alternatives(); !all.empty())
      out["noise_alternatives"] = alternatives_json(all);
    fmt::print("{}\n", out.dump(2, ' ', false, Json::error_handler_t::replace));
  } else {
    print_settings(config, planned.facts, plan, comm.size(), stdout);
    print_promise(plan, config);
    print_cost(plan, cost, machine, typed.ranks);
    print_memory(footprint);
    print_alternatives(plan.method->noise_alternatives());
    if (const auto text = plan.method->notes(plan.queries); !text.empty()) fmt::print("\n{}", text);
  }
  return printed();
}

}  // namespace

Command plan_command() {
  const auto typed = std::make_shared<PlanRequest>();
  return {.name = "plan",
          .forms = {{"dpmpi plan --config FILE [--ranks 1,2]",
                     "the privacy promise, the settings and the cost, before any record is read"},
                    {"mpirun -n N dpmpi plan --config FILE --measure", "the same with this machine's rates"}},
          .about = "Reads headers and counts lines, but no value.",
          .options =
              Options("")
                  .add("config", typed->config, "the configuration")
                  .add_each("search", typed->searches, search_help)
                  .add_each("set", typed->overrides, set_help)
                  .add("ranks", typed->ranks, "numbers of ranks to predict the time for", Range::closed(1, 1 << 20))
                  .add("measure", typed->measure, "predict by this machine's rates, measured on synthetic records")
                  .add("json", typed->json, "print JSON"),
          .needed = {"config"},
          .on_all_ranks = [typed] { return typed->measure; },
          .prepare = [typed] { apply_searches(typed->searches, typed->overrides); },
          .run = [typed](const Communicator& world) { return show_plan(world, *typed); }};
}

}  // namespace dpmpi
