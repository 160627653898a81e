#pragma once
// One phase of clipped steps over single records' gradients, with or without tests: the state that no noise joins.

#include <limits>
#include <span>
#include <vector>

#include "method/heavy_tailed/smooth_plan.hpp"
#include "objective/linear/record_gradients.hpp"
#include "privacy/curator/phase_view.hpp"

namespace dpmpi {

/// One phase's decisions.
struct RecordTest {
  double clip = 1;
  double most = 1;                                           ///< (1 + theta) C: of an executed gradient
  double scale = 0;                                          ///< R
  double halt_at = std::numeric_limits<double>::infinity();  ///< chat

  /// Whether a record whose gradient has this norm counts as clipped; `laplace`: a draw of scale 1 of its own.
  bool hit(double norm, double laplace) const { return norm > most || norm + scale * laplace >= clip; }
  /// Whether a phase with so many hits, the present batch's included, has halted before that batch's update.
  bool halted(double hits) const { return hits >= halt_at; }
};

class GuardedPass {
 public:
  /// Points stay in the ball of this radius around 0. `gradients` must outlive the pass.
  GuardedPass(RecordGradients& gradients, double radius);

  /// result = the mean of the points before each of the phase's steps, from `start` on, or `start` if the phase
  /// halts. Goes over all records and does the same with each, whether or not it has halted. Collective; the query
  /// declares Phases::own_noise where the phase has tests.
  void run(PhaseView& part, const SmoothPhase& phase, std::span<const double> start, std::span<double> result);

 private:
  std::span<double> point(std::span<double> state) const { return state.first(dim_); }
  std::span<double> sum(std::span<double> state) const { return state.subspan(dim_, dim_); }
  bool take(const Rows& record, std::span<const double> x);
  void add_point(std::span<double> state) const;
  void move(std::span<double> state, std::span<const double> direction, double length) const;
  void go_record_by_record(PhaseView& part, const SmoothPhase& phase);
  void go_in_batches(PhaseView& part, const SmoothPhase& phase);

  RecordGradients& gradients_;
  double radius_;
  std::size_t dim_;
  std::vector<double> state_;     // point, sum of the points, number of hits
  std::vector<double> gradient_;  // what a record adds to a step, and room for its hit
  RecordTest test_;
  const PhaseView* noise_ = nullptr;  // of tests
};

}  // namespace dpmpi
