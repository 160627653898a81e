#include "method/heavy_tailed/proximal_descent.hpp"

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
      .add(
          "average", average_,
          "what is published: the mean of all iterates with weights t + 4, the mean of the second half, or the last",
          {"weighted", "suffix", "none"});
}

void ProximalDescent::validate(std::vector<std::string>& problems) const {
  if (rate_ == 0 && lambda_ == 0)
    problems.emplace_back("method.rate = 0 leaves no step size without method.lambda > 0: set one of them");
}

void ProximalDescent::set(double lambda, double radius, double rate) {
  lambda_ = lambda;
  radius_ = radius;
  rate_ = rate;
  average_ = "weighted";
}

void ProximalDescent::start(std::span<const float> center, std::uint64_t steps, const Ball& domain) {
  start(center, steps);
  domain_radius_ = domain.radius;
  domain_center_.resize(center.size());
  for (std::size_t j = 0; j < center.size(); ++j)
    domain_center_[j] = (domain.centre.empty() ? 0 : domain.centre[j]) - double{center[j]};
}

void ProximalDescent::start(std::span<const float> center, std::uint64_t steps) {
  steps_ = steps;
  total_weight_ = 0;
  center_.assign(center.begin(), center.end());
  x_ = published_ = center_;
  z_.assign(center.size(), 0.0);
  mean_.assign(average_ == "none" ? 0 : center.size(), 0.0);
  domain_center_.clear();
}

double ProximalDescent::step_size(std::uint64_t t) const {
  constexpr double none = std::numeric_limits<double>::infinity();
  return std::min(rate_ > 0 ? rate_ : none, lambda_ > 0 ? 4 / (lambda_ * (static_cast<double>(t) + 1)) : none);
}

void ProximalDescent::update(std::span<const float> gradient, double scale, std::uint64_t t) {
  if (average_ == "weighted") average(static_cast<double>(t) + 4);
  const double eta = step_size(t), shrink = 1 / (1 + eta * lambda_);
  for (std::size_t j = 0; j < z_.size(); ++j) z_[j] = (z_[j] - eta * (scale * gradient[j])) * shrink;
  project_displacement();
  for (std::size_t j = 0; j < z_.size(); ++j) x_[j] = static_cast<float>(center_[j] + z_[j]);
  const bool in_second_half = t >= steps_ / 2;
  if (average_ == "suffix" && in_second_half) average(1);
  publish(average_ == "weighted" || (average_ == "suffix" && in_second_half) ? mean_ : z_);
}

void ProximalDescent::update(const Objective& objective, std::span<const float> gradient, double scale,
                             std::uint64_t t) {
  if (objective.l2 == 0) return update(gradient, scale, t);
  regularised_.resize(gradient.size());
  const auto factor = static_cast<float>(scale);
  for (std::size_t j = 0; j < gradient.size(); ++j) regularised_[j] = factor * gradient[j];
  objective.add_regularizer_gradient(x_, regularised_);
  update(regularised_, 1, t);
}

void ProximalDescent::project_displacement() {
  const Ball around_center{{}, radius_};
  if (!domain_center_.empty())
    project(around_center, {domain_center_, domain_radius_}, z_);
  else if (radius_ > 0)
    project(around_center, z_);
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
