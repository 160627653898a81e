// random-search: m public points drawn uniformly in a box, the noisy mean loss of each, and the smallest of these:
// a baseline for private Bayesian optimisation. Nothing depends on released values but the choice at the end, so
// one vector release of all m means would do; blocks of points only make steps that a run can stop between.

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "core/numbers/real.hpp"
#include "method/black_box/box_search.hpp"
#include "method/method.hpp"

namespace dpmpi {
namespace {

struct RandomSearchSettings final : MethodSettings {
  BoxSearch box;
  std::int64_t candidates = 100, block = 10, seed = 1;

  void declare(Options& options) override {
    box.declare(options);
    options.add("candidates", candidates, "points m", Range::closed(1, 1e6))
        .add("block", block, "points of a step, a divisor of method.candidates", Range::closed(1, 4096))
        .add("seed", seed, "public seed of the points", Range::at_least(0));
  }
  void validate(std::vector<std::string>& problems) const override {
    box.validate(problems);
    if (candidates % block != 0)
      problems.push_back(
          fmt::format("method.block = {} does not divide method.candidates = {}", block, candidates));
  }
  std::string describe_releases() const override {
    return "the noisy mean losses of all points, and the best point";
  }
  std::unique_ptr<const MethodPlan> plan(const PublicFacts& facts) const override;
};

class RandomSearchPlan final : public BoxSearchPlan {
 public:
  RandomSearchPlan(const RandomSearchSettings& settings, const PublicFacts& facts)
      : BoxSearchPlan(settings.box, facts, whole(settings.block), whole(settings.candidates / settings.block)),
        settings_(settings) {}

  Derived report_quantities(const std::vector<Query>& queries) const override {
    return quantities("m", queries.at(0));
  }

  std::unique_ptr<Algorithm> start(Objective& objective, const std::vector<Query>& queries) const override;

 private:
  RandomSearchSettings settings_;
};

class RandomSearch final : public Algorithm {
 public:
  RandomSearch(const RandomSearchSettings& settings, Objective& objective, const Query& losses)
      : box_(settings.box),
        seed_(whole(settings.seed)),
        points_(losses.dim),
        losses_(settings.box, objective, losses),
        shares_(objective.dim()),
        best_(objective.dim()) {}

  void step(Curator& curator, std::uint64_t t) override {
    for (std::size_t j = 0; j < points_; ++j) {
      BoxSearch::draw(seed_, t * points_ + j, shares_);
      box_.place(shares_, losses_.point(j));
    }
    const auto means = losses_.measure(curator, t);
    for (std::size_t j = 0; j < points_; ++j) {
      if (!(means[j] < score_)) continue;
      score_ = means[j];
      std::ranges::copy(losses_.point(j), best_.begin());
    }
  }

  std::span<const float> iterate() override { return best_; }
  void archive(Archive& archive) override {
    archive.field("score", score_);
    archive.field("point", best_);
  }

 private:
  BoxSearch box_;
  std::uint64_t seed_;
  std::size_t points_;
  NoisyLosses losses_;
  std::vector<double> shares_;
  double score_ = infinity;
  AlignedVector<float> best_;
};

std::unique_ptr<const MethodPlan> RandomSearchSettings::plan(const PublicFacts& facts) const {
  return std::make_unique<RandomSearchPlan>(*this, facts);
}
std::unique_ptr<Algorithm> RandomSearchPlan::start(Objective& objective, const std::vector<Query>& queries) const {
  return std::make_unique<RandomSearch>(settings_, objective, queries.at(0));
}

const MethodRegistration random_search{{"random-search", "noisy mean losses at random points: a black-box baseline",
                                        "Gaussian mechanism on all means at once",
                                        make_method<RandomSearchSettings>}};

}  // namespace
}  // namespace dpmpi
