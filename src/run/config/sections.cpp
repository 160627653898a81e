#include "run/config/sections.hpp"

#include <utility>

#include <fmt/format.h>

#include "privacy/accountants/accountant.hpp"

namespace dpmpi {

void RunOptions::declare(Options& options) {
  options.add("dir", dir, "run directory; empty: runs/<name of the config>, numbered if that exists")
      .add("checkpoint_every", checkpoint_every, "steps between checkpoints (0: only when stopped)",
           Range::at_least(0))
      .add("max_hours", max_hours, "stop with a checkpoint after this many hours (0: no limit)",
           Range::non_negative())
      .add("stop_file", stop_file,
           "stop with a checkpoint when this file exists (seen by the root within a second)")
      .add("timeout_s", timeout_s,
           "end the job if a rank makes no progress for this many seconds, and name it (0: wait for ever)",
           Range::non_negative())
      .add("moved", moved, "resume: go on although the run directory is a copy or was moved between file systems")
      .add("keep_key", keep_key,
           "keep the noise key after the run instead of wiping it (whoever has it can remove the noise)");
}

void PrivacyOptions::declare(Options& options) {
  options
      .add("epsilon", epsilon, "privacy budget; the noise is calibrated to it (or give privacy.noise_multiplier)",
           Range::positive())
      .add("delta", delta, "probability that the promise may fail; 0: n^-1.1", {0, 1, false, true})
      .add("noise_multiplier", noise_multiplier,
           "noise standard deviation over the sensitivity, instead of privacy.epsilon", Range::positive())
      .add(
          "noise", noise,
          "law of the noise: the Gaussian in double precision, the exact discrete Gaussian on the integer lattice of "
          "the sums (slower; accounted by Renyi divergence only), or none: NOT PRIVATE, a baseline",
          {"gaussian", "discrete_gaussian", "none"})
      .add("accountant", accountant,
           "whose bound calibrates the noise and is promised; best: the smallest of all that apply",
           accountant_names())
      .add("adjacency", adjacency, "which datasets are neighbours; epsilons of the two never compare",
           {"add_remove", "replace_one"})
      .add(
          "trust", trust,
          "who may see un-noised sums: the root process only (partial sums are masked on their way), or every rank of the job (faster)",
          {"root", "cluster"})
      .add("seed", seed,
           "FOR TESTS: secret randomness from this seed; the certificate then says epsilon = infinity",
           Range::at_least(0));
}

void PrivacyOptions::validate(std::vector<std::string>& problems) const {
  for (const auto& [key, value] : {std::pair{"epsilon", epsilon}, {"noise_multiplier", noise_multiplier}})
    if (noiseless() && value > 0)
      problems.push_back(fmt::format(
          "privacy.noise = none adds no noise and promises nothing: remove privacy.{} = {}", key, value));
  if (epsilon > 0 && noise_multiplier > 0)
    problems.emplace_back(
        "privacy.epsilon and privacy.noise_multiplier are both set: each determines the other, give one");
}

void PrepareOptions::declare(Options& of_data, Options& of_privacy) {
  of_data.add(
      "prepare", how,
      "private: mean, std and range of the columns of numbers of which data.columns says none are found out "
      "from the training records, by noisy counts that are part of the promise; none: such columns are "
      "taken as they stand",
      {"none", "private"});
  of_data.add("prepare_rare", rare,
              "words of categories that a smaller share of the training records has share one feature: they are "
              "found out by data.prepare, too (0: none)",
              Range::closed(0, 0.5));
  of_privacy.add("prepare_share", share,
                 "what data.prepare may spend of the budget, as a share of the square of a Gaussian promise",
                 Range::closed(0.001, 0.5));
}

void ReportOptions::declare(Options& options) {
  options
      .add("eval_every", eval_every, "steps between evaluations on data.eval (0: 20 times in the run)",
           Range::at_least(0))
      .add("gradient_norm", gradient_norm,
           "measure the mean gradient over data.eval, too (min-max: of the primal), as eval.gradient_norm")
      .add(
          "progress", progress,
          "auto: redraws on a terminal, sparse lines elsewhere (mpirun hides the terminal from ranks: bar redraws there too)",
          {"auto", "bar", "lines", "none"});
}

void AuditOptions::declare(Options& options) {
  options
      .add(
          "game", game,
          "what dpmpi audit plays: two datasets told apart by all releases, the same with contributions as long as "
          "the clip in every release, the same with data.eval as the other records, many canaries in one run, or all of them",
          {"all", "distinguish", "worst_case", "canary", "one_run"})
      .add("runs", runs, "runs of a distinguishing game, on both datasets together", Range::closed(32, 1e7))
      .add("confidence", confidence, "probability that all bounds hold", Range::open(0, 1))
      .add("canaries", canaries,
           "canaries of the one-run game at most; no more than a release has coordinates, but 16",
           Range::closed(16, 1e6))
      .add("repeats", repeats,
           "runs of the one-run game, each with coins of its own (0: until 2000 coins were tossed)",
           Range::closed(0, 1e6))
      .add("canary", canary,
           "take this row of data.eval (from 1) as the canary; 0: the worst of many made-up records",
           Range::at_least(0))
      .add("person_records", person_records,
           "with data.person: records of each canary, all alike (no more than data.person_records)",
           Range::closed(1, 1000))
      .add("ranks", ranks, "ranks that share a run; the games are shared among groups of so many",
           Range::at_least(1))
      .add("seed", seed, "public seed of the games", Range::at_least(0))
      .add("result", result,
           "training: a file that dpmpi audit wrote for this config, whose bounds go into the certificate");
}

void declare_objective(Options& options, std::string& name, double& l2) {
  options.add("name", name, "per-record loss (dpmpi list objectives)")
      .add("l2", l2, "weight of the public regulariser (l2 / 2) |w|^2, biases excepted", Range::non_negative());
}

void declare_method(Options& options, std::string& name) {
  options.add("name", name, "training method (dpmpi list methods)");
}

}  // namespace dpmpi
