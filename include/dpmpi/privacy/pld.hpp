#pragma once
// Privacy loss distributions: the law of log P(x)/Q(x) under P, for a pair (P, Q) that is at least as easy to tell
// apart as the outputs of any two neighbours (a dominating pair, Zhu, Dong and Wang 2022). Losses of independent
// uses add, so their laws convolve.

#include "dpmpi/privacy/accountant.hpp"

namespace dpmpi {

/// Numerical composition on a grid of losses (Koskela et al. 2020; Gopi et al. 2021; Doroshenko et al. 2022), in
/// both directions. A pessimistic and an optimistic grid enclose the exact value; truncation, wrap-around and
/// rounding of the transform are charged to delta. Refuses mechanisms without a known dominating pair.
class PldAccountant final : public Accountant {
 public:
  explicit PldAccountant(Adjacency adjacency);
  ~PldAccountant() override;

  std::string_view name() const override { return "pld"; }
  using Accountant::compose;
  void compose(const Event& event) override;
  double epsilon(double delta) const override;
  double delta(double epsilon) const override;
  double least_epsilon(double delta) const override;
  double least_delta(double epsilon) const override;

  /// On how many points epsilon(delta) is known well enough; 0 if that takes no grid.
  std::size_t points(double delta) const { return epsilon_interval(delta).points; }
  /// The bound of the grid with so many points (as many as `points` gave), rounded up: never below epsilon(delta)
  /// if that ends on this grid, at a part of its cost. For searches, whose neighbouring problems end on the same
  /// grid.
  double epsilon_on(std::size_t points, double delta) const;

 private:
  struct Interval {
    double least = 0, most = 0;
    std::size_t points = 0;
  };
  struct Goal;
  Interval solve(const Goal& goal) const;
  const Interval& epsilon_interval(double delta) const;
  const Interval& delta_interval(double epsilon) const;

  std::map<Mechanism, std::uint64_t> uses_;
  mutable std::map<double, Interval> epsilon_, delta_;  // answers so far
};

}  // namespace dpmpi
