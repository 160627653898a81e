#pragma once
// How good a model is for each of several groups of a public evaluation set.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "objective/capabilities.hpp"

namespace dpmpi {

class GroupMeasures {
 public:
  /// `says_labels`: losses alone have no accuracy.
  GroupMeasures(std::size_t groups, bool says_labels) : groups_(groups), says_labels_(says_labels) {}

  /// A record of this weight, at most 1. A loss that is not finite, or beyond 1e6 either way, counts as 1e6 of its
  /// sign.
  void add(std::size_t group, double weight, double loss, bool right);

  /// Of each group that has any weight group_G.loss and group_G.accuracy, and the worst of them: worst_group.loss
  /// and worst_group.accuracy. Nothing if no group has any.
  std::vector<Measure> over(const SetTotals& whole) const;

 private:
  struct Group {
    std::int64_t weight = 0, right = 0;            ///< of all, and of those that are right, in units of 2^-24
    std::int64_t whole_losses = 0, fractions = 0;  ///< of losses, in units of 1 and of 2^-30
  };
  std::vector<Group> groups_;
  bool says_labels_;
};

}  // namespace dpmpi
