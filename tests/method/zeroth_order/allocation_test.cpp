// Whole steps of zo-o2nc on one rank: kernels, sums, tree noise, release and learner allocate nothing.
#include <map>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "objective/linear/glm.hpp"
#include "objective/network/mlp.hpp"
#include "problems/trial.hpp"
#include "support/allocations.hpp"

namespace dpmpi::allocation_test {
namespace {

/// Allocations in the steps 20 to 90: epochs of 16, so several runs of the sum begin; the ledger, which is written
/// for 100 steps at a time, is not reached.
std::size_t allocations(std::unique_ptr<Objective> objective, std::map<std::string, std::string> options) {
  options.insert({{"inner", "16"}, {"outer", "8"}, {"batch", "24"}, {"first_batch", "60"}, {"radius", "0.1"}});
  test::Trial trial("zo-o2nc", options, 1, std::move(objective),
                    test::random_shard({Storage::dense_f32, 4096, 9, 1, LabelKind::sign}, 8));
  trial.run(20);
  const std::size_t before = test::allocation_count();
  trial.run(70);
  return test::allocation_count() - before;
}

TEST(ZoAllocations, StepsOfLinearModelsHaveNone) {
  for (const std::string strategy : {"fenwick", "full_honaker", "sqrt_toeplitz", "banded"})
    for (const std::string fast : {"true", "false"}) {
      auto glm = std::make_unique<Glm>(ObjectiveFacts{9, Storage::dense_f32, 1}, logistic_loss());
      EXPECT_EQ(allocations(std::move(glm), {{"strategy", strategy}, {"fast", fast}, {"band", "4"}}), 0U)
          << strategy << " " << fast;
    }
}

TEST(ZoAllocations, StepsOfNetworksHaveNone) {
  for (const std::string adaptive : {"false", "true"})
    for (const std::string directions : {"iid", "haar", "block"}) {
      auto network = make_mlp({.units = {9, 5, 1}, .head = Head::logistic});
      const auto m = std::to_string(network->dim() / 8 * 8);
      EXPECT_EQ(allocations(std::move(network), {{"directions", directions},
                                                 {"count", directions == "haar" ? "0" : m},
                                                 {"block", "4"},
                                                 {"adaptive_clip", adaptive},
                                                 {"centre", "true"}}),
                0U)
          << directions;
    }
}

}  // namespace
}  // namespace dpmpi::allocation_test
