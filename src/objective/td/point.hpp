#pragma once
// The saddle form of the mean squared projected Bellman error for one transition (s, r, s'):
//
//   l(theta, omega) = delta e - e^2 / 2,  delta = r + gamma V(s') - V(s),  e = <Psi(s), omega>,  Psi = grad V.
//
// Maximising the mean over omega gives 1/2 E[delta Psi]^T E[Psi Psi^T]^-1 E[delta Psi]. Its gradients are
//
//   grad_omega l = (delta - e) Psi(s),
//   grad_theta l = e (gamma Psi(s') - Psi(s)) + (delta - e) (Hess V(s)) omega.
//
// For one hidden layer, V = w2 . (tanh(W1 s), 1), both are sums of outer products: the first layer's part of
// grad_theta is P s'^T + Q s^T, that of grad_omega is d s^T. Everything is double: where two points are near, the
// differences of P, Q and the rest keep what float32 parameters can tell.

#include <span>

#include "core/aligned.hpp"
#include "objective/network/shape.hpp"

namespace dpmpi {

/// A transition; s and s' are rows (features, constant, zeros) of the shape's width(0).
struct Transition {
  const double* state;
  const double* next;
  double reward;
  double discount;  ///< gamma, or 0 where s' is terminal
};

/// What a record's gradients are made of. Vectors have the shape's width(1), zeros behind the units; `output` and
/// `level` have no meaning without a hidden layer.
struct TdTerms {
  explicit TdTerms(const MlpShape& shape)
      : next(shape.width(1)),
        state(shape.width(1)),
        output(shape.width(1)),
        slope(shape.width(1)),
        level(shape.width(1)) {}
  double value = 0;                    ///< V(s)
  double error = 0;                    ///< delta
  double dual = 0;                     ///< e
  AlignedVector<double> next, state;   ///< P and Q
  AlignedVector<double> output;        ///< the second layer's part of grad_theta
  AlignedVector<double> slope, level;  ///< Psi(s): the first layer's part is slope s^T, the second's is `level`
};

/// theta and omega, unpacked.
class TdPoint {
 public:
  /// `shape`: (state, hidden, 1), or (state, 1) for a linear value function.
  explicit TdPoint(const MlpShape& shape);
  template <class T>
  void load(std::span<const T> w);  ///< (theta, omega), float or double
  void evaluate(const Transition& transition, TdTerms& terms) const;

 private:
  struct Network {
    Scratch<double> first;         ///< a row (weights, bias, zeros) for each unit
    AlignedVector<double> second;  ///< (weights, bias, zeros)
  };
  template <class T>
  void unpack(std::span<const T> parameters, Network& network) const;
  void evaluate_linear(const Transition& transition, TdTerms& terms) const;

  const MlpShape& shape_;
  std::size_t units_;
  Network theta_, omega_;
};

}  // namespace dpmpi
