#pragma once
// Privacy loss distributions: the law of log P(x)/Q(x) under P, for a pair (P, Q) that is at least as easy to tell
// apart as the outputs of any two neighbours (a dominating pair, Zhu, Dong and Wang 2022). Losses of independent
// uses add, so their laws convolve.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "privacy/accountants/accountant.hpp"

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
  void recall(const PldAccountant& other) override;
  bool is_costly() const override { return true; }
  /// The first as epsilon(delta), the others on the grids on which that one ends.
  std::vector<double> epsilons(const std::vector<double>& deltas) const override;

  /// How many points the grids of the two directions have; a direction that is less revealing may do with fewer.
  struct Grids {
    std::size_t forward = 0, backward = 0;
    std::size_t points() const { return forward + backward; }
    bool operator==(const Grids&) const = default;
  };
  /// The grids on which epsilon(delta) is known well enough; without points if that takes none.
  Grids grids(double delta) const { return epsilon_interval(delta).grids; }
  struct Reach {
    Grids grids;
    bool settled = true;  ///< these are grids(delta)
  };
  /// The same if none of them has more points than `largest`, a power of two. Else, at a part of their cost, those
  /// with `largest` points in each direction that has to be refined on.
  Reach grids_within(std::size_t largest, double delta) const;
  /// The bound of these grids (of powers of two, 2^12 to 2^20), rounded up: never below epsilon(delta) if that ends
  /// on them, at a part of its cost. For searches, whose neighbouring problems end on the same grids. They may come
  /// from events with one direction: then the other has as many points.
  double epsilon_on(const Grids& grids, double delta) const;
  /// An upper bound by small grids, most often within 3 % of epsilon(delta). For searches that begin far away.
  double rough_epsilon(double delta) const;

 private:
  struct Interval {
    double least = 0, most = 0;
    Grids grids = {};
    Grids finer = {};     ///< the same, with as many points as allowed where that would tell more
    bool settled = true;  ///< larger grids would not tell more
  };
  struct Goal;
  Interval solve(const Goal& goal) const;
  const Interval& epsilon_interval(double delta) const;
  const Interval& delta_interval(double epsilon) const;

  std::map<Mechanism, std::uint64_t> uses_;
  mutable std::map<double, Interval> epsilon_, delta_;  // answers so far
};

}  // namespace dpmpi
