#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "core/errors.hpp"
#include "core/numbers/real.hpp"
#include "privacy/accountants/earlier.hpp"
#include "privacy/accountants/rdp.hpp"
#include "privacy/accountants/rdp_accountant.hpp"
#include "privacy/curves/rdp_curves.hpp"
#include "privacy/curves/target_charging.hpp"
#include "privacy/events/mechanism_counts.hpp"
#include "privacy/last_iterate/run.hpp"

namespace dpmpi {

RdpAccountant::RdpAccountant(Adjacency adjacency) : RdpAccountant(adjacency, rdp_orders()) {}

RdpAccountant::RdpAccountant(Adjacency adjacency, std::vector<double> orders)
    : Accountant(adjacency), orders_(std::move(orders)) {
  verify(!orders_.empty(), "an RDP accountant needs orders");
}

void RdpAccountant::compose(const Event& event) {
  if (event.count == 0) return;
  if (const auto rounds = rounds_of(event)) return compose(*rounds);
  auto found = uses_.find(event.mechanism);
  if (found == uses_.end())
    found = uses_.emplace(event.mechanism, Use{rdp_curve(event.mechanism, adjacency(), orders_), 0, {}}).first;
  add_uses(found->second.count, event);
  stale_ = true;
}

namespace {

// The slope of a sum of linear curves, with `count` uses more of one of this slope; empty once a curve is not
// linear. Never 0: an underflow must not pass for a perfect guarantee.
std::optional<double> slope_with(std::optional<double> sum, double count, std::optional<double> slope) {
  if (!sum || !slope) return std::nullopt;
  return *sum + count * std::max(*slope, std::numeric_limits<double>::min());
}

}  // namespace

void RdpAccountant::refresh() const {
  if (!stale_) return;
  total_.assign(orders_.size(), 0.0);
  rho_ = 0;
  distance_ = 0;
  double log_success = 0;
  for (const auto& [mechanism, use] : uses_) {
    const auto count = static_cast<double>(use.count);
    for (std::size_t i = 0; i < orders_.size(); ++i) total_[i] += count * use.curve[i];
    rho_ = slope_with(rho_, count, zcdp_rho(mechanism));
    if (const auto* m = std::get_if<ApproxDp>(&mechanism)) log_success += count * std::log1p(-m->delta);
    if (const auto* m = std::get_if<Zcdp>(&mechanism)) distance_ += count * m->total_variation;
  }
  failure_ = std::min(1.0, -std::expm1(log_success) * (1 + 0x1p-36));
  distance_ *= 1 + 0x1p-36;
  stale_ = false;
}

// Lists of orders come again from line to line of a run's metrics, and a list gives a curve the same bits whatever
// was asked before.
std::vector<double> RdpAccountant::curve_at(std::span<const double> orders) const {
  constexpr std::size_t most_lists = 64;
  const std::vector<double> list(orders.begin(), orders.end());
  std::vector<double> total(list.size(), 0.0);
  for (const auto& [mechanism, use] : uses_) {
    if (use.further.size() >= most_lists) use.further.clear();
    auto found = use.further.find(list);
    if (found == use.further.end())
      found = use.further.emplace(list, rdp_curve(mechanism, adjacency(), list)).first;
    const auto count = static_cast<double>(use.count);
    for (std::size_t i = 0; i < list.size(); ++i) total[i] += count * found->second[i];
  }
  return total;
}

const std::vector<double>& RdpAccountant::curve() const {
  refresh();
  return total_;
}

double RdpAccountant::failure() const {
  refresh();
  return failure_;
}

// Like total_, rho_, failure_ and distance_, with runs that hide their iterates replaced by their coupled
// processes, which differ from them with probability `uncoupled` at most: that is added to delta.
struct RdpAccountant::Composed {
  std::vector<double> total;
  std::optional<double> rho;
  double failure = 0, distance = 0, uncoupled = 0;
  CurveAt at = {};  // of `total`; empty where nothing but `total` is known

  // The smallest epsilon with delta_nearby(epsilon) + (1 + e^epsilon) distance <= delta: the least fixed point of
  // an increasing map, approached from below and confirmed.
  RdpConversion to_epsilon(const std::vector<double>& orders, double delta) const {
    RdpConversion found = nearby_epsilon(orders, delta);
    if (distance == 0) return found;
    for (int i = 0; i < 200; ++i) {
      const double tried = found.value * (1 + 0x1p-40);
      found = nearby_epsilon(orders, (delta - swapped_delta(0, tried, distance)) * (1 - 0x1p-50));
      if (found.value <= tried) return {tried, found.order};
    }
    // Near a tangent these steps are too short. delta(epsilon) falls up to its smallest value.
    const double last = -std::log(std::min(1.0, distance));
    if (!(to_delta(orders, last) <= delta)) return {infinity, orders.back()};
    double low = 0, high = last;
    for (int i = 0; i < 100; ++i) {
      const double middle = low + (high - low) / 2;
      (to_delta(orders, middle) <= delta ? high : low) = middle;
    }
    return {high, nearby_epsilon(orders, delta).order};
  }

