// random-search: m public points in a box, drawn uniformly or a grid, the noisy mean loss of each, and the
// smallest: a baseline for private Bayesian optimisation. Nothing depends on released values but the choice at the
// end, so one vector release of all m means would do; blocks of points only make steps that a run can stop between.

#include <algorithm>
#include <cmath>
#include <memory>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/numbers/real.hpp"
#include "method/black_box/box_search.hpp"
#include "method/method.hpp"

namespace dpmpi {
namespace {

enum class Points { uniform, grid };

struct RandomSearchSettings final : MethodSettings {
  BoxSearch box;
  std::int64_t candidates = 100, block = 10, seed = 1;
  Points points = Points::uniform;

  void declare(Options& options) override {
    box.declare(options);
    options.add("candidates", candidates, "points m", Range::closed(1, 1e6))
        .add_words(
            "points", points,
            "uniform: random points of the box; grid: equally many values of every parameter, in the middle of "
            "equal parts of a side. Then m is a power of their number",
            {{"uniform", Points::uniform}, {"grid", Points::grid}})
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

/// Values of a parameter on a grid of m points in d dimensions. Throws ConfigError if m has no whole root.
std::uint64_t values_a_side(std::uint64_t m, std::size_t d) {
  const auto side = static_cast<std::uint64_t>(std::llround(std::pow(real(m), 1 / real(d))));
  const auto points = [d](std::uint64_t values) { return std::pow(real(values), real(d)); };
  if (points(side) == real(m)) return side;
  const std::uint64_t below = points(side) < real(m) ? side : side - 1;
  throw ConfigError(fmt::format(
      "method.candidates = {} points are no grid of {} parameters; allowed: {} (a side of {} values) or {:.6g} "
      "(of {})",
      m, d, points(below), below, points(below + 1), below + 1));
}

class RandomSearchPlan final : public BoxSearchPlan {
 public:
  RandomSearchPlan(const RandomSearchSettings& settings, const PublicFacts& facts)
      : BoxSearchPlan(settings.box, facts, whole(settings.block), whole(settings.candidates / settings.block)),
        settings_(settings) {
    if (settings.points == Points::grid) values_a_side(whole(settings.candidates), facts.objective->dim());
  }

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
        side_(settings.points == Points::grid ? values_a_side(whole(settings.candidates), objective.dim()) : 0),
        points_(losses.dim),
        losses_(settings.box, objective, losses),
        shares_(objective.dim()),
        best_(objective.dim()) {}

  void step(Curator& curator, std::uint64_t t) override {
    for (std::size_t j = 0; j < points_; ++j) {
      share(t * points_ + j);
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
  /// Point `number` as shares of the box's sides: its digits on a grid, or uniform ones.
  void share(std::uint64_t number) {
    if (side_ == 0) return BoxSearch::draw(seed_, number, shares_);
    for (double& part : shares_) {
      part = (real(number % side_) + 0.5) / real(side_);
      number /= side_;
    }
  }

  BoxSearch box_;
  std::uint64_t seed_, side_;  ///< side_: values of a parameter on a grid; 0: no grid
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
