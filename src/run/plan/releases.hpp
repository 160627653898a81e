#pragma once
// Releases of one part of the data, and the noise by which they keep a promise. A plan has those of its training;
// one that keeps records out of it has others of these (evaluation_plan.hpp).

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "run/plan/plan.hpp"

namespace dpmpi {

/// What releases take from a config beside their noise's size.
struct ReleaseTerms {
  bool is_private = true;  ///< false: no noise is added
  Noise law = Noise::gaussian;
  std::string accountant = "best";
  Unit slot_unit = Unit::record;    ///< what a slot of the data holds
  std::uint64_t slots_of_unit = 1;  ///< how many slots a unit may fill
  ReleaseTerms() = default;
  ReleaseTerms(const RunConfig& config);  // NOLINT: implicit on purpose
};

/// What is released of some records, whatever its noise.
struct Releases {
  /// As MethodPlan::queries.
  std::function<std::vector<QuerySpec>(double noise_multiplier)> specs;
  BlockLayout layout;  ///< of these records
  std::uint64_t steps = 0;
  Adjacency adjacency = Adjacency::add_remove;
  std::uint64_t runs = 1;  ///< the promise is for so many of them together

  std::vector<Query> declare(const ReleaseTerms& terms, double noise_multiplier) const;
  /// Of all runs.
  std::vector<Event> events(const std::vector<Query>& queries) const;
};

/// Of these queries at the steps first .. last - 1 of one run.
std::vector<Event> events_of(const std::vector<Query>& queries, std::uint64_t first, std::uint64_t last);
std::vector<Event> times(std::vector<Event> events, std::uint64_t runs);

/// The promise of a private run at `delta`, with this noise multiplier; 0: with the smallest that keeps epsilon at
/// `epsilon`, by the terms' accountant. Local, deterministic. Throws PrivacyError, as what follows does.
Promise promise_of(const ReleaseTerms& terms, const Releases& releases, double noise_multiplier, double epsilon,
                   double delta);
/// That of a run without noise.
Promise no_promise(Adjacency adjacency, double delta);

/// Throws where the ends of the noise sampler would tell neighbours apart at this promise.
void refuse_short_noise(const std::vector<Query>& queries, std::uint64_t runs, const Guarantee& promise);

}  // namespace dpmpi
