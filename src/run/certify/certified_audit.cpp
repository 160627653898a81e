#include "run/certify/certified_audit.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "core/files/untrusted_json.hpp"

namespace dpmpi {

std::string certified_audit(const std::string& path, const std::string& config_digest, double epsilon,
                            double delta) try {
  const auto result = read_untrusted_json<nlohmann::ordered_json>(path);
  if (result.at("config_digest").get<std::string>() != config_digest)
    throw PrivacyError(fmt::format("{} is the audit of another config: run dpmpi audit with this one", path));
  const auto is_other = [&](const char* member, double promised) {
    return !(std::abs(result.at(member).get<double>() - promised) <=
             1e-9 * promised);  // last digits are a machine's
  };
  if (is_other("epsilon", epsilon) || is_other("delta", delta))
    throw PrivacyError(fmt::format("{}: the audit is of another promise, ({}, {})", path,
                                   result.at("epsilon").get<double>(), result.at("delta").get<double>()));
  bool holds = result.at("holds").get<bool>();
  double bound = 0;
  for (const auto& game : result.at("games")) {
    if (game.contains("not_played")) continue;
    bound = std::max(bound, game.at("bound").get<double>());
    holds = holds && game.at("holds").get<bool>();
    if (!game.contains("by_curve")) continue;
    const auto& curve = game.at("by_curve");
    holds = holds && curve.at("noise").get<double>() > 1 && curve.at("bound").get<double>() <= epsilon;
  }
  if (!holds || bound > epsilon)
    throw PrivacyError(fmt::format("{}: the audit found a bound above the promise", path));
  const double confidence = result.at("confidence").get<double>();
  if (result.at("games").empty() || !(confidence > 0 && confidence < 1) ||
      result.at("bound").get<double>() != bound)
    throw DataError(fmt::format("{}: not what dpmpi audit writes (games, their bounds, confidence)", path));
  nlohmann::ordered_json out;
  for (const char* member : {"confidence", "epsilon", "delta", "bound", "games"}) out[member] = result.at(member);
  return out.dump();
} catch (const nlohmann::json::exception&) {
  throw DataError(fmt::format("{}: not what dpmpi audit writes", path));
}

}  // namespace dpmpi
