#include "run/follow/metrics_reader.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/files/run_file.hpp"
#include "core/files/untrusted_json.hpp"

namespace dpmpi {

MetricsReader::MetricsReader(std::string directory) : path_(std::move(directory)) {
  if (!std::filesystem::exists(path_ + "/plan.json"))
    throw ConfigError(fmt::format("{} is not a run directory: it has no plan.json", path_));
  path_ += "/metrics.jsonl";
}

void MetricsReader::take_line(const std::string& text,
                              const std::function<void(std::uint64_t, const MetricsLine&)>& take) {
  const std::string place = fmt::format("{}:{}", path_, ++line_);
  const auto line = parse_untrusted_json<MetricsLine>(text, place);
  if (!line.is_object() || !line.contains("step") || !line["step"].is_number_unsigned())
    throw DataError(fmt::format("{}: a JSON object with a step is expected", place));
  const auto step = line["step"].get<std::uint64_t>();
  if (newest_ && step <= *newest_) return;
  newest_ = step;
  take(step, line);
}

void MetricsReader::read(const std::function<void(std::uint64_t, const MetricsLine&)>& take) {
  if (!std::filesystem::exists(std::filesystem::symlink_status(path_))) return;  // not yet
  FileReader file = open_run_file(path_);
  file.refuse_larger(file_limit::lines);
  if (file.size() < read_) read_ = 0, line_ = 0, rest_.clear();
  file.go_to(read_);
  file.drain([&](std::string_view piece) {
    read_ += piece.size();
    for (std::size_t end; (end = piece.find('\n')) != piece.npos; piece.remove_prefix(end + 1)) {
      rest_ += piece.substr(0, end);
      take_line(std::exchange(rest_, {}), take);
    }
    rest_ += piece;
    if (rest_.size() > file_limit::document)
      throw DataError(fmt::format("{}:{}: a line of more than {} bytes", path_, line_ + 1, file_limit::document));
  });
}

std::optional<double> number_in(const MetricsLine& line, const std::string& name) {
  const auto found = line.find(name);
  if (found == line.end() || !found->is_number()) return {};
  return found->get<double>();
}

}  // namespace dpmpi
