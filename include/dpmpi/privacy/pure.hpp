#pragma once
// Mechanisms known by their (epsilon, delta) only: the optimal composition theorem.

#include "dpmpi/privacy/accountant.hpp"

namespace dpmpi {

/// Exact composition of (epsilon_i, delta_i) guarantees (Kairouz, Oh and Viswanath 2015, Thm. 3.3; Murtagh and
/// Vadhan 2016 for different ones): approx_dp, and laplace, poisson_laplace and exponential by the pure guarantee
/// that they imply. Where the exact sum over outcomes would have too many terms, losses are rounded up onto a fine
/// grid.
class OptimalCompositionAccountant final : public Accountant {
 public:
  explicit OptimalCompositionAccountant(Adjacency adjacency) : Accountant(adjacency) {}

  std::string_view name() const override { return "optimal"; }
  using Accountant::compose;
  void compose(const Event& event) override;
  double epsilon(double delta) const override;
  double delta(double epsilon) const override;

 private:
  std::map<Mechanism, std::uint64_t> uses_;
};

}  // namespace dpmpi
