#include "objective/minimax/saddle.hpp"

#include <fmt/format.h>

#include "core/errors.hpp"

namespace dpmpi {
namespace {

[[noreturn]] void refuse() { throw BugError("a min-max objective has no kernel of methods that only minimise"); }

}  // namespace

void SaddleObjective::add_clipped_gradients(const Rows&, const L2Bound&, LatticeAccumulator&) { refuse(); }
NumericSlack SaddleObjective::gradient_slack() const { refuse(); }

void check_gradients(const Objective& objective, const char* method, std::vector<std::string>& problems) {
  if (objective.has_gradients()) return;
  if (dynamic_cast<const SaddleObjective*>(&objective))
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
