#include "method/zeroth_order/online_to_nonconvex.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/errors.hpp"

namespace dpmpi {
namespace {

constexpr std::uint32_t segment_tag = 2;  // of the stream of s; 1 has the directions

double norm(std::span<const double> v) {
  double square = 0;
  for (const double x : v) square += x * x;
  return std::sqrt(square);
}

double distance_between(std::span<const double> a, std::span<const double> b) {
  double square = 0;
  for (std::size_t j = 0; j < a.size(); ++j) square += (a[j] - b[j]) * (a[j] - b[j]);
  return std::sqrt(square);
}

}  // namespace

OnlineToNonconvex::OnlineToNonconvex(const Settings& settings, std::span<const float> start)
    : settings_(settings),
      segment_(settings.seed, segment_tag),
      chosen_(PublicStream(settings.seed, "output epoch").below(0, settings.outer)),
      x_(start.begin(), start.end()),
      delta_(start.size()),
      w_(x_),
      previous_(x_),
      mean_w_(start.size()),
      mean_g_(start.size()),
      best_(settings.output == Output::last ? 0 : start.size()),
      published_(start.begin(), start.end()) {
  verify(settings.inner > 0 && settings.outer > 0 && settings.step_radius > 0, "epochs have steps");
  verify(settings.inner * settings.outer < (std::uint64_t{1} << 32), "steps are counted in 32 bits");
}

void OnlineToNonconvex::begin_epoch() {
  for (auto* v : {&delta_, &mean_w_, &mean_g_}) std::fill(v->begin(), v->end(), 0.0);
  squares_ = 0, gradients_ = 0;
}

void OnlineToNonconvex::advance() {
  verify(!done(), "a step after the last epoch");
  if (t_ == 0) begin_epoch();
  std::swap(w_, previous_);
  const auto step = static_cast<std::uint32_t>(k_ * settings_.inner + t_);
  const double s = segment_.uniform({0, 0, 0, step});
  for (std::size_t j = 0; j < x_.size(); ++j) {
    w_[j] = x_[j] + s * delta_[j];
    x_[j] += delta_[j];
    mean_w_[j] += w_[j] / static_cast<double>(settings_.inner);
  }
  distance_ = distance_between(w_, previous_);
  // Within an epoch |w_t - w_{t-1}| <= (1 - s + s') D. The second term is rounding, where D is a tiny part of |w|.
  verify(t_ == 0 || distance_ <= 2 * settings_.step_radius * (1 + 1e-12) + 0x1p-50 * (norm(w_) + norm(previous_)),
         "neighbouring points are within 2 D");
}

void OnlineToNonconvex::learn(std::span<const double> gradient) {
  if (!gradient.empty()) {
    verify(gradient.size() == delta_.size(), "a gradient of the parameters");
    for (std::size_t j = 0; j < gradient.size(); ++j) {
      mean_g_[j] += gradient[j];
      squares_ += gradient[j] * gradient[j];
    }
    if (!std::isfinite(squares_))
      throw ConfigError(
          "the sum of the squared releases of an epoch is not finite: make method.lipschitz, step_radius or objective.l2 smaller");
    ++gradients_;
    const double D = settings_.step_radius;
    const double eta = settings_.rate > 0 ? settings_.rate : squares_ > 0 ? D / std::sqrt(squares_) : 0;
    for (std::size_t j = 0; j < gradient.size(); ++j) delta_[j] -= eta * gradient[j];
    if (const double length = norm(delta_); length > D)
      for (double& v : delta_) v *= D / length;
  }
  if (++t_ == settings_.inner) end_epoch();
}

void OnlineToNonconvex::end_epoch() {
  stationarity_ = norm(mean_g_) / static_cast<double>(std::max<std::uint64_t>(1, gradients_));
  const bool better = settings_.output == Output::stationarity ? k_ == 0 || stationarity_ < least_ : k_ == chosen_;
  if (better && settings_.output != Output::last) best_ = mean_w_, least_ = stationarity_;
  t_ = 0;
  ++k_;
  const auto& shown = done() && settings_.output != Output::last ? best_ : mean_w_;
  std::transform(shown.begin(), shown.end(), published_.begin(), [](double v) { return static_cast<float>(v); });
}

void OnlineToNonconvex::archive(Archive& archive) {
  archive.field("o2nc.t", t_);
  archive.field("o2nc.k", k_);
  archive.field("o2nc.gradients", gradients_);
  archive.field("o2nc.squares", squares_);
  archive.field("o2nc.stationarity", stationarity_);
  archive.field("o2nc.least", least_);
  archive.field("o2nc.x", x_);
  archive.field("o2nc.delta", delta_);
  archive.field("o2nc.w", w_);
  archive.field("o2nc.previous", previous_);
  archive.field("o2nc.mean_w", mean_w_);
  archive.field("o2nc.mean_g", mean_g_);
  archive.field("o2nc.best", best_);
  archive.field("o2nc.published", published_);
}

}  // namespace dpmpi
