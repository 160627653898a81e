#pragma once
// Per-record estimators of zeroth order: two losses a direction, m directions a record, one clipped vector.
//
// For the smoothed loss E_v f(x + delta v), v uniform in the unit ball, and unit directions u_1 .. u_m of a record,
//   GRAD1(x)    = (d / m) sum_j a_j u_j,   a_j = (f(x + delta u_j) - f(x - delta u_j)) / (2 delta)
//   DIFF1(x, y) = (d / m) sum_j c_j u_j,   c_j = (f(x + delta u_j) - f(y + delta u_j)) / delta
// have its gradient at x, and the difference of its gradients at x and y, as their means. Source: Zhang, Tran and
// Cutkosky, "Private zeroth-order nonsmooth nonconvex optimization" (ICLR 2024), with orthonormal directions,
// centring and clipping added: orthonormal directions shorten the largest DIFF1 of L-Lipschitz losses from d to
// sqrt(d) times L |x - y| / delta; and every estimate is clipped in norm, so that the sensitivity rests on no
// property of loss or directions.
//
// The directions of a record depend on (seed, step, slot of the record in the batch) alone and are public. None is
// kept: tiles are made, used at both points and dropped.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "core/aligned.hpp"
#include "objective/kernel.hpp"
#include "objective/linear/probe.hpp"
#include "objective/math/directions.hpp"
#include "objective/objective.hpp"
#include "objective/values/paired_losses.hpp"

namespace dpmpi {

/// How records are probed. All values are public.
struct Probes {
  DirectionScheme scheme = DirectionScheme::haar;
  std::size_t count = 0;   ///< directions m of a record; 0: as many as parameters
  std::size_t block = 1;   ///< orthonormal directions in a group (scheme = block)
  double radius = 0.1;     ///< delta
  bool centre = false;     ///< differences: c_j becomes (c_j - mean of c) m / (m - 1)
  double scalar_clip = 0;  ///< Lc: |a_j| <= Lc and |c_j| <= Lc |x - y| / delta; 0: no such clip
  std::uint64_t seed = 0;  ///< of the directions
  /// Use the Rao-Blackwellised estimator where it exists: for losses phi(<w, z>) with m = d haar directions. It is
  /// the mean of the estimator given U^T z, which is |z| times a uniform point p of the sphere, so sum_j c_j p_j z
  /// / |z| with d normals a record in place of d^2.
  bool fast = true;
};

class ZerothOrder {
 public:
  /// Throws ConfigError for probes that do not fit the objective's dimension. `objective` must outlive this.
  ZerothOrder(Objective& objective, const Probes& probes);

  /// sum over the rows of weight * GRAD1(x), each clipped to the kernel's bound: the bound C of an estimate in a
  /// mean over B records is passed as weight = 1 / B and clip = C / B. x: dim() entries, unchanged while the kernel
  /// runs; `step` < 2^32 addresses the directions. One kernel at a time: the next call replaces it. Local.
  Kernel gradient(std::span<const double> x, std::uint64_t step, double weight);
  /// The same for DIFF1(x, y).
  Kernel difference(std::span<const double> x, std::span<const double> y, std::uint64_t step, double weight);

  /// GRAD1 or DIFF1 (of the last call above) of one record before weight and clip: dim() entries, valid until the
  /// next call; empty if it is not finite. For tests, and for choosing a clip on public records.
  std::span<const double> estimate(const Rows& row, std::uint32_t slot);

  /// Of the records, numbered as they come: |weight * GRAD1(x)| over the clip. `x` must stay; valid until the next
  /// kernel. Local.
  std::function<void(const Rows& rows, std::span<double> out)> sizes_of_gradients(std::span<const double> x,
                                                                                  double weight, double clip);

  /// How far a contribution may exceed the bound; records go to the lattice one by one.
  NumericSlack slack() const { return slack(objective_.dim()); }
  static NumericSlack slack(std::size_t dim);

  /// Whether records go the way of Probes::fast.
  bool fast() const { return phi_ != nullptr; }
  std::size_t directions() const { return probes_.count; }

 private:
  enum class Kind { gradient, difference };
  Kernel kernel(Kind kind, std::span<const double> x, std::span<const double> y, std::uint64_t step, double weight);
  void add(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum);
  bool estimate_generic(const Rows& row, std::uint32_t slot);
  bool estimate_linear(const Rows& row, std::uint32_t slot);
  bool slopes(std::size_t count);

  Objective& objective_;
  PairedLosses losses_;
  Probes probes_;
  const ScalarLoss* phi_;
  Directions directions_;
  std::unique_ptr<LinearProbe> linear_;
  Kind kind_ = Kind::gradient;
  std::uint32_t step_ = 0;
  double weight_ = 0, largest_slope_ = 0;
  AlignedVector<double> estimate_, direction_sum_;
  std::vector<double> up_, down_;
};

}  // namespace dpmpi
