#pragma once
// PrivateDiff as printed (Algorithm 3 with Algorithm 4 inside), to show what it does. It is
// NOT PRIVATE, whatever its noise: the primal query is summed at a dual that was never noised, differences pair
// records of two batches, and the dual's noise rests on a bound that does not hold. So its noise is only simulated,
// from the public seed. docs/methods/minimax.md lists the errors; private-diff is the corrected method.
//
// Two readings where the print gives none: batches are Poisson samples by public coins, and eta_{y,i} = 1 / (mu (i
// + 1)), since 1 / (mu i) begins with a division by zero (method.dual_schedule = inverse, dual_rate = 1 / mu).

#include <algorithm>
#include <cmath>

#include "core/errors.hpp"
#include "core/numbers/real.hpp"
#include "method/method.hpp"
#include "method/minimax/private_diff.hpp"
#include "method/minimax/saddle_iterate.hpp"
#include "problems/cross_batch.hpp"
#include "problems/printed_noise.hpp"

namespace dpmpi::test {

struct PrintedPrivateDiffSettings final : MethodSettings {
  SaddleSettings common;
  std::int64_t restart = 8, dual_steps = 1;
  double slope = -1, least = -1;
  double stated_epsilon = 1, loss_bound = 1, concavity = 0;

  void declare(Options& options) override {
    common.declare(options);
    options.add("restart", restart, "rounds T from one full gradient to the next", Range::closed(1, 0x1p40))
        .add("dual_steps", dual_steps, "dual steps T_2 of a round", Range::closed(1, 0x1p20))
        .add("difference_slope", slope, "C_2 (if not set: method.clip)", Range::non_negative())
        .add("difference_least", least, "C_3 (if not set: 0.01 method.clip)", Range::non_negative())
        .add("stated_epsilon", stated_epsilon, "epsilon that the paper's noise formulas are given",
             Range::positive())
        .add("loss_bound", loss_bound, "M: bound of the loss, for the dual's noise", Range::positive())
        .add("concavity", concavity, "mu = beta of the dual, for its noise (0: the objective's)",
             Range::non_negative());
  }
  void validate(std::vector<std::string>& problems) const override { common.validate(problems); }
  std::unique_ptr<const MethodPlan> plan(const PublicFacts& facts) const override;

  // Curator::sum scales clips down only.
  double largest_clip() const { return 2 * common.clip + std::max(0.0, least); }
};

/// The deviations of the simulated noise.
struct SimulatedNoise {
  double restart, difference, dual;  ///< sigma_x1 and sigma_x2 per unit of clip, sigma_y
};

class PrintedPrivateDiffPlan final : public MethodPlan {
 public:
  PrintedPrivateDiffPlan(const PrintedPrivateDiffSettings& settings, const PublicFacts& facts)
      : settings_(settings), f_(saddle(facts.objective, "the printed PrivateDiff")), data_(facts.data) {
    steps = settings.common.rounds(facts.data);
  }

  std::vector<QuerySpec> queries(double) const override {
    const std::uint64_t n = data_.records, dual_steps = whole(settings_.dual_steps);
    const SamplingRule everyone = Shuffled{.seed = whole(settings_.common.seed), .first = n, .batch = n};
    return {{.name = "primal",
             .dim = f_.primal_dim(),
             .sampling = everyone,
             .bound = {settings_.largest_clip()},
             .slack = f_.primal()->primal_gradient_slack(),
             .steps = steps,
             .effort = 2},
            {.name = "dual",
             .dim = f_.dual_dim(),
             .sampling = settings_.common.rule(data_),
             .bound = {settings_.common.dual_bound(f_)},
             .slack = f_.dual_gradient_slack(),
             .steps = steps * dual_steps,
             .schedule = {.times = dual_steps}}};
  }

  std::unique_ptr<Algorithm> start(Objective& objective, const std::vector<Query>& queries) const override;

 private:
  // For the paper's delta, n^-1.1.
  SimulatedNoise noise() const {
    const double m = expected_batch(settings_.common.rule(data_), data_.records);
    const auto R = static_cast<double>(steps), T = static_cast<double>(settings_.restart);
    const auto n = static_cast<double>(data_.records);
    const PrintedNoise paper{n, m, settings_.stated_epsilon, std::pow(n, -1.1)};
    const double mu = settings_.concavity > 0 ? settings_.concavity : f_.dual_curvature().value_or(0);
    return {paper.private_diff(R / T) / m, paper.private_diff(R) / m,
            paper.dual_deviation(R, settings_.common.dual_bound(f_), mu, settings_.loss_bound, mu)};
  }

