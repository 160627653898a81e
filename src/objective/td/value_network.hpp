#pragma once
// A network of layers as the value function V of temporal differences: its values, its gradient Psi, and its
// Hessian times omega. Everything is double.
//
// Layers know their first derivatives only. So the Hessian times omega is a difference of gradients along omega, of
// fourth order: with u = omega / |omega| and a step h,
//
//   (Hess V) u = (8 (Psi(theta + h u) - Psi(theta - h u)) - (Psi(theta + 2 h u) - Psi(theta - 2 h u))) / (12 h),
//
// which is off by h^4 / 30 times the fifth derivative of Psi along u, and by the rounding of Psi over h. It takes
// layers without kinks.

#include <span>
#include <vector>

#include "objective/layers/record_pass.hpp"

namespace dpmpi {

/// At (theta, omega). States are as layers take them, with room_for() the shape. Local; allocates when it is made,
/// and never again.
class ValueNetwork {
 public:
  explicit ValueNetwork(const LayeredShape& shape);

  const Sequence<double>& layers() const { return here_.network(); }
  std::size_t dim() const { return here_.dim(); }  ///< of theta, and of omega
  /// Of a gradient and a product with the Hessian.
  double flops() const { return here_.flops() * static_cast<double>(1 + displaced_.size()); }

  void load(std::span<const float> w);
  std::span<const double> omega() const { return std::span(omega_).first(dim()); }

  double value(const double* state) { return here_.forward(state)[0]; }
  /// V, with Psi in psi(), which is valid until the next call.
  double differentiate(const double* state) { return differentiate(here_, state); }
  std::span<const double> psi() { return here_.gradient(); }
  /// to += factor (Hess V) omega. Leaves psi() as it is.
  void add_curvature(const double* state, double factor, std::span<double> to);

 private:
  static double differentiate(RecordPass<double>& pass, const double* state);

  /// The network at theta + place h u, with its part of the difference.
  struct Displaced {
    double place, part;
    RecordPass<double> pass;
  };
  RecordPass<double> here_;
  std::vector<Displaced> displaced_;
  std::vector<double> theta_, omega_, moved_;
  double length_ = 0;  ///< |omega|
};

}  // namespace dpmpi
