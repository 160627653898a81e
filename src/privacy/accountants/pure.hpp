#pragma once
// Mechanisms known by their (epsilon, delta) only: the optimal composition theorem.

#include <cstdint>
#include <map>
#include <memory>
#include <string_view>

#include "privacy/accountants/accountant.hpp"

namespace dpmpi {

class LossLaw;

/// Composition of (epsilon_i, delta_i) guarantees (Kairouz, Oh and Viswanath 2015, Thm. 3.3; Murtagh and Vadhan
/// 2016 for different ones): approx_dp, and laplace, poisson_laplace and exponential by the pure guarantee that
/// they imply. Exact while there are at most 2^20 sums of losses; beyond that, losses are split between their
/// neighbours on a fine grid, which is an upper bound. Local.
class OptimalCompositionAccountant final : public Accountant {
 public:
  explicit OptimalCompositionAccountant(Adjacency adjacency) : Accountant(adjacency) {}

  std::string_view name() const override { return "optimal"; }
  using Accountant::compose;
  void compose(const Event& event) override;
  double epsilon(double delta) const override;
  double delta(double epsilon) const override;
  /// Of lists of approx_dp only, composed exactly: for each there is a mechanism that attains the bound. Else 0.
  double least_epsilon(double delta) const override;
  double least_delta(double epsilon) const override;

  /// Uses of all mechanisms with one pure epsilon, at most.
  static constexpr std::uint64_t most_uses = std::uint64_t{1} << 32;

 private:
  const LossLaw& law() const;

  std::map<Mechanism, std::uint64_t> uses_;
  mutable std::shared_ptr<const LossLaw> law_;  // of uses_; none after a change
};

}  // namespace dpmpi
