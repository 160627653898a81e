#include "privacy/loss_distributions/transform.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <fftw3.h>

namespace dpmpi {

namespace {

// Every input reaches every output through log2(size) butterflies, on one path, and in each a product with a root
// of unity and a sum have relative errors below 8 * 2^-53. So an output's error is below that times log2(size)
// times the sum of all |inputs|. Stage by stage, the root of the sum of all squared errors is below twice that
// times the root of the sum of all squared outputs.
double transform_error(std::size_t size) { return 0x1p-50 * std::log2(static_cast<double>(size)); }

}  // namespace

struct CircularPowers::Plans {
  explicit Plans(std::size_t size)
      : real(fftw_alloc_real(size)),
        transform(fftw_alloc_complex(size / 2 + 1)),
        forward(fftw_plan_dft_r2c_1d(static_cast<int>(size), real, transform, FFTW_ESTIMATE)),
        backward(fftw_plan_dft_c2r_1d(static_cast<int>(size), transform, real, FFTW_ESTIMATE)) {}
  ~Plans() {
    fftw_destroy_plan(forward);
    fftw_destroy_plan(backward);
    fftw_free(transform);
    fftw_free(real);
  }
  Plans(const Plans&) = delete;
  Plans& operator=(const Plans&) = delete;

  double* real;
  fftw_complex* transform;
  fftw_plan forward, backward;
};

CircularPowers::CircularPowers(std::size_t size)
    : size_(size),
      plans_(std::make_unique<Plans>(size)),
      // and 2^-48 for the logarithm, the angle and their products with the count
      law_error_(transform_error(size) + 0x1p-48),
      log_size_(size / 2 + 1, 0.0),
      angle_(size / 2 + 1, 0.0),
      log_bound_(size / 2 + 1, 0.0),
      relative_(size / 2 + 1, 0.0) {
  real_ = plans_->real;
  std::fill_n(real_, size_, 0.0);
}

CircularPowers::~CircularPowers() = default;

// |a^n - b^n| <= n |a - b| max(|a|, |b|)^(n-1) in the unit disc, where the transform of a law is.
void CircularPowers::multiply(double count) {
  fftw_execute(plans_->forward);
  for (std::size_t k = 0; k < log_size_.size(); ++k) {
    const double re = plans_->transform[k][0], im = plans_->transform[k][1];
    const double absolute = std::min(1.0, std::hypot(re, im));
    log_size_[k] += count * std::log(absolute);
    angle_[k] = std::remainder(angle_[k] + count * std::atan2(im, re), 2 * std::numbers::pi);
    const double largest = std::min(1.0, absolute + law_error_);
    log_bound_[k] += count * std::log(largest);
    relative_[k] += count * law_error_ / largest;
  }
}

CircularPowers::Product CircularPowers::product() {
  const std::size_t last = log_size_.size() - 1;
  double sum = 0, squares = 0, error = 0, squared_errors = 0;
  for (std::size_t k = 0; k <= last; ++k) {
    const double absolute = std::exp(log_size_[k]), weight = k == 0 || k == last ? 1 : 2;
    plans_->transform[k][0] = absolute * std::cos(angle_[k]);
    plans_->transform[k][1] = absolute * std::sin(angle_[k]);
    sum += weight * absolute;
    squares += weight * absolute * absolute;
    const double off = std::exp(log_bound_[k]) * std::min(relative_[k] + 0x1p-48, 2.0);
    error += weight * off;
    squared_errors += weight * off * off;
  }
  fftw_execute(plans_->backward);
  const double scale = 1 / static_cast<double>(size_);
  Product result;
  result.mass.assign(real_, real_ + size_);
  for (double& mass : result.mass) mass *= scale;
  result.error = scale * (error + transform_error(size_) * (sum + error)) * (1 + 0x1p-20);
  const double norm = std::sqrt(scale * squares), off = std::sqrt(scale * squared_errors);  // Parseval
  result.norm_of_errors = (off + 2 * transform_error(size_) * (norm + off)) * (1 + 0x1p-20);
  return result;
}

}  // namespace dpmpi
