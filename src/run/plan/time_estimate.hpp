#pragma once
// What a step costs, and how long it will take: the alpha-beta model (a message of b bytes takes alpha + beta b
// seconds per level of a tree of ranks) beside a compute rate. For plans and for balancing blocks; no bit of a
// result depends on it.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "objective/objective.hpp"
#include "run/plan/plan.hpp"

namespace dpmpi {

/// One step of a plan, averaged over the run.
struct StepCost {
  double records = 0;            ///< expected contributions, over all queries
  double flops = 0;              ///< of their kernels
  double noise_values = 0;       ///< normals drawn by the root alone, or as much work as that
  double sliced_values = 0;      ///< normals of noise that all ranks draw together
  double root_flops = 0;         ///< of the root alone, while all run their kernels
  double after_flops = 0;        ///< of the kernels' part that waits for the root
  double own_values = 0;         ///< normals that every rank draws: directions, shared noise (mean over the steps)
  double rounds = 1;             ///< of a reduction and a broadcast: more than one where a step is a phase
  double sequential_passes = 0;  ///< if there are any, the ranks work one after another
  double passed_on = 0;          ///< bytes that these hand from one rank to the next
  std::uint64_t up = 0;          ///< bytes of a rank's reduce messages: 4 a coordinate while the int32 lattice fits
  std::uint64_t down = 0;        ///< bytes of the broadcasts
};
/// `ranks_trusted`: they may know the noise (PublicFacts).
StepCost step_cost(const Plan& plan, const Objective& objective, bool ranks_trusted);

/// What one rank and the network do.
struct Machine {
  double latency = 2e-6;             ///< alpha, seconds per message
  double inverse_bandwidth = 2e-10;  ///< beta, seconds per byte
  double flops = 1.3e11;             ///< of the objective's kernel, per second and rank
  double record_seconds = 0.7e-6;    ///< the least that a record costs, whatever its flops
  double noise_seconds = 4e-9;       ///< per normal
  double root_flops = 2e10;          ///< of the root's linear algebra and what follows it, per second and rank
  std::string source = "defaults: one AVX-512 core a rank, shared memory";  ///< where the numbers come from
};

struct Prediction {
  int ranks = 1;
  double compute = 0;        ///< seconds per step of the slowest rank: kernels and noise, blocks balanced
  double communication = 0;  ///< seconds per step
  double step() const { return compute + communication; }
};
Prediction predict(const StepCost& cost, const Machine& machine, int ranks);

/// What joins the nodes of a cluster. Inside a node messages are those of Machine.
struct Network {
  double latency = 5e-6;             ///< seconds per message
  double inverse_bandwidth = 8e-10;  ///< seconds per byte: 10 Gbit/s
};
/// "100G" or "100M" bits per second, as seconds per byte. Throws ConfigError naming `key`.
double inverse_bandwidth_of(const std::string& bits_per_second, const std::string& key);

/// Where the time of a step goes, in seconds, on so many nodes with so many ranks each.
struct ClusterPrediction {
  int nodes = 1, ranks_of_node = 1;
  double kernels = 0;    ///< of the slowest rank, with the normals that it draws
  double root = 0;       ///< what the root's own work (noise that it draws alone) adds to that
  double sum = 0;        ///< messages to the root
  double broadcast = 0;  ///< messages from the root
  int ranks() const { return nodes * ranks_of_node; }
  double step() const { return kernels + root + sum + broadcast; }
};
/// As predict(), where messages go up a tree inside each node, and then one over the nodes.
ClusterPrediction predict_cluster(const StepCost& cost, const Machine& machine, const Network& network, int nodes,
                                  int ranks_of_node);
/// The quickest of 1, 2, 4, ... and `cores` ranks a node, of no more ranks than `blocks`; the fewest of equals.
/// Nothing if there are fewer blocks than nodes.
std::optional<ClusterPrediction> best_on_nodes(const StepCost& cost, const Machine& machine, const Network& network,
                                               int nodes, int cores, std::uint32_t blocks);

/// What makes a step uneven, in units of the kernels' time for a block.
struct TimeShares {
  double root = 0;        ///< the root's own work: noise that it draws alone, and what the kernels' end waits for
  double afterwards = 0;  ///< of a block, after the root's work is done
};
TimeShares time_shares(const StepCost& cost, const Machine& machine, std::uint32_t blocks);

}  // namespace dpmpi
