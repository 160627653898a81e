#include "run/report/held_out.hpp"

#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "data/records/unit.hpp"
#include "run/report/html.hpp"
#include "run/report/numbers.hpp"
#include "run/report/plot.hpp"

namespace dpmpi {
namespace {

using Json = RunRecord::Json;

/// "held out" persons or records.
std::string held_out_units(const RunRecord& run) {
  return fmt::format("{} {}", shown_count(run.held_out.at("held_out").get<double>()), plural(run.unit()));
}

std::string range_text(const Json& estimate) {
  return fmt::format("{} to {}", measured(estimate.at("low").get<double>()),
                     measured(estimate.at("high").get<double>()));
}

std::string table_of_metrics(const RunRecord& run) {
  html::Rows rows;
  for (const auto& [name, estimate] : run.held_out.at("metrics").items()) {
    const bool known = estimate.at("value").is_number();
    rows.push_back({name, known ? measured(estimate["value"].get<double>()) : "too much noise",
                    known ? range_text(estimate) : ""});
  }
  return html::table({"by noisy counts", "the model", "95 % interval"}, rows);
}

/// A curve and the two sides of its band, of estimates that are above these places.
struct Band {
  std::vector<std::pair<double, double>> middle, low, high;
  void add(double x, const Json& estimate) {
    if (!estimate.at("value").is_number()) return;
    middle.emplace_back(x, estimate["value"].get<double>());
    low.emplace_back(x, estimate.at("low").get<double>());
    high.emplace_back(x, estimate.at("high").get<double>());
  }
  std::string figure(const std::string& x, const std::string& y, const std::string& against) const {
    return dpmpi::figure({x,
                          y,
                          {{"the model", middle, true},
                           {"95 % of its values", low, false, 1},
                           {"", high, false, 1},
                           {against, {{0, 0}, {1, 1}}, false, Plot::reference}}});
  }
};

std::string roc_part(const RunRecord& run) {
  if (!run.held_out.contains("roc")) return "";
  Band band;
  for (const Json& point : run.held_out["roc"])
    if (const Json& wrong = point.at("false_positives").at("value"); wrong.is_number())
      band.add(wrong.get<double>(), point.at("true_positives"));
  if (band.middle.empty()) return "";
  return "<h3>ROC curve</h3>\n" +
         html::paragraph(
             "The share of the records labelled +1 that a threshold finds, for the share of the others that it "
             "takes for such. The band is for the first of the two.") +
         band.figure("false positives", "true positives", "guessing");
}

std::string belief_part(const RunRecord& run) {
  if (run.held_out.at("ends") != "probability") return "";
  Band band;
  for (const Json& bin : run.held_out.at("bins"))
    band.add(0.5 * (bin.at("from").get<double>() + bin.at("to").get<double>()), bin.at("share"));
  if (band.middle.empty()) return "";
  return "<h3>Whether its probabilities can be believed</h3>\n" +
         html::paragraph(
             "Records in groups by the probability that the model gives (the middle of each group), "
             "against the share of them for which that was so.") +
         band.figure("predicted probability", "share that was so", "as it should be");
}

/// The first of accuracy and AUC that is known. `of_whom`: what is to be said of them.
std::string quality_tile(const RunRecord& run, std::string_view of_whom) {
  for (const char* name : {"accuracy", "auc"}) {
    const Json estimate = run.held_out.at("metrics").value(name, Json::object());
    if (!estimate.contains("value") || !estimate["value"].is_number()) continue;
    return html::tile(
        measured(estimate["value"].get<double>()), name,
        fmt::format("On {}{}, by noisy counts. 95 %: {}.", held_out_units(run), of_whom, range_text(estimate)));
  }
  return "";
}

std::string metrics_and_curves(const RunRecord& run) {
  const std::string roc = roc_part(run), belief = belief_part(run);
  return table_of_metrics(run) + (roc.empty() || belief.empty() ? roc + belief : html::beside(roc, belief));
}

}  // namespace

std::string held_out_tile(const RunRecord& run) {
  return run.held_out.is_object() ? quality_tile(run, " that the model was not trained on") : "";
}

std::string looked_at_tile(const RunRecord& look) { return quality_tile(look, ""); }

std::string held_out_section(const RunRecord& run) {
  if (!run.held_out.is_object()) return "";
  return html::heading("How good the model is on those whom it has not seen") +
         html::paragraph(fmt::format(
             "Measured on {} that were kept out of training, which are private as well: their counts carry noise, and "
             "keep the promise for them. Intervals cover the noise, and that others could have been held out.",
             held_out_units(run))) +
         metrics_and_curves(run);
}

std::string looked_at_section(const RunRecord& look) {
  return html::heading("How good the model is on these people") +
         html::paragraph(fmt::format(
             "Measured on {} by counts that carry noise. Intervals cover the noise, and that others could have come.",
             held_out_units(look))) +
         metrics_and_curves(look);
}

}  // namespace dpmpi
