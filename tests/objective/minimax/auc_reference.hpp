#pragma once
// The min-max form of AUC maximisation record by record in plain double loops, times the record's weight, and an
// objective's primal part as an objective by itself.

#include <array>

#include "objective/minimax/auc.hpp"
#include "objective/network/reference.hpp"
#include "objective/property_case.hpp"

namespace dpmpi::test {

class AucReference {
 public:
  AucReference(const AucSettings& settings, const Records& records)
      : settings_(settings), network_(settings_.scorer, records), records_(records) {}

  double score(std::size_t i, std::span<const double> w) const {
    const double s = network_.levels(i, w).back()[0];
    return sigmoid() ? 1 / (1 + std::exp(-s)) : s;
  }

  double loss(std::size_t i, std::span<const double> w) const {
    const double h = score(i, w), p = settings_.prior;
    const auto [a, b, alpha] = tail(w);
    const bool positive = records_.label[i] > 0;
    return records_.weight_of(i) *
           ((positive ? (1 - p) * (h - a) * (h - a) : p * (h - b) * (h - b)) +
            2 * alpha * (p * (1 - p) + (positive ? -(1 - p) * h : p * h)) - p * (1 - p) * alpha * alpha);
  }

  double output_delta(std::size_t i, std::span<const double> w) const {
    const double h = score(i, w), p = settings_.prior;
    const auto [a, b, alpha] = tail(w);
    const double by_score = records_.label[i] > 0 ? 2 * (1 - p) * (h - a - alpha) : 2 * p * (h - b + alpha);
    return records_.weight_of(i) * by_score * (sigmoid() ? h * (1 - h) : 1);
  }

  /// By the weights, a, b: g.size() is the primal dimension.
  void gradient(std::size_t i, std::span<const double> w, std::span<double> g) const {
    const double h = score(i, w), p = settings_.prior, own = records_.weight_of(i);
    const auto [a, b, alpha] = tail(w);
    const bool positive = records_.label[i] > 0;
    network_.gradient_from(network_.levels(i, w), {output_delta(i, w)}, w, g);
    g[settings_.scorer.dim()] = positive ? -2 * own * (1 - p) * (h - a) : 0;
    g[settings_.scorer.dim() + 1] = positive ? 0 : -2 * own * p * (h - b);
  }

  double private_dual(std::size_t i, std::span<const double> w) const {
    const double h = score(i, w), p = settings_.prior;
    return records_.weight_of(i) * (records_.label[i] > 0 ? -2 * (1 - p) * h : 2 * p * h);
  }

  const MlpReference& network() const { return network_; }

 private:
  bool sigmoid() const { return settings_.output == ScoreMap::sigmoid; }
  std::array<double, 3> tail(std::span<const double> w) const {
    const std::size_t at = settings_.scorer.dim();
    return {w[at], w[at + 1], w[at + 2]};
  }

  const AucSettings settings_;
  MlpReference network_;
  const Records& records_;
};

/// min over x at a fixed y: the primal kernels, for the property tests of objectives.
class PrimalView final : public Objective, public PointValues, public GradientKernel {
 public:
  PrimalView(SaddleObjective& saddle, std::vector<float> dual) : saddle_(saddle), dual_(std::move(dual)) {}
  std::size_t dim() const override { return saddle_.primal_dim(); }
  LabelKind label_kind() const override { return saddle_.label_kind(); }
  std::size_t outputs() const override { return saddle_.outputs(); }
  std::vector<ParameterGroup> groups() const override { return {}; }
  double flops_per_record() const override { return saddle_.flops_per_record(); }
  std::size_t micro_batch_rows() const override { return saddle_.micro_batch_rows(); }
  void initialise(const PublicStream&, std::span<float>) const override {}
  void prepare(std::span<const float> x) override { at_ = saddle_.at(joined(x, w_)); }
  void losses(const Rows& rows, std::span<double> out) override { at_.unweighted_losses(rows, out); }
  void scores(const Rows& rows, std::span<float> out) override { at_.scores(rows, out); }
  void add_clipped_gradients(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) override {
    at_.add_clipped_primal_gradients(rows, bound, sum);
  }
  NumericSlack gradient_slack() const override { return saddle_.primal()->primal_gradient_slack(); }
  Differences differences() {
    return {[this](std::span<const float> x, std::span<const float> z) {
              return clipped_primal_differences(saddle_, joined(x, w_), joined(z, v_));
            },
            saddle_.primal()->primal_difference_slack()};
  }

 protected:
  Capabilities capabilities() override { return {.values = this, .gradients = this}; }

 private:
  std::span<const float> joined(std::span<const float> x, std::vector<float>& to) const {
    to.assign(x.begin(), x.end());
    to.insert(to.end(), dual_.begin(), dual_.end());
    return to;
  }
  SaddleObjective& saddle_;
  AtSaddlePoint at_;
  std::vector<float> dual_, w_, v_;
};

}  // namespace dpmpi::test
