// What a run would refuse, in seconds and all at once, before it waits for a queue slot or looks for noise.

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/search.hpp"
#include "run/suggest/suggest.hpp"
#include "run/train/check.hpp"

namespace dpmpi {
namespace {

struct CheckRequest {
  std::string from;
  std::vector<std::string> overrides, searches;
  std::unique_ptr<RunConfig> config;
};

/// Collective; the root prints.
int check(const Communicator& comm, const RunConfig& config) {
  const CheckedInputs inputs = check_inputs(comm, config);
  if (!comm.is_root()) return printed();
  fmt::print("{}: no problem found in {} {} x {} features", config.path(), inputs.training.records,
             plural(config.data.unit()), inputs.training.features);
  if (inputs.evaluation.records > 0) fmt::print(" and {} public records", inputs.evaluation.records);
  fmt::print(", {} blocks on {} rank{}\nwhat it promises and costs: dpmpi plan --config {}\n", inputs.blocks,
             comm.size(), comm.size() == 1 ? "" : "s", config.path());
  return printed();
}

}  // namespace

Command check_command() {
  const auto typed = std::make_shared<CheckRequest>();
  return {
      .name = "check",
      .forms = {{"mpirun -n N dpmpi check CONFIG", "everything that is wrong with config and data, at once"}},
      .about =
          "Reads config and data as training does, and says all that training would refuse before it looks for noise:\n"
          "settings, a run directory that is taken, missing files, and of every wrong column the first line. Releases\n"
          "nothing and leaves nothing behind. Values of private files are not quoted (data.show_values).",
      .options = Options("")
                     .add("config", typed->from, "the configuration")
                     .add_each("search", typed->searches, search_help)
                     .add_each("set", typed->overrides, set_help),
      .arguments = {"config"},
      .needed = {"config"},
      .on_all_ranks = [] { return true; },
      .prepare =
          [typed] {
            apply_searches(typed->searches, typed->overrides);
            typed->config = std::make_unique<RunConfig>(typed->from, typed->overrides);
          },
      .run =
          [typed](const Communicator& world) {
            settle(world, typed->config, typed->overrides);
            return check(world, *typed->config);
          }};
}

}  // namespace dpmpi
