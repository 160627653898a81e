#pragma once
// Min-max problems over a network: the primal is the network's parameters and the slopes of its loss, the dual is a
// few numbers behind them, and a record's private dual part is a function of its outputs.

#include <memory>
#include <vector>

#include "objective/minimax/saddle.hpp"
#include "objective/minimax/saddle_network.hpp"

namespace dpmpi {

class NetworkSaddle : public SaddleObjective, public PrivatePrimal {
 public:
  /// w is (network, tail), and the tail is (the loss's slopes, dual).
  NetworkSaddle(const SaddleNetworkMaker& network, std::unique_ptr<OutputLoss> loss, std::size_t tail);

  std::size_t dim() const override { return network_->dim() + tail_dim_; }
  std::size_t primal_dim() const override { return network_->dim() + loss_->slopes(); }
  std::size_t outputs() const override { return network_->outputs(); }
  double flops_per_record() const override { return network_->flops(); }
  std::size_t micro_batch_rows() const override { return network_->rows_at_once(); }
  ScoreRecipe score_recipe() const override { return network_->score_recipe(); }
  std::vector<std::string> structure() const override { return network_->structure(); }
  RecordFactors heeds() const override { return {.weight = true}; }
  bool sees_copies() const override { return network_->sees_copies(); }
  void initialise(const PublicStream& stream, std::span<float> w) const override;

  NumericSlack primal_gradient_slack() const override { return network_->gradient_slack(); }
  NumericSlack dual_gradient_slack() const override { return {}; }  // clamped in double, and rounded by itself
  NumericSlack saddle_gradient_slack() const override { return network_->gradient_slack(); }
  NumericSlack primal_difference_slack() const override { return network_->difference_slack(); }

 protected:
  void prepare(std::span<const float> w) override;
  void prepare_pair(std::span<const float> w, std::span<const float> v) override;
  void losses(const Rows& rows, std::span<double> out) override;
  void scores(const Rows& rows, std::span<float> out) override;
  void add_clipped_primal_gradients(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) override;
  void add_clipped_dual_gradients(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) override;
  void add_clipped_saddle_gradients(const Rows& rows, const SaddleClip& clip, double scale,
                                    LatticeAccumulator& sum) override;
  void add_clipped_primal_differences(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) override;

  Capabilities capabilities() override { return {.values = this, .saddle = this, .primal = this}; }
  const SaddleNetwork& network() const { return *network_; }
  OutputLoss& loss() { return *loss_; }
  std::span<const float> tail() const { return tail_; }  ///< at prepare(w)
  /// Of the present pass, of the records themselves.
  const float* outputs_of(std::size_t row) const { return network_->outputs_of(row, 0); }
  /// The mean of value(outputs) over the copies of a row of the present pass.
  template <class Value>
  double mean_of_copies(std::size_t row, Value&& value) const {
    double sum = 0;
    for (std::size_t k = 0; k < network_->copies(); ++k) sum += value(network_->outputs_of(row, k));
    return sum / static_cast<double>(network_->copies());
  }
  virtual float tail_start() const { return 0; }                        ///< of each number
  virtual double loss_of(const Rows& rows, std::size_t row) = 0;        ///< of the present pass
  virtual void score(std::size_t row, std::span<float> out) const = 0;  ///< likewise
  /// Adds weight * clip(the private part of grad_y of the copies of a row, times the record's weight) from
  /// coordinate `base` on; nothing if it is not finite.
  virtual void add_dual(const Rows& rows, std::size_t row, double weight, double clip, std::size_t base,
                        LatticeAccumulator& sum) = 0;

 private:
  template <class Kernel>
  void for_each_batch(const Rows& rows, std::size_t at_most, Kernel&& kernel);

  std::unique_ptr<OutputLoss> loss_;
  std::unique_ptr<SaddleNetwork> network_;
  std::size_t tail_dim_;
  std::span<const float> tail_;
};

}  // namespace dpmpi
