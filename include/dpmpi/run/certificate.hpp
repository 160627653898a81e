#pragma once
// certificate.json: the guarantee of a finished run, in numbers and in plain words.

#include <string>

#include "dpmpi/privacy/ledger.hpp"
#include "dpmpi/run/plan.hpp"

namespace dpmpi {

/// Deterministic JSON text. epsilon is recomputed from the ledger, not taken from the plan; it is "infinity" for
/// seeded noise and for methods without noise.
std::string certificate_json(const RunConfig& config, const PublicFacts& facts, const Plan& plan,
                             const Ledger& ledger, const std::string& commitment);

}  // namespace dpmpi
