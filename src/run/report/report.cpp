#include "run/report/report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/errors.hpp"
#include "privacy/events/event.hpp"
#include "privacy/events/planned_events.hpp"
#include "privacy/promise/attacker_curve.hpp"
#include "privacy/promise/guarantee.hpp"
#include "run/report/html.hpp"
#include "run/report/pictures.hpp"
#include "run/report/plot.hpp"
#include "run/report/run_record.hpp"
#include "run/report/warnings_section.hpp"

namespace dpmpi {
namespace {

using Json = RunRecord::Json;
using Rows = std::vector<std::vector<std::string>>;

std::string text_of(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return fmt::format("{:.6g}", value.get<double>());
  return value.dump();
}

/// Of an upper bound: what people read must not be smaller.
std::string bound_text(const Json& value) {
  return value.is_number() ? rounded_up(value.get<double>()) : text_of(value);
}

// ---- One run

/// Of a search whose models were trained on private records of other people.
std::string second_set(const RunRecord& run) {
  const Json& source = run.finished() ? run.certificate : run.plan;
  if (!source.contains("training") || !source.contains("both")) return "";
  std::string out = html::heading("To those on whose records models are trained");
  Rows rows;
  for (const auto& [part, who] : {std::pair{"training", "who is there"}, {"both", "who is in both sets"}}) {
    const Json& promise = source.at(part);
    rows.push_back({who, "epsilon " + bound_text(promise.value("epsilon", Json())),
                    "delta " + text_of(promise.value("delta", Json()))});
    if (run.finished()) out += html::paragraph(text_of(promise.value("statement", Json())));
  }
  return out + html::table({}, rows);
}

std::string privacy(const RunRecord& run) {
  const Json& source = run.finished() ? run.certificate : run.plan;
  if (!run.is_private())
    return "<p class=\"alarm\"><b>NOT PRIVATE.</b> " +
           html::escape(run.finished() ? text_of(run.certificate.value("statement", Json()))
                                       : "Epsilon is infinite.") +
           "</p>\n";
  std::string out = fmt::format("<p class=\"big\">epsilon {} at delta {}</p>\n",
                                rounded_up(run.epsilon().get<double>()), html::escape(text_of(source.at("delta"))));
  if (!run.finished())
    out +=
        "<p class=\"alarm\"><b>Not finished.</b> This is what was promised for the whole run. There is no "
        "certificate yet; go on with: dpmpi resume " +
        html::escape(run.name) + "</p>\n";
  else
    out += html::paragraph(text_of(run.certificate.value("statement", Json())));
  const Json& interval = source.at("interval");
  Rows rows{{"neighbours", text_of(source.at("adjacency"))},
            {"epsilon lies in", fmt::format("[{}, {}]", text_of(interval.at(0)), bound_text(interval.at(1)))}};
  for (const auto& [accountant, bound] : source.at("by").items())
    rows.push_back({"at most, by " + accountant, bound_text(bound)});
  return out + html::table({}, rows) + second_set(run);
}

/// What attackers find at these rates at most, by the plan's events.
std::vector<double> curve_of(const RunRecord& run, const std::vector<double>& rates) {
  const std::vector<Event> events = planned_events(run.plan, run.directory + "/plan.json");
  Guarantee guarantee{run.epsilon().get<double>(), run.plan.at("delta").get<double>()};
  for (const auto& [accountant, bound] : run.plan.at("by").items())
    if (bound.is_number()) guarantee.by.emplace_back(accountant, bound.get<double>());
  const auto adjacency = parse_adjacency(run.plan.at("adjacency").get<std::string>());
  return attacker_curve(events, adjacency.value_or(Adjacency::add_remove), guarantee, rates);
}

std::string attack(const RunRecord& run) {
  if (!run.is_private()) return "";
  Rows rows;
  for (const auto& [rate, power] : run.plan.at("attacker").items()) {
    const double known = std::strtod(rate.c_str(), nullptr);
    if (!(known > 0 && known <= 1))
      throw DataError(fmt::format("{}/plan.json: {} is no rate of false alarms", run.directory, rate));
    rows.push_back({fmt::format("{:g} %", 100 * known), rounded_up(100 * power.get<double>()) + " %"});
  }
  Plot plot{"false alarms", "members found, at most", {{"this run", {}}, {"guessing", {}}}, true};
  std::vector<double> rates;
  for (int i = 0; i < 60; ++i) rates.push_back(std::pow(10.0, -4 + i / 15.0));
  const std::vector<double> found = curve_of(run, rates);
  for (std::size_t i = 0; i < rates.size(); ++i) {
    plot.lines[0].points.emplace_back(rates[i], found[i]);
    plot.lines[1].points.emplace_back(rates[i], rates[i]);
  }
  for (Plot::Line& line : plot.lines) line.points.emplace_back(1, 1);
  Gallery gallery("attacker");
  gallery.add(plot);
  return html::heading("What an attacker can find out") +
         html::paragraph(
             "Somebody who knows all records but one, sees everything that was released, and wants to know whether "
             "that one took part, finds at most this share of the members for this share of false alarms, by all accountants.") +
         html::table({"false alarms", "members found"}, rows) + gallery.markup();
}

/// What the certificate says of games that were played with the config: bounds from below.
std::string audit(const RunRecord& run) {
  if (!run.finished() || !run.certificate.contains("audit")) return {};
  const Json& result = run.certificate["audit"];
  Rows rows;
  for (const Json& game : result.at("games"))
    if (game.contains("bound"))
      rows.push_back({text_of(game.at("game")), text_of(game.at("bound")), text_of(game.value("runs", Json())),
                      text_of(game.value("test", Json()))});
  return html::heading("What attackers did find out") +
         html::paragraph("Attackers played against this config's mechanism (dpmpi audit). With confidence " +
                         text_of(result.at("confidence")) +
                         ", epsilon is no smaller than these bounds; accounting says that it is no larger than " +
                         text_of(result.at("epsilon")) + ".") +
         html::table({"game", "epsilon at least", "runs", "test"}, rows);
}

/// What a search found: settings that were chosen in private.
std::string tuned(const RunRecord& run) {
  if (run.metrics.empty() || !run.metrics.back().contains("tuned")) return "";
  Rows rows;
  for (const Json& setting : run.metrics.back()["tuned"]) {
    const std::string text = text_of(setting);
    const std::size_t equals = std::min(text.find('='), text.size());
    rows.push_back({text.substr(0, equals), text.substr(std::min(equals + 1, text.size()))});
  }
  return html::heading("What was chosen") +
         html::paragraph("Settings that the search found; what the choice costs is in the promise.") +
         html::table({}, rows);
}

std::string releases(const RunRecord& run) {
  Rows rows;
  for (const Json& site : run.plan.at("noise"))
    rows.push_back({text_of(site.value("site", Json())), text_of(site.value("sampling", Json())),
                    text_of(site.value("count", Json())), text_of(site.value("clip", Json())),
                    text_of(site.value("sensitivity", Json())), text_of(site.value("std", Json())),
                    text_of(site.value("noise_multiplier", Json()))});
  return rows.empty()
             ? ""
             : html::heading("What is released") + html::table({"release", "records", "times", "clip",
                                                                "sensitivity", "noise std", "noise multiplier"},
                                                               rows);
}

/// By the plan alone, so of the worst case: how long the sum can be says no more than its clip.
std::string noise_against_signal(const RunRecord& run) {
  Rows rows;
  for (const Json& site : run.plan.at("noise")) {
    const double std = site.value("std", 0.0), batch = site.value("batch", 0.0), clip = site.value("clip", 0.0);
    if (!(std > 0 && batch > 0 && clip > 0)) continue;
    const double noise = std * std::sqrt(site.value("dim", 1.0)), signal = batch * clip;
    rows.push_back({text_of(site.value("site", Json())), fmt::format("{:.4g}", batch),
                    fmt::format("{:.4g}", signal), fmt::format("{:.4g}", noise),
                    fmt::format("{:.3g}", noise / signal), fmt::format("{:.3g}", std / batch)});
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

/// Not where everything is charged when the run begins.
bool spends_on_the_way(const RunRecord& run) {
  const auto spent = run.curve("step", "epsilon");
  return run.is_private() && !spent.empty() && spent.front().second != spent.back().second;
}

std::string metrics(const std::vector<RunRecord>& runs) {
  const std::vector<std::string> names = metric_names(runs, "eval.");
  if (names.empty()) return html::heading("Public metrics") + html::paragraph("None: data.eval is not set.");
  Gallery gallery("metric");
  for (const auto& name : names) {
    gallery.add({"step", name, lines_of(runs, "step", name)});
    if (std::any_of(runs.begin(), runs.end(), spends_on_the_way))
      gallery.add({"epsilon spent", name, lines_of(runs, "epsilon", name)});
  }
  if (std::any_of(runs.begin(), runs.end(), spends_on_the_way))
    gallery.add({"step", "epsilon spent", lines_of(runs, "step", "epsilon")});
  return html::heading("Public metrics") + html::paragraph("On data.eval, which is treated as public.") +
         last_values(runs, names) + gallery.markup();
}

/// "seconds", then its parts; what is left of them is the method's own work, evaluations, checkpoints.
const std::vector<std::string> time_columns{"seconds", "sampling",  "kernels", "noise",
                                            "reduce",  "broadcast", "ledger"};

std::vector<std::string> time_row(const Json& line) {
  std::vector<std::string> row;
  double rest = 0;
  for (const auto& column : time_columns) {
    const double value = line.value(column, 0.0);
    row.push_back(fmt::format("{:.3f}", value));
    rest += column == "seconds" ? value : -value;
  }
  row.push_back(fmt::format("{:.3f}", std::max(0.0, rest)));
  return row;
}

// A run that is not finished has the root's line of its last evaluation.
std::string times(const RunRecord& run) {
  if (run.times.empty()) return "";
  Rows loads, ranks;
  const Json* newest = nullptr;
  for (const Json& line : run.times) {
    if (line.contains("phase")) {
      loads.push_back({text_of(line["phase"]), text_of(line.value("ranks", Json(1))),
                       text_of(line.value("step", Json(0))), text_of(line.value("seconds", Json()))});
      ranks.clear();
    } else if (line.contains("rank")) {
      ranks.push_back(time_row(line));
      ranks.back().insert(ranks.back().begin(), text_of(line["rank"]));
    } else {
      newest = &line;
    }
  }
  if (ranks.empty() && newest) ranks.push_back(time_row(*newest)), ranks[0].insert(ranks[0].begin(), "0");
  std::string out =
      html::heading("Where the time went") +
      "<p class=\"alarm\">Times follow the secret batch sizes: this page must not be published.</p>\n" +
      html::table({"phase", "ranks", "from step", "seconds"}, loads);
  if (ranks.empty()) return out + html::paragraph("Steps of this run tell no times.");
  std::vector<std::string> head{"rank", "all steps"};
  head.insert(head.end(), time_columns.begin() + 1, time_columns.end());
  head.emplace_back("else");
  const std::string table = html::table(head, ranks);
  constexpr std::size_t shown = 16;
  return out +
         html::paragraph(
             "Seconds since the run was last started. A rank that has much under broadcast waits for the root, a "
             "root that has much under reduce waits for the others; else is the method's own work, evaluations and checkpoints.") +
         (ranks.size() > shown ? html::details(fmt::format("{} ranks", ranks.size()), table) : table);
}

std::string settings(const RunRecord& run) {
  Rows rows;
  for (const auto& [name, value] : run.settings) rows.push_back({name, value});
  return html::heading("Settings") + html::details("all settings", html::table({}, rows));
}

std::string evidence(const RunRecord& run) {
  Rows rows;
  const Json digests = run.finished() ? run.certificate : Json::object();
  for (const auto& [name, value] : digests.items())
    if (name.ends_with("_digest") || name == "data_commitment" || name == "ledger_head" || name == "program" ||
        name == "version")
      rows.push_back({name, text_of(value)});
  return html::heading("Check it") +
         html::paragraph("dpmpi verify " + run.name +
                         " compares the files of the run with each other; dpmpi account " + run.name +
                         "/ledger.jsonl --delta " + text_of(run.plan.at("delta")) +
                         " computes epsilon from the ledger again.") +
         (rows.empty() ? "" : html::details("digests (SHA-256)", html::table({}, rows)));
}

std::string page_of(const RunRecord& run) {
  std::string body = privacy(run) + warnings_section({run}) + attack(run) + audit(run) + tuned(run) +
                     metrics({run}) + roc_section({run}) + method_section({run});
  if (!run.picture.empty()) body += html::heading("Samples") + html::image(run.picture, "samples of the model");
  return body + releases(run) + noise_against_signal(run) + running_sum_section(run) + times(run) + settings(run) +
         evidence(run);
}

// ---- Several runs

/// Settings that are not the same in all runs, but for where files lie.
Rows differences(const std::vector<RunRecord>& runs) {
  std::vector<std::string> names;
  std::map<std::string, std::vector<std::string>> values;
  for (std::size_t r = 0; r < runs.size(); ++r)
    for (const auto& [name, value] : runs[r].settings) {
      if (name == "run.dir") continue;
      if (!values.contains(name)) names.push_back(name), values[name].resize(runs.size());
      values[name][r] = value;
    }
  Rows rows;
  for (const auto& name : names) {
    const auto& row = values[name];
    if (std::all_of(row.begin(), row.end(), [&](const auto& value) { return value == row[0]; })) continue;
    rows.push_back({name});
    rows.back().insert(rows.back().end(), row.begin(), row.end());
  }
  return rows;
}

std::string comparison(const std::vector<RunRecord>& runs) {
  std::vector<std::string> head{""};
  Rows promises{{"epsilon"}, {"delta"}, {"neighbours"}, {"state"}};
  for (const RunRecord& run : runs) {
    head.push_back(run.name);
    promises[0].push_back(run.is_private() ? rounded_up(run.epsilon().get<double>()) : "NOT PRIVATE");
    promises[1].push_back(text_of(run.plan.at("delta")));
    promises[2].push_back(text_of(run.plan.at("adjacency")));
    promises[3].push_back(run.finished() ? "finished" : "not finished");
  }
  std::string body = html::heading("Promises") + html::table(head, promises);
  const auto same = [&](const char* key) {
    return std::all_of(runs.begin(), runs.end(),
                       [&](const RunRecord& run) { return run.plan.at(key) == runs[0].plan.at(key); });
  };
  if (!same("adjacency") || !same("delta"))
    body += "<p class=\"alarm\">Epsilons for other neighbours or another delta do not compare.</p>\n";
  body += html::paragraph(
      "Each promise is about its own run. Who sees several runs on the same records has the sum of what they tell: "
      "dpmpi account on all their events.");
  return body + warnings_section(runs) + metrics(runs) + roc_section(runs) + method_section(runs) +
         slope_section(runs) + html::heading("Settings that differ") + html::table(head, differences(runs));
}

}  // namespace

std::vector<std::string> distinct_runs(const std::vector<std::string>& directories) {
  std::vector<std::string> kept;
  for (const auto& directory : directories) {
    std::error_code absent;  // read_run says so
    if (std::none_of(kept.begin(), kept.end(), [&](const std::string& known) {
          return known == directory || std::filesystem::equivalent(known, directory, absent);
        }))
      kept.push_back(directory);
  }
  return kept;
}

std::string report_html(const std::vector<std::string>& directories, bool with_times) {
  std::vector<RunRecord> runs;
  for (const auto& directory : distinct_runs(directories)) runs.push_back(read_run(directory, with_times));
  try {
    if (runs.size() > 1) return html::page(fmt::format("{} runs", runs.size()), comparison(runs));
    const Json& plan = runs[0].plan;
    return html::page(fmt::format("{}: {} by {}", runs[0].name, text_of(plan.value("objective", Json("?"))),
                                  text_of(plan.value("method", Json::object()).value("name", Json("?")))),
                      page_of(runs[0]));
  } catch (const nlohmann::json::exception& e) {  // a value of another type than dpmpi writes
    throw DataError(fmt::format("{}: the files of the run{} are not understood ({})", fmt::join(directories, ", "),
                                runs.size() > 1 ? "s" : "", e.what()));
  }
}

}  // namespace dpmpi
