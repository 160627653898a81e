#pragma once
// What a finished run leaves: certificate, metrics, audit and model, and nothing of its key.

#include <cstdint>
#include <memory>
#include <optional>

#include "run/certify/derived_run.hpp"
#include "run/certify/findings.hpp"
#include "run/certify/stated_files.hpp"
#include "run/config/config.hpp"

namespace dpmpi {

/// The files from which the end follows, verified.
struct VerifiedSoFar {
  std::shared_ptr<const RunConfig> config;
  Document plan;
  const DerivedRun* derived = nullptr;  ///< null: it was not derived
  LedgerText ledger;
  bool complete = false;                 ///< it has every line of the plan
  std::optional<LedgerText> trainings;   ///< of a run that trains models on a second private set
  std::uint64_t trained = 0;             ///< how many they are
  bool all_whole = true;                 ///< with every line of the last
  std::optional<LedgerText> evaluation;  ///< of a run that keeps records out of training
  bool evaluated = false;                ///< it has every line of the plan
  MakeResults make_results;              ///< of its file; may be empty

  [[noreturn]] void refuse_uncovered() const {
    throw Failure{ledger.file, "does not cover plan.json, though the run has a certificate"};
  }
};

/// Adds to `found` what is said of the end of a run, or that it has none yet; throws Failure at the first thing
/// that is wrong.
void verify_end(VerifiedItems& found, const VerifiedSoFar& run);

}  // namespace dpmpi
