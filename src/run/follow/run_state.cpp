#include "run/follow/run_state.hpp"

#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "core/files/untrusted_json.hpp"
#include "run/directory/lock.hpp"
#include "run/plan/json_values.hpp"

namespace dpmpi {

RunState state_of_run(const std::string& directory) {
  // The lock first: a run that ends between the two looks has its certificate by then.
  const bool held = run_is_locked(directory);
  if (std::filesystem::exists(directory + "/certificate.json")) return RunState::finished;
  return held ? RunState::going_on : RunState::left;
}

RunOutline outline_of_run(const std::string& directory) {
  const std::string path = directory + "/plan.json";
  if (!std::filesystem::exists(std::filesystem::symlink_status(path)))
    throw ConfigError(fmt::format("{} is not a run directory: it has no plan.json", directory));
  const auto plan = read_run_json(path);
  const auto wrong = [&](const char* member) {
    return DataError(fmt::format("{}: no {} as a run writes it", path, member));
  };
  if (!plan.is_object() || !plan.contains("steps") || !plan["steps"].is_number_unsigned()) throw wrong("steps");
  for (const char* member : {"epsilon", "delta"})
    if (!plan.contains(member) || !(plan[member].is_number() || plan[member] == "infinity")) throw wrong(member);
  RunOutline run;
  run.steps = plan["steps"].get<std::uint64_t>();
  run.tells_times = !plan.contains(secret_times);
  const std::string epsilon = plan["epsilon"].is_number() ? rounded_up(plan["epsilon"].get<double>()) : "infinity";
  run.promise = fmt::format("epsilon {}, delta {}, {}", epsilon, plan["delta"].dump(),
                            shown_name(text_member(plan, "adjacency")));
  return run;
}

}  // namespace dpmpi
