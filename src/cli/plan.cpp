// The promise and the cost of a config, before the data: headers are read and lines are counted, no value.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/events.hpp"
#include "cli/search.hpp"
#include "core/console/progress.hpp"
#include "core/errors.hpp"
#include "data/records/builder.hpp"
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

/// The cluster that a time is predicted for.
struct ClusterRequest {
  std::vector<std::int64_t> nodes;
  std::int64_t cores = 0;
  std::string network = "10G";
  double latency = Network().latency;

  /// Throws ConfigError.
  Network links() const { return {latency, inverse_bandwidth_of(network, "--network")}; }
  void check() const {
    if (!nodes.empty() && cores == 0) throw ConfigError("--nodes needs --cores, the cores of a node");
    if (nodes.empty() && cores > 0) throw ConfigError("--cores needs --nodes, such as --nodes 4,16,64");
    for (const std::int64_t n : nodes)
      if (n * cores > 1 << 20)
        throw ConfigError(fmt::format("--nodes {} with --cores {}: more than {} ranks", n, cores, 1 << 20));
    links();
  }
};

/// On the numbers of nodes, if there are blocks for so many ranks.
std::vector<std::pair<std::int64_t, std::optional<ClusterPrediction>>> on_nodes(const ClusterRequest& cluster,
                                                                                const Plan& plan,
                                                                                const StepCost& cost,
                                                                                const Machine& machine) {
  std::vector<std::pair<std::int64_t, std::optional<ClusterPrediction>>> all;
  for (const std::int64_t n : cluster.nodes)
    all.emplace_back(n, best_on_nodes(cost, machine, cluster.links(), static_cast<int>(n),
                                      static_cast<int>(cluster.cores), plan.layout.blocks));
  return all;
}

Json cluster_json(const ClusterRequest& cluster, const Plan& plan, const StepCost& cost, const Machine& machine) {
  Json out{{"cores", cluster.cores},
           {"latency_seconds", cluster.latency},
           {"seconds_per_byte", cluster.links().inverse_bandwidth},
           {"nodes", Json::object()}};
  for (const auto& [n, best] : on_nodes(cluster, plan, cost, machine)) {
    Json& of = out["nodes"][std::to_string(n)];
    if (best)
      of = {{"ranks_per_node", best->ranks_of_node},
            {"steps_per_second", 1 / best->step()},
            {"seconds_per_step", best->step()},
            {"kernels", best->kernels},
            {"root", best->root},
            {"sum", best->sum},
            {"broadcast", best->broadcast}};
  }
  return out;
}

