#include "objective/minimax/saddle.hpp"

#include <fmt/format.h>

#include "core/errors.hpp"

namespace dpmpi {

SaddleObjective& AtSaddlePoint::problem() const { return static_cast<SaddleObjective&>(prepared()); }

void AtSaddlePoint::add_clipped_primal_gradients(const Rows& rows, const L2Bound& bound,
                                                 LatticeAccumulator& sum) const {
  offered(problem().primal()).add_clipped_primal_gradients(rows, bound, sum);
}

void AtSaddlePoint::add_clipped_dual_gradients(const Rows& rows, const L2Bound& bound,
                                               LatticeAccumulator& sum) const {
  problem().add_clipped_dual_gradients(rows, bound, sum);
}

void AtSaddlePoint::add_clipped_saddle_gradients(const Rows& rows, const SaddleClip& clip, double scale,
                                                 LatticeAccumulator& sum) const {
  offered(problem().primal()).add_clipped_saddle_gradients(rows, clip, scale, sum);
}

AtPair::AtPair(SaddleObjective& problem) : Prepared(problem) {}

void AtPair::add_clipped_primal_differences(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) const {
  offered(static_cast<SaddleObjective&>(prepared()).primal()).add_clipped_primal_differences(rows, bound, sum);
}

AtPair SaddleObjective::at_pair(std::span<const float> w, std::span<const float> v) {
  PrivatePrimal& own = offered(primal());
  const AtPair at(*this);
  own.prepare_pair(w, v);
  return at;
}

void check_gradients(const Objective& objective, const char* method, std::vector<std::string>& problems) {
  if (objective.gradients()) return;
  if (objective.saddle())
    problems.push_back(fmt::format(
        "objective.name is a min-max problem, which method.name = {} does not solve: take dp-sgda or private-diff",
        method));
  else
    problems.push_back(fmt::format(
        "objective.name has no gradients, which method.name = {} needs: take zo-hidden, zo-naive or zo-o2nc",
        method));
}

void require_gradients(const Objective& objective, const char* method) {
  std::vector<std::string> problems;
  check_gradients(objective, method, problems);
  if (!problems.empty()) throw ConfigError(problems.front());
}

}  // namespace dpmpi
