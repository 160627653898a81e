#pragma once
// A model at its parameters, as evaluations and predictions see it: its losses and scores without class weights.
//
// Training with weights w_k of classes is training for a population in which class k is w_k times as frequent.
// Logits of a cross-entropy then stand log w_k too high, each its own (for signs: log of w_+1 / w_-1), for the best
// probabilities are proportional to w_k p_k. So logits are taken less that, and the loss is that of what is left:
// probabilities, thresholds and losses are those of the records as they are. Losses that are no likelihoods have no
// such shift: their scores stay as they are, and the loss of a record is divided by its weight.

#include <span>
#include <vector>

#include "objective/class_weights.hpp"
#include "objective/objective.hpp"

namespace dpmpi {

/// By how much each logit of the objective stands too high; empty: by nothing, or scores are no logits.
std::vector<float> shift_of_logits(const Objective& objective);

class PopulationModel {
 public:
  /// Both stay, and the objective at w, while this is used.
  PopulationModel(Objective& objective, std::span<const float> w);

  /// Losses as ValuesAtPoint::losses and scores as ValuesAtPoint::scores say, without class weights. Local.
  void evaluate(const Rows& rows, std::span<double> losses, std::span<float> scores) const;
  void scores(const Rows& rows, std::span<float> out) const;
  const AtPoint& at() const { return at_; }

 private:
  const Objective& objective_;
  const ClassWeights& weights_;
  std::vector<float> shift_;  ///< of each output; empty: none
  AtPoint at_;
};

}  // namespace dpmpi