  PrintedPrivateDiffSettings settings_;
  const SaddleObjective& f_;
  DatasetFacts data_;
};

class PrintedPrivateDiff final : public Algorithm {
 public:
  PrintedPrivateDiff(const PrintedPrivateDiffSettings& settings, std::uint64_t rounds, const SimulatedNoise& noise,
                     SaddleObjective& f, const std::vector<Query>& queries)
      : settings_(settings),
        f_(f),
        primal_(queries.at(0)),
        dual_(queries.at(1)),
        batch_(expected_batch(dual_.sampling, dual_.records)),
        batches_{whole(settings.common.seed), batch_ / static_cast<double>(dual_.records)},
        noise_(noise),
        iterate_(f, settings.common, rounds),
        v_(f.primal_dim()),
        g_(f.primal_dim()),
        gy_(f.dual_dim()) {}

  void step(Curator& curator, std::uint64_t r) override {
    const std::vector<float> x_and_y(iterate_.point().begin(), iterate_.point().end());  // (x_r, y~_r)
    for (std::uint64_t i = 0; i < whole(settings_.dual_steps); ++i) dual_step(curator, r, i);

    const bool fresh = r % whole(settings_.restart) == 0;
    const double clip = fresh ? settings_.common.clip : difference_clip(x_and_y);
    const Batch batch = curator.draw(primal_, r);
    const auto w = iterate_.point();  // (x_r, y_{r+1}), the dual as it is: this is the leak
    const Kernel kernel = fresh
                              ? public_batch_gradients(f_, w, batches_, r)
                              : cross_batch_differences(f_, w, before_, batches_, r, 1024 * settings_.common.clip);
    const auto sum = curator.release(curator.sum(primal_, batch, kernel, clip / settings_.largest_clip()));

    if (fresh) std::fill(v_.begin(), v_.end(), 0.0);
    const PublicStream stream(whole(settings_.common.seed), "simulated noise", r);
    noise_values_.resize(round_up(v_.size(), 2) + gy_.size());
    stream.normals(0, noise_values_);
    const double sigma = (fresh ? noise_.restart : noise_.difference) * clip;
    for (std::size_t j = 0; j < v_.size(); ++j) v_[j] += sum[j] / batch_ + sigma * noise_values_[j];

    // The next difference subtracts the gradient at (x_r, y~_{r+1}), and not at y_{r+1}, where it was added.
    const double* dual_noise = noise_values_.data() + round_up(v_.size(), 2);
    iterate_.ascend(std::span(dual_noise, gy_.size()), noise_.dual);
    before_.assign(iterate_.point().begin(), iterate_.point().end());
    g_ = v_;
    iterate_.add_public_primal(r, g_);
    iterate_.descend(g_, r);
    iterate_.end_round(r);
  }

  std::span<const float> iterate() override { return iterate_.published(); }

  void archive(Archive& archive) override {
    iterate_.archive(archive);
    archive.field("v", v_);
    archive.field("before", before_);
  }

 private:
  double difference_clip(std::span<const float> now) const {
    const std::size_t d1 = f_.primal_dim();
    const double clip = settings_.common.clip;
    const DifferenceRadius radius{.slope = settings_.slope >= 0 ? settings_.slope : clip,
                                  .least = settings_.least >= 0 ? settings_.least : 0.01 * clip,
                                  .most = settings_.largest_clip()};
    return radius.between(now.first(d1), std::span(before_).first(d1), d1);
  }

  void dual_step(Curator& curator, std::uint64_t r, std::uint64_t i) {
    const std::uint64_t s = r * whole(settings_.dual_steps) + i;
    const Batch batch = curator.draw(dual_, s);
    const auto sum = curator.release(curator.sum(dual_, batch, clipped_dual_gradients(f_, iterate_.point())));
    for (std::size_t j = 0; j < gy_.size(); ++j) gy_[j] = sum[j] / batch_;
    iterate_.add_public_dual(s, gy_);
    iterate_.ascend(gy_, iterate_.dual_rate_at(r, i));
  }

  PrintedPrivateDiffSettings settings_;
  SaddleObjective& f_;
  Query primal_, dual_;
  double batch_;
  PublicBatches batches_;
  SimulatedNoise noise_;
  SaddleIterate iterate_;
  std::vector<double> v_, g_, gy_, noise_values_;
  AlignedVector<float> before_;  ///< (x_{r-1}, y~_r)
};

inline std::unique_ptr<const MethodPlan> PrintedPrivateDiffSettings::plan(const PublicFacts& facts) const {
  return std::make_unique<PrintedPrivateDiffPlan>(*this, facts);
}
inline std::unique_ptr<Algorithm> PrintedPrivateDiffPlan::start(Objective& objective,
                                                                const std::vector<Query>& queries) const {
  return std::make_unique<PrintedPrivateDiff>(settings_, steps, noise(), *objective.saddle(), queries);
}

inline const MethodRegistration printed_private_diff{
    {"printed-private-diff", "private-diff as printed, with simulated noise", "Zhang et al. 2025, Algorithm 3",
     make_method<PrintedPrivateDiffSettings>}};

}  // namespace dpmpi::test
