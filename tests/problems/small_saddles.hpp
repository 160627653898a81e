#pragma once
// Small min-max problems, written per record in double and clipped one by one: what the methods are compared with.

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "objective/minimax/saddle.hpp"
#include "support/shards.hpp"

namespace dpmpi::test {

/// A min-max problem over records that are one number each.
class ToySaddle final : public SaddleObjective, public PrivatePrimal, public ClassPrior {
 public:
  using Point = std::span<const float>;
  using Values = std::span<double>;
  /// Writes grad_x and the record's part of grad_y.
  using Gradient = std::function<void(double z, Point x, Point y, Values gx, Values gy)>;

  ToySaddle(std::size_t primal, std::size_t dual, Gradient gradient)
      : start(primal + dual, 0.0F), primal_(primal), dual_(dual), gradient_(std::move(gradient)) {}

  std::vector<float> start;                                     ///< (x_0, y_0)
  std::function<void(Point y, Values gradient)> public_dual;    ///< added to the mean of grad_y
  std::function<void(Point w, Values gradient)> public_primal;  ///< likewise
  std::function<void(std::span<float> y)> project;
  std::optional<double> largest_dual, curvature;
  std::optional<SmoothConstants> smooth;
  bool private_primal = true;

  std::size_t dim() const override { return primal_ + dual_; }
  std::size_t primal_dim() const override { return primal_; }
  LabelKind label_kind() const override { return LabelKind::sign; }
  std::size_t outputs() const override { return 1; }
  std::vector<ParameterGroup> groups() const override { return {{"x", 0, primal_, 1}, {"y", primal_, dual_, 1}}; }
  double flops_per_record() const override { return 1; }
  void initialise(const PublicStream&, std::span<float> w) const override {
    std::copy(start.begin(), start.end(), w.begin());
  }
  void prepare(Point w) override { w_ = w; }
  void prepare_pair(Point w, Point v) override { w_ = w, v_ = v; }
  void losses(const Rows&, std::span<double> out) override { std::fill(out.begin(), out.end(), 0.0); }
  void scores(const Rows&, std::span<float> out) override { std::fill(out.begin(), out.end(), 0.0F); }

  void add_clipped_primal_gradients(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) override {
    for_each(rows, sum, [&](double z) {
      std::vector<double> g = gradient_at(z, w_);
      g.resize(primal_);
      return clipped(std::move(g), bound.clip);
    });
  }
  void add_clipped_dual_gradients(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) override {
    for_each(rows, sum, [&](double z) { return clipped(dual_part(gradient_at(z, w_)), bound.clip); });
  }
  void add_clipped_saddle_gradients(const Rows& rows, const SaddleClip& clip, double scale,
                                    LatticeAccumulator& sum) override {
    for_each(rows, sum, [&](double z) {
      std::vector<double> gy = clipped(dual_part(gradient_at(z, w_)), scale * clip.dual), g = gradient_at(z, w_);
      g.resize(primal_);
      g = clipped(std::move(g), scale * clip.primal);
      for (const double value : gy) g.push_back(clip.weight * value);
      return g;
    });
  }
  void add_clipped_primal_differences(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) override {
    for_each(rows, sum, [&](double z) {
      std::vector<double> g = gradient_at(z, w_);
      const std::vector<double> h = gradient_at(z, v_);
      g.resize(primal_);
      for (std::size_t j = 0; j < primal_; ++j) g[j] -= h[j];
      return clipped(std::move(g), bound.clip);
    });
  }

  void add_public_dual(Point w, std::uint64_t, Values gradient) const override {
    if (public_dual) public_dual(w.subspan(primal_), gradient);
  }
  void add_public_primal(Point w, std::uint64_t, Values gradient) const override {
    if (public_primal) public_primal(w, gradient);
  }
  void project_dual(std::span<float> y) const override {
    if (project) project(y);
  }
  std::optional<double> dual_bound() const override { return largest_dual; }
  std::optional<double> dual_curvature() const override { return curvature; }
  std::optional<SmoothConstants> smooth_constants() const override { return smooth; }

  void set_prior(double p) override { prior = p; }
  double prior = 0;

  NumericSlack primal_gradient_slack() const override { return {.clip = 0x1p-40}; }
  NumericSlack dual_gradient_slack() const override { return {.clip = 0x1p-40}; }
  NumericSlack saddle_gradient_slack() const override { return {.clip = 0x1p-40}; }
  NumericSlack primal_difference_slack() const override { return {.clip = 0x1p-40}; }

 protected:
  Capabilities capabilities() override {
    return {.values = this, .saddle = this, .primal = private_primal ? this : nullptr, .prior = this};
  }

 private:
  std::vector<double> gradient_at(double z, Point w) const {
    std::vector<double> g(dim(), 0.0);
    gradient_(z, w.first(primal_), w.subspan(primal_), std::span(g).first(primal_), std::span(g).subspan(primal_));
    return g;
  }
  std::vector<double> dual_part(const std::vector<double>& g) const {
    return {g.begin() + static_cast<std::ptrdiff_t>(primal_), g.end()};
  }
  static std::vector<double> clipped(std::vector<double> g, double clip) {
    double square = 0;
    for (const double value : g) square += value * value;
    const double norm = std::sqrt(square), scale = !std::isfinite(norm) ? 0 : norm <= clip ? 1 : clip / norm;
    for (double& value : g) value = scale == 0 ? 0 : value * scale;
    return g;
  }
  template <class Contribution>
  static void for_each(const Rows& rows, LatticeAccumulator& sum, Contribution&& contribution) {
    sum.begin(rows.size());
    for (const auto i : rows.index)
      if (!std::isnan(rows.records.label[i]))
        sum.add(0, std::span<const double>(contribution(rows.records.row_f32(i)[0])));
  }

  std::size_t primal_, dual_;
  Gradient gradient_;
  Point w_, v_;
};

/// Records z_0, z_1, ..., all of them positive.
inline Shard numbers(const std::vector<float>& z, std::uint32_t blocks = 1) {
  Shard shard;
  shard.facts = {z.size(), 1, Storage::dense_f32};
  shard.layout = BlockLayout::of(shard.facts, blocks);
  for (std::uint32_t b = 0; b < blocks; ++b) {
    Records r;
    r.count = shard.layout.size(b), r.features = 1, r.stride = 16;
    r.f32.assign(r.count * r.stride, 0.0F), r.label.assign(r.count, 1.0F), r.norm.assign(r.count, 0.0F);
    for (std::size_t i = 0; i < r.count; ++i) r.f32[i * r.stride] = z[shard.layout.begin(b) + i];
    shard.blocks.push_back({b, shard.layout.begin(b), std::move(r)});
  }
  return shard;
}

/// Numbers that add up to 0 and lie evenly over one quantum of a lattice, so that its rounding averages out in
/// sums.
inline Shard dithered(double quantum) {
  std::vector<float> z(1 << 14);
  const auto n = static_cast<double>(z.size());
  for (std::size_t i = 0; i < z.size(); ++i)
    z[i] = static_cast<float>(quantum * ((static_cast<double>(i) + 0.5) / n - 0.5));
  return numbers(z, 4);
}

}  // namespace dpmpi::test
