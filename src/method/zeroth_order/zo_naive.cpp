// zo-naive: the baseline that variance reduction and trees are measured against (Zhang, Tran and Cutkosky 2024,
// Algorithm 6): two losses along one direction of each record, and fresh Gaussian noise at every step. The paper's
// noise d L / (B rho) is half of what its own sensitivity 2 d L / B needs under replace_one; here it is all of it.
// The text evaluates both losses at w + delta u; the second belongs at w - delta u.
// Without noise (privacy.noise = none) it is the method of Kornowski and Shamir 2023 (arXiv:2307.04504).

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/numbers/real.hpp"
#include "method/method.hpp"
#include "method/zeroth_order/options.hpp"
#include "objective/values/zeroth_order.hpp"

namespace dpmpi {
namespace {

class ZoNaive final : public Method {
 public:
  void declare(Options& options) override {
    options_.declare(options);
    options.add("batch", batch_, "records B of a step", Range::closed(1, 0x1p31))
        .add("clip", clip_, "bound on the norm of a record's estimate (0: d L, which L-Lipschitz losses obey)",
             Range::non_negative());
  }
  void validate(std::vector<std::string>& problems) const override { options_.validate(problems); }

  std::uint64_t steps(const PublicFacts& facts) const override {
    return epochs(facts) * whole(options_.inner) * whole(options_.passes);
  }

  // A record is part of one step of a pass: one Gaussian release, a running sum of one leaf. noise_multiplier is
  // that of the whole run, 1 / rho.
  std::vector<QuerySpec> queries(const PublicFacts& facts, double noise_multiplier) const override {
    const std::size_t dim = facts.objective->dim();
    const double clip = clip_ > 0 ? clip_ : static_cast<double>(dim) * options_.lipschitz;
    const double passes = std::sqrt(static_cast<double>(options_.passes));
    return {{.name = "gradient",
             .dim = dim,
             .sampling = Shuffled{.seed = whole(options_.seed),
                                  .first = whole(batch_),
                                  .batch = whole(batch_),
                                  .leaves = 1,
                                  .runs = epochs(facts) * whole(options_.inner)},
             .bound = {clip / real(whole(batch_))},
             .slack = ZerothOrder::slack(dim),
             .noise_multiplier = noise_multiplier * passes,
             .steps = steps(facts),
             .kind = RunningSum{},
             .effort = 1}};
  }

  Derived report_quantities(const PublicFacts& facts, const std::vector<Query>& queries) const override {
    const Query& query = queries.at(0);
    const double passes = std::sqrt(static_cast<double>(options_.passes)), z = query.noise_multiplier;
    return {{"T", static_cast<double>(options_.inner)},
            {"B", static_cast<double>(batch_)},
            {"K", real(epochs(facts))},
            {"m", 1.0},
            {"delta", options_.radius},
            {"D", options_.step_radius_for(whole(options_.inner))},
            {"C", query.bound.clip * static_cast<double>(batch_)},
            {"sigma", query.noise_std},
            {"rho", z > 0 ? passes / z : 0},
            {"eta", loop(query).rate}};
  }

  void start(Objective& objective, const std::vector<Query>& queries, std::uint64_t) override {
    objective_ = &objective;
    gradient_ = queries.at(0);
    Probes one{.scheme = DirectionScheme::iid, .count = 1, .radius = options_.radius};
    one.seed = whole(options_.seed);
    oracle_ = std::make_unique<ZerothOrder>(objective, one);
    loop_ = OnlineToNonconvex(loop(gradient_), options_.start_point(objective));
    g_.assign(objective.dim(), 0.0);
  }

  void step(Curator& curator, std::uint64_t t) override {
    loop_.advance();
    const auto w = loop_.point();
    const Batch batch = curator.draw(gradient_, t);
    const auto noisy =
        curator.release(curator.sum(gradient_, batch, oracle_->gradient(w, t, 1 / real(whole(batch_)))));
    std::copy(noisy.begin(), noisy.end(), g_.begin());
    add_regularizer(*objective_, w, g_);
    loop_.learn(g_);
  }

  std::span<const float> iterate() const override { return loop_.published(); }
  void archive(Archive& archive) override { loop_.archive(archive); }

 private:
  std::uint64_t epochs(const PublicFacts& facts) const {
    const std::uint64_t epoch = whole(batch_) * whole(options_.inner), most = facts.data.records / epoch;
    const std::uint64_t K = options_.outer > 0 ? whole(options_.outer) : most;
    if (K == 0 || K > most)
      throw ConfigError(
          fmt::format("{} epochs of {} records do not fit {} records: make method.inner, batch or outer smaller",
                      std::max<std::uint64_t>(1, K), epoch, facts.data.records));
    options_.check(*facts.objective, whole(options_.inner), K);
    return K;
  }

  // G^2 >= E |release|^2: d^2 / (B (d - 1)) L^2 of sampling, L^2 of the mean, d sigma^2 of noise.
  OnlineToNonconvex::Settings loop(const Query& query) const {
    const auto d = static_cast<double>(query.dim);
    const double L = options_.lipschitz;
    const double G2 = (d * d / (std::max(1.0, d - 1) * static_cast<double>(batch_)) + 1) * L * L +
                      d * query.noise_std * query.noise_std;
    const std::uint64_t T = whole(options_.inner);
    return options_.loop(T, query.steps / T, std::sqrt(G2));
  }

  ZoOptions options_;
  std::int64_t batch_ = 64;
  double clip_ = 0;
  Objective* objective_ = nullptr;
  Query gradient_;
  std::unique_ptr<ZerothOrder> oracle_;
  OnlineToNonconvex loop_;
  std::vector<double> g_;
};

const MethodRegistration zo_naive{{"zo-naive", "one random direction a record, fresh noise a step: a baseline",
                                   "Zhang, Tran and Cutkosky 2024 (ICLR), Algorithm 6, corrected",
                                   make_method<ZoNaive>}};

}  // namespace
}  // namespace dpmpi
