// A run that goes on in another process, line by line. Only public files are read.

#include <chrono>
#include <optional>
#include <string>
#include <thread>

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "core/console/progress.hpp"
#include "core/errors.hpp"
#include "core/files/untrusted_json.hpp"
#include "privacy/promise/guarantee.hpp"
#include "run/follow/metrics_reader.hpp"
#include "run/follow/run_state.hpp"

namespace dpmpi {
namespace {

using namespace std::chrono_literals;
constexpr auto look_every = 500ms;
constexpr std::size_t most_shown = 12;  // metrics of a line

/// How fast steps come while this command looks. What was there when it began says nothing of that.
class Pace {
 public:
  void see(std::uint64_t step) {
    newest_ = {step, Clock::now()};
    if (!first_) first_ = newest_;
  }
  /// "412 steps/s, 12.0 s left", or nothing as long as that is not known.
  std::string text(std::uint64_t steps) const {
    if (!first_ || newest_->step <= first_->step) return {};
    const double seconds = std::chrono::duration<double>(newest_->time - first_->time).count();
    const double rate = static_cast<double>(newest_->step - first_->step) / seconds;
    const double rest = steps > newest_->step ? static_cast<double>(steps - newest_->step) : 0;
    return fmt::format("  ({:.3g} steps/s, {} left)", rate, duration_text(rest / rate));
  }

 private:
  using Clock = std::chrono::steady_clock;
  struct Sight {
    std::uint64_t step;
    Clock::time_point time;
  };
  std::optional<Sight> first_, newest_;
};

/// Epsilon, which is a promise and so rounded up, or a metric.
std::string value_text(const std::string& name, const MetricsLine& value) {
  if (!value.is_number()) return "infinity";
  const double number = value.get<double>();
  return name == "epsilon" && number >= 0 ? rounded_up(number) : fmt::format("{:.4g}", number);
}

/// Epsilon and the metrics of public and of held-out records. Names may be of anybody.
std::string values_of(const MetricsLine& line) {
  std::string text;
  std::size_t shown = 0;
  for (const auto& [name, value] : line.items()) {
    const bool interval = name.ends_with(".low") || name.ends_with(".high");
    const bool of_interest = name == "epsilon" || name.starts_with("eval.") || name.starts_with("test.");
    if (!of_interest || interval || !(value.is_number() || value == "infinity") || ++shown > most_shown) continue;
    text += fmt::format("  {} {}", shown_name(name), value_text(name, value));
  }
  return text;
}

std::string warnings_of(const MetricsLine& line) {
  const auto found = line.find("warnings");
  if (found == line.end() || !found->is_array() || found->empty()) return {};
  return fmt::format("  {} warning{} (dpmpi report)", found->size(), found->size() == 1 ? "" : "s");
}

/// Lines that have come since the last look; their pace is that of the newest.
void show_new_lines(MetricsReader& metrics, const RunOutline& run, Pace& pace) {
  std::string last;
  const auto flush = [&](const std::string& end) {
    if (!last.empty()) fmt::print("{}{}\n", last, end);
  };
  std::uint64_t newest = 0;
  metrics.read([&](std::uint64_t step, const MetricsLine& line) {
    flush("");
    newest = step;
    const double share = run.steps > 0 ? 100 * static_cast<double>(step) / static_cast<double>(run.steps) : 100;
    last = fmt::format("step {}/{}  {:3.0f} %{}{}", step, run.steps, share, values_of(line), warnings_of(line));
  });
  if (last.empty()) return;
  pace.see(newest);
  flush(run.tells_times ? pace.text(run.steps) : "");
}

int watch(const std::string& directory, bool once) {
  const RunOutline run = outline_of_run(directory);
  fmt::print("{}: {} steps, {}\n", directory, run.steps, run.promise);
  MetricsReader metrics(directory);
  Pace pace;
  int looks_without_owner = 0;  // a lock that is just being written names nobody
  for (;;) {
    const RunState state = state_of_run(directory);  // before the lines: then none is missed at the end
    show_new_lines(metrics, run, pace);
    if (state == RunState::finished) fmt::print("finished: {}/certificate.json\n", directory);
    if (state == RunState::finished || once) return printed();
    looks_without_owner = state == RunState::left ? looks_without_owner + 1 : 0;
    if (looks_without_owner == 2) break;
    printed();
    std::this_thread::sleep_for(look_every);
  }
  fmt::print("no process works on this run; go on with: dpmpi resume {}\n", directory);
  return printed(static_cast<int>(ExitCode::stopped));
}

struct WatchRequest {
  std::string run;
  bool once = false;
};

}  // namespace

Command watch_command() {
  const auto typed = std::make_shared<WatchRequest>();
  return {
      .name = "watch",
      .forms = {{"dpmpi watch RUN", "follows a run that another process trains, until it ends"}},
      .about =
          "A line for each evaluation: steps, epsilon spent, metrics on data.eval, and, while the command looks,\n"
          "steps a second and the time that is left. Reads public files alone, so anybody who may read the run\n"
          "directory can watch. Ends with exit code 0 when the run is finished, and with 6 when no process works on\n"
          "it any more. Where the duration of steps is secret, no times are shown.",
      .options = Options("")
                     .add("run", typed->run, "the run directory")
                     .add("once", typed->once, "show what is there, and end"),
      .arguments = {"run"},
      .needed = {"run"},
      .run = [typed](const Communicator&) { return watch(typed->run, typed->once); }};
}

}  // namespace dpmpi
