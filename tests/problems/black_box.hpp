#pragma once
// Any function of (record number, point in double) as an objective, to probe estimators with.

#include <algorithm>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "objective/objective.hpp"

namespace dpmpi::test {

class BlackBox : public Objective, public PointValues, public LossPairs {
 public:
  using Loss = std::function<double(std::size_t record, std::span<const double> w)>;
  BlackBox(std::size_t dim, Loss loss) : loss_(std::move(loss)), dim_(dim), point_(dim) {}

  std::size_t dim() const override { return dim_; }
  LabelKind label_kind() const override { return LabelKind::real; }
  std::size_t outputs() const override { return 0; }
  std::vector<ParameterGroup> groups() const override { return {{"parameters", 0, dim_, 1}}; }
  double flops_per_record() const override { return 0; }
  void prepare(std::span<const float> w) override { w_.assign(w.begin(), w.end()); }
  void losses(const Rows& rows, std::span<double> out) override {
    for (std::size_t r = 0; r < rows.size(); ++r) out[r] = loss_(rows.index[r], w_);
  }
  void scores(const Rows&, std::span<float>) override {}

  void prepare_probes(std::span<const double> x, std::span<const double> y) override { x_ = x, y_ = y; }
  void probe(const Rows& row, double radius, const DirectionTile& tile, std::span<double> up,
             std::span<double> down) override {
    for (std::size_t j = 0; j < tile.count; ++j) {
      up[j] = loss_at(row, x_, radius, tile.row(j));
      down[j] = y_.empty() ? loss_at(row, x_, -radius, tile.row(j)) : loss_at(row, y_, radius, tile.row(j));
    }
  }

 protected:
  Capabilities capabilities() override { return {.values = this, .pairs = this}; }

 private:
  double loss_at(const Rows& row, std::span<const double> from, double step, const double* u) {
    for (std::size_t k = 0; k < dim_; ++k) point_[k] = from[k] + step * u[k];
    return loss_(row.index[0], point_);
  }

  Loss loss_;
  std::size_t dim_;
  std::span<const double> x_, y_;
  std::vector<double> point_, w_;
};

/// `count` records that only their numbers tell apart.
inline Records numbered_records(std::size_t count) {
  Records r;
  r.count = count;
  r.features = 1;
  r.stride = 16;
  r.f32.assign(count * r.stride, 0.0F);
  r.label.assign(count, 0.0F);
  r.norm.assign(count, 0.0F);
  return r;
}

}  // namespace dpmpi::test
