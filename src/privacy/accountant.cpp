#include "dpmpi/privacy/accountant.hpp"

#include <limits>

#include <fmt/format.h>

#include "dpmpi/core/errors.hpp"
#include "dpmpi/privacy/rdp.hpp"

namespace dpmpi {

void Accountant::compose(const std::vector<Event>& events) {
  for (const Event& event : events) compose(event);
}

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

const std::vector<double>& RdpAccountant::curve() const {
  if (stale_) {
    total_.assign(orders_.size(), 0.0);
    for (const auto& [mechanism, use] : uses_)
      for (std::size_t i = 0; i < orders_.size(); ++i) total_[i] += static_cast<double>(use.count) * use.curve[i];
    stale_ = false;
  }
  return total_;
}

double RdpAccountant::epsilon(double delta) const { return rdp_to_epsilon(orders_, curve(), delta).value; }
double RdpAccountant::delta(double epsilon) const { return rdp_to_delta(orders_, curve(), epsilon).value; }
double RdpAccountant::best_order(double delta) const { return rdp_to_epsilon(orders_, curve(), delta).order; }

std::unique_ptr<Accountant> make_accountant(std::string_view name, Adjacency adjacency) {
  if (name == "rdp") return std::make_unique<RdpAccountant>(adjacency);
  if (name == "pld" || name == "gdp")
    throw PrivacyError(fmt::format("accountant {} is not available in this version; available: rdp, best", name));
  throw ConfigError(fmt::format("accountant \"{}\" is unknown; known: rdp, best", name));
}

}  // namespace dpmpi
