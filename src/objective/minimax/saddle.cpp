#include "objective/minimax/saddle.hpp"

#include <fmt/format.h>

#include "core/errors.hpp"

namespace dpmpi {

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
