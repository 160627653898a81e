#include "privacy/loss_distributions/transform.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <utility>

#include <fftw3.h>

#include "core/numbers/real.hpp"

namespace dpmpi {

namespace {

// Every input reaches every output through log2(size) butterflies, on one path, and in each a product with a root
// of unity and a sum have relative errors below 8 * 2^-53. So an output's error is below that times log2(size)
// times the sum of all |inputs|. Stage by stage, the root of the sum of all squared errors is below twice that
// times the root of the sum of all squared outputs.
double transform_error(std::size_t size) { return 0x1p-50 * std::log2(static_cast<double>(size)); }

}  // namespace

struct CircularPowers::Arrays {
  explicit Arrays(std::size_t size)
      : real(fftw_alloc_real(size)),
        transform(fftw_alloc_complex(size / 2 + 1)),
        forward(fftw_plan_dft_r2c_1d(static_cast<int>(size), real, transform, FFTW_ESTIMATE)),
        backward(fftw_plan_dft_c2r_1d(static_cast<int>(size), transform, real, FFTW_ESTIMATE)),
        powers(size / 2 + 1) {}
  ~Arrays() {
    fftw_destroy_plan(forward);
    fftw_destroy_plan(backward);
    fftw_free(transform);
    fftw_free(real);
  }
  Arrays(const Arrays&) = delete;
  Arrays& operator=(const Arrays&) = delete;

  double* real;
  fftw_complex* transform;
  fftw_plan forward, backward;
  std::vector<Power> powers;
};

// Those of the calling thread, by their size, while anybody keeps them.
struct KeptTransforms::Store {
  int keepers = 0;
  std::map<std::size_t, std::unique_ptr<CircularPowers::Arrays>> arrays;
};

KeptTransforms::Store& KeptTransforms::store() {
  thread_local Store kept;
  return kept;
}

KeptTransforms::KeptTransforms() { ++store().keepers; }
KeptTransforms::~KeptTransforms() {
  if (--store().keepers == 0) store().arrays.clear();
}

CircularPowers::CircularPowers(std::size_t size)
    : size_(size),
      arrays_(std::move(KeptTransforms::store().arrays[size])),
      // and 2^-48 for the logarithm, the angle and their products with the count
      law_error_(transform_error(size) + 0x1p-48) {
  if (!arrays_) arrays_ = std::make_unique<Arrays>(size);
  std::ranges::fill(arrays_->powers, Power());
  std::ranges::fill(law(), 0.0);
}

CircularPowers::~CircularPowers() {
  KeptTransforms::Store& kept = KeptTransforms::store();
  if (kept.keepers > 0) kept.arrays[size_] = std::move(arrays_);
}

std::span<double> CircularPowers::law() { return {arrays_->real, size_}; }

// |a^n - b^n| <= n |a - b| max(|a|, |b|)^(n-1) in the unit disc, where the transform of a law is. Where that
// maximum is below e^(-750/n), power and error are 0 in doubles, whatever they are multiplied with. After many uses
// most frequencies are, so these are told by one comparison (2^-50 is above its rounding).
void CircularPowers::multiply(double count) {
  fftw_execute(arrays_->forward);
  const double vanishing = std::max(0.0, std::exp(-750 / count) * (1 - 0x1p-50) - law_error_);
  const double square = vanishing * vanishing;
  for (std::size_t k = 0; k < arrays_->powers.size(); ++k) {
    const double re = arrays_->transform[k][0], im = arrays_->transform[k][1];
    Power& power = arrays_->powers[k];
    if (re * re + im * im < square || power.vanishes()) {
      power.log_size = power.log_bound = -infinity;
      continue;
    }
    const double absolute = std::min(1.0, std::hypot(re, im));
    power.log_size += count * std::log(absolute);
    power.angle = std::remainder(power.angle + count * std::atan2(im, re), 2 * std::numbers::pi);
    const double largest = std::min(1.0, absolute + law_error_);
    power.log_bound += count * std::log(largest);
    power.relative += count * law_error_ / largest;
  }
}

CircularPowers::Product CircularPowers::product() {
  const std::size_t last = arrays_->powers.size() - 1;
  double sum = 0, squares = 0, error = 0, squared_errors = 0;
  for (std::size_t k = 0; k <= last; ++k) {
    const Power& power = arrays_->powers[k];
    fftw_complex& out = arrays_->transform[k];
    if (power.vanishes()) {
      out[0] = out[1] = 0;
      continue;
    }
    const double absolute = std::exp(power.log_size), weight = k == 0 || k == last ? 1 : 2;
    out[0] = absolute * std::cos(power.angle);
    out[1] = absolute * std::sin(power.angle);
    sum += weight * absolute;
    squares += weight * absolute * absolute;
    const double off = std::exp(power.log_bound) * std::min(power.relative + 0x1p-48, 2.0);
    error += weight * off;
    squared_errors += weight * off * off;
  }
  fftw_execute(arrays_->backward);
  const double scale = 1 / static_cast<double>(size_);
  Product result;
  result.mass.assign(law().begin(), law().end());
  for (double& mass : result.mass) mass *= scale;
  result.error = scale * (error + transform_error(size_) * (sum + error)) * (1 + 0x1p-20);
  const double norm = std::sqrt(scale * squares), off = std::sqrt(scale * squared_errors);  // Parseval
  result.norm_of_errors = (off + 2 * transform_error(size_) * (norm + off)) * (1 + 0x1p-20);
  return result;
}

}  // namespace dpmpi
