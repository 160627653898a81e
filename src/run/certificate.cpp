#include "dpmpi/run/certificate.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "dpmpi/privacy/accountant.hpp"

namespace dpmpi {
namespace {

// Six digits, rounded up: a promise in words must not be smaller than the number.
std::string rounded_up(double x) {
  const double unit = std::pow(10.0, std::floor(std::log10(x)) - 5);
  return fmt::format("{:.6g}", std::ceil(x / unit) * unit);
}

std::string statement(const RunConfig& config, const PublicFacts& facts, double epsilon, double delta) {
  if (config.privacy.seeded()) return "NOT PRIVATE: the noise was drawn from privacy.seed, which anybody may know.";
  if (!config.method->is_private()) return fmt::format("NOT PRIVATE: {} adds no noise.", config.method_name);
  if (std::isinf(epsilon)) return "NOT PRIVATE: the noise is too small for any bound.";
  const char* change = facts.adjacency == Adjacency::add_remove ? "adding or removing one record"
                                                                : "replacing one record by another";
  const char* whom = config.privacy.trust == "root" ? "" : " Every rank of the job is trusted with un-noised sums.";
  return fmt::format(
      "Everything released by this run, the model and every iterate, is ({}, {})-differentially private: "
      "{} among "
      "{} changes the probability of any outcome by at most a factor e^{}, except with probability {}. It "
      "says "
      "nothing about data.eval, which is treated as public, nor about how the settings were chosen.{}",
      rounded_up(epsilon), rounded_up(delta), change, facts.data.records, rounded_up(epsilon), rounded_up(delta),
      whom);
}

}  // namespace

std::string certificate_json(const RunConfig& config, const PublicFacts& facts, const Plan& plan,
                             const Ledger& ledger, const std::string& commitment) {
  using json = nlohmann::ordered_json;
  RdpAccountant accountant(plan.adjacency);
  const bool noisy = config.method->is_private();
  if (noisy) accountant.compose(ledger.events());
  const double composed = noisy ? accountant.epsilon(plan.delta) : std::numeric_limits<double>::infinity();
  const auto number = [](double x) { return std::isinf(x) ? json("infinity") : json(x); };
  const double epsilon = config.privacy.seeded() ? std::numeric_limits<double>::infinity() : composed;

  json out;
  out["epsilon"] = number(epsilon);
  out["delta"] = plan.delta;
  out["adjacency"] = name(plan.adjacency);
  out["statement"] = statement(config, facts, epsilon, plan.delta);
  out["by"] = {{"rdp", number(composed)}};
  out["trust"] = config.privacy.trust;
  out["method"] = config.method_name;
  out["objective"] = config.objective_name;
  out["n"] = facts.data.records;
  out["dim"] = facts.objective->dim();
  out["steps"] = plan.steps;
  double slack = 0;
  for (const auto& query : plan.queries) slack = std::max(slack, query.eta);
  out["numerical_slack"] = slack;
  if (noisy) out["noise"] = config.privacy.noise;
  out["released"] = "every iterate and the final model";
  out["seeded"] = config.privacy.seeded();
  out["config_digest"] = config.digest();
  out["data_commitment"] = commitment;
  out["ledger_head"] = ledger.head();
  out["version"] = DPMPI_VERSION;
  return out.dump(2) + "\n";
}

}  // namespace dpmpi
