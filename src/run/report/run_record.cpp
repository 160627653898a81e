#include "run/report/run_record.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/files/run_file.hpp"
#include "core/files/untrusted_json.hpp"
#include "core/ini.hpp"

namespace dpmpi {
namespace {

namespace fs = std::filesystem;
using Json = RunRecord::Json;

Json object_in(const std::string& text, const std::string& place) {
  Json value = parse_untrusted_json<Json>(text, place);
  if (!value.is_object()) throw DataError(fmt::format("{}: a JSON object is expected", place));
  return value;
}

Json read_object(const std::string& path) { return object_in(read_run_file(path, file_limit::document), path); }

/// The whole lines of a file; a last line without its end is one that is being written.
std::vector<Json> parse_lines(const std::string& path) {
  std::vector<Json> values;
  if (!fs::exists(path)) return values;
  const std::string text = read_run_file(path, file_limit::lines);
  std::size_t at = 0, line = 0;
  for (std::size_t stop; (stop = text.find('\n', at)) != text.npos; at = stop + 1)
    values.push_back(object_in(text.substr(at, stop - at), fmt::format("{}:{}", path, ++line)));
  return values;
}

RunRecord::Curve parse_roc(const std::string& path) {
  if (!fs::exists(path)) return {};
  const Json value = read_run_json<Json>(path);
  const auto share = [](const Json& x) { return x.is_number() && x.get<double>() >= 0 && x.get<double>() <= 1; };
  RunRecord::Curve curve;
  for (const Json& point : value.is_array() ? value : Json::array({nullptr})) {
    if (!point.is_array() || point.size() != 2 || !share(point[0]) || !share(point[1]))
      throw DataError(fmt::format("{}: pairs of shares are expected", path));
    curve.emplace_back(point[0].get<double>(), point[1].get<double>());
  }
  return curve;
}

std::vector<std::pair<std::string, std::string>> read_settings(const std::string& path) {
  std::vector<std::pair<std::string, std::string>> settings;
  for (IniEntry& entry : parse_ini(read_run_file(path, file_limit::config), path))
    settings.emplace_back(std::move(entry.name), std::move(entry.value));
  return settings;
}

// A page that is passed on shows pictures, and no other file in their place.
std::string read_picture(const std::string& path) {
  if (!fs::exists(fs::symlink_status(path))) return {};
  std::string picture = read_run_file(path, file_limit::picture);
  if (!picture.starts_with("\x89PNG\r\n\x1a\n")) throw DataError(fmt::format("{} is no PNG picture", path));
  return picture;
}

constexpr std::size_t most_metrics = 64;  // a plot is drawn of each
// Of more, a report would take memory that the run did not.
constexpr std::size_t most_weights = std::size_t{1} << 18;

std::string day_of(const std::string& path) {
  std::error_code unknown;
  const auto written = fs::last_write_time(path, unknown);
  if (unknown) return {};
  const auto time = std::chrono::floor<std::chrono::seconds>(std::chrono::file_clock::to_sys(written));
  return fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::chrono::system_clock::to_time_t(time)));
}

}  // namespace

std::vector<std::string> RunRecord::metric_names(const std::string& prefix) const {
  std::vector<std::string> names;
  for (const Json& line : metrics)
    for (const auto& [key, value] : line.items())
      if (key.starts_with(prefix) && value.is_number() && std::find(names.begin(), names.end(), key) == names.end())
        names.push_back(key);
      else if (names.size() > most_metrics)
        throw DataError(fmt::format("{}/metrics.jsonl: more than {} metrics", directory, most_metrics));
  return names;
}

RunRecord::Curve RunRecord::curve(const std::string& x, const std::string& y) const {
  Curve curve;
  for (const Json& line : metrics)
    if (line.contains(x) && line.contains(y) && line[x].is_number() && line[y].is_number())
      curve.emplace_back(line[x].get<double>(), line[y].get<double>());
  return curve;
}

std::optional<double> RunRecord::last(const std::string& metric) const {
  for (auto line = metrics.rbegin(); line != metrics.rend(); ++line)
    if (line->contains(metric) && (*line)[metric].is_number()) return (*line)[metric].get<double>();
  return {};
}

std::string_view RunRecord::setting(std::string_view key) const {
  const auto found =
      std::ranges::find(settings, key, [](const auto& pair) { return std::string_view(pair.first); });
  return found == settings.end() ? std::string_view() : found->second;
}

// A certificate says so itself.
bool RunRecord::seeded() const {
  const std::string_view seed = setting("privacy.seed");
  return !finished() && !seed.empty() && !seed.starts_with('-');
}

RunRecord read_run(const std::string& directory, bool times) {
  if (!fs::exists(directory + "/plan.json"))
    throw ConfigError(fmt::format("{} is not a run directory: it has no plan.json", directory));
  RunRecord run;
  run.directory = directory;
  run.name = fs::path(directory).lexically_normal().filename().string();
  if (run.name.empty()) run.name = fs::path(directory).lexically_normal().parent_path().filename().string();
  run.plan = read_object(directory + "/plan.json");
  const std::string certificate = directory + "/certificate.json";
  if (fs::exists(certificate)) run.certificate = read_object(certificate);
  run.metrics = parse_lines(directory + "/metrics.jsonl");
  if (times) run.times = parse_lines(directory + "/timing.jsonl");
  run.settings = read_settings(directory + "/config.ini");
  run.picture = read_picture(directory + "/samples.png");
  run.roc = parse_roc(directory + "/roc.json");
  if (const std::string seen = directory + "/assessment.json"; fs::exists(seen)) run.assessment = read_object(seen);
  if (const std::string counted = directory + "/evaluation.json"; fs::exists(counted))
    run.held_out = read_object(counted);
  if (const std::string model = directory + "/model.safetensors"; run.finished() && fs::exists(model))
    run.weights = read_tensor(model, "weight", most_weights);
  run.begun = day_of(directory + "/plan.json");
  for (const char* key : {"epsilon", "delta", "adjacency", "attacker", "noise", "interval", "events", "by"})
    if (!run.plan.contains(key)) throw DataError(fmt::format("{}/plan.json has no {}", directory, key));
  return run;
}

}  // namespace dpmpi
