#include "objective/minimax/group_measures.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace dpmpi {
namespace {

constexpr double most = 1e6, fraction = 0x1p-30, share = 0x1p-24;

}  // namespace

// Whole numbers, so that sums are the same in any order; in two parts, so that they hold 2^33 records.
void GroupMeasures::add(std::size_t group, double weight, double loss, bool right) {
  const double bounded = weight * (std::isnan(loss) ? most : std::clamp(loss, -most, most)),
               whole = std::floor(bounded);
  const std::int64_t counted = std::llrint(weight / share);
  Group& of = groups_[group];
  of.weight += counted;
  of.right += right ? counted : 0;
  of.whole_losses += static_cast<std::int64_t>(whole);
  of.fractions += std::llrint((bounded - whole) / fraction);
}

std::vector<Measure> GroupMeasures::over(const SetTotals& whole) const {
  std::vector<std::int64_t> totals;
  for (const Group& of : groups_) totals.insert(totals.end(), {of.weight, of.right, of.whole_losses, of.fractions});
  whole.sum(totals);
  std::vector<Measure> all;
  double worst_loss = -most, worst_accuracy = 1;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const std::int64_t* const of = &totals[4 * g];
    if (of[0] == 0) continue;
    const double weight = static_cast<double>(of[0]) * share;
    const double loss = (static_cast<double>(of[2]) + static_cast<double>(of[3]) * fraction) / weight;
    const double accuracy = static_cast<double>(of[1]) * share / weight;
    worst_loss = std::max(worst_loss, loss), worst_accuracy = std::min(worst_accuracy, accuracy);
    all.push_back({fmt::format("group_{}.loss", g), loss});
    if (says_labels_) all.push_back({fmt::format("group_{}.accuracy", g), accuracy});
  }
  if (all.empty()) return all;
  all.push_back({"worst_group.loss", worst_loss});
  if (says_labels_) all.push_back({"worst_group.accuracy", worst_accuracy});
  return all;
}

}  // namespace dpmpi
