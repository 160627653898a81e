// The objectives `mlp` and `softmax` (the same without hidden layers) and their options.

#include <algorithm>

#include <fmt/format.h>

#include "objective/linear/softmax.hpp"
#include "objective/network/head_options.hpp"
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
  ClassWeightOption* class_weight_option() override { return this; }

 private:
  std::int64_t classes_ = 0;  // not set
};

class MlpBuilder : public HeadedBuilder {
 public:
  void declare(Options& options) override {
    options.add("hidden", hidden_, "units of the hidden layers, e.g. 256,128 (empty: none)", Range::at_least(1));
    options.add("activation", activation_, "activation of hidden units", activation_names());
    declare_head(options);
  }
  std::unique_ptr<Objective> make(const ObjectiveFacts& facts) const override {
    return make_mlp({.units = units_of(facts.features, hidden_, outputs()),
                     .input_bias = facts.bias,
                     .activation = activation_named(activation_),
                     .head = head(),
                     .class_weights = class_weights()});
  }

 private:
  std::vector<std::int64_t> hidden_ = {256, 128};
  std::string activation_ = "relu";
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
