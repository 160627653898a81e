#pragma once
// The validation loss of one record as a function of hyper-parameters: L(theta, record) = phi(score, label), the
// score being that of a model which is trained with theta on a public set. A record has a part in its own losses
// and in nothing else.

#include <memory>
#include <string>
#include <vector>

#include "dpmpi/objective/objective.hpp"
#include "dpmpi/objective/tuned_model.hpp"

namespace dpmpi {

/// Options that all of them have.
struct TuningOptions {
  std::string train, loss, start = "centre";
  double delta = 1;

  /// `losses`: names that `loss` may have, the first is the default.
  void declare(Options& options, const std::vector<std::string>& losses);
  std::unique_ptr<ScalarLoss> make_loss() const;
};

/// Has no gradients: for methods that ask for losses at points.
class Tuning final : public Objective {
 public:
  Tuning(const ObjectiveFacts& facts, const TuningOptions& options, std::unique_ptr<TunedModel> model);

  std::size_t dim() const override { return model_->hyper_parameters().dim(); }
  LabelKind label_kind() const override { return loss_->label_kind(); }
  std::size_t outputs() const override { return 1; }
  std::vector<ParameterGroup> groups() const override { return model_->hyper_parameters().groups(); }
  double flops_per_record() const override;
  bool has_gradients() const override { return false; }

  void open(const Communicator& comm, const DataOptions& data) override;
  std::vector<std::string> assumptions() const override;

  /// The middle of the box, or a uniform point of it.
  void initialise(const PublicStream& stream, std::span<float> w) const override;

  /// Trains the model of w. Local, and as expensive as training is.
  void prepare(std::span<const float> w) override;
  void prepare_pair(std::span<const float> w, std::span<const float> v) override;
  void losses(const Rows& rows, std::span<double> out) override;
  void scores(const Rows& rows, std::span<float> out) override;

  /// Point p is trained by rank p mod size() of open(), which sends the others the model.
  void prepare_points(std::span<const double> points) override;
  void losses_at(std::size_t p, const Rows& rows, std::span<double> out) override;

  void add_clipped_gradients(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) override;
  void add_clipped_differences(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) override;
  NumericSlack gradient_slack() const override { return {}; }
  NumericSlack difference_slack() const override { return {}; }

  std::size_t trained() const { return trained_; }  ///< models, by this rank, so far

 private:
  void train(std::span<const double> point, std::span<double> model);
  void share(std::size_t count);
  template <class Use>
  void for_each_tile(std::span<const double> model, const Rows& rows, const Use& use);

  std::size_t features_, stride_;
  TuningOptions options_;
  std::unique_ptr<TunedModel> model_;
  std::unique_ptr<ScalarLoss> loss_;
  std::unique_ptr<PublicSet> set_;
  const Communicator* comm_ = nullptr;
  AlignedVector<double> rows_;  // tile_rows x stride_
  AlignedVector<double> values_, point_, prepared_, models_;
  std::vector<std::int64_t> bits_;
  std::size_t trained_ = 0;
};

}  // namespace dpmpi
