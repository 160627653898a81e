#pragma once
// Synthetic datasets: a function of the seed and the record's number only, the same bytes on every machine.

#include <cstdint>
#include <string>

#include "dpmpi/core/options.hpp"
#include "dpmpi/data/records.hpp"

namespace dpmpi {

struct GenerateOptions {
  std::string kind = "heavy-tailed";
  std::int64_t records = 20000, eval_records = 5000;
  std::int64_t features = 40, classes = 5, episode_steps = 0, seed = 1;
  std::string output, eval_output, format = "auto";
  void declare(Options& options);
};

/// Records first .. first + count - 1 of the dataset (dense_f32, no bias).
///
///   heavy-tailed  labels -1/+1, about 15 % positive. x = t (L z + e): L z a rank-5 common part, e independent, and
///   t the
///                 mixing factor sqrt(3 / chi2_3) that makes x multivariate Student-t with 3 degrees of freedom.
///                 The label is the sign of <w, x> + noise - threshold, and 3 % of the labels are flipped.
///   blobs         labels 0 .. classes-1, equally likely; Gaussian clouds around Gaussian centres.
///   phase         amplitude measurements: |a| = 1, four strong features and the others weak; y = ||<a, x>| +
///   noise| for
///                 a hidden x = (.9, -.9, .9, -.9, 0, ...), plus 1 for one record in ten.
///   cartpole, acrobot, gridworld
///                 transitions (s, s', terminal) of a uniformly random policy, labelled by the reward; `features`
///                 does not count (9, 13 and 33). With episode_steps = L a record is an episode: L times (s, s',
///                 terminal, reward), labelled by how many of them there are.
///   regression    y = <w, x> + Student-t noise (3 degrees of freedom: infinite third moment), x = L z + e.
///
/// Local. Throws ConfigError for an unknown kind.
Records generate_records(const GenerateOptions& options, std::uint64_t first, std::uint64_t count);

/// Writes records 0 .. n-1 to `output` and the next eval_records to `eval_output` (default: NAME-eval.EXTENSION).
/// The format `auto` goes by the extension: .csv, .libsvm or .svm, else native. Local. Errors as for write_records.
void generate(const GenerateOptions& options);

}  // namespace dpmpi
