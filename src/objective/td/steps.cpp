#include "objective/td/steps.hpp"

#include <cmath>

#include "core/errors.hpp"
#include "objective/copy_rows.hpp"
#include "objective/math/dot.hpp"
#include "objective/network/clip.hpp"

namespace dpmpi {

TdSteps::TdSteps(const TdSettings& settings, const Volume& in)
    : episode_steps_(settings.episode_steps),
      room_(room_for<double>(in).size()),
      discount_(settings.discount),
      in_(in),
      record_(round_up(steps_at_most() * step_features() + 1, 16)),
      states_(2 * steps_at_most() * room_),
      rewards_(steps_at_most()),
      discounts_(steps_at_most()) {}

std::size_t TdSteps::steps_of(float label) const {
  if (!of_episodes()) return std::isfinite(label) ? 1 : 0;
  const bool whole = label >= 1 && label <= static_cast<float>(episode_steps_) && label == std::floor(label);
  return whole ? static_cast<std::size_t>(label) : 0;
}

void TdSteps::place(const double* features, double* state) const {
  for (std::size_t p = 0; p < in_.positions(); ++p)
    for (std::size_t c = 0; c < in_.channels; ++c) state[p * in_.channels + c] = features[c * in_.positions() + p];
}

std::size_t TdSteps::unpack(const Records& records, std::uint32_t i) {
  const std::size_t n = in_.size(), width = step_features();
  verify(records.features == steps_at_most() * width,
         "records have the states that the value function was made for");
  copy_rows({records, std::span(&i, 1)}, record_.size(), record_.data());
  const std::size_t steps = steps_of(records.label[i]);
  if (steps == 0 || !usable_square(squared_norm(record_.data(), record_.size()))) return 0;
  for (std::size_t t = 0; t < steps; ++t) {
    const double* const step = record_.data() + t * width;
    double* const state = states_.data() + 2 * t * room_;
    place(step, state);
    place(step + n, state + room_);
    discounts_[t] = discount_ * (1 - step[2 * n]);
    rewards_[t] = of_episodes() ? step[2 * n + 1] : static_cast<double>(records.label[i]);
  }
  return steps;
}

}  // namespace dpmpi
