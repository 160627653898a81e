#include "objective/objective.hpp"

#include <algorithm>

#include "core/errors.hpp"

namespace dpmpi {

void Objective::prepare_part(std::size_t first, std::span<const float> part) {
  verify(first + part.size() <= dim(), "a point has dim() coordinates");
  parts_.resize(dim());
  std::copy(part.begin(), part.end(), parts_.begin() + static_cast<std::ptrdiff_t>(first));
  if (first + part.size() == dim()) prepare(parts_);
}

void Objective::prepare_points(std::span<const double> points) {
  verify(points.size() % dim() == 0, "points have dim() coordinates");
  points_.resize(points.size());
  std::transform(points.begin(), points.end(), points_.begin(), [](double x) { return static_cast<float>(x); });
  prepared_ = points.size() / dim();
}

void Objective::losses_at(std::size_t p, const Rows& rows, std::span<double> out) {
  verify((p + 1) * dim() <= points_.size(), "a point that prepare_points() was given");
  if (p != prepared_) prepare(std::span(points_).subspan(p * dim(), dim()));
  prepared_ = p;
  losses(rows, out);
}

void Objective::gradient_norms(const Rows&, std::span<double>) { throw BugError("this objective has no norms"); }

void Objective::prepare_probes(std::span<const double> x, std::span<const double> y) {
  verify(x.size() == dim() && (y.empty() || y.size() == dim()), "a point has dim() coordinates");
  probe_x_ = x;
  probe_y_ = y;
  probe_point_.resize(dim());
}

void Objective::probe(const Rows& row, double radius, const DirectionTile& tile, std::span<double> up,
                      std::span<double> down) {
  const auto loss_at = [&](std::span<const double> from, double step, const double* u, double& loss) {
    for (std::size_t k = 0; k < from.size(); ++k) probe_point_[k] = static_cast<float>(from[k] + step * u[k]);
    prepare(probe_point_);
    losses(row, {&loss, 1});
  };
  for (std::size_t j = 0; j < tile.count; ++j) {
    loss_at(probe_x_, radius, tile.row(j), up[j]);
    probe_y_.empty() ? loss_at(probe_x_, -radius, tile.row(j), down[j])
                     : loss_at(probe_y_, radius, tile.row(j), down[j]);
  }
}

void Objective::add_regularizer_gradient(std::span<const float> w, std::span<float> gradient) const {
  if (l2 == 0) return;
  for (const ParameterGroup& group : groups()) {
    if (!group.regularised()) continue;
    for (std::size_t j = group.offset; j < group.offset + group.size(); ++j)
      gradient[j] = static_cast<float>(gradient[j] + l2 * w[j]);
  }
}

double Objective::regularizer(std::span<const float> w) const {
  if (l2 == 0) return 0;
  double square = 0;
  for (const ParameterGroup& group : groups()) {
    if (!group.regularised()) continue;
    for (std::size_t j = group.offset; j < group.offset + group.size(); ++j)
      square += static_cast<double>(w[j]) * w[j];
  }
  return l2 / 2 * square;
}

}  // namespace dpmpi
