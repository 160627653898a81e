#include "run/report/noise.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

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
constexpr std::uint64_t largest_band = 4096;

/// Deviation of the noise in each prefix sum, in units of a node's.
Plot::Line prefix_noise_line(const Tree& tree) {
  Plot::Line line{"this run", {}};
  const std::uint64_t points = std::min(most_leaves, tree.leaves);
  for (std::uint64_t i = 1; i <= points; ++i) {
    const auto t = static_cast<std::uint64_t>(
        std::ceil(static_cast<double>(tree.leaves) * static_cast<double>(i) / static_cast<double>(points)));
    line.points.emplace_back(static_cast<double>(t), std::sqrt(prefix_noise_variance(tree, t)));
  }
  return line;
}

// Releases of the leaves one by one pay for one node a participation, where this tree pays for its column norm.
Plot::Line independent_line(const Tree& tree, const Plot::Line& like) {
  Plot::Line line{"one by one", {}, false, Plot::reference};
  const double node = std::max(1.0, tree.first_leaf) *
                      std::sqrt(static_cast<double>(tree.participations) / squared_sensitivity(tree));
  for (const auto& [t, ignored] : like.points) line.points.emplace_back(t, node * std::sqrt(t));
  return line;
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
    if (tree.strategy == Strategy::banded && tree.band > largest_band) continue;
    Plot plot{"leaf", "noise of the sum so far, in a node's", {prefix_noise_line(tree)}};
    plot.lines.push_back(independent_line(tree, plot.lines[0]));
    rows.push_back({std::string(name(tree.strategy)), fmt::format("{}", tree.leaves),
                    shown(plot.lines[0].points.back().second), shown(plot.lines[1].points.back().second),
                    shown(std::sqrt(mean_prefix_noise_variance(tree)))});
    gallery.add(plot);
  }
  if (rows.empty()) return "";
  return html::heading("Noise of the running sums") +
         html::paragraph(
             "After every leaf the sum of all leaves so far is released. Deviation of its noise per coordinate, in "
             "units of the noise of one node of the strategy; beside it, that of sums of leaves that are released "
             "one by one under the same guarantee, which grows like the square root of their number.") +
         html::table({"strategy", "leaves", "at the last leaf", "one by one", "on average (root mean square)"},
                     rows) +
         gallery.markup();
}

}  // namespace dpmpi
