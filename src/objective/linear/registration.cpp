// The scalar losses under their names in the configuration.
#include "objective/linear/glm.hpp"

namespace dpmpi {
namespace {

using Builder = ObjectiveEntry::Builder;

template <std::unique_ptr<ScalarLoss> (*loss)(), LabelKind kind>
struct PlainGlm final : Builder {
  void declare(Options&) override {}
  std::unique_ptr<Objective> make(const ObjectiveFacts& facts) const override {
    return std::make_unique<Glm>(facts, loss());
  }
  LabelKind label_kind() const override { return kind; }
};

struct HuberGlm final : Builder {
  double delta = 1;
  void declare(Options& options) override {
    options.add("delta", delta, "residual beyond which the Huber loss is linear", Range::positive());
  }
  std::unique_ptr<Objective> make(const ObjectiveFacts& facts) const override {
    return std::make_unique<Glm>(facts, huber_loss(delta));
  }
  LabelKind label_kind() const override { return LabelKind::real; }
};

struct CappedL1Glm final : Builder {
  double cap = 1;
  void declare(Options& options) override {
    options.add("cap", cap, "residual beyond which the capped absolute loss is constant", Range::positive());
  }
  std::unique_ptr<Objective> make(const ObjectiveFacts& facts) const override {
    return std::make_unique<Glm>(facts, capped_l1_loss(cap));
  }
  LabelKind label_kind() const override { return LabelKind::real; }
};

struct PinballGlm final : Builder {
  double quantile = 0.5;
  void declare(Options& options) override {
    options.add("quantile", quantile, "share of labels below the fitted quantile", Range::open(0, 1));
  }
  std::unique_ptr<Objective> make(const ObjectiveFacts& facts) const override {
    return std::make_unique<Glm>(facts, pinball_loss(quantile));
  }
  LabelKind label_kind() const override { return LabelKind::real; }
};

/// Losses of signs, which are classes.
template <std::unique_ptr<ScalarLoss> (*loss)()>
struct SignGlm final : Builder, ClassWeightOption {
  void declare(Options& options) override { declare_class_weights(options); }
  ClassWeightOption* class_weight_option() override { return this; }
  std::unique_ptr<Objective> make(const ObjectiveFacts& facts) const override {
    return std::make_unique<Glm>(facts, loss(), class_weights());
  }
  LabelKind label_kind() const override { return LabelKind::sign; }
};

template <std::unique_ptr<ScalarLoss> (*loss)(), LabelKind kind>
ObjectiveEntry plain(const char* name, const char* summary) {
  return {name, summary, make_builder<PlainGlm<loss, kind>>};
}

template <std::unique_ptr<ScalarLoss> (*loss)()>
ObjectiveEntry of_signs(const char* name, const char* summary) {
  return {name, summary, make_builder<SignGlm<loss>>};
}

constexpr LabelKind real = LabelKind::real;

const ObjectiveRegistration squared{plain<squared_loss, real>("squared", "(m - y)^2 / 2, m = <w, x>")};
const ObjectiveRegistration absolute{plain<absolute_loss, real>("absolute", "|m - y|, m = <w, x>")};
const ObjectiveRegistration phase{
    plain<phase_retrieval_loss, real>("phase_retrieval", "||m| - y|, m = <w, x> (amplitude; not convex)")};
const ObjectiveRegistration huber{
    {"huber", "squared up to |m - y| = delta, linear beyond", make_builder<HuberGlm>}};
const ObjectiveRegistration pinball{
    {"pinball", "(1 - q) (m - y) for m >= y, q (y - m) below: quantile regression", make_builder<PinballGlm>}};
const ObjectiveRegistration poisson{
    plain<poisson_loss, LabelKind::count>("poisson", "exp(m) - y m: Poisson regression of counts y")};
const ObjectiveRegistration capped{
    {"capped_l1", "min(|m - y|, cap), m = <w, x> (not convex)", make_builder<CappedL1Glm>}};
const ObjectiveRegistration logistic{of_signs<logistic_loss>("logistic", "log(1 + exp(-y m)), m = <w, x>")};
const ObjectiveRegistration hinge{of_signs<hinge_loss>("hinge", "max(0, 1 - y m), m = <w, x>")};
const ObjectiveRegistration smoothed_hinge{
    of_signs<smoothed_hinge_loss>("smoothed_hinge", "hinge of y m, quadratic on [0, 1]")};
const ObjectiveRegistration sigmoid{
    of_signs<sigmoid_loss>("sigmoid", "1 / (1 + exp(y m)), m = <w, x> (smooth, not convex)")};
const ObjectiveRegistration ramp{of_signs<ramp_loss>("ramp", "min(1, max(0, 1 - y m)) (not convex)")};

}  // namespace
}  // namespace dpmpi
