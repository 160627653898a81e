#pragma once
// Does the folder of a look say what its terms make of it? The promise is planned again, the ledger's lines with
// it, the cost of all looks up to this one, and the metrics from the counts. Needs no record and no key.

#include <string>
#include <vector>

#include "run/certify/verify.hpp"

namespace dpmpi {

/// Whether a folder is that of a look, and not of a run. Local.
bool is_look(const std::string& folder);

/// Every check up to the first bad one, which is the last item then.
std::vector<VerifiedItem> verify_look(const std::string& folder);

/// Those of all looks in a run's directory, in the order of their numbers; that they are looks at this run's model;
/// and that no two of them tell different stories of the same people. None if there are none.
std::vector<VerifiedItem> verify_looks(const std::string& run);

}  // namespace dpmpi
