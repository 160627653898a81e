#pragma once
// certificate.json: the guarantee of a finished run, in numbers and in plain words.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/numbers/random.hpp"
#include "privacy/promise/guarantee.hpp"
#include "run/plan/plan.hpp"

namespace dpmpi {

/// What it records of the models that were trained on a second private set.
struct TrainingProvenance {
  std::uint64_t trained = 0;  ///< how many there were
  std::string head;           ///< SHA-256 of the last line of training_ledger.jsonl
  std::string commitment;     ///< keyed, to the trainer's data
};

/// What it records of the evaluation on held-out records.
struct EvaluationProvenance {
  std::vector<Event> events = {};  ///< of evaluation_ledger.jsonl
  std::string head = {};           ///< SHA-256 of its last line
  std::string commitment = {};     ///< keyed, to these records
  std::string generator = {};      ///< key check value of the noise
  std::string results = {};        ///< SHA-256 of evaluation.json
};

/// What the certificate records of a run beside its plan.
struct Provenance {
  std::vector<Event> events = {};                      ///< of the ledger
  std::string head = {};                               ///< SHA-256 of its last line
  std::string commitment = {};                         ///< keyed, to the data
  std::string program = {};                            ///< digest of the program and processor kind
  std::map<std::string, std::string> generators = {};  ///< key check value of every secret stream
  std::string model = {}, metrics = {};  ///< SHA-256 of the parameters (safetensors_digest) and of metrics.jsonl
  std::string public_models = {};   ///< SHA-256 of the public files on which models are trained; empty: none are
  std::string training_files = {};  ///< Dataset::digest_of_matches of data.train
  std::string audit = {};           ///< certified_audit(); empty: none
  std::string preparation = {};     ///< SHA-256 of preparation.json; empty: there is none
  std::optional<TrainingProvenance> training = {};
  std::optional<EvaluationProvenance> evaluation = {};
};

/// Where the proof is that the method's releases are the events that are accounted for.
std::string theorem(const std::string& method);

/// The promise in words, with its numbers rounded up; `n`: the number of records.
std::string statement(const RunConfig& config, std::uint64_t n, double epsilon, double delta);
/// The same for objective.trainer's people, of whose records (n of them) `runs` models at most are trained by
/// `config`, and for who is in both sets.
std::string training_statement(const RunConfig& config, std::uint64_t n, std::uint64_t runs, double epsilon,
                               double delta);
std::string both_statement(const RunConfig& config, double epsilon, double delta);

/// To those whose records were held out (n of them), and to all whose records the run has.
std::string evaluation_statement(const RunConfig& config, std::uint64_t n, double epsilon, double delta);
std::string whole_statement(const RunConfig& config, std::uint64_t n, double epsilon, double delta);

/// The key of an evaluation on held-out records.
SecretKey evaluation_key(const SecretKey& run_key);
/// The key check value of its noise.
std::string evaluation_commitment(const SecretKey& run_key);

/// Key check values: what HMAC says about a fixed text under each stream's key. They bind the run to its
/// generators, so that a key that was kept can be recognised, and say nothing about their output. `blocks`: how
/// many selection keys there are.
std::map<std::string, std::string> generator_commitments(const SecretKey& key, std::uint32_t blocks);

/// The certificate's guarantee: of the events in the ledger by privacy.accountant, not taken from the plan; epsilon
/// is infinity for seeded noise and for runs without noise.
Guarantee certified(const std::vector<Event>& events, bool is_private, Adjacency adjacency, double delta,
                    const std::string& accountant);

/// Deterministic JSON text; never a secret.
std::string certificate_json(const RunConfig& config, const PublicFacts& facts, const Plan& plan,
                             const Provenance& provenance);

}  // namespace dpmpi
