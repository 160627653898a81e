#pragma once
// Weights of losses by the class of a record's label.
//
// The loss of a record, and so its gradient, is multiplied by the weight of its class. Weights are public numbers
// of the config. What a record contributes is clipped after it was weighted, so its norm is within the clip
// whatever the weights are: sensitivity, noise and all accounting are those of the loss without weights. Methods
// that rest on facts of the loss in place of a clip (slopes, curvatures) are told those of the weighted loss.

#include <cstddef>
#include <string>
#include <vector>

#include "core/options.hpp"
#include "data/records/records.hpp"

namespace dpmpi {

struct ReadingRules;

/// One weight a class: of signs those of -1 and +1, of classes those of 0, 1, ... Without any, all weigh 1.
class ClassWeights {
 public:
  ClassWeights() = default;
  explicit ClassWeights(std::vector<double> weights) : weights_(std::move(weights)) {}

  bool empty() const { return weights_.empty(); }
  std::size_t size() const { return weights_.size(); }
  double operator[](std::size_t k) const { return weights_[k]; }
  double largest() const;  ///< 1 if empty
  /// Of a label -1 or +1. 1 if empty.
  double of_sign(double label) const { return empty() ? 1 : weights_[label > 0 ? 1 : 0]; }
  /// Of a label 0, 1, ...; 1 if empty, or if the label is no class.
  double of_class(double label) const {
    return label >= 0 && label < static_cast<double>(size()) ? weights_[static_cast<std::size_t>(label)] : 1;
  }
  double of(LabelKind kind, double label) const {
    return kind == LabelKind::sign ? of_sign(label) : of_class(label);
  }

 private:
  std::vector<double> weights_;
};

/// The option objective.class_weights, for builders of such objectives to inherit.
class ClassWeightOption {
 public:
  static constexpr double least = 1e-6, most = 1e6;

  /// Makes weights of the words of labels, which mean what they mean in a file that is read by `rules`: ratios of
  /// weights, of which the largest becomes 1. Appends a
  /// message for every entry that is wrong. Once, before weights(), and for labels that are classes. Local.
  void resolve(const ReadingRules& rules, LabelKind kind, std::size_t classes, std::vector<std::string>& problems);
  /// For configs whose labels cannot be read, of which nothing but the shape of the model is asked.
  void leave_unresolved() { resolved_ = true; }
  bool given() const { return !entries_.empty(); }

 protected:
  ~ClassWeightOption() = default;
  void declare_class_weights(Options& options);
  /// BugError for entries that nobody resolved: they would be forgotten.
  const ClassWeights& class_weights() const;

 private:
  std::vector<std::string> entries_;  ///< LABEL:WEIGHT
  ClassWeights weights_;
  bool resolved_ = false;
};

}  // namespace dpmpi
