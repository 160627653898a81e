#include "method/heavy_tailed/guarded_pass.hpp"

#include <algorithm>
#include <cmath>

#include "core/numbers/real.hpp"
#include "method/ball.hpp"

namespace dpmpi {
namespace {

RecordTest test_of(const SmoothPhase& phase, const PhaseView& part) {
  if (!phase.guarded()) return {.clip = phase.clip, .most = phase.clip};
  const double halt_at = phase.hits + phase.guard.count_noise * part.normal();
  return {phase.clip, (1 + phase.guard.rule.guard) * phase.clip, phase.test_scale,
          std::min(halt_at, real(phase.guard.most_hits))};
}

}  // namespace

GuardedPass::GuardedPass(RecordGradients& gradients, double radius)
    : gradients_(gradients), radius_(radius), dim_(gradients.dim()), state_(2 * dim_ + 1), gradient_(dim_ + 1) {}

void GuardedPass::run(PhaseView& part, const SmoothPhase& phase, std::span<const double> start,
                      std::span<double> result) {
  test_ = test_of(phase, part);
  noise_ = phase.guarded() ? &part : nullptr;
  std::ranges::fill(state_, 0.0);
  std::ranges::copy(start, state_.begin());
  phase.batch == 1 ? go_record_by_record(part, phase) : go_in_batches(part, phase);
  // Hits only grow in number. What a phase does after it has halted counts for nothing, and takes as long.
  const bool halted = test_.halted(state_.back());
  for (std::size_t j = 0; j < dim_; ++j) result[j] = halted ? start[j] : sum(state_)[j] / real(phase.steps);
}

// gradient_ becomes what the record adds to a step; returns whether it is a hit.
bool GuardedPass::take(const Rows& record, std::span<const double> x) {
  const std::span<double> g = std::span(gradient_).first(dim_);
  gradients_.gradient(record, x, g);
  double square = 0;
  for (const double v : g) square += v * v;
  const double norm = std::sqrt(square);
  const bool hit = test_.hit(norm, noise_ != nullptr ? noise_->laplace(record.index[0]) : 0);
  const double scale = hit && norm > test_.clip ? test_.clip / norm : 1;
  for (double& v : g) v *= scale;
  return hit;
}

void GuardedPass::add_point(std::span<double> state) const {
  for (std::size_t j = 0; j < dim_; ++j) sum(state)[j] += state[j];
}

void GuardedPass::move(std::span<double> state, std::span<const double> direction, double length) const {
  const std::span<double> x = point(state);
  for (std::size_t j = 0; j < dim_; ++j) x[j] -= length * direction[j];
  project({{}, radius_}, x);
}

void GuardedPass::go_record_by_record(PhaseView& part, const SmoothPhase& phase) {
  part.sequential_pass(state_, [&](const Rows& record, std::span<double> state) {
    add_point(state);
    state.back() += take(record, point(state)) ? 1 : 0;
    move(state, gradient_, phase.step);
  });
}

// Hits are the last coordinate of a sum, in units that its lattice holds.
void GuardedPass::go_in_batches(PhaseView& part, const SmoothPhase& phase) {
  const double unit = std::ldexp(1, std::ilogb(test_.most));
  const Kernel kernel = [&](const Rows& rows, const L2Bound&, LatticeAccumulator& total) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      gradient_.back() = take({rows.records, rows.index.subspan(i, 1)}, point(state_)) ? unit : 0;
      total.begin(1);
      total.add(0, std::span<const double>(gradient_));
    }
  };
  for (std::uint64_t t = 0; t < phase.steps; ++t) {
    add_point(state_);
    const auto total = part.sum(t * phase.batch, (t + 1) * phase.batch, {test_.most}, kernel, dim_ + 1);
    state_.back() += total.back() / unit;
    move(state_, total, phase.step / real(phase.batch));
  }
}

}  // namespace dpmpi
