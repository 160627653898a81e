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

class PrintedPrivateDiff final : public Method {
 public:
  void declare(Options& options) override {
    options_.SaddleOptions::declare(options);
    options
        .add("restart", options_.restart, "rounds T from one full gradient to the next", Range::closed(1, 0x1p40))
        .add("dual_steps", options_.dual_steps, "dual steps T_2 of a round", Range::closed(1, 0x1p20))
        .add("difference_slope", options_.slope, "C_2 (if not set: method.clip)", Range::non_negative())
        .add("difference_least", options_.least, "C_3 (if not set: 0.01 method.clip)", Range::non_negative())
        .add("stated_epsilon", stated_epsilon_, "epsilon that the paper's noise formulas are given",
             Range::positive())
        .add("loss_bound", loss_bound_, "M: bound of the loss, for the dual's noise", Range::positive())
        .add("concavity", concavity_, "mu = beta of the dual, for its noise (0: the objective's)",
             Range::non_negative());
  }
  void validate(std::vector<std::string>& problems) const override { options_.SaddleOptions::validate(problems); }
  std::uint64_t steps(const PublicFacts& facts) const override { return options_.rounds(facts.data); }

  std::vector<QuerySpec> queries(const PublicFacts& facts, double) const override {
    const SaddleObjective& f = saddle(facts.objective, "the printed PrivateDiff");
    const std::uint64_t R = steps(facts), n = facts.data.records;
    const SamplingRule everyone = Shuffled{.seed = whole(options_.seed), .first = n, .batch = n};
    return {{.name = "primal",
             .dim = f.primal_dim(),
             .sampling = everyone,
             .bound = {largest_clip()},
             .slack = f.primal_gradient_slack(),
             .steps = R,
             .effort = 2},
            {.name = "dual",
             .dim = f.dual_dim(),
             .sampling = options_.rule(facts.data),
             .bound = {options_.dual_bound(f)},
             .slack = f.dual_gradient_slack(),
             .steps = R * whole(options_.dual_steps),
             .schedule = {.times = whole(options_.dual_steps)}}};
  }

  void start(Objective& objective, const std::vector<Query>& queries, std::uint64_t steps) override {
    f_ = &dynamic_cast<SaddleObjective&>(objective);
    primal_ = queries.at(0), dual_ = queries.at(1);
    batch_ = expected_batch(dual_.sampling, dual_.records);
    batches_ = {whole(options_.seed), batch_ / static_cast<double>(dual_.records)};
    DatasetFacts data;
    data.records = dual_.records;
    noise_ = simulated(data, *f_);
    iterate_.start(*f_, options_, steps);
    v_.assign(f_->primal_dim(), 0.0);
    g_.assign(f_->primal_dim(), 0.0);
    gy_.assign(f_->dual_dim(), 0.0);
  }

  void step(Curator& curator, std::uint64_t r) override {
    const std::vector<float> x_and_y(iterate_.point().begin(), iterate_.point().end());  // (x_r, y~_r)
    for (std::uint64_t i = 0; i < whole(options_.dual_steps); ++i) dual_step(curator, r, i);

    const bool fresh = r % whole(options_.restart) == 0;
    const double clip = fresh ? options_.clip : difference_clip(x_and_y);
    const Batch batch = curator.draw(primal_, r);
    const auto w = iterate_.point();  // (x_r, y_{r+1}), the dual as it is: this is the leak
    const Kernel kernel = fresh ? public_batch_gradients(*f_, w, batches_, r)
                                : cross_batch_differences(*f_, w, before_, batches_, r, 1024 * options_.clip);
    const auto sum = curator.release(curator.sum(primal_, batch, kernel, clip / largest_clip()));

    if (fresh) std::fill(v_.begin(), v_.end(), 0.0);
    const PublicStream stream(whole(options_.seed), "simulated noise", r);
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

  std::span<const float> iterate() const override { return iterate_.published(); }

  void archive(Archive& archive) override {
    iterate_.archive(archive);
    archive.field("v", v_);
    archive.field("before", before_);
  }

 private:
  struct Noise {
    double restart, difference, dual;  ///< sigma_x1 and sigma_x2 per unit of clip, sigma_y
  };

  // Curator::sum scales clips down only.
  double largest_clip() const { return 2 * options_.clip + std::max(0.0, options_.least); }

  double difference_clip(std::span<const float> now) const {
    const std::size_t d1 = f_->primal_dim();
    const DifferenceRadius radius{.slope = options_.slope >= 0 ? options_.slope : options_.clip,
                                  .least = options_.least >= 0 ? options_.least : 0.01 * options_.clip,
                                  .most = largest_clip()};
    return radius.between(now.first(d1), std::span(before_).first(d1), d1);
  }

  // For the paper's delta, n^-1.1.
  Noise simulated(const DatasetFacts& data, const SaddleObjective& f) const {
    const double m = expected_batch(options_.rule(data), data.records);
    const auto R = static_cast<double>(options_.rounds(data)), T = static_cast<double>(options_.restart);
    const auto n = static_cast<double>(data.records);
    const PrintedNoise paper{n, m, stated_epsilon_, std::pow(n, -1.1)};
    const double mu = concavity_ > 0 ? concavity_ : f.dual_curvature().value_or(0);
    return {paper.private_diff(R / T) / m, paper.private_diff(R) / m,
            paper.dual_deviation(R, options_.dual_bound(f), mu, loss_bound_, mu)};
  }

  void dual_step(Curator& curator, std::uint64_t r, std::uint64_t i) {
    const std::uint64_t s = r * whole(options_.dual_steps) + i;
    const Batch batch = curator.draw(dual_, s);
    const auto sum = curator.release(curator.sum(dual_, batch, clipped_dual_gradients(*f_, iterate_.point())));
    for (std::size_t j = 0; j < gy_.size(); ++j) gy_[j] = sum[j] / batch_;
    iterate_.add_public_dual(s, gy_);
    iterate_.ascend(gy_, options_.dual_rate_at(*f_, r, i));
  }

  PrivateDiffOptions options_;
  double stated_epsilon_ = 1, loss_bound_ = 1, concavity_ = 0;
  SaddleObjective* f_ = nullptr;
  Query primal_, dual_;
  double batch_ = 1;
  PublicBatches batches_;
  Noise noise_{};
  SaddleIterate iterate_;
  std::vector<double> v_, g_, gy_, noise_values_;
  AlignedVector<float> before_;  ///< (x_{r-1}, y~_r)
};

inline const MethodRegistration printed_private_diff{
    {"printed-private-diff", "private-diff as printed, with simulated noise", "Zhang et al. 2025, Algorithm 3",
     make_method<PrintedPrivateDiff>}};

}  // namespace dpmpi::test
