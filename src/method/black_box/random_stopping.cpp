// random-stopping: the best of a secret random number of runs, each of which draws a point of a box and the noisy
// mean loss there (Papernot and Steinke 2022, arXiv:2110.03620). Its privacy hardly depends on how many runs there
// are, because nobody learns of those that were not selected, nor how many they were.
//
// So points must be drawn from secret randomness: by its place in a public sequence, the selected one would tell
// how many runs there were at least.

#include <memory>

#include "core/numbers/real.hpp"
#include "method/black_box/box_search.hpp"
#include "method/method.hpp"
#include "privacy/curves/repetition_law.hpp"

namespace dpmpi {
namespace {

struct RandomStoppingSettings final : MethodSettings {
  BoxSearch box;
  RepetitionLaw law{.gamma = 0.05, .mean = 20};

  void declare(Options& options) override {
    box.declare(options);
    options
        .add_words("distribution", law.distribution, "law of the number of runs K",
                   {{"truncated_negative_binomial", Repetitions::truncated_negative_binomial},
                    {"poisson", Repetitions::poisson}})
        .add("shape", law.shape, "of truncated_negative_binomial: 1 geometric, 0 logarithmic",
             Range{.low = -1, .high = 100, .high_open = false})
        .add("gamma", law.gamma, "of truncated_negative_binomial: 1 / gamma runs on average with shape 1",
             Range{.low = 1e-4, .high = 1, .low_open = false})
        .add("mean", law.mean, "of poisson: runs on average", Range{.low = 0, .high = 1e4, .high_open = false});
  }
  void validate(std::vector<std::string>& problems) const override { box.validate(problems); }
  std::string describe_releases() const override { return "the selected point and its noisy mean loss"; }
  std::unique_ptr<const MethodPlan> plan(const PublicFacts& facts) const override;

  /// What the other law's options say is no part of it.
  RepetitionLaw chosen_law() const {
    if (law.distribution == Repetitions::poisson) return {.distribution = Repetitions::poisson, .mean = law.mean};
    return {.shape = law.shape, .gamma = law.gamma};
  }
};

// The noise multiplier is that of one run.
class RandomStoppingPlan final : public BoxSearchPlan {
 public:
  RandomStoppingPlan(const RandomStoppingSettings& settings, const PublicFacts& facts)
      : BoxSearchPlan(settings.box, facts, 1, 1), box_(settings.box), law_(settings.chosen_law()) {
    losses_.kind = BestOfRuns{law_, facts.objective->dim()};
  }

  Derived report_quantities(const std::vector<Query>& queries) const override {
    return {{"E K", expected_repetitions(law_)}, {"C", box_.clip}, {"s", mean_noise(queries.at(0))}};
  }

  std::unique_ptr<Algorithm> start(Objective& objective, const std::vector<Query>& queries) const override;

 private:
  BoxSearch box_;
  RepetitionLaw law_;
};

class RandomStopping final : public Algorithm {
 public:
  RandomStopping(const BoxSearch& box, Objective& objective, const Query& losses)
      : box_(box), objective_(objective), query_(losses), run_(objective, 1, box.clip), best_(objective.dim()) {
    box_.place(std::vector<double>(objective.dim(), 0.5), best_);  // the model if there is no run
  }

  void step(Curator& curator, std::uint64_t t) override {
    const Selection selection = curator.best_of_runs(query_, t, [&](std::span<const double> uniforms) {
      box_.place(uniforms, run_.point(0));
      return Repetition{run_.sum(), real(query_.records) * objective_.regularizer(run_.point(0))};
    });
    if (selection.any) box_.place(selection.uniforms, best_);
  }

  std::span<const float> iterate() override { return best_; }
  void archive(Archive& archive) override { archive.field("point", best_); }

 private:
  BoxSearch box_;
  Objective& objective_;
  Query query_;
  ClippedLosses run_;
  AlignedVector<float> best_;
};

std::unique_ptr<const MethodPlan> RandomStoppingSettings::plan(const PublicFacts& facts) const {
  return std::make_unique<RandomStoppingPlan>(*this, facts);
}
std::unique_ptr<Algorithm> RandomStoppingPlan::start(Objective& objective,
                                                     const std::vector<Query>& queries) const {
  return std::make_unique<RandomStopping>(box_, objective, queries.at(0));
}

const MethodRegistration random_stopping{
    {"random-stopping", "the best of a secret number of random points",
     "Papernot and Steinke 2022 (arXiv:2110.03620), Theorems 2 and 6, with K = 0 counted",
     make_method<RandomStoppingSettings>}};

}  // namespace
}  // namespace dpmpi
