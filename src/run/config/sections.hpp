#pragma once
// The sections of a config that belong to the run itself, and what the others have in common.

#include <cstdint>
#include <string>
#include <vector>

#include "core/options.hpp"
#include "privacy/curator/query.hpp"

namespace dpmpi {

struct RunOptions {
  std::string dir;  ///< empty: runs/<config's name>, numbered if that exists
  std::int64_t checkpoint_every = 1000;
  double max_hours = 0, timeout_s = 1800;
  std::string stop_file;  ///< empty: none
  bool keep_key = false, moved = false;
  void declare(Options& options);
};

struct PrivacyOptions {
  double epsilon = 0, delta = 0, noise_multiplier = 0;  ///< 0: not given
  std::string accountant = "best", adjacency = "add_remove", trust = "root", noise = "gaussian";
  std::int64_t seed = -1;  ///< >= 0: tests only, the certificate says infinity
  void declare(Options& options);
  void validate(std::vector<std::string>& problems) const;
  Adjacency which() const { return *parse_adjacency(adjacency); }
  /// The same steps without noise: a baseline, which is not private.
  bool noiseless() const { return noise == "none"; }
  Noise law() const { return parse_noise(noise).value_or(Noise::gaussian); }
  bool seeded() const { return seed >= 0; }
};

/// What is found out about the columns of a table before the training, by a share of its budget.
struct PrepareOptions {
  std::string how = "none";
  double share = 0.1;
  double rare = 0;  ///< words of categories with a smaller share share a feature; 0: all have their own
  bool on() const { return how == "private"; }
  void declare(Options& of_data, Options& of_privacy);
};

struct ReportOptions {
  std::int64_t eval_every = 0;  ///< steps between evaluations, 0: 20 times in the run
  std::string progress = "auto";
  bool gradient_norm = false;
  void declare(Options& options);
};

struct AuditOptions {
  std::string game = "all", result;
  std::int64_t runs = 1000, canaries = 1000, repeats = 0, canary = 0, person_records = 16, ranks = 1, seed = 1;
  double confidence = 0.95;
  void declare(Options& options);
};

/// What every objective and every method has in its section, beside its own options.
void declare_objective(Options& options, std::string& name, double& l2);
void declare_method(Options& options, std::string& name);

}  // namespace dpmpi
