#pragma once
// Accounting by Renyi divergences.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "privacy/accountants/accountant.hpp"
#include "privacy/curves/rdp_conversion.hpp"

namespace dpmpi {

/// Renyi differential privacy (Mironov 2017): curves add per order. Uses of one mechanism are counted, not summed,
/// so the result depends neither on the order of the events nor on how they are grouped into lines. Where all
/// curves are linear in the order (zcdp_rho) the conversion takes the best real order, else the best of orders()
/// and of further ones around that.
class RdpAccountant final : public Accountant {
 public:
  explicit RdpAccountant(Adjacency adjacency);  ///< on rdp_orders()
  /// Orders ascend, each > 1 and <= rdp_largest_order.
  RdpAccountant(Adjacency adjacency, std::vector<double> orders);

  std::string_view name() const override { return "rdp"; }
  using Accountant::compose;
  void compose(const Event& event) override;
  double epsilon(double delta) const override;
  double delta(double epsilon) const override;

  const std::vector<double>& orders() const { return orders_; }
  const std::vector<double>& curve() const;  ///< composed Renyi divergence bound, one per order
  double best_order(double delta) const;     ///< the order that gives epsilon(delta)
  /// 1 - prod (1 - delta_i) over the uses of approx_dp, rounded up: the probability that one of them fails. An
  /// (epsilon, delta)-DP mechanism is, except with probability delta, a post-processing of randomized response
  /// (Kairouz, Oh and Viswanath 2015); curve() holds if none fails.
  ///
  /// Two things that epsilon() and delta() know and curve() does not. A run with hidden iterates counts in the
  /// curve as if all its iterates were seen; they also try the bounds of privacy/last_iterate/bounds.hpp. Where a
  /// zcdp event has a distance in total variation, the curve is that of the mechanism near by; they add up the
  /// distances of all uses and add (1 + e^epsilon) times the sum to delta.
  double failure() const;

 private:
  struct Use {
    std::vector<double> curve;  // of one use
    std::uint64_t count = 0;
    mutable std::map<std::vector<double>, std::vector<double>> further;  // of one use at other lists of orders
  };
  struct Composed;
  void refresh() const;
  std::vector<double> curve_at(std::span<const double> orders) const;
  Composed as_seen() const;
  bool hides_iterates() const;
  Composed coupled(double failure, double delta) const;
  RdpConversion to_epsilon(double delta) const;

  std::vector<double> orders_;
  std::map<Mechanism, Use> uses_;
  mutable std::vector<double> total_;
  mutable std::optional<double> rho_;  // all curves are linear, and this is their sum's slope
  mutable double failure_ = 0, distance_ = 0;
  mutable bool stale_ = true;
};

}  // namespace dpmpi
