#pragma once
// Accountants compose events into one guarantee. Each is an upper bound on its own, so the smallest epsilon among
// them is valid.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "privacy/curves/rdp_conversion.hpp"
#include "privacy/events/event.hpp"

namespace dpmpi {

/// Adaptive composition of events under one adjacency. Local; cheap to use after every step.
class Accountant {
 public:
  explicit Accountant(Adjacency adjacency) : adjacency_(adjacency) {}
  virtual ~Accountant() = default;

  virtual std::string_view name() const = 0;

  /// Adds an event. Throws PrivacyError, and stays as it was, for a mechanism that this accountant has no bound for
  /// under this adjacency.
  virtual void compose(const Event& event) = 0;
  void compose(const std::vector<Event>& events);

  /// Smallest proven epsilon for delta in (0, 1), rounded up; infinity if there is none.
  virtual double epsilon(double delta) const = 0;
  /// Smallest proven delta for epsilon >= 0, rounded up; at most 1.
  virtual double delta(double epsilon) const = 0;

  /// No valid accountant could claim less for these events: proven lower bounds, rounded down, on epsilon and delta
  /// of the worst mechanisms that they describe. 0 where the accountant has upper bounds only.
  virtual double least_epsilon(double /*delta*/) const { return 0; }
  virtual double least_delta(double /*epsilon*/) const { return 0; }

  /// Takes over what `other` has answered, where answers are costly: if it has composed the same uses of the same
  /// mechanisms under the same adjacency, else nothing.
  virtual void recall(const Accountant& /*other*/) {}

  Adjacency adjacency() const { return adjacency_; }

 private:
  Adjacency adjacency_;
};

/// Renyi differential privacy (Mironov 2017): curves add per order. Uses of one mechanism are counted, not summed,
/// so the result depends neither on the order of the events nor on how they are grouped into lines. Where all
/// curves are linear in the order (zcdp_rho) the conversion takes the best real order, else the best of orders().
class RdpAccountant final : public Accountant {
 public:
  explicit RdpAccountant(Adjacency adjacency);                     ///< on rdp_orders()
  RdpAccountant(Adjacency adjacency, std::vector<double> orders);  ///< each > 1 and <= rdp_largest_order

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
  };
  struct Composed;
  void refresh() const;
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

/// All accountants that have a bound for every event so far; the smallest of their results. Throws PrivacyError
/// once none is left, with each one's reason.
class BestAccountant final : public Accountant {
 public:
  explicit BestAccountant(Adjacency adjacency);

  std::string_view name() const override { return "best"; }
  using Accountant::compose;
  void compose(const Event& event) override;
  /// These throw BugError if one accountant's lower bound lies above another's upper bound.
  double epsilon(double delta) const override;
  double delta(double epsilon) const override;
  double least_epsilon(double delta) const override;
  double least_delta(double epsilon) const override;
  void recall(const Accountant& other) override;

  /// Those that are left, in a fixed order, and why the others are not.
  const std::vector<std::unique_ptr<Accountant>>& parts() const { return parts_; }
  const std::map<std::string, std::string>& refusals() const { return refusals_; }

 private:
  std::vector<std::unique_ptr<Accountant>> parts_;
  std::map<std::string, std::string> refusals_;
};

/// The names that make_accountant knows, in order: best, then the others.
const std::vector<std::string>& accountant_names();

/// The accountant of that name. ConfigError if there is none.
std::unique_ptr<Accountant> make_accountant(std::string_view name, Adjacency adjacency);

}  // namespace dpmpi
