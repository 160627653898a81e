#include "run/follow/tensorboard.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "data/formats/write.hpp"
#include "run/directory/files.hpp"
#include "run/evaluate/trained_model.hpp"
#include "run/follow/event_file.hpp"
#include "run/follow/metrics_reader.hpp"

namespace dpmpi {
namespace {

std::vector<std::pair<std::string, float>> scalars_of(const MetricsLine& line) {
  std::vector<std::pair<std::string, float>> scalars;
  for (const auto& [name, value] : line.items()) {
    if (name == "step" || !value.is_number() || !std::isfinite(value.get<float>())) continue;
    std::string tag = name;
    if (const auto dot = tag.find('.'); dot != tag.npos) tag[dot] = '/';
    scalars.emplace_back(std::move(tag), value.get<float>());
  }
  return scalars;
}

void refuse_other_events(const std::string& path) {
  const std::string beginning = event_record(version_event());
  if (!std::filesystem::exists(path)) return;
  FileReader file(path);
  std::string found(std::min<std::uint64_t>(beginning.size(), file.left()), '\0');
  file.read(found);
  if (found != beginning)
    throw ConfigError(fmt::format("{} is there, and is not of dpmpi: give another folder", path));
}

}  // namespace

std::string write_tensorboard(const std::string& run, const std::string& folder) {
  MetricsReader metrics(run);
  std::error_code refused;  // who writes says why
  std::filesystem::create_directories(folder, refused);
  const std::string path = folder + "/events.out.tfevents.0.dpmpi";
  refuse_part_of_run(path);
  refuse_other_events(path);
  WholeFile file(output_target(path));
  file.write(event_record(version_event()));
  metrics.read([&](std::uint64_t step, const MetricsLine& line) {
    file.write(event_record(scalar_event(step, scalars_of(line))));
  });
  file.commit();
  return path;
}

}  // namespace dpmpi
