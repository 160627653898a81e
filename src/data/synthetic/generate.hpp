#pragma once
// Synthetic datasets: a function of the seed and the record's number only, the same bytes on every machine.

#include <cstdint>
#include <string>

#include "core/options.hpp"
#include "data/records/records.hpp"

namespace dpmpi {

struct GenerateOptions {
  std::string kind = "heavy-tailed";
  std::int64_t records = 20000, eval_records = 5000;
  std::int64_t features = 40, classes = 5, episode_steps = 0, seed = 1;
  double moment = 2.5, probability = 0.01;
  bool skewed = false;
  std::string output, eval_output, format = "auto", separator = "comma";
  void declare(Options& options);
};

/// Records first .. first + count - 1 of the dataset (dense_f32, no bias).
///
///   heavy-tailed  labels -1/+1, about 15 % positive. x = t (L z + e): L z a rank-5 common part, e independent,
///                 and t the mixing factor sqrt(3 / chi2_3) that makes x multivariate Student-t with 3 degrees of
///                 freedom.
///                 The label is the sign of <w, x> + noise - threshold, and 3 % of the labels are flipped.
///   blobs         labels 0 .. classes-1, equally likely; Gaussian clouds around Gaussian centres.
///   phase         amplitude measurements: |a| = 1, four strong features and the others weak;
///                 y = ||<a, x>| + noise| for a hidden x = (.9, -.9, .9, -.9, 0, ...), plus 1 for one record in
///                 ten.
///   cartpole, acrobot, gridworld
///                 transitions (s, s', terminal) of a uniformly random policy, labelled by the reward; `features`
///                 does not count (9, 13 and 33). With episode_steps = L a record is an episode: L times (s, s',
///                 terminal, reward), labelled by how many of them there are.
///   regression    y = <w, x> + Student-t noise (3 degrees of freedom: infinite third moment), x = L z + e.
///   pareto-linear, pareto-logistic
///                 x = r g with g ~ N(0, I) and r Pareto with tail index moment + 1/4, E r^2 = 1. With
///                 w = (1, -1, 1, -1, ...) / sqrt(d), y = <w, x> + Student-t noise of moment + 0.1 degrees of
///                 freedom, or y = +1 with probability 1 / (1 + exp(-<w, x>)), else -1. `skewed`: records with r
///                 > 1.5 have (1, 1, 1, 1, ...) / sqrt(d) in place of w, so that clipping moves the minimum.
///   pareto-mean   x = (r, 0, ..., 0), r Pareto with tail index moment; label -1.
///   two-point     x = p^(-1/moment) (1, -1, 1, -1, ...) / sqrt(d) with probability p = probability, else 0;
///                 label -1: of all laws with E |x|^moment <= 1 one of the hardest.
///   hospital      a table of words, numbers, gaps and days, several visits of a patient (hospital.hpp): only
///                 generate() writes it.
///   smooth        features uniform on [-1, 1], y = f(x) + noise for a smooth random f, which varies fast
///                 with the first features (five at most) and slowly with the others (smooth_function.hpp).
///
/// Local. Throws ConfigError for an unknown kind.
Records generate_records(const GenerateOptions& options, std::uint64_t first, std::uint64_t count);

/// Writes records 0 .. n-1 to `output` and the next eval_records to `eval_output` (default: NAME-eval.EXTENSION).
/// The format `auto` goes by the extension: .csv, .libsvm, .svm, .h5 or .hdf5, else native. Local. Errors as for
/// write_records.
void generate(const GenerateOptions& options);

}  // namespace dpmpi
