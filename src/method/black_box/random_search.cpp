// random-search: m public points drawn uniformly in a box, the noisy mean loss of each, and the smallest of these:
// a baseline for private Bayesian optimisation. Nothing depends on released values but the choice at the end, so
// one vector release of all m means would do; blocks of points only make steps that a run can stop between.

#include <cmath>
#include <memory>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "method/black_box/box_search.hpp"
#include "method/method.hpp"

namespace dpmpi {
namespace {

class RandomSearch final : public Method {
 public:
  void declare(Options& options) override {
    box_.declare(options);
    options.add("candidates", candidates_, "points m", Range::closed(1, 1e6))
        .add("block", block_, "points of a step, a divisor of method.candidates", Range::closed(1, 4096))
        .add("seed", seed_, "public seed of the points", Range::at_least(0));
  }

  void validate(std::vector<std::string>& problems) const override {
    box_.validate(problems);
    if (candidates_ % block_ != 0)
      problems.push_back(
          fmt::format("method.block = {} does not divide method.candidates = {}", block_, candidates_));
  }

  std::uint64_t steps(const PublicFacts&) const override {
    return static_cast<std::uint64_t>(candidates_ / block_);
  }

  // noise_multiplier is that of all m means as one vector, 1 / mu. A block has 1 / sqrt(steps) of its sensitivity.
  std::vector<QuerySpec> queries(const PublicFacts& facts, double noise_multiplier) const override {
    const double parts = std::sqrt(static_cast<double>(steps(facts)));
    return {box_.query(facts, points(), steps(facts), noise_multiplier * parts)};
  }

  Derived report_quantities(const PublicFacts& facts, const std::vector<Query>& queries) const override {
    const Query& query = queries.at(0);
    const double z = query.noise_multiplier / std::sqrt(static_cast<double>(steps(facts)));
    return {{"m", static_cast<double>(candidates_)},
            {"C", box_.clip},
            {"mu", z > 0 ? 1 / z : 0},
            {"s", query.noise_std / static_cast<double>(query.records)}};
  }

  void start(Objective& objective, const std::vector<Query>& queries, std::uint64_t) override {
    objective_ = &objective;
    query_ = queries.at(0);
    losses_ = std::make_unique<ClippedLosses>(objective, points(), box_.clip);
    shares_.resize(objective.dim());
    best_.start(objective.dim());
  }

  void step(Curator& curator, std::uint64_t t) override {
    for (std::size_t j = 0; j < points(); ++j) {
      BoxSearch::draw(static_cast<std::uint64_t>(seed_), t * points() + j, shares_);
      box_.place(shares_, losses_->point(j));
    }
    const Batch batch = curator.draw(query_, t);
    const auto noisy = curator.release_exact(curator.sum(query_, batch, losses_->sum()));
    for (std::size_t j = 0; j < points(); ++j) {
      const auto point = losses_->point(j);
      best_.offer(box_.mean_loss(*objective_, noisy[j], query_.records, point), point);
    }
  }

  std::string released() const override { return "the noisy mean losses of all points, and the best point"; }
  std::span<const float> iterate() const override { return best_.point(); }
  void archive(Archive& archive) override { best_.archive(archive); }

 private:
  std::size_t points() const { return static_cast<std::size_t>(block_); }

  BoxSearch box_;
  std::int64_t candidates_ = 100, block_ = 10, seed_ = 1;
  Objective* objective_ = nullptr;
  Query query_;
  std::unique_ptr<ClippedLosses> losses_;
  std::vector<double> shares_;
  BestPoint best_;
};

const MethodRegistration random_search{{"random-search", "noisy mean losses at random points: a black-box baseline",
                                        "Gaussian mechanism on all means at once", make_method<RandomSearch>}};

}  // namespace
}  // namespace dpmpi
