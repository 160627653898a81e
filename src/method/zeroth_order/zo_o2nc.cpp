// zo-o2nc: private optimisation of losses that are neither smooth nor convex, from function values alone (Zhang,
// Tran and Cutkosky 2024, Algorithms 1-5), in its corrected form:
//  - what is released is g_t + TREE(t), not the printed recursion (Algorithm 4), and its noise is calibrated to the
//    exact sensitivity of the tree, where the paper's bound fails for short epochs (T <= 4);
//  - the tree's proof composes over the nodes that are used, each with its own noise (docs/theory/running_sums.md);
//  - estimates are clipped, so that privacy does not rest on the declared Lipschitz constant.

#include <algorithm>
#include <cmath>

#include "core/errors.hpp"
#include "core/numbers/real.hpp"
#include "method/method.hpp"
#include "method/zeroth_order/plan.hpp"
#include "privacy/curves/strategy.hpp"

namespace dpmpi {
namespace {

class ZoO2nc final : public Method {
 public:
  void declare(Options& options) override { options_.declare(options); }
  void validate(std::vector<std::string>& problems) const override { options_.validate(problems); }

  std::uint64_t steps(const PublicFacts& facts) const override { return options_.design(facts).steps() * passes(); }

  // noise_multiplier is that of the whole run, 1 / rho, whatever the tree and the number of passes.
  std::vector<QuerySpec> queries(const PublicFacts& facts, double noise_multiplier) const override {
    const ZoDesign d = options_.design(facts);
    const Probes probes = options_.probes(*facts.objective);
    return {{.name = "gradient",
             .dim = facts.objective->dim(),
             .sampling = Shuffled{probes.seed, d.shape.first_batch, d.shape.batch, d.leaves, d.sums()},
             .bound = {d.C_d / real(d.shape.batch)},
             .slack = ZerothOrder::slack(facts.objective->dim()),
             .noise_multiplier = noise_multiplier * options_.node_multiplier(d),
             .steps = d.steps() * passes(),
             .kind = d.running,
             .effort = options_.fast(*facts.objective) ? 10 : static_cast<double>(probes.count)}};
  }

  Derived report_quantities(const PublicFacts& facts, const std::vector<Query>& queries) const override {
    const Query& query = queries.at(0);
    const ZoDesign d = options_.design(query, *facts.objective);
    const ZoBound bound = d.bound(query.noise_std);
    const double z = query.noise_multiplier, nu = d.problem.change;
    return {{"T", real(d.shape.inner)},
            {"q", real(d.shape.restart)},
            {"B1", real(d.shape.first_batch)},
            {"B2", real(d.shape.batch)},
            {"K", real(d.shape.outer)},
            {"m", real(options_.probes(*facts.objective).count)},
            {"delta", options_.outer.radius},
            {"D", d.D},
            {"C_1", d.C_1},
            {"C_d", d.C_d},
            {"s_1", nu * d.C_1 / real(d.shape.first_batch)},
            {"s_d", nu * d.C_d / real(d.shape.batch)},
            {"sigma", query.noise_std},
            {"rho", z > 0 ? std::sqrt(real(passes()) * squared_sensitivity(d.tree)) / z : 0},
            {"eta", loop(d, query.noise_std).rate},
            {"V", bound.V},
            {"N", bound.N},
            {"G", bound.G},
            {"bound", bound.value}};
  }

  void start(Objective& objective, const std::vector<Query>& queries, std::uint64_t) override {
    objective_ = &objective;
    gradient_ = queries.at(0);
    design_ = options_.design(gradient_, objective);
    oracle_ = std::make_unique<ZerothOrder>(objective, options_.probes(objective));
    loop_ = OnlineToNonconvex(loop(design_, gradient_.noise_std), options_.outer.start_point(objective));
    g_.assign(objective.dim(), 0.0);
  }

  // One query: at a leaf t of a running sum g_t = g_{t-1} + DIFF(w_t, w_{t-1}), g_1 = GRAD(w_1). The sum and its
  // noise are the curator's; what comes back is g_t + TREE(t).
  void step(Curator& curator, std::uint64_t t) override {
    loop_.advance();
    const auto w = loop_.point(), before = loop_.previous();
    const std::uint64_t place = loop_.k() * design_.shape.inner + loop_.t();
    const bool first = t % design_.leaves == 0;

    const Batch batch = curator.draw(gradient_, t);
    const Kernel kernel = first ? oracle_->gradient(w, place, 1 / real(design_.shape.first_batch))
                                : oracle_->difference(w, before, place, 1 / real(design_.shape.batch));
    const auto noisy = curator.release(curator.sum(gradient_, batch, kernel, first ? 1 : clip_scale()));

    std::copy(noisy.begin(), noisy.end(), g_.begin());
    add_regularizer(*objective_, w, g_);
    loop_.learn(g_);
    if (options_.skips_last() && loop_.t() + 1 == design_.shape.inner) {
      loop_.advance();
      loop_.learn({});
    }
  }

  std::span<const float> iterate() const override { return loop_.published(); }
  void archive(Archive& archive) override { loop_.archive(archive); }

 private:
  std::uint64_t passes() const { return static_cast<std::uint64_t>(options_.outer.passes); }

  OnlineToNonconvex::Settings loop(const ZoDesign& d, double sigma) const {
    return options_.outer.loop(d.shape.inner, d.shape.outer * passes(), d.bound(sigma).G);
  }

  /// With adaptive_clip differences are clipped at C_d r / (2 D). r is public; where it is 0, so is the difference.
  double clip_scale() const {
    return design_.running.adaptive ? std::clamp(loop_.distance() / (2 * design_.D), 0x1p-20, 1.0) : 1;
  }

  ZoDesignOptions options_;
  Objective* objective_ = nullptr;
  Query gradient_;
  ZoDesign design_;
  std::unique_ptr<ZerothOrder> oracle_;
  OnlineToNonconvex loop_;
  std::vector<double> g_;
};

const MethodRegistration zo_o2nc{{"zo-o2nc", "nonsmooth nonconvex optimisation from losses alone, with tree noise",
                                  "Zhang, Tran and Cutkosky 2024 (ICLR), Algorithms 1-5, corrected",
                                  make_method<ZoO2nc>}};

}  // namespace
}  // namespace dpmpi
