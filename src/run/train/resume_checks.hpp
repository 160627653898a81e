#pragma once
// What a run that goes on must still be: the same config, program, ledger, place and data. The noise of a step is a
// function of the key, so the same noise on another sum would give the difference of the two sums away.

#include <string>

#include "privacy/events/ledger.hpp"
#include "run/config/config.hpp"
#include "run/directory/checkpoint.hpp"
#include "run/directory/key_file.hpp"
#include "run/train/input_checks.hpp"

namespace dpmpi {

/// Throws, with what differs and what to do, unless the run in `directory` can go on from `checkpoint`: ConfigError
/// for other settings, PrivacyError for another program, ledger or place. Root only; needs no data.
void check_continuation(const std::string& directory, const Checkpoint& checkpoint, const KeyRecord& key,
                        const RunConfig& config, const ProgramIdentity& program, const Ledger& ledger);

/// Throws DataError unless the commitment to the data that were read is the one that the run began with.
void check_same_data(const std::string& directory, const Checkpoint& checkpoint, const KeyRecord& key,
                     const std::string& commitment);

/// The same for the ledger of models that the objective trains on private records, `file`: PrivacyError unless it
/// goes on from what the checkpoint has seen, and DataError unless its header has the commitment to the data.
void check_training_ledger(const std::string& file, const Checkpoint& checkpoint, const Ledger& ledger);
void check_same_training_data(const std::string& directory, const Ledger& ledger, const std::string& commitment);

/// The same for the ledger of the held-out records, `file`, of which no checkpoint has seen a line: its header has
/// to be `header`, which the run began it with. DataError where only the commitment to the data differs, else
/// PrivacyError.
void check_evaluation_ledger(const std::string& file, const Ledger& ledger, const std::string& header);

}  // namespace dpmpi