void print_cluster(const ClusterRequest& cluster, const Plan& plan, const StepCost& cost, const Machine& machine) {
  if (cluster.nodes.empty()) return;
  fmt::print(
      "\non nodes of {} cores, {}bit/s and {:.3g} s a message between them, the quickest number of ranks on each:\n"
      "  nodes   ranks   steps/s  kernels  root's noise  sum  broadcast\n",
      cluster.cores, cluster.network, cluster.latency);
  for (const auto& [n, best] : on_nodes(cluster, plan, cost, machine)) {
    if (!best) {
      fmt::print("  {:>5}  more nodes than the {} blocks: set data.blocks = {} or more\n", n, plan.layout.blocks,
                 n);
      continue;
    }
    const auto share = [step = best->step()](double seconds) { return 100 * seconds / step; };
    fmt::print("  {:>5}  x {:<4} {:>9.4g}  {:>5.1f} %  {:>10.1f} % {:>5.1f} % {:>5.1f} %\n", n, best->ranks_of_node,
               1 / best->step(), share(best->kernels), share(best->root), share(best->sum), share(best->broadcast));
  }
  const std::int64_t most = *std::ranges::max_element(cluster.nodes) * cluster.cores;
  if (most > plan.layout.blocks)
    fmt::print("  (no more ranks than blocks: data.blocks = {} would let {} ranks work)\n", most, most);
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

/// Bytes of dense records, over all ranks: in memory, and in their file.
struct RecordsMemory {
  std::uint64_t in_memory = 0, in_file = 0;
};
std::optional<RecordsMemory> memory_of_records(const RunConfig& config, const DatasetFacts& data) {
  if (data.storage == Storage::sparse_f32) return std::nullopt;  // how many entries there are is no public number
  const std::uint64_t all = RecordsBuilder::bytes(data.storage, data.features, data.records),
                      beside = RecordsBuilder::bytes_beside(data.storage, data.records);
  return config.data.mapped() ? RecordsMemory{beside, all - beside} : RecordsMemory{all, 0};
}

void print_memory_of_records(const std::optional<RecordsMemory>& records) {
  if (!records) return;
  fmt::print("\nthe records take {:.3g} GB of memory over all ranks",
             static_cast<double>(records->in_memory) * 1e-9);
  if (records->in_file > 0)
    fmt::print(", and {:.3g} GB stay in their file", static_cast<double>(records->in_file) * 1e-9);
  fmt::print("\n");
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
  ClusterRequest cluster;
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
  const StepCost cost = step_cost(plan, objective, planned.facts.ranks_trusted);
  const Footprint& footprint = plan.method->footprint;
  const std::optional<RecordsMemory> records = memory_of_records(config, planned.facts.data);
  if (typed.json) {
    Json out = Json::parse(plan_json(plan, config, planned.facts));
    out["predicted"] = predicted(plan, cost, machine, typed.ranks);
    if (!typed.cluster.nodes.empty()) out["cluster"] = cluster_json(typed.cluster, plan, cost, machine);
    if (footprint.ranks + footprint.root > 0)
      out["memory"] = {{"ranks_bytes", footprint.ranks}, {"root_bytes", footprint.root}};
    if (records) out["records"] = {{"memory_bytes", records->in_memory}, {"file_bytes", records->in_file}};
    if (const auto all = plan.method->noise_alternatives(); !all.empty())
      out["noise_alternatives"] = alternatives_json(all);
    fmt::print("{}\n", out.dump(2, ' ', false, Json::error_handler_t::replace));
  } else {
    print_settings(config, planned.facts, plan, comm.size(), stdout);
    print_promise(plan, config);
    print_cost(plan, cost, machine, typed.ranks);
    print_cluster(typed.cluster, plan, cost, machine);
    print_memory_of_records(records);
    print_memory(footprint);
    print_alternatives(plan.method->noise_alternatives());
    if (const auto text = plan.method->notes(plan.queries); !text.empty()) fmt::print("\n{}", text);
  }
  return printed();
}

}  // namespace

Command plan_command() {
  const auto typed = std::make_shared<PlanRequest>();
  return {
      .name = "plan",
      .forms = {{"dpmpi plan --config FILE [--ranks 1,2]",
                 "the privacy promise, the settings and the cost, before any record is read"},
                {"mpirun -n N dpmpi plan --config FILE --measure", "the same with this machine's rates"},
                {"dpmpi plan --config FILE --nodes 4,16,64 --cores 48 --network 100G",
                 "the same with the time on a cluster"}},
      .about = "Reads headers and counts lines, but no value.",
      .options =
          Options("")
              .add("config", typed->config, "the configuration")
              .add_each("search", typed->searches, search_help)
              .add_each("set", typed->overrides, set_help)
              .add("ranks", typed->ranks, "numbers of ranks to predict the time for", Range::closed(1, 1 << 20))
              .add("nodes", typed->cluster.nodes,
                   "numbers of nodes to predict the time for: steps a second, where the time goes, the best layout",
                   Range::closed(1, 1 << 20))
              .add("cores", typed->cluster.cores, "cores of a node of --nodes", Range::closed(1, 1 << 16))
              .add("network", typed->cluster.network, "bits per second between nodes, such as 100G")
              .add("latency", typed->cluster.latency, "seconds of a message between nodes", Range::closed(0, 1))
              .add("measure", typed->measure, "predict by this machine's rates, measured on synthetic records")
              .add("json", typed->json, "print JSON"),
      .needed = {"config"},
      .on_all_ranks = [typed] { return typed->measure; },
      .prepare =
          [typed] {
            typed->cluster.check();
            apply_searches(typed->searches, typed->overrides);
          },
      .run = [typed](const Communicator& world) { return show_plan(world, *typed); }};
}

}  // namespace dpmpi
