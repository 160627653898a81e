#include "run/certify/metrics_lines.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/files/untrusted_json.hpp"
#include "method/tuning/training_name.hpp"
#include "privacy/accountants/accountant.hpp"
#include "run/certify/stated_files.hpp"

namespace dpmpi {
namespace {

using nlohmann::json;

/// What a look at data.eval finds.
bool is_of_look(const std::string& name) {
  return name.starts_with("constant.") || name.starts_with("clip.") || name == "warnings";
}

// A run that chose says what, and with which score; a law that may draw no training may leave both out.
void check_choice(const json& line, const RepetitionLaw& law, const std::string& place) {
  const json score = line.value("method.score", json());
  const bool scored = score.is_number() && std::isfinite(score.get<double>());
  const bool none = !line.contains("tuned") && !line.contains("method.score");
  if (none && law.distribution == Repetitions::poisson) return;
  if (!line.contains("tuned")) throw Failure{place, "lacks tuned, the settings that the run chose"};
  if (!scored) throw Failure{place, "method.score, of the settings that the run chose, is not a finite number"};
}

/// What a line says of the method's own numbers.
std::vector<Measure> measures_of(const json& line) {
  constexpr std::string_view prefix = "method.";
  std::vector<Measure> all;
  for (const auto& [name, value] : line.items())
    if (name.starts_with(prefix) && value.is_number())
      all.push_back({name.substr(prefix.size()), value.get<double>()});
  return all;
}

// Whether settings are among those of which a run chose.
bool is_candidate(const json& settings, const Plan& plan) {
  const auto* best = plan.queries.front().as<BestOfRuns>();
  if (best == nullptr || best->candidates == nullptr || !settings.is_array()) return false;
  std::vector<std::string> texts;
  for (const json& setting : settings) texts.push_back(setting.is_string() ? setting.get<std::string>() : "");
  const std::string name = training_name(texts);
  return std::ranges::any_of(*best->candidates, [&](const RunCandidate& each) { return each.name == name; });
}

}  // namespace

// Epsilon of the steps done, of every line, by the accountant of the promise.
void check_metrics(const RunConfig& config, const DerivedRun& run, const std::vector<std::string>& lines,
                   const json& tested, std::string& place) {
  const Plan& plan = run.plan;
  const auto spent = make_accountant(config.privacy.accountant, plan.adjacency);
  std::uint64_t done = 0;
  std::vector<Measure> measured;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    place = fmt::format("metrics.jsonl:{}", i + 1);
    const json line = parsed(lines[i], place), number = line.value("step", json());
    const std::uint64_t step = number.is_number_unsigned() ? number.get<std::uint64_t>() : 0;
    const bool start = i == 0 && number == 0;  // which is public, and costs nothing
    if (!start && (step <= done || step > plan.steps || !plan.method->releases(step)))
      throw Failure{place, fmt::format("step {} is none that the run shows there", shown_json(number))};
    json expected{{"step", step}, {"epsilon", "infinity"}};
    if (config.is_private()) {
      if (!start) spent->compose(plan.events(done, step));
      expected["epsilon"] = start ? json(0.0) : json::parse(json(spent->epsilon(plan.delta())).dump());
    }
    for (const auto& [name, value] : line.items())
      if (name.starts_with("eval.") || name.starts_with("method.") || is_of_look(name) ||
          (name.starts_with("test.") && plan.evaluation && step == plan.steps && tested.is_null()) ||
          (name == "tuned" && (config.trainer() || is_candidate(value, plan))))
        expected[name] = value;
    if (step == plan.steps && !tested.is_null()) expected.update(tested);
    same(place, line, expected, tested.is_null() ? "the ledger" : "the ledger, with evaluation.json,");
    if (config.tunes() && !start) check_choice(line, config.tune.law, place);
    if (!start) {
      std::vector<Measure> now = measures_of(line);
      if (const std::string wrong = plan.method->contradiction(measured, now, step - done); !wrong.empty())
        throw Failure{place, wrong};
      measured = std::move(now);
    }
    refuse_other_writing(place, lines[i], -1);
    done = step;
  }
  if (done != plan.steps) throw Failure{"metrics.jsonl", "lacks the line of the last step"};
}

}  // namespace dpmpi
