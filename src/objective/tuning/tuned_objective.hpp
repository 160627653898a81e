#pragma once
// What all objectives share whose points are hyper-parameters: at every point a model is trained, and a record's
// loss is that of this model.

#include <span>
#include <string>
#include <vector>

#include "objective/objective.hpp"
#include "objective/tuning/hyper_parameters.hpp"

namespace dpmpi {

/// Has no gradients: for methods that ask for losses at points.
class TunedObjective : public Objective {
 public:
  std::size_t dim() const override { return hyper_parameters().dim(); }
  std::vector<ParameterGroup> groups() const override { return hyper_parameters().groups(); }

  /// The middle of the box, or a uniform point of it.
  void initialise(const PublicStream& stream, std::span<float> w) const override;

 protected:
  virtual const HyperParameters& hyper_parameters() const = 0;
  /// Where a search begins: "centre" or "random".
  explicit TunedObjective(std::string start) : start_(std::move(start)) {}

 private:
  std::string start_;
};

/// Option `start` of such objectives.
void declare_start(Options& options, std::string& start);

}  // namespace dpmpi
