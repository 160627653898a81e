#pragma once
// Does a run directory say what its config makes of it? The promise is derived anew from config.ini and the public
// facts, and every file is compared with it; what stands in more than one place is compared with itself. Needs no
// data, no key and no other rank, and loads no plugin.

#include <string>
#include <vector>

#include "run/certify/derived_run.hpp"

namespace dpmpi {

struct VerifiedItem {
  enum class State { good, absent, unchecked, warning, bad };
  State state = State::good;
  std::string place;  ///< file, and line or member, e.g. "ledger.jsonl:12"
  /// What was compared; what is wrong or to be known; why it is not there yet. unchecked: "MEMBER, MEMBER: why
  /// nobody can".
  std::string detail;
};

/// Every check up to the first bad one, which is the last item then. Works on finished and on stopped runs. Throws
/// ConfigError if `run` is not a folder.
std::vector<VerifiedItem> verify_run(const std::string& run);
/// The same with what was derived before, of this config and these facts: cheap. Another config, or other facts in
/// plan.json, are bad then.
std::vector<VerifiedItem> verify_run(const std::string& run, const DerivedRun& derived);

/// What verify_run(run) compares with. Throws as RunConfig and derive_run do.
DerivedRun derive_run(const std::string& run);

}  // namespace dpmpi
