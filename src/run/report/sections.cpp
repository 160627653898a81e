#include "run/report/sections.hpp"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "run/report/html.hpp"
#include "run/report/numbers.hpp"
#include "run/report/plot.hpp"
#include "run/report/result.hpp"

namespace dpmpi {
namespace {

using Json = RunRecord::Json;

std::string count_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? shown_count(found->get<double>()) : "";
}

/// As everywhere in the page, unless that is another number.
std::string typed(const Json& delta) {
  const std::string text = shown(delta);
  return delta.is_number() && std::strtod(text.c_str(), nullptr) != delta.get<double>() ? delta.dump() : text;
}

}  // namespace

std::string training_section(const RunRecord& run) {
  const Json method = run.plan.value("method", Json::object()), data = run.plan.value("data", Json::object());
  const Json& sites = run.plan.at("noise");
  html::Rows rows{{"model", shown(run.plan.value("objective", Json("?")))},
                  {"method", shown(method.value("name", Json("?")))},
                  {fmt::format("{} (n)", plural(run.unit())), count_of(run.plan, "n")},
                  {"held out", count_of(run.plan.value("evaluation", Json::object()), "n")},
                  {"features", count_of(data, "features")},
                  {"parameters (d)", count_of(run.plan, "dim")},
                  {"batch, expected", sites.empty() ? "" : shown(sites.at(0).value("batch", Json("")))},
                  {"steps", count_of(run.plan, "steps")},
                  {"blocks", run.setting("data.blocks") == "0" ? "" : std::string(run.setting("data.blocks"))},
                  {"trusted", run.setting("privacy.trust") == "cluster" ? "every process of the job with exact sums"
                                                                        : "process 0 of the job with exact sums"},
                  {"begun on", run.begun.empty() ? "" : run.begun + " (the date of plan.json, UTC)"},
                  {"dpmpi", run.finished() ? shown(run.certificate.value("version", Json("?"))) : ""}};
  std::erase_if(rows, [](const auto& row) { return row[1].empty(); });
  return html::heading("How it was trained") + html::facts(rows);
}

std::string chosen_section(const RunRecord& run) {
  if (run.metrics.empty() || !run.metrics.back().contains("tuned")) return "";
  html::Rows rows;
  for (const Json& setting : run.metrics.back()["tuned"]) {
    const std::string text = shown(setting);
    const std::size_t equals = std::min(text.find('='), text.size());
    rows.push_back({text.substr(0, equals), text.substr(std::min(equals + 1, text.size()))});
  }
  return html::heading("What was chosen") +
         html::paragraph("Settings that the search found; what the choice costs is in the promise.") +
         html::facts(rows);
}

std::string method_section(const std::vector<RunRecord>& runs) {
  const std::vector<std::string> names = metric_names(runs, "method.");
  if (names.empty()) return "";
  Gallery gallery;
  for (const auto& name : names) gallery.add({"step", name, lines_of(runs, "step", name)});
  return html::heading("The method's state") +
         html::paragraph("Public numbers that the method follows by itself.") + last_values(runs, names) +
         gallery.markup();
}

std::string samples_section(const RunRecord& run) {
  if (run.picture.empty()) return "";
  return html::heading("Samples") + html::image(run.picture, "samples of the model");
}

std::string settings_section(const RunRecord& run) {
  html::Rows rows;
  for (const auto& [name, value] : run.settings) rows.push_back({name, value});
  return html::heading("Settings") + html::details("all settings", html::facts(rows));
}

std::string evidence_section(const RunRecord& run) {
  html::Rows rows;
  const Json digests = run.finished() ? run.certificate : Json::object();
  for (const auto& [name, value] : digests.items())
    if (name.ends_with("_digest") || name == "data_commitment" || name == "ledger_head" || name == "program")
      rows.push_back({name, shown(value)});
  return html::heading("Check it") +
         html::paragraph("dpmpi verify " + run.name +
                         " compares the files of the run with each other; dpmpi account " + run.name +
                         "/ledger.jsonl --delta " + typed(run.plan.at("delta")) +
                         " computes epsilon from the ledger again.") +
         (rows.empty() ? "" : html::details("digests (SHA-256)", html::facts(rows)));
}

}  // namespace dpmpi
