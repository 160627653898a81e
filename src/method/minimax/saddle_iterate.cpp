#include "method/minimax/saddle_iterate.hpp"

#include <algorithm>

#include "core/numbers/random.hpp"

namespace dpmpi {

void SaddleIterate::start(SaddleObjective& objective, SaddleOptions& options, std::uint64_t rounds) {
  objective_ = &objective;
  options_ = &options;
  rounds_ = rounds;
  const auto seed = static_cast<std::uint64_t>(options.seed);
  chosen_round_ = options.output == "uniform" ? PublicStream(seed, "output pair").below(0, rounds) : rounds - 1;
  w_.assign(objective.dim(), 0.0f);
  scratch_.assign(objective.dim(), 0.0f);
  objective.initialise(PublicStream(seed, "start point"), w_);
  objective.project_dual(std::span(w_).subspan(objective.primal_dim()));
  published_ = w_;
  chosen_.clear();
  options.descent.start(objective.primal_dim(), rounds);
}

void SaddleIterate::add_public_primal(std::uint64_t r, std::span<double> gradient) {
  objective_->add_public_primal(w_, r, gradient);
  if (objective_->l2 == 0) return;
  std::fill(scratch_.begin(), scratch_.end(), 0.0f);
  objective_->add_regularizer_gradient(w_, scratch_);
  for (std::size_t j = 0; j < gradient.size(); ++j) gradient[j] += scratch_[j];
}

void SaddleIterate::add_public_dual(std::uint64_t s, std::span<double> gradient) const {
  objective_->add_public_dual(w_, s, gradient);
}

void SaddleIterate::descend(std::span<const double> gradient, std::uint64_t r) {
  const std::span direction = std::span(scratch_).first(gradient.size());
  for (std::size_t j = 0; j < gradient.size(); ++j) direction[j] = static_cast<float>(gradient[j]);
  options_->descent.update(std::span(w_).first(gradient.size()), direction, 1, r);
}

void SaddleIterate::ascend(std::span<const double> gradient, double rate) {
  const std::span y = std::span(w_).subspan(objective_->primal_dim());
  for (std::size_t j = 0; j < y.size(); ++j) y[j] = static_cast<float>(y[j] + rate * gradient[j]);
  objective_->project_dual(y);
}

void SaddleIterate::end_round(std::uint64_t r) {
  const auto x_published = options_->descent.published(x());
  std::copy(x_published.begin(), x_published.end(), published_.begin());
  std::copy(y().begin(), y().end(), published_.begin() + static_cast<std::ptrdiff_t>(x().size()));
  if (r == chosen_round_) chosen_ = published_;
  if (r + 1 == rounds_) published_ = chosen_;
}

void SaddleIterate::archive(Archive& archive) {
  archive.field("w", w_);
  archive.field("published", published_);
  archive.field("chosen", chosen_);
  options_->descent.archive(archive);
}

}  // namespace dpmpi
