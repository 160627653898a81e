#include "run/train/stop_requests.hpp"

#include <filesystem>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "run/train/signals.hpp"

namespace dpmpi {

void refuse_old_stop_file(const RunOptions& run) {
  if (!run.stop_file.empty() && std::filesystem::exists(run.stop_file))
    throw ConfigError(fmt::format("run.stop_file = {} is there: remove it, then start", run.stop_file));
}

bool StopRequests::seen() {
  if (seen_) return true;
  seen_ = stop_signalled();
  if (!root_ || seen_) return seen_;
  if (late()) {
    seen_ = true;
    reason_ = "run.max_hours";
  } else if (file_appeared()) {
    seen_ = true;
    reason_ = fmt::format("run.stop_file: remove {} first", run_.stop_file);
  }
  return seen_;
}

bool StopRequests::late() const {
  return run_.max_hours > 0 && Clock::now() - started_ > std::chrono::duration<double>(3600 * run_.max_hours);
}

bool StopRequests::file_appeared() {
  if (run_.stop_file.empty() || Clock::now() - looked_ < std::chrono::seconds(1)) return false;
  looked_ = Clock::now();
  std::error_code unseen;  // a path that cannot be looked at does not end the run
  return std::filesystem::exists(run_.stop_file, unseen);
}

}  // namespace dpmpi
