#pragma once
// Laws of a discrete privacy loss log P(x)/Q(x) under P, for compositions of randomized response.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dpmpi {

/// A law of finitely many losses, and what is not among them. Local; immutable.
class LossLaw {
 public:
  struct Atom {
    double loss;
    double mass;  ///< under P; e^-loss times it under Q
  };

  /// Total loss of `count` uses of randomized response: +epsilon with probability e^epsilon / (1 + e^epsilon), else
  /// -epsilon. epsilon >= 0, count <= 2^32. Masses below 1e-290 of the largest are left out.
  static LossLaw randomized_response(double epsilon, std::uint64_t count);
  /// Sum of independent losses. Exact if there are at most `most_atoms` pairs of atoms; else on a grid, and without
  /// tails below 1e-40.
  friend LossLaw operator+(const LossLaw& x, const LossLaw& y);

  /// E_P (1 - e^(epsilon - loss))_+, rounded up; with everything left out counted as lost.
  double delta(double epsilon) const;
  /// The same rounded down, without what was left out. 0 if the law is not exact.
  double least_delta(double epsilon) const;
  /// Smallest epsilon >= 0 with delta(epsilon) <= delta, rounded up; infinity if there is none.
  double epsilon(double delta) const;
  /// A lower bound on the epsilon >= 0 at which E_P (1 - e^(epsilon - loss))_+ is delta.
  double least_epsilon(double delta) const;

  /// Descending in loss.
  const std::vector<Atom>& atoms() const { return atoms_; }
  bool exact() const { return exact_; }

  static constexpr std::size_t most_atoms = std::size_t{1} << 20;

 private:
  static LossLaw of(std::vector<Atom> atoms);
  LossLaw on_grid(std::size_t most) const;
  double hockey_stick(double epsilon) const;
  double error() const;  // relative, of hockey_stick

  std::vector<Atom> atoms_;
  double left_out_ = 0;    // mass, at most
  double mass_error_ = 0;  // relative, at most
  double loss_error_ = 0;  // absolute, at most
  bool exact_ = true;
};

}  // namespace dpmpi
