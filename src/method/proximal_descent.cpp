#include "dpmpi/method/proximal_descent.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dpmpi {

void ProximalDescent::declare(Options& options) {
  options
      .add("rate", rate_,
           "largest step size, e.g. 1 over the curvature of the mean loss (0: 4 / (lambda (t + 1)) alone)",
           Range::non_negative())
      .add("lambda", lambda_, "weight of the regulariser (lambda / 2) |x - x_0|^2, taken as an exact proximal step",
           Range::non_negative())
      .add("radius", radius_,
           "radius of the ball around the start point that iterates are projected onto (0: none)",
           Range::non_negative())
      .add("average", average_,
           "what is published: the mean of all iterates with weights t + 4, the mean of the second half, or the "
           "last",
           {"weighted", "suffix", "none"});
}

void ProximalDescent::validate(std::vector<std::string>& problems) const {
  if (rate_ == 0 && lambda_ == 0)
    problems.emplace_back("method.rate = 0 leaves no step size without method.lambda > 0: set one of them");
}

void ProximalDescent::start(std::span<const float> center, std::uint64_t steps) {
  steps_ = steps;
  total_weight_ = 0;
  center_.assign(center.begin(), center.end());
  x_ = published_ = center_;
  z_.assign(center.size(), 0.0);
  mean_.assign(average_ == "none" ? 0 : center.size(), 0.0);
}

double ProximalDescent::step_size(std::uint64_t t) const {
  constexpr double none = std::numeric_limits<double>::infinity();
  return std::min(rate_ > 0 ? rate_ : none, lambda_ > 0 ? 4 / (lambda_ * (static_cast<double>(t) + 1)) : none);
}

void ProximalDescent::update(std::span<const float> gradient, double scale, std::uint64_t t) {
  if (average_ == "weighted") average(static_cast<double>(t) + 4);
  const double eta = step_size(t), shrink = 1 / (1 + eta * lambda_);
  double square = 0;
  for (std::size_t j = 0; j < z_.size(); ++j) {
    z_[j] = (z_[j] - eta * (scale * gradient[j])) * shrink;
    square += z_[j] * z_[j];
  }
  if (const double length = std::sqrt(square); radius_ > 0 && length > radius_)
    for (double& z : z_) z *= radius_ / length;
  for (std::size_t j = 0; j < z_.size(); ++j) x_[j] = static_cast<float>(center_[j] + z_[j]);
  const bool in_second_half = t >= steps_ / 2;
  if (average_ == "suffix" && in_second_half) average(1);
  publish(average_ == "weighted" || (average_ == "suffix" && in_second_half) ? mean_ : z_);
}

void ProximalDescent::average(double weight) {
  total_weight_ += weight;
  const double share = weight / total_weight_;
  for (std::size_t j = 0; j < z_.size(); ++j) mean_[j] += share * (z_[j] - mean_[j]);
}

void ProximalDescent::publish(std::span<const double> z) {
  for (std::size_t j = 0; j < z.size(); ++j) published_[j] = static_cast<float>(center_[j] + z[j]);
}

void ProximalDescent::archive(Archive& archive) {
  archive.field("x", x_);
  archive.field("published", published_);
  archive.field("displacement", z_);
  archive.field("mean", mean_);
  archive.field("total weight", total_weight_);
}

}  // namespace dpmpi
