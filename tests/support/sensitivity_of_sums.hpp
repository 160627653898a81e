#pragma once
// What one record or one person can change in the sums of a release, in integers.

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "privacy/curator/person_sum.hpp"
#include "privacy/curator/release_listener.hpp"
#include "support/lattice_distance.hpp"

namespace dpmpi::test {

/// Runs the kernel of each sum on datasets that differ in one unit: none may move it by more than its sensitivity.
class SensitivityOfSums final : public ReleaseListener {
 public:
  explicit SensitivityOfSums(const Records& full) : full_(full) {}

  void summed(const Query& query, std::uint64_t, const L2Bound& bound, double, const Kernel& kernel) override {
    const auto with = sum_of(query, bound, kernel, {});
    std::vector<std::vector<std::int64_t>> without;
    double most = 0;
    for (std::uint32_t u = 0; u < full_.units(); ++u) {
      without.push_back(sum_of(query, bound, kernel, u));
      most = std::max(most, test::distance(with, without.back(), query.lattice));
    }
    // Whoever is replaced by somebody: both sums lack one of the two.
    if (query.adjacency == Adjacency::replace_one)
      for (const auto& a : without)
        for (const auto& b : without) most = std::max(most, test::distance(a, b, query.lattice));
    EXPECT_LE(most, query.sensitivity) << query.name;
    largest.push_back(most);
    share_of_bound.push_back(most / query.sensitivity);
  }
  void released(const Query&, std::uint64_t, std::span<const double>) override {}

  std::vector<double> largest;         ///< of each sum: how far one unit moves it
  std::vector<double> share_of_bound;  ///< the same over its sensitivity

 private:
  std::vector<std::int64_t> sum_of(const Query& query, const L2Bound& bound, const Kernel& kernel,
                                   std::optional<std::uint32_t> missing) const {
    Shard shard;
    shard.blocks.push_back({0, 0, full_});
    std::vector<std::uint32_t> all(full_.units());
    std::iota(all.begin(), all.end(), 0U);
    if (missing) all.erase(all.begin() + *missing);
    LatticeAccumulator sum(query.dim, query.lattice, query.largest_term, 0, Width::int64);
    sum.clear(query.lattice);
    const std::vector<std::vector<std::uint32_t>> selected{all}, slots{{}};
    if (query.unit == Unit::person)
      PersonSum(sum, query.largest_term, 16).add_to(sum, kernel, bound, {shard, selected, slots});
    else
      kernel.run(bound, sum, [&](const auto& visit) { visit(Rows{shard.blocks[0].records, all}); });
    const auto totals = sum.totals();
    return {totals.begin(), totals.end()};
  }
  const Records& full_;
};

}  // namespace dpmpi::test
