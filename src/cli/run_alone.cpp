#include <fmt/format.h>

#include "dpmpi/cli/command_line.hpp"
#include "dpmpi/cli/tools.hpp"
#include "dpmpi/comm/communicator.hpp"
#include "dpmpi/data/load.hpp"
#include "dpmpi/data/text.hpp"
#include "dpmpi/run/plan.hpp"
#include "dpmpi/run/settings_table.hpp"

namespace dpmpi {
namespace {

// The promise before the data: reads headers and counts lines, never a value.
int show_plan(const CommandLine& line) {
  const RunConfig config(*line.config, line.overrides);
  PublicFacts facts;
  const HideFields hide(!config.data.show_values);
  facts.data = inspect(Communicator::alone(), config.data, DataRole::training);
  const auto objective = make_objective(config, facts.data);
  facts.objective = objective.get();
  facts.adjacency = config.privacy.which();
  const Plan plan = make_plan(config, facts);
  if (!line.json)
    print_settings(config, facts, plan, BlockLayout::of(facts.data, resolve_blocks(config, facts)), 1);
  if (line.json) fmt::print("{}", plan_json(plan, config, facts));
  return 0;
}

}  // namespace

std::optional<int> run_alone(const CommandLine& line) {
  if (line.command == "help") {
    fmt::print("{}", line.arguments.empty() ? usage() : help_topic(line.arguments[0]));
    return 0;
  }
  if (line.command == "version") {
    fmt::print("dpmpi {}\n", DPMPI_VERSION);
    return 0;
  }
  if (line.command == "list") {
    fmt::print("{}", list_text(line.arguments.empty() ? "" : line.arguments[0]));
    return 0;
  }
  if (line.command == "plan") return show_plan(line);
  if (line.command == "generate") return run_generate(line.rest);
  if (line.command == "convert") return run_convert(line.rest);
  if (line.command == "account") return run_account(line.rest);
  return std::nullopt;
}

}  // namespace dpmpi
