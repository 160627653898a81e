#pragma once
// What a run refuses before it begins or goes on, because the certificate would not be true.

#include <string>

#include "dpmpi/data/options.hpp"

namespace dpmpi {

/// Throws PrivacyError if data.eval is also a training file: metrics on private records would be releases that
/// nobody accounts for. Local (a file that this rank cannot see is not compared).
void refuse_private_evaluation(const DataOptions& data);

/// The program that this process runs: its bytes and the processor features that choose its arithmetic. A step that
/// is replayed by another program could round differently, and the same noise on two different sums gives their
/// difference away. Local; throws DataError if the program's file cannot be read.
std::string program_digest();

}  // namespace dpmpi
