#pragma once
// A training whose settings are chosen among public candidates in private: the best of a secret random number of
// whole trainings, each of which draws one of the candidates and is scored by its noisy mean loss (Papernot and
// Steinke 2022, arXiv:2110.03620; docs/theory/selection.md). To plan, ledger and run it is a method of one step.

#include <memory>
#include <string>
#include <vector>

#include "method/method.hpp"
#include "privacy/events/event.hpp"

namespace dpmpi {

/// Section [tune].
struct TuningOptions {
  std::string search;  ///< empty: nothing is chosen
  RepetitionLaw law{.gamma = 0.1, .mean = 10};
  double clip = 10, share = 0.1;

  void declare(Options& options);
  /// What the other law's options say is no part of it.
  RepetitionLaw chosen_law() const;
};

/// Settings that may be chosen.
struct TuningCandidate {
  std::vector<std::string> settings;  ///< "method.key=value" of every option that is searched for
  std::shared_ptr<const MethodSettings> method;
};

class TunedTraining final : public MethodSettings {
 public:
  TunedTraining(const TuningOptions& options, std::vector<TuningCandidate> candidates)
      : options_(options), candidates_(std::move(candidates)) {}

  void declare(Options&) override {}  // those of [tune], and the candidates' own, were read before
  std::string describe_releases() const override {
    return "the model of the selected training, the settings of that and its noisy mean loss";
  }
  std::unique_ptr<const MethodPlan> plan(const PublicFacts& facts) const override;

 private:
  TuningOptions options_;
  std::vector<TuningCandidate> candidates_;
};

}  // namespace dpmpi
