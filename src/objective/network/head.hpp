#pragma once
// Losses of one record from its outputs, in double, and their gradients by the outputs.

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "objective/math/losses.hpp"
#include "objective/network/shape.hpp"
#include "objective/output_loss.hpp"

namespace dpmpi {

/// The loss of a head of one output; null for others.
std::unique_ptr<ScalarLoss> scalar_loss_of(Head head, const ClassWeights& weights);

class MlpHead final : public OutputLoss {
 public:
  MlpHead(Head head, std::size_t outputs, ClassWeights weights = {})
      : head_(head), outputs_(outputs), weights_(std::move(weights)), exponential_(outputs) {}
  /// That of a network, with its class weights.
  explicit MlpHead(const MlpShape& shape) : MlpHead(shape.head, shape.units.back(), shape.class_weights) {}

  /// NaN for a label that is NaN (an empty slot) or no class, and for non-finite outputs.
  template <class T>
  double loss(const T* outputs, float label);

  void gradient(const double* outputs, float label, std::span<const float> tail, double* delta,
                double* slope) override;

 private:
  template <class T>
  double unweighted_loss(const T* outputs, float label);
  template <class T>
  bool valid(const T* outputs, float label) const;
  /// exponential_[k] = exp(outputs[k] - outputs[top]); returns top, the first largest output.
  template <class T>
  std::size_t exponentiate(const T* outputs);

  Head head_;
  std::size_t outputs_;
  ClassWeights weights_;
  std::vector<double> exponential_;
};

}  // namespace dpmpi
