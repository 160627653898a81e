#pragma once
// dpmpi for C++ programs: plan, account, train, predict. Standard types only; docs/guide/embedding.md has an
// example. Within a major version members are added, and none is changed or removed.

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace dpmpi::library {

/// What the program `dpmpi` would have ended with.
class Error : public std::runtime_error {
 public:
  Error(int exit_code, const std::string& message) : std::runtime_error(message), exit_code_(exit_code) {}
  /// 2 wrong config or argument, 3 unreadable data, 4 refused because it would break the promise, 5 MPI, 70 a bug.
  int exit_code() const noexcept { return exit_code_; }

 private:
  int exit_code_;
};

/// As `dpmpi version` says it: "0.1.0".
std::string version();

/// "section.key=value", as --set takes them: they win over the config file.
using Settings = std::vector<std::string>;

/// (epsilon, delta)-differential privacy. `epsilon` may be infinite: no privacy at all.
struct Guarantee {
  double epsilon = 0, delta = 0;
  std::string adjacency;  ///< add_remove or replace_one
};

/// What a training will be, before it begins.
struct Planned {
  Guarantee promise;
  double noise_multiplier = 0;
  std::uint64_t steps = 0, records = 0, parameters = 0;
  std::string json;  ///< all of it, as in plan.json
};
/// Reads headers of data files and counts lines, but no value. Local. Throws Error.
Planned plan(const std::string& config, const Settings& settings = {});

/// The smallest epsilon at `delta`, in (0, 1), of events as JSON lines, each in its line: a ledger, or any list of
/// events. Of a list without header: under add_remove. If a run was stopped because of its results, all of its plan
/// counts: that, and ledgers of a search's trainings, are for the program (dpmpi account). Local. Throws Error.
Guarantee account(const std::string& events, double delta, const std::string& accountant = "best");

struct Trained {
  bool finished = false;  ///< false: it was stopped (run.max_hours, run.stop_file); resume() goes on
  std::string directory;  ///< the run directory: docs/reference/files.md
  /// Numbers of the last line of metrics.jsonl: "step", "epsilon", "eval.loss", ...
  std::map<std::string, double> metrics;
};
/// Trains a model into run.dir, which has to be set. Says warnings and why it stopped, on standard error.
/// Collective over MPI_COMM_WORLD if the program has called MPI_Init, alone if it has not. Alone, it throws Error.
/// In a job of several processes an error ends the job, as it ends that of the program: some processes may wait in
/// MPI for one that failed.
///
/// Forbids core dumps of this process and, where it is the only one of the job on its machine, looks into it by
/// others: it holds the noise key. Not to be called from two threads at a time.
Trained train(const std::string& config, const Settings& settings = {});
/// Goes on with a stopped run; `settings`: of [run] and [report], and data.root. Otherwise as train().
Trained resume(const std::string& directory, const Settings& settings = {});

/// Scores, rows x outputs.
struct Predicted {
  std::size_t outputs = 0;
  std::vector<float> scores;  ///< what OUT.npy of `dpmpi predict` holds
};
/// What a model says of records, each a row of `features` numbers as the training file has them (without its
/// label). `model`: a run directory or a model.safetensors alone. The model is read at every call: hand over many
/// rows at once. Not for tables with words (data.columns). Local. Throws Error.
Predicted predict(const std::string& model, std::span<const float> rows, std::size_t features);

}  // namespace dpmpi::library
