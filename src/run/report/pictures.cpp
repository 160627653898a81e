#include "run/report/pictures.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "privacy/curves/strategy.hpp"
#include "privacy/events/planned_events.hpp"
#include "run/report/html.hpp"
#include "run/report/plot.hpp"

namespace dpmpi {
namespace {

using Rows = std::vector<std::vector<std::string>>;

// ---- Running sums

constexpr std::uint64_t most_points = 256;  // of a curve; some strategies take long for a leaf

// Noise of a wider band takes too long to compute; no method has one.
constexpr std::uint64_t largest_band = 4096;

/// Deviation of the noise in each prefix sum, in units of a node's.
Plot::Line prefix_noise_line(const Tree& tree) {
  Plot::Line line{"this run", {}};
  const std::uint64_t points = std::min(most_points, tree.leaves);
  for (std::uint64_t i = 1; i <= points; ++i) {
    const auto t = static_cast<std::uint64_t>(
        std::ceil(static_cast<double>(tree.leaves) * static_cast<double>(i) / static_cast<double>(points)));
    line.points.emplace_back(static_cast<double>(t), std::sqrt(prefix_noise_variance(tree, t)));
  }
  return line;
}

// Releases of the leaves one by one pay for one node, where this tree pays for its column norm.
Plot::Line independent_line(const Tree& tree, const Plot::Line& like) {
  Plot::Line line{"one by one", {}};
  const double node = std::max(1.0, tree.first_leaf) / std::sqrt(squared_sensitivity(tree));
  for (const auto& [t, ignored] : like.points) line.points.emplace_back(t, node * std::sqrt(t));
  return line;
}

// ---- Slopes

struct Sample {
  double x, y;
};

/// log y = intercept + slope log x by least squares; error: the slope's standard error.
struct Fit {
  double slope = 0, intercept = 0, error = 0;
};

Fit fit(const std::vector<Sample>& samples) {
  const auto n = static_cast<double>(samples.size());
  double mean_x = 0, mean_y = 0, xx = 0, xy = 0, rest = 0;
  for (const Sample& s : samples) mean_x += std::log(s.x) / n, mean_y += std::log(s.y) / n;
  for (const Sample& s : samples) {
    xx += (std::log(s.x) - mean_x) * (std::log(s.x) - mean_x);
    xy += (std::log(s.x) - mean_x) * (std::log(s.y) - mean_y);
  }
  Fit line{xy / xx, mean_y - xy / xx * mean_x, 0};
  for (const Sample& s : samples) {
    const double off = std::log(s.y) - line.intercept - line.slope * std::log(s.x);
    rest += off * off;
  }
  line.error = std::sqrt(rest / (n - 2) / xx);
  return line;
}

/// Shares of what is right tend to 1: what falls is their complement.
bool is_share(const std::string& metric) { return metric.ends_with("accuracy") || metric.ends_with("auc"); }

/// What runs of a sweep differ in; 0: not known, or infinite.
double swept(const RunRecord& run, const std::string& what) {
  if (what == "epsilon") return run.is_private() ? run.epsilon().get<double>() : 0;
  return run.plan.contains("n") && run.plan["n"].is_number() ? run.plan["n"].get<double>() : 0;
}

bool is_sweep(const std::vector<RunRecord>& runs, const std::string& what) {
  std::set<double> values;
  for (const RunRecord& run : runs) {
    const double x = swept(run, what);
    // Calibrated epsilons differ in their last digits.
    if (std::none_of(values.begin(), values.end(), [&](double y) { return std::abs(x - y) <= 0.01 * y; }))
      values.insert(x);
  }
  return values.size() >= 3 && *values.begin() > 0;
}

bool same_in_all(const std::vector<RunRecord>& runs) {
  const auto name = [](const RunRecord& run) {
    const auto& method = run.plan.value("method", RunRecord::Json::object());
    return std::pair(method.value("name", ""), run.plan.value("objective", ""));
  };
  return std::all_of(runs.begin(), runs.end(), [&](const RunRecord& run) { return name(run) == name(runs[0]); });
}

}  // namespace

std::vector<Plot::Line> lines_of(const std::vector<RunRecord>& runs, const std::string& x, const std::string& y) {
  std::vector<Plot::Line> lines;
  for (const RunRecord& run : runs) lines.push_back({runs.size() > 1 ? run.name : "", run.curve(x, y)});
  return lines;
}

std::vector<std::string> metric_names(const std::vector<RunRecord>& runs, const std::string& prefix) {
  std::vector<std::string> names;
  for (const RunRecord& run : runs)
    for (const auto& name : run.metric_names(prefix))
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  return names;
}

std::string last_values(const std::vector<RunRecord>& runs, const std::vector<std::string>& names) {
  std::vector<std::string> head{"at the end"};
  for (const RunRecord& run : runs) head.push_back(runs.size() > 1 ? run.name : "");
  Rows rows;
  for (const auto& name : names) {
    rows.push_back({name});
    for (const RunRecord& run : runs) rows.back().push_back(run.last(name));
  }
  return html::table(head, rows);
}

std::string roc_section(const std::vector<RunRecord>& runs) {
  Plot plot{"false positives", "true positives", {}};
  Rows rows;
  for (const RunRecord& run : runs) {
    if (run.roc.empty()) continue;
    plot.lines.push_back({runs.size() > 1 ? run.name : "the model", run.roc});
    rows.push_back({run.name});
    for (const double rate : {0.01, 0.05, 0.1, 0.2}) {
      const auto after =
          std::find_if(run.roc.begin(), run.roc.end(), [&](const auto& p) { return p.first > rate; });
      rows.back().push_back(
          fmt::format("{:.1f} %", 100 * (after == run.roc.begin() ? 0 : std::prev(after)->second)));
    }
  }
  if (rows.empty()) return "";
  plot.lines.push_back({"guessing", {{0, 0}, {1, 1}}});
  Gallery gallery("roc");
  gallery.add(plot);
  return html::heading("ROC curve") +
         html::paragraph(
             "Of the final model on data.eval: the share of the records labelled +1 that a threshold finds, for "
             "the share of the others that it takes for such. The area under it is eval.auc.") +
         html::table({"true positives, at false positives of", "1 %", "5 %", "10 %", "20 %"}, rows) +
         gallery.markup();
}

std::string method_section(const std::vector<RunRecord>& runs) {
  const std::vector<std::string> names = metric_names(runs, "method.");
  if (names.empty()) return "";
  Gallery gallery("method");
  for (const auto& name : names) gallery.add({"step", name, lines_of(runs, "step", name)});
  return html::heading("The method's state") +
         html::paragraph("Public numbers that the method follows by itself.") + last_values(runs, names) +
         gallery.markup();
}

std::string running_sum_section(const RunRecord& run) {
  Gallery gallery("tree");
  Rows rows;
  for (const auto& line : run.plan.value("events", RunRecord::Json::array())) {
    if (line.value("event", "") != "tree") continue;
    const Event event = planned_event(line, run.directory + "/plan.json");
    const auto& tree = std::get<Tree>(event.mechanism);
    if (tree.strategy == Strategy::banded && tree.band > largest_band) continue;
    Plot plot{"leaf", "noise of the sum so far, in a node's", {prefix_noise_line(tree)}};
    plot.lines.push_back(independent_line(tree, plot.lines[0]));
    rows.push_back({std::string(name(tree.strategy)), fmt::format("{}", tree.leaves),
                    fmt::format("{:.4g}", plot.lines[0].points.back().second),
                    fmt::format("{:.4g}", plot.lines[1].points.back().second),
                    fmt::format("{:.4g}", std::sqrt(mean_prefix_noise_variance(tree)))});
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

std::string slope_section(const std::vector<RunRecord>& runs) {
  if (!same_in_all(runs)) return "";
  Gallery gallery("slope");
  Rows rows;
  for (const std::string what : {"n", "epsilon"}) {
    if (!is_sweep(runs, what)) continue;
    for (const auto& metric : runs[0].metric_names("eval.")) {
      const bool share = is_share(metric);
      const std::string shown = share ? "1 - " + metric : metric;
      std::vector<Sample> samples;
      Plot plot{what, shown, {{"runs", {}, true}, {"", {}}}, true, true};
      for (const RunRecord& run : runs) {
        const auto curve = run.curve("step", metric);
        const double y = curve.empty() ? 0 : share ? 1 - curve.back().second : curve.back().second;
        if (y > 0) samples.push_back({swept(run, what), y});
      }
      if (samples.size() < runs.size()) continue;  // a value that has no logarithm, or is missing
      const Fit line = fit(samples);
      for (const Sample& s : samples) {
        plot.lines[0].points.emplace_back(s.x, s.y);
        plot.lines[1].points.emplace_back(s.x, std::exp(line.intercept + line.slope * std::log(s.x)));
      }
      std::sort(plot.lines[1].points.begin(), plot.lines[1].points.end());
      plot.lines[1].name = fmt::format("slope {:.3f}", line.slope);
      rows.push_back({shown, what, fmt::format("{:.3f}", line.slope), fmt::format("{:.3f}", line.error),
                      fmt::format("{}", samples.size())});
      gallery.add(plot);
    }
  }
  if (rows.empty()) return "";
  return html::heading("Slopes") +
         html::paragraph(
             "Final metrics against what the runs differ in, on logarithmic axes, with the line of least squares. "
             "They are the values as they are: where a metric tends to a floor above 0 (most losses do), its slope "
             "is not the rate of the excess.") +
         html::table({"metric", "over", "slope", "standard error", "runs"}, rows) + gallery.markup();
}

}  // namespace dpmpi
