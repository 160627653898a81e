#pragma once
// What an attacker sees of a run: the public function whose sum is about to be released, and what is released. For
// audits; a listener can neither see nor change a secret.

#include <cstdint>
#include <span>

#include "objective/kernel.hpp"
#include "privacy/curator/query.hpp"

namespace dpmpi {

class ReleaseListener {
 public:
  virtual ~ReleaseListener() = default;
  /// Release t of the query will be a sum of the kernel's contributions, clipped at `bound` = `scale` times the
  /// query's clip at t (votes included: votes.hpp). The kernel is a function of public values: a listener may run
  /// it on records of its own, unless it remembers records.
  virtual void summed(const Query& query, std::uint64_t t, const L2Bound& bound, double scale,
                      const Kernel& kernel) = 0;
  /// What was released; of running sums, the sum so far; of the best of several runs, the sum of the selected one.
  virtual void released(const Query& query, std::uint64_t t, std::span<const double> values) = 0;
};

}  // namespace dpmpi
