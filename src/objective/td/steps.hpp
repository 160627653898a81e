#pragma once
// The transitions of a record, a transition or an episode, as a network of layers takes their states.

#include "core/aligned.hpp"
#include "data/records/records.hpp"
#include "objective/layers/layer.hpp"
#include "objective/td/factory.hpp"
#include "objective/td/point.hpp"

namespace dpmpi {

/// Local; allocates when it is made, and never again.
class TdSteps {
 public:
  /// A state's features have the shape `in`: channel after channel, row after row.
  TdSteps(const TdSettings& settings, const Volume& in);

  /// Takes record i apart: how many transitions it has, 0 for an empty slot and for what contributes nothing.
  std::size_t unpack(const Records& records, std::uint32_t i);
  /// Transition t of the record that unpack() was last called for.
  Transition operator[](std::size_t t) const {
    return {states_.data() + 2 * t * room_, states_.data() + (2 * t + 1) * room_, rewards_[t], discounts_[t]};
  }
  /// Numbers of a state, with room_for() the shape.
  std::size_t room() const { return room_; }
  /// A state's features as layers take them.
  void place(const double* features, double* state) const;

 private:
  bool of_episodes() const { return episode_steps_ > 0; }
  std::size_t steps_at_most() const { return of_episodes() ? episode_steps_ : 1; }
  std::size_t step_features() const { return 2 * in_.size() + (of_episodes() ? 2 : 1); }
  /// As the record's label tells.
  std::size_t steps_of(float label) const;

  std::size_t episode_steps_, room_;
  double discount_;
  Volume in_;
  AlignedVector<double> record_, states_;  ///< the features; s and s' of each transition
  std::vector<double> rewards_, discounts_;
};

}  // namespace dpmpi
