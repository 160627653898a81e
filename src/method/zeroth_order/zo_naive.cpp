// zo-naive: the baseline that variance reduction and trees are measured against (Zhang, Tran and Cutkosky 2024,
// Algorithm 6): two losses along one direction of each record, and fresh Gaussian noise at every step. The paper's
// noise d L / (B rho) is half of what its own sensitivity 2 d L / B needs under replace_one; here it is all of it.
// The text evaluates both losses at w + delta u; the second belongs at w - delta u.
// Without noise (privacy.noise = none) it is the method of Kornowski and Shamir 2023 (arXiv:2307.04504).

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/numbers/real.hpp"
#include "method/clipped_records.hpp"
#include "method/method.hpp"
#include "method/zeroth_order/settings.hpp"
#include "objective/values/zeroth_order.hpp"

namespace dpmpi {
namespace {

struct ZoNaiveSettings final : MethodSettings {
  ZoSettings outer;  ///< of the outer loop
  std::int64_t batch = 64;
  double clip = 0;

  void declare(Options& options) override {
    outer.declare(options);
    options.add("batch", batch, "records B of a step", Range::closed(1, 0x1p31))
        .add("clip", clip, "bound on the norm of a record's estimate (0: d L, which L-Lipschitz losses obey)",
             Range::non_negative());
  }
  void validate(std::vector<std::string>& problems) const override { outer.validate(problems); }
  std::unique_ptr<const MethodPlan> plan(const PublicFacts& facts) const override;
};

class ZoNaivePlan final : public MethodPlan {
 public:
  ZoNaivePlan(const ZoNaiveSettings& settings, const PublicFacts& facts)
      : settings_(settings), dim_(facts.objective->dim()) {
    const ZoSettings& outer = settings.outer;
    const std::uint64_t T = whole(outer.inner), epoch = whole(settings.batch) * T;
    const std::uint64_t most = facts.data.records / epoch;
    epochs_ = outer.outer > 0 ? whole(outer.outer) : most;
    if (epochs_ == 0 || epochs_ > most)
      throw ConfigError(fmt::format("{} epochs of {} do not fit n = {}: make method.inner, batch or outer smaller",
                                    std::max<std::uint64_t>(1, epochs_), epoch, facts.data.records));
    outer.check(*facts.objective, T, epochs_);
    steps = epochs_ * T * whole(outer.passes);
  }

  // A record is part of one step of a pass: one Gaussian release, a running sum of one leaf. noise_multiplier is
  // that of the whole run, 1 / rho.
  std::vector<QuerySpec> queries(double noise_multiplier) const override {
    const ZoSettings& outer = settings_.outer;
    const double clip = settings_.clip > 0 ? settings_.clip : static_cast<double>(dim_) * outer.lipschitz;
    return {{.name = "gradient",
             .dim = dim_,
             .sampling = Shuffled{.seed = whole(outer.seed),
                                  .first = whole(settings_.batch),
                                  .batch = whole(settings_.batch),
                                  .leaves = 1,
                                  .runs = epochs_ * whole(outer.inner)},
             .bound = {clip / real(whole(settings_.batch))},
             .slack = ZerothOrder::slack(dim_),
             .noise_multiplier = noise_multiplier * std::sqrt(real(whole(outer.passes))),
             .steps = steps,
             .kind = RunningSum{},
             .effort = 1}};
  }

  Derived report_quantities(const std::vector<Query>& queries) const override {
    const Query& query = queries.at(0);
    const ZoSettings& outer = settings_.outer;
    const double passes = std::sqrt(real(whole(outer.passes))), z = query.noise_multiplier;
    return {{"T", static_cast<double>(outer.inner)},
            {"B", static_cast<double>(settings_.batch)},
            {"K", real(epochs_)},
            {"m", 1.0},
            {"delta", outer.radius},
            {"D", outer.step_radius_for(whole(outer.inner))},
            {"C", query.bound.clip * static_cast<double>(settings_.batch)},
            {"sigma", query.noise_std},
            {"rho", z > 0 ? passes / z : 0},
            {"eta", loop(query).rate}};
  }

  std::unique_ptr<Algorithm> start(Objective& objective, const std::vector<Query>& queries) const override;

 private:
  // G^2 >= E |release|^2: d^2 / (B (d - 1)) L^2 of sampling, L^2 of the mean, d sigma^2 of noise.
  OnlineToNonconvex::Settings loop(const Query& query) const {
    const auto d = static_cast<double>(query.dim);
    const double L = settings_.outer.lipschitz;
    const double G2 = (d * d / (std::max(1.0, d - 1) * static_cast<double>(settings_.batch)) + 1) * L * L +
                      d * query.noise_std * query.noise_std;
    const std::uint64_t T = whole(settings_.outer.inner);
    return settings_.outer.loop(T, steps / T, std::sqrt(G2));
  }

  ZoNaiveSettings settings_;
  std::size_t dim_;
  std::uint64_t epochs_ = 0;  ///< K of one pass
};

class ZoNaive final : public Algorithm {
 public:
  ZoNaive(const ZoNaiveSettings& settings, OnlineToNonconvex loop, Objective& objective, const Query& gradient)
      : objective_(objective),
        gradient_(gradient),
        per_record_(1 / real(whole(settings.batch))),
        oracle_(objective, {.scheme = DirectionScheme::iid,
                            .count = 1,
                            .radius = settings.outer.radius,
                            .seed = whole(settings.outer.seed)}),
        loop_(std::move(loop)),
        g_(objective.dim()) {}

  void step(Curator& curator, std::uint64_t t) override {
    loop_.advance();
    const auto w = loop_.point();
    const Batch batch = curator.draw(gradient_, t);
    const auto noisy = curator.release(curator.sum(gradient_, batch, oracle_.gradient(w, t, per_record_)));
    std::copy(noisy.begin(), noisy.end(), g_.begin());
    add_regularizer(objective_, w, g_);
    loop_.learn(g_);
  }

  std::span<const float> iterate() override { return loop_.published(); }
  SizesOverClip sizes_over_clip() override {
    return oracle_.sizes_of_gradients(loop_.end(), per_record_, gradient_.bound.clip);
  }
  void archive(Archive& archive) override { loop_.archive(archive); }

 private:
  Objective& objective_;
  Query gradient_;
  double per_record_;  ///< 1 / B
  ZerothOrder oracle_;
  OnlineToNonconvex loop_;
  std::vector<double> g_;
};

std::unique_ptr<const MethodPlan> ZoNaiveSettings::plan(const PublicFacts& facts) const {
  return std::make_unique<ZoNaivePlan>(*this, facts);
}
std::unique_ptr<Algorithm> ZoNaivePlan::start(Objective& objective, const std::vector<Query>& queries) const {
  const Query& gradient = queries.at(0);
  return std::make_unique<ZoNaive>(
      settings_, OnlineToNonconvex(loop(gradient), settings_.outer.start_point(objective)), objective, gradient);
}

const MethodRegistration zo_naive{{"zo-naive", "one random direction a record, fresh noise a step: a baseline",
                                   "Zhang, Tran and Cutkosky 2024 (ICLR), Algorithm 6, corrected",
                                   make_method<ZoNaiveSettings>}};

}  // namespace
}  // namespace dpmpi
