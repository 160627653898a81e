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
#include <optional>
#include <span>

#include "core/numbers/real.hpp"
#include "method/clipped_records.hpp"
#include "method/method.hpp"
#include "method/minimax/private_diff.hpp"
#include "method/minimax/released_prior.hpp"
#include "method/minimax/saddle_iterate.hpp"

namespace dpmpi {
namespace {

constexpr double likely_difference = 0.1;  // clip of a difference over that of a gradient

/// The releases of a run; which of them there are follows from settings and objective.
struct PrivateDiffQueries {
  std::optional<Query> prior, restart, difference;
  Query dual;
};

class PrivateDiffPlan final : public MethodPlan {
 public:
  PrivateDiffPlan(const PrivateDiffSettings& settings, const PublicFacts& facts)
      : settings_(settings),
        f_(saddle(facts.objective, "private-diff")),
        records_(facts.data.records),
        radius_(settings.radius(f_)) {
    settings.common.check(f_);
    dual_bound_ = settings.common.dual_bound(f_);
    rule_ = settings.common.rule(facts.data);
    steps = settings.common.rounds(facts.data);
    if (f_.primal()) {
      restarts_ = (steps - 1) / whole(settings.restart) + 1;
      differences_ = steps - restarts_;
    }
    total_share_ = settings.dual_share;
    if (restarts_ > 0) total_share_ += settings.restart_share + (differences_ > 0 ? settings.difference_share : 0);
  }

  // z_f = noise_multiplier * sqrt(count_f / share_f), shares of 1: the multiplier is that of the whole run, were it
  // not sampled.
  std::vector<QuerySpec> queries(double noise_multiplier) const override {
    std::vector<QuerySpec> all;
    if (settings_.common.private_prior) all.push_back(prior_query(settings_.common, steps, noise_multiplier));
    const auto add = [&](const char* name, double share, double bound, std::size_t dim, NumericSlack slack,
                         std::uint64_t releases, Schedule schedule, double effort) {
      all.push_back({.name = name,
                     .dim = dim,
                     .sampling = rule_,
                     .bound = {bound},
                     .slack = slack,
                     .noise_multiplier = noise_multiplier * std::sqrt(real(releases) * total_share_ / share),
                     .steps = releases,
                     .schedule = schedule,
                     .effort = effort});
    };
    const std::uint64_t T = whole(settings_.restart), T_2 = whole(settings_.dual_steps);
    const double clip = settings_.common.clip;
    if (restarts_ > 0)
      add("restart", settings_.restart_share, clip, f_.primal_dim(), f_.primal()->primal_gradient_slack(),
          restarts_, {T, 0, 1}, 1);
    if (differences_ > 0)
      add("difference", settings_.difference_share, 2 * clip, f_.primal_dim(),
          f_.primal()->primal_difference_slack(), differences_, {T, 1, T}, 2);
    // Only the loss's outputs are needed in most cases: a forward pass, a third of a gradient's work.
    add("dual", settings_.dual_share, dual_bound_, f_.dual_dim(), f_.dual_gradient_slack(), steps * T_2,
        {1, 0, 1, T_2}, f_.dual_dim() == 1 ? 1.0 / 3 : 1);
    return all;
  }

  Derived report_quantities(const std::vector<Query>& queries) const override {
    const double n = real(records_), R = real(steps), T = real(whole(settings_.restart));
    const double batch = expected_batch(rule_, records_);
    Derived all{
        {"B", batch},         {"q", batch / n},         {"R", R}, {"T_2", real(whole(settings_.dual_steps))},
        {"C_0", dual_bound_}, {"epochs", R * batch / n}};
    for (const Query& query : std::span(queries).first(this->queries(1).size())) {
      all.emplace_back("N_" + query.name, real(query.steps));
      all.emplace_back("z_" + query.name, query.noise_multiplier);
    }
    all.emplace_back("eta_x", descent(queries).rate);
    if (restarts_ == 0) return all;
    all.insert(all.end(), {{"T", T},
                           {"C_1", settings_.common.clip},
                           {"C_2", radius_.slope},
                           {"C_2y", radius_.dual_slope},
                           {"C_3", radius_.least}});
    // Where differences are clipped at a tenth of a gradient's clip: the estimator's noise over that of dp-sgda.
    all.emplace_back("V(T, 0.1)", difference_noise_energy(T, likely_difference));
    all.emplace_back("V*(T, 0.1)", best_difference_noise_energy(T, likely_difference));
    all.emplace_back("best_restart_share", best_restart_share(T, likely_difference));
    return all;
  }

  std::unique_ptr<Algorithm> start(Objective& objective, const std::vector<Query>& queries) const override;

 private:
  PrivateDiffQueries named(const std::vector<Query>& queries) const;
  OptimizerSettings descent(const std::vector<Query>& queries) const;

  PrivateDiffSettings settings_;
  const SaddleObjective& f_;
  std::uint64_t records_;
  DifferenceRadius radius_;
  double dual_bound_ = 0, total_share_ = 0;
  SamplingRule rule_;
  std::uint64_t restarts_ = 0, differences_ = 0;  ///< releases of the primal; none if it sees no record
};

class PrivateDiff final : public Algorithm {
 public:
  PrivateDiff(const PrivateDiffSettings& settings, const DifferenceRadius& radius, std::uint64_t rounds,
              SaddleObjective& f, const PrivateDiffQueries& queries)
      : T_(whole(settings.restart)),
        T_2_(whole(settings.dual_steps)),
        f_(f),
        radius_(radius),
        queries_(queries),
        per_record_(1 / expected_batch(queries.dual.sampling, queries.dual.records)),
        prior_(settings.common, queries.prior),
        iterate_(f, settings.common, rounds),
        v_(f.primal_dim()),
        direction_(f.primal_dim()),
        gy_(f.dual_dim()) {}

