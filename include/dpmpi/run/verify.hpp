#pragma once
// Do the files of a run directory tell one story? Recomputes what can be recomputed and compares what stands in
// more than one place; needs no data, no key and no other rank.

#include <string>
#include <vector>

namespace dpmpi {

struct VerifiedItem {
  enum class State { good, absent, warning, bad };
  State state = State::good;
  std::string place;   ///< file, and line or member, e.g. "ledger.jsonl:12"
  std::string detail;  ///< what was compared; what is wrong or to be known; why it is not there yet
};

/// Every check up to the first bad one, which is the last item then. Works on finished and on stopped runs. Throws
/// ConfigError if `run` is not a folder.
std::vector<VerifiedItem> verify_run(const std::string& run);

}  // namespace dpmpi
