// The objectives `mlp` and `softmax` (the same without hidden layers) and their options.

#include "dpmpi/objective/glm_softmax.hpp"
#include "dpmpi/objective/mlp.hpp"

namespace dpmpi {
namespace {

class SoftmaxBuilder : public ObjectiveEntry::Builder {
 public:
  void declare(Options& options) override {
    options.add("classes", classes_, "number of classes", Range::at_least(2));
  }
  std::unique_ptr<Objective> make(const ObjectiveFacts& facts) const override {
    if (facts.storage == Storage::sparse_f32) return std::make_unique<SparseSoftmax>(facts, classes());
    return make_mlp({.units = {facts.features, classes()}, .input_bias = facts.bias, .head = Head::softmax});
  }
  LabelKind label_kind() const override { return LabelKind::class_; }
  std::size_t classes() const override { return static_cast<std::size_t>(classes_); }

 private:
  std::int64_t classes_ = 10;
};

class MlpBuilder : public ObjectiveEntry::Builder {
 public:
  void declare(Options& options) override {
    options.add("hidden", hidden_, "units of the hidden layers, e.g. 256,128 (empty: none)", Range::at_least(1));
    options.add("activation", activation_, "activation of hidden units", activation_names());
    options.add(
        "head", head_,
        "loss: cross-entropy of classes or of a sign, half the squared error, absolute error, or ramp of a sign",
        {"softmax", "logistic", "squared", "absolute", "ramp"});
    options.add("classes", classes_, "number of classes (head = softmax)", Range::at_least(2));
  }
  std::unique_ptr<Objective> make(const ObjectiveFacts& facts) const override {
    MlpShape shape{.units = {facts.features},
                   .input_bias = facts.bias,
                   .activation = activation_named(activation_),
                   .head = head()};
    for (const std::int64_t units : hidden_) shape.units.push_back(static_cast<std::size_t>(units));
    shape.units.push_back(head() == Head::softmax ? static_cast<std::size_t>(classes_) : 1);
    return make_mlp(std::move(shape));
  }
  LabelKind label_kind() const override {
    if (head() == Head::softmax) return LabelKind::class_;
    return head() == Head::logistic || head() == Head::ramp ? LabelKind::sign : LabelKind::real;
  }
  std::size_t classes() const override { return head() == Head::softmax ? static_cast<std::size_t>(classes_) : 0; }

 private:
  Head head() const {
    if (head_ == "logistic") return Head::logistic;
    if (head_ == "absolute") return Head::absolute;
    if (head_ == "ramp") return Head::ramp;
    return head_ == "squared" ? Head::squared : Head::softmax;
  }

  std::vector<std::int64_t> hidden_ = {256, 128};
  std::string activation_ = "relu", head_ = "softmax";
  std::int64_t classes_ = 10;
};

template <class Builder>
std::unique_ptr<ObjectiveEntry::Builder> build() {
  return std::make_unique<Builder>();
}

const ObjectiveRegistration mlp{
    {"mlp", "multilayer perceptron with a softmax, logistic, squared, absolute or ramp loss", build<MlpBuilder>}};
const ObjectiveRegistration softmax{{"softmax", "log sum_k exp(<w_k, x>) - <w_label, x>", build<SoftmaxBuilder>}};

}  // namespace
}  // namespace dpmpi
