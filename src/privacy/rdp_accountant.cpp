#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "dpmpi/core/errors.hpp"
#include "dpmpi/privacy/accountant.hpp"

namespace dpmpi {

RdpAccountant::RdpAccountant(Adjacency adjacency) : RdpAccountant(adjacency, rdp_orders()) {}

RdpAccountant::RdpAccountant(Adjacency adjacency, std::vector<double> orders)
    : Accountant(adjacency), orders_(std::move(orders)) {
  verify(!orders_.empty(), "an RDP accountant needs orders");
}

void RdpAccountant::compose(const Event& event) {
  if (event.count == 0) return;
  auto found = uses_.find(event.mechanism);
  if (found == uses_.end())
    found = uses_.emplace(event.mechanism, Use{rdp_curve(event.mechanism, adjacency(), orders_), 0}).first;
  std::uint64_t& count = found->second.count;
  if (event.count > std::numeric_limits<std::uint64_t>::max() - count)
    throw PrivacyError(fmt::format("more than 2^64 uses of {}", to_json({event.mechanism, 1})));
  count += event.count;
  stale_ = true;
}

void RdpAccountant::refresh() const {
  if (!stale_) return;
  total_.assign(orders_.size(), 0.0);
  rho_ = 0;
  double log_success = 0;
  for (const auto& [mechanism, use] : uses_) {
    const auto count = static_cast<double>(use.count);
    for (std::size_t i = 0; i < orders_.size(); ++i) total_[i] += count * use.curve[i];
    const auto rho = zcdp_rho(mechanism);
    rho_ = rho && rho_ ? std::optional(*rho_ + count * std::max(*rho, std::numeric_limits<double>::min()))
                       : std::nullopt;
    if (const auto* m = std::get_if<ApproxDp>(&mechanism)) log_success += count * std::log1p(-m->delta);
  }
  failure_ = std::min(1.0, -std::expm1(log_success) * (1 + 0x1p-36));
  stale_ = false;
}

const std::vector<double>& RdpAccountant::curve() const {
  refresh();
  return total_;
}

double RdpAccountant::failure() const {
  refresh();
  return failure_;
}

RdpConversion RdpAccountant::to_epsilon(double delta) const {
  refresh();
  // Of delta = failure + (1 - failure) left, rounded down.
  const double left = failure_ == 0 ? delta : (delta - failure_) / (1 - failure_) * (1 - 0x1p-36);
  if (!(left > 0)) return {std::numeric_limits<double>::infinity(), orders_.back()};
  return rho_ ? zcdp_to_epsilon(*rho_, left) : rdp_to_epsilon(orders_, total_, left);
}

double RdpAccountant::epsilon(double delta) const { return to_epsilon(delta).value; }
double RdpAccountant::best_order(double delta) const { return to_epsilon(delta).order; }

double RdpAccountant::delta(double epsilon) const {
  refresh();
  const double left = rho_ ? zcdp_to_delta(*rho_, epsilon).value : rdp_to_delta(orders_, total_, epsilon).value;
  return std::min(1.0, failure_ == 0 ? left : (failure_ + (1 - failure_) * left) * (1 + 0x1p-50));
}

}  // namespace dpmpi
