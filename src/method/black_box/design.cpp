#include "method/black_box/design.hpp"

#include <algorithm>

#include <Eigen/QR>

#include "core/console/log.hpp"
#include "core/errors.hpp"

namespace dpmpi {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

GiboDesign::GiboDesign(const GiboSetup& setup)
    : dim_(static_cast<std::size_t>(setup.covariance.dim())),
      window_(setup.window),
      tolerance_(setup.selection.adaptive ? setup.selection.tolerance : 0),
      selection_(setup.selection),
      posterior_(setup.covariance, setup.noise_variance, setup.centre) {}

void GiboDesign::extend(Curator& curator, const VectorXd& theta, std::uint64_t t) {
  curator.broadcast_from_root(fresh_, [&](std::vector<double>& found) { find_points(theta, t, found); });
  verify(!fresh_.empty() && fresh_.size() % dim_ == 0, "new points of the parameters' number");
  points_.insert(points_.end(), fresh_.begin(), fresh_.end());
  batches_.push_back(fresh_.size() / dim_);
}

void GiboDesign::find_points(const VectorXd& theta, std::uint64_t t, std::vector<double>& found) {
  posterior_.restore(
      Eigen::Map<const MatrixXd>(points_.data(), static_cast<Index>(dim_), static_cast<Index>(count())), batches_);
  posterior_.move_to(theta);
  const MatrixXd more = selection_.choose(posterior_, t);
  if (tolerance_ > 0 && !warned_ && posterior_.trace_with(more) > tolerance_) {
    warn("step {}: {} points leave a trace of {:.3g}, above method.trace_tol = {} (method.b_max, or the box)", t,
         more.cols(), posterior_.trace_with(more), tolerance_);
    warned_ = true;
  }
  found.assign(more.data(), more.data() + more.size());
}

void GiboDesign::weigh(Curator& curator) {
  curator.compute_at_root([&] { find_map(map_); });
}

std::span<const double> GiboDesign::share_map(Curator& curator) {
  curator.broadcast_from_root(map_);
  verify(map_.size() == count() * std::min(count(), dim_), "a map of all points");
  return map_;
}

void GiboDesign::find_map(std::vector<double>& found) {
  const auto d = static_cast<Index>(dim_);
  posterior_.append(Eigen::Map<const MatrixXd>(fresh_.data(), d, static_cast<Index>(fresh_.size()) / d));
  MatrixXd map = posterior_.weights();
  if (map.cols() < map.rows()) {
    const Eigen::HouseholderQR<MatrixXd> qr(map);
    reflections_ = qr.matrixQR(), coefficients_ = qr.hCoeffs();
    map = reflections_.topRows(map.cols()).triangularView<Eigen::Upper>();
  }
  found.assign(map.data(), map.data() + map.size());
}

void GiboDesign::turn_back(Curator& curator, std::vector<double>& released) const {
  if (!reduced()) return;
  curator.broadcast_from_root(released, [&](std::vector<double>& sum) {
    Eigen::Map<VectorXd> vector(sum.data(), static_cast<Index>(sum.size()));
    vector.applyOnTheLeft(Eigen::householderSequence(reflections_, coefficients_));
  });
}

std::size_t GiboDesign::forget() {
  if (count() <= window_) return 0;
  const std::size_t old = count() - window_;
  points_.erase(points_.begin(), points_.begin() + static_cast<std::ptrdiff_t>(old * dim_));
  batches_.assign(window_ > 0 ? 1 : 0, window_);
  forgotten_ += old;
  return old;
}

void GiboDesign::archive(Archive& archive) {
  archive.field("gibo.points", points_);
  archive.field("gibo.batches", batches_);
  archive.field("gibo.forgotten", forgotten_);
}

}  // namespace dpmpi
