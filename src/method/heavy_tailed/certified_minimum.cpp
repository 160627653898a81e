#include "method/heavy_tailed/certified_minimum.hpp"

#include <algorithm>
#include <cmath>

namespace dpmpi {
namespace {

constexpr int most_trials = 100;  // of one line search: a bracket is then as narrow as rounding allows

double dot(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t j = 0; j < a.size(); ++j) sum += a[j] * b[j];
  return sum;
}

}  // namespace

CertifiedMinimum::CertifiedMinimum(std::size_t dim, std::size_t memory)
    : pairs_(memory, Pair{std::vector<double>(dim), std::vector<double>(dim)}),
      gradient_(dim),
      trial_gradient_(dim),
      direction_(dim),
      trial_(dim),
      weight_(memory) {}

// A sum of d squares and its root err by less than (d + 4) 2^-53 of their size.
double CertifiedMinimum::norm_bound(std::span<const double> gradient, double error) {
  return std::sqrt(dot(gradient, gradient)) * (1 + (static_cast<double>(gradient.size()) + 8) * 0x1p-53) + error;
}

std::size_t CertifiedMinimum::run(const Gradient& gradient, double smoothness, double tolerance,
                                  std::span<double> z) {
  first_ = used_ = 0;
  asked_ = 1;
  double error = gradient(z, gradient_);
  while (!(norm_bound(gradient_, error) <= tolerance)) {
    set_direction();
    error = advance(gradient, smoothness, z);
  }
  return asked_;
}

// The two-loop recursion; without memory, the step of unit length along the negative gradient.
void CertifiedMinimum::set_direction() {
  for (std::size_t j = 0; j < direction_.size(); ++j) direction_[j] = -gradient_[j];
  if (used_ == 0) return;
  const auto pair = [&](std::size_t i) -> Pair& { return pairs_[(first_ + i) % pairs_.size()]; };
  for (std::size_t i = used_; i-- > 0;) {
    const Pair& p = pair(i);
    weight_[i] = dot(p.step, direction_) / p.product;
    for (std::size_t j = 0; j < direction_.size(); ++j) direction_[j] -= weight_[i] * p.change[j];
  }
  const Pair& newest = pair(used_ - 1);
  const double scale = newest.product / dot(newest.change, newest.change);
  for (double& d : direction_) d *= scale;
  for (std::size_t i = 0; i < used_; ++i) {
    const Pair& p = pair(i);
    const double correction = weight_[i] - dot(p.change, direction_) / p.product;
    for (std::size_t j = 0; j < direction_.size(); ++j) direction_[j] += correction * p.step[j];
  }
}

// Looks for a t with slope(t) / slope(0) in [0, 1/2]: the slope rises with t, so the function falls on [0, t], by
// at least half of t |slope(0)|. Brackets are cut by secants, kept away from their ends.
double CertifiedMinimum::advance(const Gradient& gradient, double smoothness, std::span<double> z) {
  const double slope = dot(gradient_, direction_);
  double low = 0, low_ratio = 1, high = 0, high_ratio = 0, error = 0;
  double t = used_ == 0 ? 1 / smoothness : 0.9;  // with good memory the slope at 1 is about 0, on either side
  const auto look = [&] {
    for (std::size_t j = 0; j < z.size(); ++j) trial_[j] = z[j] + t * direction_[j];
    ++asked_;
    error = gradient(trial_, trial_gradient_);
    return dot(trial_gradient_, direction_) / slope;
  };
  bool found = false;
  for (int trial = 0; trial < most_trials && slope < 0 && !found; ++trial) {
    const double ratio = look();
    found = ratio >= 0 && ratio <= 0.5;
    if (found) break;
    (ratio > 0 ? low : high) = t;
    (ratio > 0 ? low_ratio : high_ratio) = ratio;
    if (high == 0) {
      t = low_ratio < 1 ? std::clamp(0.75 * t / (1 - low_ratio), 2 * t, 10 * t) : 10 * t;
    } else {  // to a quarter of the slope, by the secant; every second time in the middle
      const double share = trial % 2 == 0 ? (low_ratio - 0.25) / (low_ratio - high_ratio) : 0.5;
      t = low + std::clamp(share, 0.05, 0.95) * (high - low);
    }
  }
  if (!found) {  // lost in rounding: forget, and take the step that needs no search
    used_ = 0;
    for (std::size_t j = 0; j < z.size(); ++j) direction_[j] = -gradient_[j];
    t = 1 / smoothness;
    look();
  } else {
    remember(z, trial_);
  }
  std::copy(trial_.begin(), trial_.end(), z.begin());
  std::swap(gradient_, trial_gradient_);
  return error;
}

void CertifiedMinimum::remember(std::span<const double> from, std::span<const double> to) {
  const std::size_t place = (first_ + used_) % pairs_.size();
  Pair& p = pairs_[place];
  for (std::size_t j = 0; j < from.size(); ++j) {
    p.step[j] = to[j] - from[j];
    p.change[j] = trial_gradient_[j] - gradient_[j];
  }
  p.product = dot(p.step, p.change);
  if (!(p.product > 0)) return;
  if (used_ < pairs_.size())
    ++used_;
  else
    first_ = (first_ + 1) % pairs_.size();
}

}  // namespace dpmpi
