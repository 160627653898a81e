#include "run/report/noise.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "privacy/curves/buffer_search.hpp"
#include "privacy/curves/strategy.hpp"
#include "privacy/events/planned_events.hpp"
#include "run/report/html.hpp"
#include "run/report/numbers.hpp"
#include "run/report/plot.hpp"

namespace dpmpi {
namespace {

using Json = RunRecord::Json;

std::string releases(const RunRecord& run) {
  html::Rows rows;
  const auto add = [&](const Json& sites, const std::string& of_whom) {
    for (const Json& site : sites)
      rows.push_back({shown(site.value("site", Json())), shown(site.value("sampling", Json())) + of_whom,
                      shown(site.value("count", Json())), shown(site.value("clip", Json())),
                      shown(site.value("sensitivity", Json())), shown(site.value("std", Json())),
                      shown(site.value("noise_multiplier", Json()))});
  };
  add(run.plan.at("noise"), "");
  if (run.plan.contains("evaluation")) add(run.plan["evaluation"].at("noise"), ", held out");
  return rows.empty()
             ? ""
             : html::heading("What is released") + html::table({"release", "records", "times", "clip",
                                                                "sensitivity", "noise std", "noise multiplier"},
                                                               rows);
}

/// By the plan alone, so of the worst case: how long the sum can be says no more than its clip.
std::string noise_against_signal(const RunRecord& run) {
  html::Rows rows;
  for (const Json& site : run.plan.at("noise")) {
    const double std = site.value("std", 0.0), batch = site.value("batch", 0.0), clip = site.value("clip", 0.0);
    if (!(std > 0 && batch > 0 && clip > 0)) continue;
    const double noise = std * std::sqrt(site.value("dim", 1.0)), signal = batch * clip;
    rows.push_back({shown(site.value("site", Json())), shown(batch), shown(signal), shown(noise),
                    shown(noise / signal), shown(std / batch)});
  }
  if (rows.empty()) return "";
  return html::heading("Noise against signal") +
         html::paragraph(
             "A release is a sum over the records that take part. It is as long as batch times clip if all of them "
             "are clipped and point the same way, and shorter otherwise; the noise is about as long as its deviation "
             "times the root of the number of coordinates. Where their quotient is far above 1, a single release "
             "is mostly noise, and only many together, or few coordinates that matter, show something.") +
         html::table(
             {"release", "batch", "longest sum", "length of noise", "quotient", "noise of a coordinate's mean"},
             rows);
}

constexpr std::uint64_t most_leaves = 256;  // of a curve; some strategies take long for a leaf

// Noise of a wider band takes too long to compute; no method has one.
constexpr std::uint64_t largest_band = 512;

/// Deviation of the noise in each prefix sum, in units of `unit` draws.
Plot::Line prefix_noise_line(const std::string& name, const Tree& tree, double unit, int colour) {
  Plot::Line line{name, {}, false, colour};
  const std::uint64_t points = std::min(most_leaves, tree.leaves);
  for (std::uint64_t i = 1; i <= points; ++i) {
    const auto t = static_cast<std::uint64_t>(
        std::ceil(static_cast<double>(tree.leaves) * static_cast<double>(i) / static_cast<double>(points)));
    line.points.emplace_back(static_cast<double>(t), unit * std::sqrt(prefix_noise_variance(tree, t)));
  }
  return line;
}

constexpr std::uint64_t most_compared = 1
                                        << 16;  // leaves: norms of several participations and searches take longer

/// Other strategies for the same leaves and participations, each with its name.
std::vector<std::pair<std::string, Tree>> other_strategies(const Tree& tree) {
  Tree other{.leaves = tree.leaves,
             .noise_multiplier = 1,
             .first_leaf = tree.first_leaf,
             .participations = tree.participations,
             .separation = tree.separation};
  std::vector<std::pair<std::string, Tree>> all;
  const auto add = [&](const char* name, Strategy strategy, Buffers buffers) {
    other.strategy = strategy;
    other.buffers = buffers;
    const bool this_run = strategy == tree.strategy && buffers == tree.buffers;
    if (!this_run) all.emplace_back(name, other);
  };
  add("one by one", Strategy::blt, {});
  if (tree.leaves > most_compared) return all;
  if (tree.participations == 1) add("tree", Strategy::fenwick, {});
  const std::uint64_t apart = tree.participations > 1 ? tree.separation : tree.leaves;
  if (tree.leaves > 1)
    add("lambda", Strategy::blt, lambda_buffer(best_lambda(tree.leaves, {tree.participations, apart})));
  add("sqrt_toeplitz", Strategy::sqrt_toeplitz, {});
  return all;
}

/// The run's noise in units of a draw, and that of other strategies at the same guarantee: draws in proportion to
/// what the strategy makes of one record.
Plot noise_of_strategies(const Tree& tree) {
  Plot plot{"leaf", "noise of the sum so far, in a node's", {prefix_noise_line("this run", tree, 1, 0)}};
  for (const auto& [name, other] : other_strategies(tree)) {
    const auto count = static_cast<int>(plot.lines.size());
    plot.lines.push_back(prefix_noise_line(name, other,
                                           std::sqrt(squared_sensitivity(other) / squared_sensitivity(tree)),
                                           count == 1 ? Plot::reference : count - 1));
  }
  return plot;
}

/// Of the names of the lines, with the noise at the last leaf.
std::string at_the_last_leaf(const Plot& plot) {
  std::vector<std::string> words;
  for (std::size_t i = 1; i < plot.lines.size(); ++i)
    words.push_back(plot.lines[i].name + " " + shown(plot.lines[i].points.back().second));
  return fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace

std::string releases_section(const RunRecord& run) { return releases(run) + noise_against_signal(run); }

std::string running_sum_section(const RunRecord& run) {
  Gallery gallery;
  html::Rows rows;
  for (const auto& line : run.plan.value("events", RunRecord::Json::array())) {
    if (line.value("event", "") != "tree") continue;
    const Event event = planned_event(line, run.directory + "/plan.json");
    const auto& tree = std::get<Tree>(event.mechanism);
    if (is_banded(tree.strategy) && tree.band > largest_band) continue;
    const Plot plot = noise_of_strategies(tree);
    rows.push_back({std::string(name(tree.strategy)), fmt::format("{}", tree.leaves),
                    shown(plot.lines[0].points.back().second), at_the_last_leaf(plot),
                    shown(std::sqrt(mean_prefix_noise_variance(tree)))});
    gallery.add(plot);
  }
  if (rows.empty()) return "";
  return html::heading("Noise of the running sums") +
         html::paragraph(
             "After every leaf the sum of all leaves so far is released. Deviation of its noise per coordinate, in "
             "units of the noise of one node of the strategy; beside it, that of other strategies under the same "
             "guarantee. Sums of leaves that are released one by one have noise that grows like the square root of "
             "their number.") +
         html::table(
             {"strategy", "leaves", "at the last leaf", "other strategies there", "on average (root mean square)"},
             rows) +
         gallery.markup();
}

}  // namespace dpmpi
