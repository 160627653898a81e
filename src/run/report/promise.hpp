#pragma once
// What a run promises to those whose records it used: the top of its page.

#include <string>
#include <vector>

#include "run/report/run_record.hpp"

namespace dpmpi {

/// What a reader must know before anything else: which runs promise nothing, and which have not ended.
std::string alarms(const std::vector<RunRecord>& runs);
/// Epsilon, delta and the number of records as large numbers.
std::string promise_tiles(const RunRecord& run);
/// Two sentences on what this epsilon means, and the certificate's own words.
std::string promise_section(const RunRecord& run);
/// What attackers can find out at most, and what they did find out in games.
std::string attacker_section(const RunRecord& run);

/// "adding or removing one record"
std::string neighbours(const RunRecord& run);

}  // namespace dpmpi
