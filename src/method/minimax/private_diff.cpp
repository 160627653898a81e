// private-diff: min-max optimisation whose primal gradient is estimated by a full noisy gradient every T rounds and
// by noisy gradient differences, with little noise for short steps, in between. In its corrected form; as printed
// it is not private:
//  - the dual is noised before anything else uses it: the printed primal query sums gradients at a dual that
//    depends on all records, so one record moves every summand;
//  - the dual is noised step by step: the printed noise rests on a stability bound that clipping breaks, and that
//    bounds a loss, not a distance;
//  - a difference is one batch's at two released points: the printed one takes two batches, which a record may both
//    be in, and the telescoping sum breaks;
//  - the clip of a difference also follows the dual's movement, and never exceeds 2 C_1.
// docs/methods/minimax.md has the rest.
//
// T = 1 is alternating dp-sgda; method.sampling = full is DIFF2 (Murata and Suzuki 2023) with a dual.

#include <algorithm>
#include <cmath>

#include "core/errors.hpp"
#include "core/numbers/real.hpp"
#include "method/method.hpp"
#include "method/minimax/private_diff.hpp"
#include "method/minimax/private_diff_theory.hpp"
#include "method/minimax/saddle_iterate.hpp"

namespace dpmpi {
namespace {

class PrivateDiff final : public Method {
 public:
  void declare(Options& options) override { options_.declare(options); }
  void validate(std::vector<std::string>& problems) const override { options_.validate(problems); }
  std::uint64_t steps(const PublicFacts& facts) const override { return options_.rounds(facts.data); }

  std::vector<QuerySpec> queries(const PublicFacts& facts, double noise_multiplier) const override {
    auto all = options_.families(facts, noise_multiplier);
    if (options_.private_prior()) all.insert(all.begin(), options_.prior_query(facts, noise_multiplier));
    return all;
  }

  Derived report_quantities(const PublicFacts& facts, const std::vector<Query>& queries) const override {
    const SaddleObjective& f = saddle(facts.objective, "private-diff");
    const auto n = real(facts.data.records), R = real(steps(facts)), T = static_cast<double>(options_.restart);
    const double batch = expected_batch(options_.rule(facts.data), facts.data.records);
    Derived all{{"B", batch},
                {"q", batch / n},
                {"R", R},
                {"T_2", static_cast<double>(options_.dual_steps)},
                {"C_0", options_.dual_bound(f)},
                {"epochs", R * batch / n}};
    for (const Query& query : queries) {
      all.emplace_back("N_" + query.name, real(query.steps));
      all.emplace_back("z_" + query.name, query.noise_multiplier);
    }
    if (!f.primal_is_private()) return all;
    const DifferenceRadius radius = options_.radius(f);
    all.insert(all.end(), {{"T", T},
                           {"C_1", options_.clip},
                           {"C_2", radius.slope},
                           {"C_2y", radius.dual_slope},
                           {"C_3", radius.least}});
    // Where differences are clipped at a tenth of a gradient's clip: the estimator's noise over that of dp-sgda.
    all.emplace_back("V(T, 0.1)", difference_noise_energy(T, 0.1));
    all.emplace_back("V*(T, 0.1)", best_difference_noise_energy(T, 0.1));
    all.emplace_back("best_restart_share", best_restart_share(T, 0.1));
    return all;
  }

  void start(Objective& objective, const std::vector<Query>& queries, std::uint64_t steps) override {
    f_ = &dynamic_cast<SaddleObjective&>(objective);
    radius_ = options_.radius(*f_);
    for (const Query& query : queries) {
      if (query.name == "restart") restart_ = query;
      if (query.name == "difference") difference_ = query;
      if (query.name == "dual") dual_ = query;
    }
    per_record_ = 1 / expected_batch(dual_.sampling, dual_.records);
    prior_.start(options_, queries.front());
    iterate_.start(*f_, options_, steps);
    v_.assign(f_->primal_dim(), 0.0);
    direction_.assign(f_->primal_dim(), 0.0);
    gy_.assign(f_->dual_dim(), 0.0);
  }

  void step(Curator& curator, std::uint64_t r) override {
    prior_.release(curator, *f_, r);
    const auto T_2 = static_cast<std::uint64_t>(options_.dual_steps);
    for (std::uint64_t i = 0; i < T_2; ++i) dual_step(curator, r, i);  // y_r -> y_{r+1}, released

    if (f_->primal_is_private()) estimate_gradient(curator, r);  // at (x_r, y_{r+1})
    std::copy(v_.begin(), v_.end(), direction_.begin());
    iterate_.add_public_primal(r, direction_);
    iterate_.descend(direction_, r);
    iterate_.end_round(r);
  }

  std::span<const float> iterate() const override { return iterate_.published(); }

  void archive(Archive& archive) override {
    prior_.archive(archive, *f_);
    iterate_.archive(archive);
    archive.field("v", v_);
    archive.field("before", before_);
  }

 private:
  // y <- Pi_Y(y + eta_y (sum / N + public part)), on a batch of its own.
  void dual_step(Curator& curator, std::uint64_t r, std::uint64_t i) {
    const std::uint64_t s = r * static_cast<std::uint64_t>(options_.dual_steps) + i;
    const Batch batch = curator.draw(dual_, s);
    const auto noisy = curator.release(curator.sum(dual_, batch, clipped_dual_gradients(*f_, iterate_.point())));
    for (std::size_t j = 0; j < gy_.size(); ++j) gy_[j] = per_record_ * noisy[j];
    iterate_.add_public_dual(s, gy_);
    iterate_.ascend(gy_, options_.dual_rate_at(*f_, r, i));
  }

  // v <- gradient at a restart, v <- v + difference else; both from one fresh batch and released points alone.
  void estimate_gradient(Curator& curator, std::uint64_t r) {
    const auto now = iterate_.point();
    const bool fresh = r % static_cast<std::uint64_t>(options_.restart) == 0;
    if (fresh) {
      std::fill(v_.begin(), v_.end(), 0.0);
      const Batch batch = curator.draw(restart_, restart_.releases_before(r));
      add(curator.release(curator.sum(restart_, batch, clipped_primal_gradients(*f_, now))));
    } else {
      const Batch batch = curator.draw(difference_, difference_.releases_before(r));
      const double scale = radius_.between(now, before_, f_->primal_dim()) / radius_.most;
      const Kernel kernel = clipped_primal_differences(*f_, now, before_);
      add(curator.release(curator.sum(difference_, batch, kernel, scale)));
    }
    before_.assign(now.begin(), now.end());
  }

  void add(std::span<const float> noisy_sum) {
    for (std::size_t j = 0; j < v_.size(); ++j) v_[j] += per_record_ * noisy_sum[j];
  }

  PrivateDiffOptions options_;
  SaddleObjective* f_ = nullptr;
  DifferenceRadius radius_;
  Query restart_, difference_, dual_;
  double per_record_ = 1;  ///< 1 / N, a public constant
  ReleasedPrior prior_;
  SaddleIterate iterate_;
  std::vector<double> v_, direction_, gy_;
  AlignedVector<float> before_;  ///< (x, y) of the last primal query
};

const MethodRegistration private_diff{
    {"private-diff", "min-max: noisy gradients at restarts, noisy gradient differences between",
     "Zhang et al. 2025, PrivateDiff Minimax, corrected", make_method<PrivateDiff>}};

}  // namespace
}  // namespace dpmpi
