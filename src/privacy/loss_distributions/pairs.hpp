#pragma once
// Dominating pairs: for each mechanism two laws P, Q on the line whose hockey-stick divergences
// H_gamma(P||Q) = sup_S P(S) - gamma Q(S) are, for every gamma > 0, at least those of the outputs of any two
// neighbours (Zhu, Dong and Wang 2022, arXiv:2106.08567; such pairs compose adaptively).

#include <functional>
#include <optional>
#include <vector>

#include "privacy/events/event.hpp"

namespace dpmpi {

/// Masses of both laws above and below one loss; the smaller side of a law has full relative precision.
struct LossCut {
  double p_above = 0, p_below = 0, q_above = 0, q_below = 0;
  double error = 0;  ///< bound on the relative rounding error of each of the four
};

/// An output of positive probability: masses p under P and q = p e^(-loss) under Q.
struct LossAtom {
  double loss = 0, p = 0, q = 0;
};

/// The laws of the privacy loss log P(x)/Q(x) under P and under Q.
struct LossPair {
  std::function<LossCut(double loss)> cut;  ///< of the part without atoms; empty if there is none
  std::vector<LossAtom> atoms = {};
  double infinite = 0;    ///< mass of P where Q has none
  double vanished = 0;    ///< mass of Q where P has none; the cut and atoms leave both out
  double anchor = 0;      ///< a loss where mass crowds: grids have a point there
  double span = 0;        ///< distance to a second loss that deserves a grid point, or 0
  double loss_error = 0;  ///< rounding: the set of `cut(l)` has its boundary within loss_error + |l| 2^-49 of l
  /// The pair of a mechanism of this kind with a smaller span (more noise): all its divergences are smaller. Empty
  /// if there is none.
  std::function<LossPair(double span)> narrowed = {};
};

/// What accounting needs to know of one use of a mechanism.
struct DominatingPair {
  LossPair pair;
  bool symmetric = true;  ///< (P, Q) and (Q, P) have the same divergences; else both directions count
  /// A pair that a mechanism of this kind attains, where `pair` itself may lie above all of them.
  std::optional<LossPair> attained = {};
  /// There: a grid is fine enough once `pair`'s own bounds on it are close; else once a finer one tells no more.
  bool judged_by_itself = false;
};

/// P = N(mu, 1), Q = N(0, 1).
LossPair gaussian_pair(double mu);
/// P = Lap(1, scale), Q = Lap(0, scale): dominates Laplace noise on vectors with an L1 distance of at most 1.
LossPair laplace_pair(double scale);
/// (1-q) Q + q P against Q.
LossPair sampled_pair(const LossPair& pair, double q);
/// P = (1-q) N(0, s^2) + q N(1, s^2), Q = (1-q) N(0, s^2) + q N(-1, s^2).
LossPair opposite_gaussian_pair(double q, double s);
/// Losses of +-epsilon and, with probability delta, infinity: dominates every (epsilon, delta)-DP mechanism
/// (Kairouz, Oh and Viswanath 2015).
LossPair randomized_response_pair(double epsilon, double delta);
/// Dominates every mechanism whose losses lie in some interval of length epsilon.
LossPair bounded_range_pair(double epsilon);
/// (Q, P).
LossPair reversed(const LossPair& pair);
/// H_gamma(P||Q) for gamma >= 1 and H_gamma(Q||P) below: dominates where neighbours may have either order of
/// (P, Q), another one in every use. P{loss > 0} + Q{loss > 0} must be 1 at most, the rest is an atom at loss 0;
/// no other atoms, no infinite losses.
LossPair in_worse_order(const LossPair& pair);

/// The pair of one use of a mechanism. Throws PrivacyError, naming event, adjacency and reason, if none is known.
/// Not for those that merge exactly, gaussian_mu().
DominatingPair dominating_pair(const Mechanism& mechanism, Adjacency adjacency);

/// mu of mechanisms that are exactly a pair of unit normals at distance mu; empty for others.
std::optional<double> gaussian_mu(const Mechanism& mechanism);

}  // namespace dpmpi
