#include "objective/values/point_losses.hpp"

#include <algorithm>

#include "core/errors.hpp"
#include "objective/values/points_of_a_call.hpp"

namespace dpmpi {

void PointLosses::prepare(std::span<const double> points) {
  if (own_) return at_all_ = objective_.at_points(points), void();
  verify(points.size() % objective_.dim() == 0, "points have dim() coordinates");
  points_.resize(points.size());
  std::ranges::transform(points, points_.begin(), [](double x) { return static_cast<float>(x); });
  present_.reset();
}

void PointLosses::losses(std::size_t p, const Rows& rows, std::span<double> out) {
  if (own_) return at_all_.losses(p, rows, out);
  const std::size_t dim = objective_.dim();
  verify((p + 1) * dim <= points_.size(), "a point that prepare() was given");
  if (p != present_) at_ = objective_.at(std::span(points_).subspan(p * dim, dim));
  present_ = p;
  at_.losses(rows, out);
}

std::size_t PointLosses::at_once(std::size_t p) const {
  if (together_ == nullptr) return 1;
  const std::size_t dim = objective_.dim(), left = points_.size() / dim - p;
  return std::min(left, points_of_a_call(left, dim));
}

void PointLosses::losses_from(std::size_t p, const Rows& rows, std::span<double> out) {
  if (together_ == nullptr) return losses(p, rows, out);
  const std::size_t dim = objective_.dim();
  together_->losses_together(std::span(points_).subspan(p * dim, at_once(p) * dim), rows, out);
}

}  // namespace dpmpi