  // What an (epsilon', delta)-DP mechanism promises for epsilon' holds for every larger epsilon. Every point
  // searched is valid, so the search decides about tightness only.
  double to_delta(const std::vector<double>& orders, double epsilon) const {
    if (distance == 0) return nearby_delta(orders, epsilon);
    const auto at = [&](double e) { return swapped_delta(nearby_delta(orders, e), e, distance); };
    double low = 0, high = std::min(epsilon, -std::log(std::min(1.0, distance)));
    double best = std::min(at(low), at(high));
    for (int i = 0; i < 40; ++i) {
      const double third = (high - low) / 3, left = at(low + third), right = at(high - third);
      best = std::min({best, left, right});
      (left < right ? high : low) += left < right ? -third : third;
    }
    return best;
  }

 private:
  // Of delta = uncoupled + failure + (1 - failure) left, rounded down.
  RdpConversion nearby_epsilon(const std::vector<double>& orders, double delta) const {
    const double lost = failure + uncoupled;
    const double left = lost == 0 ? delta : (delta - lost) / (1 - failure) * (1 - 0x1p-36);
    if (!(left > 0)) return {infinity, orders.back()};
    return rho ? zcdp_to_epsilon(*rho, left) : rdp_to_epsilon(orders, total, left, at);
  }
  double nearby_delta(const std::vector<double>& orders, double epsilon) const {
    const double left = rho ? zcdp_to_delta(*rho, epsilon).value : rdp_to_delta(orders, total, epsilon, at).value;
    if (failure == 0 && uncoupled == 0) return std::min(1.0, left);
    return std::min(1.0, (uncoupled + failure + (1 - failure) * left) * (1 + 0x1p-50));
  }
};

RdpAccountant::Composed RdpAccountant::as_seen() const {
  refresh();
  CurveAt at = [this](std::span<const double> orders) { return curve_at(orders); };
  if (EarlierAccounting::on()) at = nullptr;
  return {total_, rho_, failure_, distance_, 0, at};
}

bool RdpAccountant::hides_iterates() const {
  return std::any_of(uses_.begin(), uses_.end(),
                     [](const auto& use) { return std::holds_alternative<HiddenState>(use.first); });
}

RdpAccountant::Composed RdpAccountant::coupled(double failure, double delta) const {
  const double runs = hidden_runs(uses_);
  Composed result{
      .total = std::vector<double>(orders_.size(), 0.0), .rho = 0, .failure = failure_, .distance = distance_};
  for (const auto& [mechanism, use] : uses_) {
    const auto count = static_cast<double>(use.count);
    const std::vector<double>* curve = &use.curve;
    std::vector<double> linear;
    auto rho = zcdp_rho(mechanism);
    if (const auto* run = std::get_if<HiddenState>(&mechanism); run && run->sampled()) {
      const HiddenCurve& known = remembered_curve(*run, failure / runs, delta, orders_);
      curve = &known.curve;
      result.uncoupled += count * known.failure;
    } else if (run) {
      const HiddenTotal total = remembered_total(*run, failure / runs);
      rho = total.mu * total.mu / 2 * (1 + 0x1p-50);
      linear = linear_curve(*rho, orders_);
      curve = &linear;
      result.uncoupled += count * total.failure;
    }
    for (std::size_t i = 0; i < orders_.size(); ++i) result.total[i] += count * (*curve)[i];
    result.rho = slope_with(result.rho, count, rho);
  }
  result.uncoupled *= 1 + 0x1p-40;
  return result;
}

RdpConversion RdpAccountant::to_epsilon(double delta) const {
  const RdpConversion composed = as_seen().to_epsilon(orders_, delta);
  if (!hides_iterates()) return composed;
  const RdpConversion by_coupling = coupled(failure_share * delta, delta).to_epsilon(orders_, delta);
  return by_coupling.value < composed.value ? by_coupling : composed;
}

double RdpAccountant::epsilon(double delta) const { return to_epsilon(delta).value; }
double RdpAccountant::best_order(double delta) const { return to_epsilon(delta).order; }

double RdpAccountant::delta(double epsilon) const {
  const double composed = as_seen().to_delta(orders_, epsilon);
  if (!hides_iterates()) return composed;
  return least_delta_over_failures(composed, [&](double failure) {
    return coupled(failure, std::min(0.5, failure / failure_share)).to_delta(orders_, epsilon);
  });
}

}  // namespace dpmpi
