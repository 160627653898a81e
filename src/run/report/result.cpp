#include "run/report/result.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "run/report/held_out.hpp"
#include "run/report/html.hpp"
#include "run/report/numbers.hpp"

namespace dpmpi {
namespace {

using Json = RunRecord::Json;

std::string shown_or(const std::optional<double>& value, const char* nothing) {
  return value ? measured(*value) : nothing;
}

/// Not where everything is charged when the run begins. (The start point costs nothing.)
bool spends_on_the_way(const RunRecord& run) {
  auto spent = run.curve("step", "epsilon");
  std::erase_if(spent, [](const auto& point) { return point.first == 0; });
  return run.is_private() && !spent.empty() && spent.front().second != spent.back().second;
}

/// Why there is no number.
std::string not_measured(const RunRecord& run) {
  return run.setting("data.eval").empty() ? "Not measured: data.eval is not set." : "Not measured yet.";
}

/// The metrics by which a reader judges, the plainest first.
std::string main_metric(const RunRecord& run) {
  for (const char* name : {"eval.accuracy", "eval.auc"})
    if (run.last(name)) return name;
  const auto names = run.metric_names("eval.");
  return names.empty() ? "" : names.front();
}

/// Names of the classes, and how many of each (rows) were taken for which (columns).
struct Confusion {
  std::vector<std::string> classes;
  std::vector<std::vector<double>> counts;
};

Confusion confusion_of(const RunRecord& run) {
  Confusion out;
  for (const Json& name : run.assessment.at("classes")) out.classes.push_back(shown(name));
  for (const Json& row : run.assessment.at("confusion")) out.counts.push_back(row.get<std::vector<double>>());
  const auto fits = [&](const auto& row) { return row.size() == out.classes.size(); };
  if (!fits(out.counts) || !std::ranges::all_of(out.counts, fits))
    throw DataError(fmt::format("{}/assessment.json: the confusion matrix is not square", run.directory));
  return out;
}

/// Of the records that were assessed, by their labels.
std::vector<double> shares_of_classes(const RunRecord& run) {
  if (!run.assessment.contains("confusion")) return {};
  std::vector<double> shares;
  double all = 0;
  for (const std::vector<double>& row : confusion_of(run).counts) {
    shares.push_back(std::accumulate(row.begin(), row.end(), 0.0));
    all += shares.back();
  }
  for (double& share : shares) share /= std::max(1.0, all);
  return shares;
}

/// What a model that says the same of every record reaches in this metric: as the run says, or by the labels. The
/// loss of probabilities is their cross-entropy, and best where they are the shares.
std::optional<double> of_constant(const RunRecord& run, const std::string& metric) {
  if (metric == "eval.auc") return 0.5;
  if (metric != "eval.loss" && metric != "eval.accuracy") return {};
  if (const auto said = run.last("constant" + metric.substr(metric.find('.')))) return said;
  const std::vector<double> shares = shares_of_classes(run);
  if (shares.empty()) return {};
  if (metric == "eval.accuracy") return *std::ranges::max_element(shares);
  if (!run.assessment.contains("calibration")) return {};
  double entropy = 0;
  for (const double share : shares) entropy -= share > 0 ? share * std::log(share) : 0;
  return entropy;
}

std::string confusion_table(const Confusion& c) {
  std::string out = "<div class=\"wide\"><table class=\"grid-of\"><tr><th></th>";
  for (const std::string& name : c.classes) out += "<th>" + html::escape(name) + "</th>";
  out += "</tr>";
  for (std::size_t k = 0; k < c.classes.size(); ++k) {
    double all = 0;
    for (const double count : c.counts[k]) all += count;
    out += "\n<tr><th>" + html::escape(c.classes[k]) + "</th>";
    for (std::size_t j = 0; j < c.classes.size(); ++j) {
      const double share = all > 0 ? std::clamp(c.counts[k][j] / all, 0.0, 1.0) : 0;
      out += fmt::format("<td style=\"background:rgba({},{:.2f})\">{}</td>", k == j ? "11,98,176" : "194,80,10",
                         0.5 * share, shown(c.counts[k][j]));
    }
    out += "</tr>";
  }
  return out + "</table></div>\n";
}

/// n/a where these records have no such number.
std::string shown_metric(const Json& metrics, const std::string& name) {
  const Json& value = metrics.value(name, Json());
  return value.is_number() ? measured(value.get<double>()) : "n/a";
}

/// What the last evaluation found of scores and labels beyond the metrics of the run.
std::string further_values(const RunRecord& run) {
  const Json metrics = run.assessment.value("metrics", Json::object());
  const Json constants = run.assessment.value("constants", Json::object());
  html::Rows rows;
  for (const char* name : {"balanced_accuracy", "average_precision", "rmse", "mae", "r2"})
    if (metrics.contains(name))
      rows.push_back({name, shown_metric(metrics, name),
                      constants.contains(name) ? shown_metric(constants, name) : std::string()});
  return rows.empty() ? "" : html::table({"of the final model", "this run", "best constant"}, rows);
}

std::string table_of_classes(const RunRecord& run) {
  html::Rows rows;
  for (const Json& part : run.assessment.value("by_class", Json::array())) {
    rows.push_back({shown(part.at("class")), shown(part.at("records"))});
    for (const char* name : {"precision", "recall", "f1"})
      rows.back().push_back(shown_metric(part.at("metrics"), name));
  }
  return rows.empty() ? "" : html::table({"class", "records", "precision", "recall", "F1"}, rows);
}

std::string confusion_part(const RunRecord& run) {
  constexpr std::size_t most = 10;  // that a page shows side by side
  if (!run.assessment.contains("confusion")) return "";
  const Confusion c = confusion_of(run);
  std::string out = "<h3>Which classes are confused</h3>\n";
  if (c.classes.size() > most)
    return out +
           html::paragraph(fmt::format("{} classes: dpmpi evaluate {} --json tells.", c.classes.size(), run.name));
  return out + html::paragraph("Records of each class (rows) that were taken for a class (columns).") +
         confusion_table(c) + table_of_classes(run);
}

std::string calibration_part(const RunRecord& run) {
  if (!run.assessment.contains("calibration")) return "";
  Plot plot{"predicted probability",
            "share that was so",
            {{"the model", {}, true}, {"as it should be", {{0, 0}, {1, 1}}, false, Plot::reference}}};
  for (const Json& bin : run.assessment["calibration"])
    if (bin.at("records").get<double>() > 0)
      plot.lines[0].points.emplace_back(bin.at("predicted").get<double>(), bin.at("found").get<double>());
  const Json& error = run.assessment.value("metrics", Json::object()).value("calibration_error", Json());
  const Json classes = run.assessment.value("classes", Json::array());
  const bool sign = !classes.empty() && classes.front() == "-1";
  return "<h3>Whether its probabilities can be believed</h3>\n" +
         html::paragraph(fmt::format(
             "Records in ten groups by the probability that the model gives to {}, against the share of them for which "
             "that was so. {}",
             sign ? "+1" : "the class that it predicts",
             error.is_number() ? fmt::format("They differ by {} on average.", measured(error.get<double>()))
                               : "")) +
         figure(plot);
}

}  // namespace

std::vector<Plot::Line> lines_of(const std::vector<RunRecord>& runs, const std::string& x, const std::string& y) {
  std::vector<Plot::Line> lines;
  for (std::size_t r = 0; r < runs.size(); ++r)
    lines.push_back({runs.size() > 1 ? runs[r].name : "", runs[r].curve(x, y), false, static_cast<int>(r)});
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
  const bool one = runs.size() == 1;
  const bool beside =
      one && std::ranges::any_of(names, [&](const auto& name) { return of_constant(runs[0], name).has_value(); });
  std::vector<std::string> head{"at the end"};
  for (const RunRecord& run : runs) head.push_back(one ? "this run" : run.name);
  if (beside) head.emplace_back("best constant");
  html::Rows rows;
  for (const auto& name : names) {
    rows.push_back({name});
    for (const RunRecord& run : runs) rows.back().push_back(shown_or(run.last(name), ""));
    if (beside) rows.back().push_back(shown_or(of_constant(runs[0], name), ""));
  }
  return html::table(head, rows);
}

std::string result_tile(const RunRecord& run) {
  const std::string metric = main_metric(run);
  const auto value = run.last(metric);
  if (const std::string held_out = held_out_tile(run); !value && !held_out.empty()) return held_out;
  if (!value) return html::tile("?", "result", not_measured(run));
  const bool share = metric == "eval.accuracy";
  const auto text = [&](double x) { return share ? shown_share(x) : measured(x); };
  const Json& records = run.assessment.value("records", Json());
  std::string sentence =
      fmt::format("On {} public records.", records.is_number() ? shown_count(records.get<double>()) : "the");
  if (const auto constant = of_constant(run, metric))
    sentence += share ? fmt::format(" Always saying the most frequent class: {}.", text(*constant))
                      : fmt::format(" Always saying the same: {}.", text(*constant));
  return html::tile(text(*value), metric.substr(std::string("eval.").size()), sentence);
}

std::string metrics_section(const std::vector<RunRecord>& runs) {
  const std::string title = html::heading(runs.size() > 1 ? "How good the models are" : "How good the model is");
  const std::vector<std::string> names = metric_names(runs, "eval.");
  if (names.empty() && runs.size() == 1 && runs[0].held_out.is_object()) return "";
  if (names.empty()) return title + html::paragraph(not_measured(runs[0]));
  const bool spends = std::any_of(runs.begin(), runs.end(), spends_on_the_way);
  Gallery gallery;
  for (const auto& name : names) {
    Plot plot{"step", name, lines_of(runs, "step", name)};
    const auto constant = runs.size() == 1 ? of_constant(runs[0], name) : std::nullopt;
    if (const auto& points = plot.lines[0].points; constant && points.size() > 1)
      plot.lines.push_back({"best constant",
                            {{points.front().first, *constant}, {points.back().first, *constant}},
                            false,
                            Plot::reference});
    gallery.add(plot);
    if (spends) gallery.add({"epsilon spent", name, lines_of(runs, "epsilon", name)});
  }
  if (spends) gallery.add({"step", "epsilon spent", lines_of(runs, "step", "epsilon")});
  return title +
         html::paragraph(std::string("Measured on data.eval, whose records are treated as public.") +
                         (runs.size() > 1 ? ""
                                          : " The best constant says the same of every record, and was chosen "
                                            "with these records in hand.")) +
         last_values(runs, names) + (runs.size() > 1 ? "" : further_values(runs[0])) + gallery.markup();
}

std::string assessment_section(const RunRecord& run) {
  const std::string confusion = confusion_part(run), calibration = calibration_part(run);
  if (confusion.empty()) return calibration;
  return calibration.empty() ? confusion : html::beside(confusion, calibration);
}

std::string roc_section(const std::vector<RunRecord>& runs) {
  Plot plot{"false positives", "true positives", {}};
  html::Rows rows;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    const RunRecord::Curve& roc = runs[r].roc;
    if (roc.empty()) continue;
    plot.lines.push_back({runs.size() > 1 ? runs[r].name : "the model", roc, false, static_cast<int>(r)});
    rows.push_back({runs.size() > 1 ? runs[r].name : "the model"});
    for (const double rate : {0.01, 0.05, 0.1, 0.2}) {
      const auto after = std::find_if(roc.begin(), roc.end(), [&](const auto& p) { return p.first > rate; });
      rows.back().push_back(shown_share(after == roc.begin() ? 0 : std::prev(after)->second));
    }
  }
  if (rows.empty()) return "";
  plot.lines.push_back({"guessing", {{0, 0}, {1, 1}}, false, Plot::reference});
  return html::heading("ROC curve") +
         html::beside(
             html::paragraph("Of the final model on data.eval: the share of the records labelled +1 that a "
                             "threshold finds, for the share of the others that it takes for such. The area "
                             "under it is eval.auc.") +
                 html::table({"found at", "1 %", "5 %", "10 %", "20 %"}, rows),
             figure(plot));
}

}  // namespace dpmpi
