#pragma once
// The options of losses that stand behind a network.

#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "objective/network/mlp.hpp"

namespace dpmpi {

class HeadedBuilder : public ObjectiveEntry::Builder, public ClassWeightOption {
 public:
  void validate(std::vector<std::string>& problems) const override {
    if (head_ == "softmax") require_classes(classes(), problems);
    if (given() && is_quantity(label_kind()))
      problems.push_back(fmt::format(
          "objective.class_weights: objective.head = {} has no classes; softmax, logistic and ramp have", head_));
  }
  LabelKind label_kind() const override { return labels_of(head()); }
  ClassWeightOption* class_weight_option() override { return this; }
  std::size_t classes() const override { return head_ == "softmax" ? static_cast<std::size_t>(classes_) : 0; }

 protected:
  void declare_head(Options& options) {
    options.add(
        "head", head_,
        "loss: cross-entropy of classes or of a sign, half the squared error, absolute error, or ramp of a sign",
        {"softmax", "logistic", "squared", "absolute", "ramp"});
    options.add("classes", classes_, "number of classes (head = softmax)", Range::at_least(2));
    declare_class_weights(options);
  }
  Head head() const { return head_named(head_); }
  std::size_t outputs() const { return head_ == "softmax" ? classes() : 1; }

 private:
  std::string head_ = "softmax";
  std::int64_t classes_ = 0;  // not set
};

}  // namespace dpmpi
