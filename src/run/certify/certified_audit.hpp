#pragma once
// The result of an audit, as a certificate quotes it.

#include <string>

namespace dpmpi {

/// What a certificate says of the audit in this file, as JSON text: confidence, games and bounds. Throws DataError
/// if it is no audit's result, PrivacyError if it is one of another config (RunConfig::digest) or of another
/// promise than (epsilon, delta), or found a bound above it. Local.
std::string certified_audit(const std::string& path, const std::string& config_digest, double epsilon,
                            double delta);

}  // namespace dpmpi
