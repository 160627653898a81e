#include "dpmpi/objective/saddle.hpp"

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

}  // namespace dpmpi
