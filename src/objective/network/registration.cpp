// The objectives `mlp` and `softmax` (the same without hidden layers) and their options.

#include <algorithm>

#include <fmt/format.h>

#include "objective/linear/softmax.hpp"
#include "objective/network/mlp.hpp"

namespace dpmpi {
namespace {

class SoftmaxBuilder : public ObjectiveEntry::Builder, public ClassWeightOption {
 public:
  void declare(Options& options) override {
    options.add("classes", classes_, "number of classes", Range::at_least(2));
    declare_class_weights(options);
  }
  void validate(std::vector<std::string>& problems) const override { require_classes(classes(), problems); }
  std::unique_ptr<Objective> make(const ObjectiveFacts& facts) const override {
    if (facts.storage == Storage::sparse_f32)
      return std::make_unique<SparseSoftmax>(facts, classes(), class_weights());
    return make_mlp({.units = {facts.features, classes()},
                     .input_bias = facts.bias,
                     .head = Head::softmax,
                     .class_weights = class_weights()});
  }
  LabelKind label_kind() const override { return LabelKind::class_; }
  std::size_t classes() const override { return static_cast<std::size_t>(classes_); }

 private:
  std::int64_t classes_ = 0;  // not set
};

class MlpBuilder : public ObjectiveEntry::Builder, public ClassWeightOption {
 public:
  void declare(Options& options) override {
    options.add("hidden", hidden_, "units of the hidden layers, e.g. 256,128 (empty: none)", Range::at_least(1));
    options.add("activation", activation_, "activation of hidden units", activation_names());
    options.add(
        "head", head_,
        "loss: cross-entropy of classes or of a sign, half the squared error, absolute error, or ramp of a sign",
        {"softmax", "logistic", "squared", "absolute", "ramp"});
    options.add("classes", classes_, "number of classes (head = softmax)", Range::at_least(2));
    declare_class_weights(options);
  }
  void validate(std::vector<std::string>& problems) const override {
    if (head_ == "softmax") require_classes(classes(), problems);
    if (given() && is_quantity(label_kind()))
      problems.push_back(fmt::format(
          "objective.class_weights: objective.head = {} has no classes; softmax, logistic and ramp have", head_));
  }
  std::unique_ptr<Objective> make(const ObjectiveFacts& facts) const override {
    return make_mlp({.units = units_of(facts.features, hidden_, std::max<std::size_t>(classes(), 1)),
                     .input_bias = facts.bias,
                     .activation = activation_named(activation_),
                     .head = head_named(head_),
                     .class_weights = class_weights()});
  }
  LabelKind label_kind() const override { return labels_of(head_named(head_)); }
  std::size_t classes() const override { return head_ == "softmax" ? static_cast<std::size_t>(classes_) : 0; }

 private:
  std::vector<std::int64_t> hidden_ = {256, 128};
  std::string activation_ = "relu", head_ = "softmax";
  std::int64_t classes_ = 0;  // not set
};

const ObjectiveRegistration mlp{{"mlp",
                                 "multilayer perceptron with a softmax, logistic, squared, absolute or ramp loss",
                                 make_builder<MlpBuilder>}};
const ObjectiveRegistration softmax_regression{
    {"softmax", "log sum_k exp(<w_k, x>) - <w_label, x>", make_builder<SoftmaxBuilder>}};

}  // namespace

void require_classes(std::size_t classes, std::vector<std::string>& problems) {
  if (classes == 0)
    problems.emplace_back(
        "objective.classes is not set: the number of classes, a public number (10 for ten digits)");
}

}  // namespace dpmpi
