#include "method/heavy_tailed/proximal_descent.hpp"

#include <algorithm>
#include <cmath>

#include "core/numbers/real.hpp"

namespace dpmpi {

namespace {
using Average = ProximalSettings::Average;
}

void ProximalSettings::declare(Options& options) {
  options
      .add("rate", rate,
           "largest step size, e.g. 1 over the curvature of the mean loss (0: 4 / (lambda (t + 1)) alone)",
           Range::non_negative())
      .add("lambda", lambda, "weight of the regulariser (lambda / 2) |x - x_0|^2, taken as an exact proximal step",
           Range::non_negative())
      .add("radius", radius, "radius of the ball around the start point that iterates are projected onto (0: none)",
           Range::non_negative())
      .add_words(
          "average", average,
          "what is published: the mean of all iterates with weights t + 4, the mean of the second half, or the last",
          {{"weighted", Average::weighted}, {"suffix", Average::suffix}, {"none", Average::none}});
}

void ProximalSettings::validate(std::vector<std::string>& problems) const {
  if (rate == 0 && lambda == 0)
    problems.emplace_back("method.rate = 0 leaves no step size without method.lambda > 0: set one of them");
}

ProximalDescent::ProximalDescent(const ProximalSettings& settings, std::span<const float> center,
                                 std::uint64_t steps)
    : settings_(settings),
      steps_(steps),
      center_(center.begin(), center.end()),
      x_(center_),
      published_(center_),
      z_(center.size()),
      mean_(averages(Average::none) ? 0 : center.size()) {}

ProximalDescent::ProximalDescent(const ProximalSettings& settings, std::span<const float> center,
                                 std::uint64_t steps, const Ball& domain)
    : ProximalDescent(settings, center, steps) {
  domain_radius_ = domain.radius;
  domain_center_.resize(center.size());
  for (std::size_t j = 0; j < center.size(); ++j)
    domain_center_[j] = (domain.centre.empty() ? 0 : domain.centre[j]) - double{center[j]};
}

double ProximalDescent::step_size(std::uint64_t t, double unit) const {
  return std::min(settings_.rate > 0 ? settings_.rate / unit : infinity,
                  settings_.lambda > 0 ? 4 / (settings_.lambda * (static_cast<double>(t) + 1)) : infinity);
}

void ProximalDescent::update(std::span<const float> gradient, double scale, std::uint64_t t, double unit) {
  if (averages(Average::weighted)) average(static_cast<double>(t) + 4);
  const double eta = step_size(t, unit), shrink = 1 / (1 + eta * settings_.lambda);
  for (std::size_t j = 0; j < z_.size(); ++j) z_[j] = (z_[j] - eta * (scale * gradient[j])) * shrink;
  project_displacement();
  for (std::size_t j = 0; j < z_.size(); ++j) x_[j] = static_cast<float>(center_[j] + z_[j]);
  const bool in_second_half = t >= steps_ / 2;
  if (averages(Average::suffix) && in_second_half) average(1);
  publish(averages(Average::weighted) || (averages(Average::suffix) && in_second_half) ? mean_ : z_);
}

void ProximalDescent::update(const Objective& objective, std::span<const float> gradient, double scale,
                             std::uint64_t t, double unit) {
  if (objective.l2 == 0) return update(gradient, scale, t, unit);
  regularised_.resize(gradient.size());
  const auto factor = static_cast<float>(scale);
  for (std::size_t j = 0; j < gradient.size(); ++j) regularised_[j] = factor * gradient[j];
  objective.add_regularizer_gradient(x_, regularised_);
  update(regularised_, 1, t, unit);
}

void ProximalDescent::project_displacement() {
  const Ball around_center{{}, settings_.radius};
  if (!domain_center_.empty())
    project(around_center, {domain_center_, domain_radius_}, z_);
  else if (settings_.radius > 0)
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
