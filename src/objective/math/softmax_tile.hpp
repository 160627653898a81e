#pragma once
// Differences of the cross-entropy of tile_rows records' logits. Private to the objectives.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "objective/math/loss_functions.hpp"
#include "objective/math/losses.hpp"

namespace dpmpi {

/// f(l) = log sum_c e^(l_c) - l_y for logits l. With t = s - s_y,
///   f(l + s) - f(l - s) = 2 artanh(sum_c p_c sinh t_c / sum_c p_c cosh t_c),  p_c = e^(l_c):
/// no digits are lost where the step s is small beside l.
class SoftmaxTile {
 public:
  using Tile = std::array<double, tile_rows>;
  explicit SoftmaxTile(std::size_t classes) : logits_(classes), weight_(classes) {}

  /// The logits of a class: any order, before the first differences().
  Tile& logits(std::size_t c) { return logits_[c]; }
  /// Labels that name no class (the NaN of an empty slot) make NaN differences.
  void load(const double* label) {
    Tile top = logits_[0];
    for (const Tile& l : logits_)
      for (std::size_t r = 0; r < tile_rows; ++r) top[r] = std::max(top[r], l[r]);
    for (std::size_t c = 0; c < logits_.size(); ++c)
      for (std::size_t r = 0; r < tile_rows; ++r) weight_[c][r] = exp_nonpositive(logits_[c][r] - top[r]);
    for (std::size_t r = 0; r < tile_rows; ++r) {
      known_[r] = label[r] >= 0 && label[r] < static_cast<double>(logits_.size());
      label_[r] = known_[r] ? static_cast<std::size_t>(label[r]) : 0;
    }
  }

  /// Steps of class c at steps[c * stride + r].
  void differences(const double* steps, std::size_t stride, double* difference) const {
    Tile own, odd{}, even{}, longest{};
    for (std::size_t r = 0; r < tile_rows; ++r) own[r] = steps[label_[r] * stride + r];
    for (std::size_t c = 0; c < logits_.size(); ++c)
      for (std::size_t r = 0; r < tile_rows; ++r) {
        const double t = steps[c * stride + r] - own[r];
        const Hyperbolic h = hyperbolic(t);
        odd[r] = std::fma(weight_[c][r], h.sinh, odd[r]);
        even[r] = std::fma(weight_[c][r], h.cosh, even[r]);
        longest[r] = std::abs(t) > longest[r] ? std::abs(t) : longest[r];
      }
    for (std::size_t r = 0; r < tile_rows; ++r) difference[r] = 2 * artanh_third(odd[r] / even[r]);
    for (std::size_t r = 0; r < tile_rows; ++r) {
      if (longest[r] > small_step) difference[r] = at(r, steps, stride, 1) - at(r, steps, stride, -1);
      if (!known_[r]) difference[r] = std::numeric_limits<double>::quiet_NaN();
    }
  }

 private:
  /// f(l + sign s) of record r.
  double at(std::size_t r, const double* steps, std::size_t stride, double sign) const {
    const auto logit = [&](std::size_t c) { return logits_[c][r] + sign * steps[c * stride + r]; };
    double top = logit(0), sum = 0;
    for (std::size_t c = 1; c < logits_.size(); ++c) top = std::max(top, logit(c));
    for (std::size_t c = 0; c < logits_.size(); ++c) sum += std::exp(logit(c) - top);
    return std::log(sum) + (top - logit(label_[r]));
  }

  std::vector<Tile> logits_, weight_;
  std::array<bool, tile_rows> known_{};
  std::array<std::size_t, tile_rows> label_{};
};

}  // namespace dpmpi
