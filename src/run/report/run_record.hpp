#pragma once
// What a run directory says, read for its report.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "data/records/unit.hpp"
#include "run/directory/safetensors.hpp"

namespace dpmpi {

struct RunRecord {
  using Json = nlohmann::ordered_json;
  using Curve = std::vector<std::pair<double, double>>;

  std::string directory, name;
  Json plan, certificate;  ///< certificate: null while the run is not finished
  std::vector<Json> metrics, times;
  std::vector<std::pair<std::string, std::string>> settings;  ///< "section.key" and value, in the file's order
  std::string picture;                                        ///< samples.png, or empty
  Curve roc;                                                  ///< false and true positives: roc.json, or empty
  Json assessment = Json::object();                           ///< assessment.json, or empty
  Json held_out;                                              ///< evaluation.json, or null
  std::optional<Tensor> weights;                              ///< of a finished linear model: a row a class, or one
  std::string begun;                                          ///< the day of plan.json (UTC)

  bool finished() const { return certificate.is_object(); }
  bool is_private() const { return epsilon().is_number() && !seeded(); }
  /// The certificate's, while there is none the plan's.
  const Json& promise() const { return finished() ? certificate : plan; }
  /// Of that; a string where it is infinite.
  const Json& epsilon() const { return promise().at("epsilon"); }
  Unit unit() const { return plan.contains("unit") ? Unit::person : Unit::record; }
  /// What the config says; empty: nothing.
  std::string_view setting(std::string_view key) const;
  /// Names of what metrics.jsonl follows that begin with `prefix` ("eval." for "eval.loss", ...).
  std::vector<std::string> metric_names(const std::string& prefix) const;
  /// (step or epsilon spent, value) of a metric; "step" and "epsilon" are metrics too.
  Curve curve(const std::string& x, const std::string& y) const;
  /// The last value of a metric.
  std::optional<double> last(const std::string& metric) const;

 private:
  bool seeded() const;
};

/// Throws ConfigError, DataError.
RunRecord read_run(const std::string& directory, bool times);

}  // namespace dpmpi
