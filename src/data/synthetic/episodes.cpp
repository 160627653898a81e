#include "data/synthetic/episodes.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "data/records/builder.hpp"

namespace dpmpi {
namespace {

/// First rows of the episodes, and the number of rows.
std::vector<std::size_t> episode_starts(const Records& transitions, std::size_t column, std::size_t steps,
                                        const std::string& file) {
  const auto name = [&](std::size_t i) { return transitions.row_f32(i)[column - 1]; };
  std::vector<std::size_t> starts;
  std::set<float> seen;
  for (std::size_t i = 0; i < transitions.count; ++i) {
    if (i == 0 || name(i) != name(i - 1)) {
      if (!seen.insert(name(i)).second)
        throw DataError(
            fmt::format("{}: row {}: its episode has ended before; sort the rows by episode", file, i + 1));
      starts.push_back(i);
    }
    if (i - starts.back() >= steps)
      throw DataError(
          fmt::format("{}: row {}: its episode has more than episode_steps = {} transitions", file, i + 1, steps));
  }
  starts.push_back(transitions.count);
  return starts;
}

}  // namespace

Records group_episodes(const Records& transitions, std::size_t column, std::size_t steps, const std::string& file) {
  if (transitions.storage != Storage::dense_f32)
    throw ConfigError(
        fmt::format("{}: episode_column is for tables of float32 rows; set data.storage = dense", file));
  if (column < 1 || column > transitions.features || steps < 1)
    throw ConfigError(fmt::format(
        "{}: episode_column = {}, episode_steps = {}, allowed: a feature from 1 to {}, and 1 step or more", file,
        column, steps, transitions.features));
  const auto starts = episode_starts(transitions, column, steps, file);
  const std::size_t width = transitions.features;  // one feature less, and the label
  RecordsBuilder out(Storage::dense_f32, steps * width, starts.size() - 1, {.bias = transitions.bias});
  for (std::size_t e = 0; e + 1 < starts.size(); ++e) {
    float* to = out.dense_row();
    for (std::size_t i = starts[e]; i < starts[e + 1]; ++i) {
      const float* from = transitions.row_f32(i);
      to = std::copy(from, from + column - 1, to);
      to = std::copy(from + column, from + transitions.features, to);
      *to++ = transitions.label[i];
    }
    out.finish_row(static_cast<float>(starts[e + 1] - starts[e]));
  }
  return out.take();
}

}  // namespace dpmpi
