#include "run/plan/time_estimate.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "privacy/curator/noise_slice.hpp"

namespace dpmpi {
namespace {

// An exact discrete Gaussian takes as long as this many rounded normals.
constexpr double exact_noise_effort = 13;

// Records cost their flops, or the fixed cost of touching them.
double kernel_seconds(const StepCost& cost, const Machine& machine) {
  return std::max(cost.flops / machine.flops, cost.records * machine.record_seconds);
}

double root_seconds(const StepCost& cost, const Machine& machine) {
  return cost.noise_values * machine.noise_seconds + cost.root_flops / machine.root_flops;
}

// The lengths of gradients that votes need, over clipped gradients: a pass forwards and one backwards, and no sum.
double effort_of_votes(const Query& query) { return query.votes() > 0 ? 2.0 / 3 : 0; }

// Kernels and noise of the slowest rank.
double compute_seconds(const StepCost& cost, const Machine& machine, int ranks) {
  const double kernels = kernel_seconds(cost, machine), root = root_seconds(cost, machine);
  const double together =
      cost.sequential_passes > 0
          ? kernels + root
          : std::max(root, (kernels + root) / ranks);  // the root takes fewer blocks for its own work
  return together + cost.after_flops / machine.root_flops / ranks +
         (cost.sliced_values / ranks + cost.own_values) * machine.noise_seconds;
}

/// In bytes.
struct Traffic {
  double up = 0, down = 0;
};

/// What a plan is made for.
struct Job {
  const Objective& objective;
  bool ranks_trusted;
};

// All releases of a query, so often.
void add(StepCost& cost, Traffic& traffic, const Query& query, const Job& job, double times) {
  const double often = times * query.cost.runs * static_cast<double>(query.steps);
  const double batch = often * expected_batch(query.sampling, query.records);
  cost.records += batch;
  cost.flops += batch * (query.effort + effort_of_votes(query)) * job.objective.flops_per_record();
  const double draws = query.noise == Noise::discrete_gaussian ? exact_noise_effort : 1;
  double& drawn = job.ranks_trusted && drawn_by_slices(query) ? cost.sliced_values : cost.noise_values;
  if (query.is_private()) drawn += often * draws * static_cast<double>(query.dim);
  cost.root_flops += often * query.root.alone;
  cost.after_flops += batch * query.root.afterwards;
  const double word = query.exact ? 8 : 4;
  const double state = 8 * static_cast<double>(query.dim), sums = often * query.cost.sums;
  cost.rounds += sums + often, traffic.up += sums * state, traffic.down += sums * state;
  const double passes = often * query.cost.sequential_passes;
  cost.sequential_passes += passes, cost.passed_on += passes * state;
  traffic.up += often * (word * static_cast<double>(query.dim) + 8);  // and a word of flags
  traffic.down += often * word * static_cast<double>(query.dim + 1);
  cost.own_values += often * (query.cost.worker_noise * static_cast<double>(query.worker_noise) +
                              static_cast<double>(query.worker_random_numbers));
  if (!query.trainings) return;
  const double each = often / static_cast<double>(query.trainings->size());
  for (const std::vector<Query>& training : *query.trainings)
    for (const Query& own : training) add(cost, traffic, own, job, each);
}

}  // namespace

StepCost step_cost(const Plan& plan, const Objective& objective, bool ranks_trusted) {
  StepCost cost{.rounds = 0};
  Traffic traffic;
  for (const auto& query : plan.queries)
    add(cost, traffic, query, {objective, ranks_trusted},
        1 / static_cast<double>(std::max<std::uint64_t>(1, plan.steps)));
  cost.up = static_cast<std::uint64_t>(std::ceil(traffic.up));
  cost.down = static_cast<std::uint64_t>(std::ceil(traffic.down));
  return cost;
}

Prediction predict(const StepCost& cost, const Machine& machine, int ranks) {
  Prediction p{.ranks = ranks, .compute = compute_seconds(cost, machine, ranks)};
  const double levels = std::ceil(std::log2(ranks));  // of a reduce and of a broadcast tree
  p.communication = levels * (2 * cost.rounds * machine.latency +
                              static_cast<double>(cost.up + cost.down) * machine.inverse_bandwidth);
  if (ranks > 1)
    p.communication +=
        ranks * (cost.sequential_passes * machine.latency + cost.passed_on * machine.inverse_bandwidth);
  return p;
}

double inverse_bandwidth_of(const std::string& bits_per_second, const std::string& key) {
  char unit = 0, more = 0;
  double number = 0;
  const int found = std::sscanf(bits_per_second.c_str(), "%lf%c%c", &number, &unit, &more);
  if (found != 2 || (unit != 'G' && unit != 'M') || !(number > 0) || !std::isfinite(number))
    throw ConfigError(fmt::format("{} = {}: write bits per second as 100G or 100M", key, bits_per_second));
  return 8 / (number * (unit == 'G' ? 1e9 : 1e6));
}

ClusterPrediction predict_cluster(const StepCost& cost, const Machine& machine, const Network& network, int nodes,
                                  int ranks_of_node) {
  ClusterPrediction p{.nodes = nodes, .ranks_of_node = ranks_of_node};
  const int ranks = p.ranks();
  StepCost rootless = cost;
  rootless.noise_values = rootless.root_flops = 0;
  p.kernels = compute_seconds(rootless, machine, ranks);
  p.root = compute_seconds(cost, machine, ranks) - p.kernels;
  const double inside = std::ceil(std::log2(ranks_of_node)), between = std::ceil(std::log2(nodes));
  const auto tree = [&](double bytes) {
    return inside * (cost.rounds * machine.latency + bytes * machine.inverse_bandwidth) +
           between * (cost.rounds * network.latency + bytes * network.inverse_bandwidth);
  };
  p.sum = tree(static_cast<double>(cost.up));
  p.broadcast = tree(static_cast<double>(cost.down));
  if (ranks == 1) return p;
  // A sequential pass goes from rank to rank and back to the root.
  const int far = nodes > 1 ? nodes : 0, near = ranks - far;
  p.sum += cost.sequential_passes * (near * machine.latency + far * network.latency) +
           cost.passed_on * (near * machine.inverse_bandwidth + far * network.inverse_bandwidth);
  return p;
}

std::optional<ClusterPrediction> best_on_nodes(const StepCost& cost, const Machine& machine, const Network& network,
                                               int nodes, int cores, std::uint32_t blocks) {
  std::optional<ClusterPrediction> best;
  const auto attempt = [&](int ranks_of_node) {
    const ClusterPrediction p = predict_cluster(cost, machine, network, nodes, ranks_of_node);
    if (static_cast<std::uint32_t>(p.ranks()) <= blocks && (!best || p.step() < best->step())) best = p;
  };
  for (int r = 1; r < cores; r *= 2) attempt(r);
  attempt(cores);
  return best;
}

TimeShares time_shares(const StepCost& cost, const Machine& machine, std::uint32_t blocks) {
  const double block = kernel_seconds(cost, machine) / blocks;
  if (!(block > 0)) return {};
  return {root_seconds(cost, machine) / block, cost.after_flops / machine.root_flops / blocks / block};
}

}  // namespace dpmpi
