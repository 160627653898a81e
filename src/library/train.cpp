#include "dpmpi/dpmpi.hpp"

#include <exception>
#include <memory>
#include <optional>

#include <nlohmann/json.hpp>

#include "comm/session.hpp"
#include "core/console/log.hpp"
#include "core/console/progress.hpp"
#include "core/secrecy.hpp"
#include "library/guarded.hpp"
#include "run/directory/directory.hpp"
#include "run/follow/metrics_reader.hpp"
#include "run/suggest/suggest.hpp"
#include "run/train/train.hpp"

namespace dpmpi {
namespace {

/// Collective. The root sees the files.
std::map<std::string, double> last_metrics(const Communicator& world, const std::string& directory) {
  MetricsLine last = MetricsLine::object();
  if (world.is_root()) MetricsReader(directory).read([&](std::uint64_t, const MetricsLine& line) { last = line; });
  std::string text = last.dump(-1, ' ', true, MetricsLine::error_handler_t::replace);
  world.broadcast(text);
  std::map<std::string, double> metrics;
  const MetricsLine line = MetricsLine::parse(text);
  for (const auto& [name, value] : line.items())
    if (value.is_number()) metrics[name] = value.get<double>();
  return metrics;
}

/// `resumed`: a run to go on with, whose config `path` is. Collective.
library::Trained trained(const Communicator& world, const std::string& path, library::Settings settings,
                         const std::optional<std::string>& resumed) {
  settings.emplace_back("report.progress=none");
  auto config = std::make_unique<RunConfig>(path, settings, resumed ? ConfigOf::run : ConfigOf::user);
  if (!resumed && config->run.dir.empty())
    throw ConfigError("run.dir is not set: a program that trains says where the run is to be");
  if (resumed && world.is_root()) refuse_finished(*resumed, config->run.keep_key);
  settle(world, config, settings);
  const ExitCode end = train(world, *config, {.resume = resumed, .quiet = true});
  const std::string directory = resumed.value_or(config->run.dir);
  library::Trained result;
  result.finished = end == ExitCode::done;
  result.metrics = last_metrics(world, directory);
  result.directory = directory;
  return result;
}

library::Trained train_in_host(const std::string& path, const library::Settings& settings,
                               const std::optional<std::string>& resumed = {}) {
  return guarded([&] {
    const Communicator world = Session::world_of_host();
    forbid_core_dumps();
    if (world.node().size() == 1) forbid_looking_in();
    set_log(LogLevel::warning, world.rank());
    show_progress("none");
    try {
      return trained(world, path, settings, resumed);
    } catch (...) {
      if (world.size() > 1) Session::end_job(world, std::current_exception());
      throw;
    }
  });
}

}  // namespace

namespace library {

Trained train(const std::string& config, const Settings& settings) { return train_in_host(config, settings); }

Trained resume(const std::string& directory, const Settings& settings) {
  return train_in_host(directory + "/config.ini", settings, directory);
}

}  // namespace library
}  // namespace dpmpi
