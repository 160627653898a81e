#pragma once
// Any gradient of (features of a record, point) in double as an objective, clipped as the formula says.

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "data/records/blocks.hpp"
#include "objective/objective.hpp"
#include "objective/random_records.hpp"

namespace dpmpi::test {

class VectorObjective final : public Objective, public GradientKernel, public GradientNorms {
 public:
  /// Writes the gradient of a record's loss at w.
  using Gradient = std::function<void(std::span<const float> record, std::span<const float> w, std::span<double>)>;
  VectorObjective(std::size_t dim, Gradient gradient) : gradient_(std::move(gradient)), g_(dim) {}

  std::size_t dim() const override { return g_.size(); }
  LabelKind label_kind() const override { return LabelKind::real; }
  std::size_t outputs() const override { return 0; }
  std::vector<ParameterGroup> groups() const override { return {{"parameters", 0, dim(), 1}}; }
  double flops_per_record() const override { return 0; }
  void prepare(std::span<const float> w) override { w_ = w; }
  void add_clipped_gradients(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) override {
    for (const std::uint32_t i : rows.index) {
      const double norm = gradient(rows.records, i);
      if (norm > bound.clip)
        for (double& g : g_) g *= bound.clip / norm;
      sum.begin(1);
      if (std::isfinite(norm)) sum.add(0, std::span<const double>(g_));
    }
  }
  void gradient_norms(const Rows& rows, std::span<double> out) override {
    for (std::size_t i = 0; i < rows.size(); ++i) out[i] = gradient(rows.records, rows.index[i]);
  }
  NumericSlack gradient_slack() const override { return {.clip = 0x1p-45, .summed_rows = 1}; }

 protected:
  Capabilities capabilities() override { return {.gradients = this, .norms = this}; }

 private:
  double gradient(const Records& records, std::uint32_t i) {
    gradient_({records.row_f32(i), records.features}, w_, g_);
    double square = 0;
    for (const double g : g_) square += g * g;
    return std::sqrt(square);
  }

  Gradient gradient_;
  std::span<const float> w_;
  std::vector<double> g_;
};

/// One block of dense records without bias column: the rows, and a label for each of them.
inline Shard dense_shard(const std::vector<std::vector<float>>& rows, const std::vector<float>& labels) {
  Records r;
  r.count = rows.size();
  r.features = rows.front().size();
  r.stride = round_up(r.features, 16);
  r.f32.assign(r.count * r.stride, 0.0F);
  r.label = labels;
  r.norm.resize(r.count);
  for (std::size_t i = 0; i < r.count; ++i) {
    std::copy(rows[i].begin(), rows[i].end(), r.f32.begin() + static_cast<std::ptrdiff_t>(i * r.stride));
    update_norm(r, i);
  }
  Shard shard;
  shard.facts = {r.count, r.features, Storage::dense_f32};
  shard.layout = BlockLayout::of(shard.facts, 1);
  shard.blocks.push_back({0, 0, std::move(r)});
  return shard;
}

}  // namespace dpmpi::test
