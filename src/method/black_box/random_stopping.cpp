// random-stopping: the best of a secret random number of runs, each of which draws a point of a box and the noisy
// mean loss there (Papernot and Steinke 2022, arXiv:2110.03620). Its privacy hardly depends on how many runs there
// are, because nobody learns of those that were not selected, nor how many they were.
//
// So points must be drawn from secret randomness: by its place in a public sequence, the selected one would tell
// how many runs there were at least.

#include <memory>

#include "method/black_box/box_search.hpp"
#include "method/method.hpp"
#include "privacy/curves/repetition_law.hpp"

namespace dpmpi {
namespace {

class RandomStopping final : public Method {
 public:
  void declare(Options& options) override {
    box_.declare(options);
    options
        .add("distribution", distribution_, "law of the number of runs K",
             {"truncated_negative_binomial", "poisson"})
        .add("shape", law_.shape, "of truncated_negative_binomial: 1 geometric, 0 logarithmic",
             Range{.low = -1, .high = 100, .high_open = false})
        .add("gamma", law_.gamma, "of truncated_negative_binomial: 1 / gamma runs on average with shape 1",
             Range{.low = 1e-4, .high = 1, .low_open = false})
        .add("mean", law_.mean, "of poisson: runs on average", Range{.low = 0, .high = 1e4, .high_open = false});
  }
  void validate(std::vector<std::string>& problems) const override { box_.validate(problems); }

  std::uint64_t steps(const PublicFacts&) const override { return 1; }

  // noise_multiplier is that of one run.
  std::vector<QuerySpec> queries(const PublicFacts& facts, double noise_multiplier) const override {
    QuerySpec query = box_.query(facts, 1, 1, noise_multiplier);
    query.kind = BestOfRuns{law(), facts.objective->dim()};
    return {query};
  }

  Derived report_quantities(const PublicFacts&, const std::vector<Query>& queries) const override {
    const Query& query = queries.at(0);
    return {{"E K", expected_repetitions(law())},
            {"C", box_.clip},
            {"s", query.noise_std / static_cast<double>(query.records)}};
  }

  void start(Objective& objective, const std::vector<Query>& queries, std::uint64_t) override {
    objective_ = &objective;
    query_ = queries.at(0);
    run_ = std::make_unique<ClippedLosses>(objective, 1, box_.clip);
    const std::vector<double> middle(objective.dim(), 0.5);  // the model if there is no run
    best_.resize(objective.dim());
    box_.place(middle, best_);
  }

  void step(Curator& curator, std::uint64_t t) override {
    const Selection selection = curator.best_of_runs(query_, t, [&](std::span<const double> uniforms) {
      box_.place(uniforms, run_->point(0));
      return Repetition{run_->sum(), static_cast<double>(query_.records) * objective_->regularizer(run_->point(0))};
    });
    if (selection.any) box_.place(selection.uniforms, best_);
  }

  std::string released() const override { return "the selected point and its noisy mean loss"; }
  std::span<const float> iterate() const override { return best_; }
  void archive(Archive& archive) override { archive.field("point", best_); }

 private:
  // What the other law's options say is no part of it.
  RepetitionLaw law() const {
    if (distribution_ == "poisson") return {.distribution = Repetitions::poisson, .mean = law_.mean};
    return {.shape = law_.shape, .gamma = law_.gamma};
  }

  BoxSearch box_;
  std::string distribution_ = "truncated_negative_binomial";
  RepetitionLaw law_{.gamma = 0.05, .mean = 20};
  Objective* objective_ = nullptr;
  Query query_;
  std::unique_ptr<ClippedLosses> run_;
  AlignedVector<float> best_;
};

const MethodRegistration random_stopping{
    {"random-stopping", "the best of a secret number of random points",
     "Papernot and Steinke 2022 (arXiv:2110.03620), Theorems 2 and 6, with K = 0 counted",
     make_method<RandomStopping>}};

}  // namespace
}  // namespace dpmpi
