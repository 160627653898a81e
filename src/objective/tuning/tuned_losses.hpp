#pragma once
// Losses of models that are trained on public records, one model a point. It is made of the records, so nobody can
// ask for losses before there are any.

#include <cstddef>
#include <memory>
#include <span>

#include "core/aligned.hpp"
#include "objective/capabilities.hpp"
#include "objective/tuning/tuned_model.hpp"

namespace dpmpi {

class TunedLosses final : public PointValues, public LossesAtPoints {
 public:
  /// `family` and `loss` must outlive it.
  TunedLosses(const ModelFamily& family, const ScalarLoss& loss, PublicSet set, std::unique_ptr<Turns> turns);

  /// Trains the model of w, unless it is there. Local, and as expensive as training is.
  void prepare(std::span<const float> w);
  std::size_t trained() const { return trained_; }  ///< models, so far

 private:
  void losses(const Rows& rows, std::span<double> out) override;
  void scores(const Rows& rows, std::span<float> out) override;
  void prepare_points(std::span<const double> points) override;
  void losses_at(std::size_t p, const Rows& rows, std::span<double> out) override;

  void train(std::span<const double> point, std::span<double> model);
  template <class Use>
  void for_each_tile(std::span<const double> model, const Rows& rows, const Use& use);

  const HyperParameters& hyper_;
  const ScalarLoss& loss_;
  PublicSet set_;
  std::unique_ptr<TunedModel> model_;  // stands on set_
  std::unique_ptr<Turns> turns_;
  std::size_t dim_, stride_;
  AlignedVector<double> rows_;  // tile_rows x stride_
  AlignedVector<double> values_, point_, prepared_, models_;
  std::size_t trained_ = 0;
};

}  // namespace dpmpi
