#pragma once
// The promise: what will be released, with how much noise, and the epsilon that follows, all before a record is
// touched.

#include <string>
#include <vector>

#include "dpmpi/privacy/query.hpp"
#include "dpmpi/run/config.hpp"

namespace dpmpi {

struct Plan {
  std::uint64_t steps = 0;
  std::vector<Query> queries;
  double noise_multiplier = 0;
  double delta = 0;
  double epsilon = 0;  ///< certified upper value of the whole run; infinity for a method that is not private
  Adjacency adjacency = Adjacency::add_remove;

  std::vector<Event> events(std::uint64_t first, std::uint64_t last) const;  ///< of all queries at these steps
  std::vector<Event> events() const { return events(0, steps); }
};

/// Calibrates the noise to privacy.epsilon, or takes privacy.noise_multiplier. Local, deterministic, touches no
/// record. Throws ConfigError or PrivacyError.
Plan make_plan(const RunConfig& config, const PublicFacts& facts);

/// plan.json: deterministic text, ends with a newline.
std::string plan_json(const Plan& plan, const RunConfig& config, const PublicFacts& facts);

/// The objective of the config for this data. Throws ConfigError if its parameters would not fit in memory.
std::unique_ptr<Objective> make_objective(const RunConfig& config, const DatasetFacts& data);

/// data.blocks, resolved: `auto` is the largest power of two up to 16 that leaves 64 expected rows a block and step
/// (N1).
std::uint32_t resolve_blocks(const RunConfig& config, const PublicFacts& facts);

/// True if both lists hold the same mechanisms equally often, in whatever order and grouping.
bool same_events(const std::vector<Event>& a, const std::vector<Event>& b);

}  // namespace dpmpi
