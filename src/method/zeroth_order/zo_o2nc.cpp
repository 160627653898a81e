// zo-o2nc: private optimisation of losses that are neither smooth nor convex, from function values alone (Zhang,
// Tran and Cutkosky 2024, Algorithms 1-5), in its corrected form:
//  - what is released is g_t + TREE(t), not the printed recursion (Algorithm 4), and its noise is calibrated to the
//    exact sensitivity of the tree, where the paper's bound fails for short epochs (T <= 4);
//  - the tree's proof composes over the nodes that are used, each with its own noise (docs/theory/running_sums.md);
//  - estimates are clipped, so that privacy does not rest on the declared Lipschitz constant.

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/numbers/real.hpp"
#include "method/clipped_records.hpp"
#include "method/method.hpp"
#include "method/zeroth_order/design.hpp"
#include "privacy/curves/strategy.hpp"

namespace dpmpi {
namespace {

class ZoO2ncPlan final : public MethodPlan {
 public:
  ZoO2ncPlan(const ZoO2ncSettings& settings, const PublicFacts& facts)
      : loop_(settings.outer), dim_(facts.objective->dim()), design_(design_zo_o2nc(settings, facts)) {
    steps = design_.steps();
  }

  // noise_multiplier is that of the whole run, 1 / rho, whatever the tree and the number of passes.
  std::vector<QuerySpec> queries(double noise_multiplier) const override {
    const ZoDesign& d = design_;
    return {{.name = "gradient",
             .dim = dim_,
             .sampling = Shuffled{d.probes.seed, d.shape.first_batch, d.shape.batch, d.leaves, d.sums()},
             .bound = {d.C_d / real(d.shape.batch)},
             .slack = ZerothOrder::slack(dim_),
             .noise_multiplier = noise_multiplier * d.node_multiplier,
             .steps = steps,
             .kind = d.running,
             .effort = d.fast ? 10 : static_cast<double>(d.probes.count)}};
  }

  Derived report_quantities(const std::vector<Query>& queries) const override {
    const Query& query = queries.at(0);
    const ZoDesign& d = design_;
    const ZoBound bound = d.bound(query.noise_std);
    const double z = query.noise_multiplier, nu = d.problem.change;
    return {{"T", real(d.shape.inner)},
            {"q", real(d.shape.restart)},
            {"B1", real(d.shape.first_batch)},
            {"B2", real(d.shape.batch)},
            {"K", real(d.shape.outer)},
            {"m", real(d.probes.count)},
            {"delta", d.problem.radius},
            {"D", d.D},
            {"C_1", d.C_1},
            {"C_d", d.C_d},
            {"s_1", nu * d.C_1 / real(d.shape.first_batch)},
            {"s_d", nu * d.C_d / real(d.shape.batch)},
            {"sigma", query.noise_std},
            {"rho", z > 0 ? std::sqrt(real(d.passes) * squared_sensitivity(d.tree)) / z : 0},
            {"eta", loop(query).rate},
            {"V", bound.V},
            {"N", bound.N},
            {"G", bound.G},
            {"bound", bound.value}};
  }

  std::unique_ptr<Algorithm> start(Objective& objective, const std::vector<Query>& queries) const override;

 private:
  OnlineToNonconvex::Settings loop(const Query& query) const {
    return loop_.loop(design_.shape.inner, design_.shape.outer * design_.passes, design_.bound(query.noise_std).G);
  }

  ZoSettings loop_;
  std::size_t dim_;
  ZoDesign design_;
};

class ZoO2nc final : public Algorithm {
 public:
  ZoO2nc(const ZoDesign& design, OnlineToNonconvex loop, Objective& objective, const Query& gradient)
      : design_(design),
        objective_(objective),
        gradient_(gradient),
        oracle_(objective, design.probes),
        loop_(std::move(loop)),
        g_(objective.dim()) {}

  // One query: at a leaf t of a running sum g_t = g_{t-1} + DIFF(w_t, w_{t-1}), g_1 = GRAD(w_1). The sum and its
  // noise are the curator's; what comes back is g_t + TREE(t).
  void step(Curator& curator, std::uint64_t t) override {
    loop_.advance();
    const auto w = loop_.point(), before = loop_.previous();
    const std::uint64_t place = loop_.k() * design_.shape.inner + loop_.t();
    const bool first = t % design_.leaves == 0;

    const Batch batch = curator.draw(gradient_, t);
    const Kernel kernel = first ? oracle_.gradient(w, place, 1 / real(design_.shape.first_batch))
                                : oracle_.difference(w, before, place, 1 / real(design_.shape.batch));
    const auto noisy = curator.release(curator.sum(gradient_, batch, kernel, first ? 1 : clip_scale()));

    std::copy(noisy.begin(), noisy.end(), g_.begin());
    add_regularizer(objective_, w, g_);
    loop_.learn(g_);
    if (design_.skips_last() && loop_.t() + 1 == design_.shape.inner) {
      loop_.advance();
      loop_.learn({});
    }
  }

  std::span<const float> iterate() override { return loop_.published(); }
  /// Of the estimates that a sum begins with.
  SizesOverClip sizes_over_clip() override {
    return oracle_.sizes_of_gradients(loop_.end(), 1 / real(design_.shape.first_batch), gradient_.clip_at(0));
  }
  void archive(Archive& archive) override { loop_.archive(archive); }

 private:
  /// With adaptive_clip differences are clipped at C_d r / (2 D). r is public; where it is 0, so is the difference.
  double clip_scale() const {
    return design_.running.adaptive ? std::clamp(loop_.distance() / (2 * design_.D), 0x1p-20, 1.0) : 1;
  }

  ZoDesign design_;
  Objective& objective_;
  Query gradient_;
  ZerothOrder oracle_;
  OnlineToNonconvex loop_;
  std::vector<double> g_;
};

std::unique_ptr<Algorithm> ZoO2ncPlan::start(Objective& objective, const std::vector<Query>& queries) const {
  const Query& gradient = queries.at(0);
  return std::make_unique<ZoO2nc>(design_, OnlineToNonconvex(loop(gradient), loop_.start_point(objective)),
                                  objective, gradient);
}

const MethodRegistration zo_o2nc{{"zo-o2nc", "nonsmooth nonconvex optimisation from losses alone, with tree noise",
                                  "Zhang, Tran and Cutkosky 2024 (ICLR), Algorithms 1-5, corrected",
                                  make_method<ZoO2ncSettings>}};

}  // namespace

std::unique_ptr<const MethodPlan> ZoO2ncSettings::plan(const PublicFacts& facts) const {
  return std::make_unique<ZoO2ncPlan>(*this, facts);
}

}  // namespace dpmpi
