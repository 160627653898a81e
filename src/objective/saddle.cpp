#include "dpmpi/objective/saddle.hpp"

#include <fmt/format.h>

#include "dpmpi/core/errors.hpp"

namespace dpmpi {
namespace {

[[noreturn]] void refuse() { throw BugError("a min-max objective has no kernel of methods that only minimise"); }

}  // namespace

void SaddleObjective::add_clipped_gradients(const Rows&, const L2Bound&, LatticeAccumulator&) { refuse(); }
void SaddleObjective::add_clipped_differences(const Rows&, const L2Bound&, LatticeAccumulator&) { refuse(); }
void SaddleObjective::directional_differences(double, std::span<const float>, std::size_t, const Rows&,
                                              std::span<double>) {
  refuse();
}
NumericSlack SaddleObjective::gradient_slack() const { refuse(); }
NumericSlack SaddleObjective::difference_slack() const { refuse(); }

void require_gradients(const Objective& objective, const char* method) {
  if (objective.has_gradients()) return;
  if (dynamic_cast<const SaddleObjective*>(&objective))
    throw ConfigError(fmt::format(
        "this objective is a min-max problem, which {} does not solve; use dp-sgda or private-diff", method));
  throw ConfigError(
      fmt::format("this objective has no gradients, which {} needs; use a zeroth-order method", method));
}

}  // namespace dpmpi
