#include "method/minimax/saddle_iterate.hpp"

#include <algorithm>

#include "core/numbers/random.hpp"

namespace dpmpi {

namespace {

std::uint64_t chosen_round(const SaddleSettings& settings, std::uint64_t rounds) {
  if (settings.output == SaddleSettings::Output::last) return rounds - 1;
  return PublicStream(static_cast<std::uint64_t>(settings.seed), "output pair").below(0, rounds);
}

}  // namespace

SaddleIterate::SaddleIterate(SaddleObjective& objective, const SaddleSettings& settings, std::uint64_t rounds)
    : objective_(objective),
      dual_rate_(settings.dual_rate),
      dual_schedule_(settings.dual_schedule),
      rounds_(rounds),
      chosen_round_(chosen_round(settings, rounds)),
      descent_(settings.descent, objective.primal_dim(), rounds),
      w_(objective.dim()),
      scratch_(objective.dim()) {
  objective.initialise(PublicStream(static_cast<std::uint64_t>(settings.seed), "start point"), w_);
  objective.project_dual(std::span(w_).subspan(objective.primal_dim()));
  published_ = w_;
}

void SaddleIterate::add_public_primal(std::uint64_t r, std::span<double> gradient) {
  objective_.add_public_primal(w_, r, gradient);
  if (objective_.l2 == 0) return;
  std::fill(scratch_.begin(), scratch_.end(), 0.0f);
  objective_.add_regularizer_gradient(w_, scratch_);
  for (std::size_t j = 0; j < gradient.size(); ++j) gradient[j] += scratch_[j];
}

void SaddleIterate::add_public_dual(std::uint64_t s, std::span<double> gradient) const {
  objective_.add_public_dual(w_, s, gradient);
}

void SaddleIterate::descend(std::span<const double> gradient, std::uint64_t r) {
  const std::span direction = std::span(scratch_).first(gradient.size());
  for (std::size_t j = 0; j < gradient.size(); ++j) direction[j] = static_cast<float>(gradient[j]);
  descent_.update(std::span(w_).first(gradient.size()), direction, 1, r);
}

// The curvature is the objective's, which a released prior may have changed.
double SaddleIterate::dual_rate_at(std::uint64_t r, std::uint64_t i) const {
  const double mu = objective_.dual_curvature().value_or(0);
  const double rate = dual_rate_ > 0 ? dual_rate_ : 0.3 / mu;
  switch (dual_schedule_) {
    case SaddleSettings::DualSchedule::closed_form:
      return 1 / mu;
    case SaddleSettings::DualSchedule::inverse:
      return rate / static_cast<double>(i + 1);
    case SaddleSettings::DualSchedule::primal:
      return rate * (descent_.rate_at(r) / descent_.rate_at(0));
    case SaddleSettings::DualSchedule::constant:
      break;
  }
  return rate;
}

void SaddleIterate::ascend(std::span<const double> gradient, double rate) {
  const std::span y = std::span(w_).subspan(objective_.primal_dim());
  for (std::size_t j = 0; j < y.size(); ++j) y[j] = static_cast<float>(y[j] + rate * gradient[j]);
  objective_.project_dual(y);
}

void SaddleIterate::end_round(std::uint64_t r) {
  const auto x_published = descent_.published(x());
  std::copy(x_published.begin(), x_published.end(), published_.begin());
  std::copy(y().begin(), y().end(), published_.begin() + static_cast<std::ptrdiff_t>(x().size()));
  if (r == chosen_round_) chosen_ = published_;
  if (r + 1 == rounds_) published_ = chosen_;
}

void SaddleIterate::archive(Archive& archive) {
  archive.field("w", w_);
  archive.field("published", published_);
  archive.field("chosen", chosen_);
  descent_.archive(archive);
}

}  // namespace dpmpi
