#include "run/report/slopes.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "run/report/html.hpp"
#include "run/report/numbers.hpp"
#include "run/report/plot.hpp"

namespace dpmpi {
namespace {

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

std::string slope_section(const std::vector<RunRecord>& runs) {
  if (!same_in_all(runs)) return "";
  Gallery gallery;
  html::Rows rows;
  for (const std::string what : {"n", "epsilon"}) {
    if (!is_sweep(runs, what)) continue;
    for (const auto& metric : runs[0].metric_names("eval.")) {
      const bool share = is_share(metric);
      const std::string title = share ? "1 - " + metric : metric;
      std::vector<Sample> samples;
      Plot plot{what, title, {{"runs", {}, true}, {"", {}, false, Plot::reference}}, true, true};
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
      plot.lines[1].name = "slope " + shown(line.slope);
      rows.push_back({title, what, shown(line.slope), shown(line.error), fmt::format("{}", samples.size())});
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
