#pragma once
// `dpmpi verify`: one line for everything that was checked.

#include <iosfwd>
#include <vector>

#include "run/certify/verify.hpp"

namespace dpmpi {

/// Returns the exit code: 0 if nothing is bad, else 4.
int print_verification(const std::vector<VerifiedItem>& items, bool json, std::ostream& out);

}  // namespace dpmpi