  void step(Curator& curator, std::uint64_t r) override {
    prior_.release(curator, f_, r);
    for (std::uint64_t i = 0; i < T_2_; ++i) dual_step(curator, r, i);  // y_r -> y_{r+1}, released

    if (queries_.restart) estimate_gradient(curator, r);  // at (x_r, y_{r+1})
    std::copy(v_.begin(), v_.end(), direction_.begin());
    iterate_.add_public_primal(r, direction_);
    iterate_.descend(direction_, r);
    iterate_.end_round(r);
  }

  std::span<const float> iterate() override { return iterate_.published(); }
  /// Of the gradients that a restart sums, or of those of the dual where there are no others.
  SizesOverClip sizes_over_clip() override {
    const auto w = iterate_.point();
    const Query& query = queries_.restart ? *queries_.restart : queries_.dual;
    return sizes_of_kernel(queries_.restart ? clipped_primal_gradients(f_, w) : clipped_dual_gradients(f_, w),
                           query.dim, query.bound, {{0, query.dim, query.bound.clip}});
  }

  void archive(Archive& archive) override {
    prior_.archive(archive, f_);
    iterate_.archive(archive);
    archive.field("v", v_);
    archive.field("before", before_);
  }

 private:
  // y <- Pi_Y(y + eta_y (sum / N + public part)), on a batch of its own.
  void dual_step(Curator& curator, std::uint64_t r, std::uint64_t i) {
    const std::uint64_t s = r * T_2_ + i;
    const Batch batch = curator.draw(queries_.dual, s);
    const auto noisy =
        curator.release(curator.sum(queries_.dual, batch, clipped_dual_gradients(f_, iterate_.point())));
    for (std::size_t j = 0; j < gy_.size(); ++j) gy_[j] = per_record_ * noisy[j];
    iterate_.add_public_dual(s, gy_);
    iterate_.ascend(gy_, iterate_.dual_rate_at(r, i));
  }

  // v <- gradient at a restart, v <- v + difference else; both from one fresh batch and released points alone.
  void estimate_gradient(Curator& curator, std::uint64_t r) {
    const auto now = iterate_.point();
    const bool fresh = r % T_ == 0;
    if (fresh) {
      std::fill(v_.begin(), v_.end(), 0.0);
      const Query& restart = *queries_.restart;
      const Batch batch = curator.draw(restart, restart.releases_before(r));
      add(curator.release(curator.sum(restart, batch, clipped_primal_gradients(f_, now))));
    } else {
      const Query& difference = *queries_.difference;
      const Batch batch = curator.draw(difference, difference.releases_before(r));
      const double scale = radius_.between(now, before_, f_.primal_dim()) / radius_.most;
      const Kernel kernel = clipped_primal_differences(f_, now, before_);
      add(curator.release(curator.sum(difference, batch, kernel, scale)));
    }
    before_.assign(now.begin(), now.end());
  }

  void add(std::span<const float> noisy_sum) {
    for (std::size_t j = 0; j < v_.size(); ++j) v_[j] += per_record_ * noisy_sum[j];
  }

  std::uint64_t T_, T_2_;
  SaddleObjective& f_;
  DifferenceRadius radius_;
  PrivateDiffQueries queries_;
  double per_record_;  ///< 1 / N, a public constant
  ReleasedPrior prior_;
  SaddleIterate iterate_;
  std::vector<double> v_, direction_, gy_;
  AlignedVector<float> before_;  ///< (x, y) of the last primal query
};

PrivateDiffQueries PrivateDiffPlan::named(const std::vector<Query>& queries) const {
  auto next = queries.begin();  // in the order of queries()
  PrivateDiffQueries own;
  if (settings_.common.private_prior) own.prior = *next++;
  if (restarts_ > 0) own.restart = *next++;
  if (differences_ > 0) own.difference = *next++;
  own.dual = *next;
  return own;
}

// The noise of a restart is in all T steps of its block, that of a difference in those that follow.
OptimizerSettings PrivateDiffPlan::descent(const std::vector<Query>& queries) const {
  const auto [prior, restart, difference, dual] = named(queries);
  const double T = std::min(real(whole(settings_.restart)), real(steps)), blocks = real(steps) / T;
  double square = restart ? std::pow(T * restart->noise_std, 2) : 0;
  if (difference)
    square += (T - 1) * T * (2 * T - 1) / 6 * std::pow(likely_difference / 2 * difference->noise_std, 2);
  const double noise = std::sqrt(blocks * square) / expected_batch(rule_, records_);
  return settings_.common.descent.settled({real(steps), settings_.common.clip, noise, f_.label_kind()});
}

std::unique_ptr<Algorithm> PrivateDiffPlan::start(Objective& objective, const std::vector<Query>& queries) const {
  PrivateDiffSettings settings = settings_;
  settings.common.descent = descent(queries);
  return std::make_unique<PrivateDiff>(settings, radius_, steps, offered(objective.saddle()), named(queries));
}

const MethodRegistration private_diff{
    {"private-diff", "min-max: noisy gradients at restarts, noisy gradient differences between",
     "Zhang et al. 2025, PrivateDiff Minimax, corrected", make_method<PrivateDiffSettings>}};

}  // namespace

std::unique_ptr<const MethodPlan> PrivateDiffSettings::plan(const PublicFacts& facts) const {
  return std::make_unique<PrivateDiffPlan>(*this, facts);
}

}  // namespace dpmpi
