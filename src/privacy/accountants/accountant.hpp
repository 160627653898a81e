#pragma once
// Accountants compose events into one guarantee. Each is an upper bound on its own, so the smallest epsilon among
// them is valid.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "privacy/events/event.hpp"

namespace dpmpi {

class PldAccountant;

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

  /// The accountants whose bounds these are: itself, or those of which it takes the best. They live as long.
  virtual std::vector<const Accountant*> parts() const { return {this}; }
  /// By name, why others are not among them.
  virtual std::map<std::string, std::string> refusals() const { return {}; }
  /// mu, if it proves that all together is mu-GDP.
  virtual std::optional<double> gaussian() const { return {}; }

  /// Whether each answer takes long (a convolution), so that few are asked for.
  virtual bool is_costly() const { return false; }
  /// Proven epsilons for these deltas, not always the smallest, for not much more than the first alone.
  virtual std::vector<double> epsilons(const std::vector<double>& deltas) const;

  /// Takes over what `other` has answered, whose answers are costly, if this one or a part of it is another such:
  /// for the same uses of the same mechanisms under the same adjacency, else nothing.
  virtual void recall(const PldAccountant& /*other*/) {}

  Adjacency adjacency() const { return adjacency_; }

 private:
  Adjacency adjacency_;
};

/// The names that make_accountant knows, in order: best, then the others.
const std::vector<std::string>& accountant_names();

/// The accountant of that name. ConfigError if there is none.
std::unique_ptr<Accountant> make_accountant(std::string_view name, Adjacency adjacency);

}  // namespace dpmpi
