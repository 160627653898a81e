#include "objective/tuning/tuned_losses.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/console/heartbeat.hpp"
#include "core/errors.hpp"
#include "core/numbers/real.hpp"
#include "objective/copy_rows.hpp"
#include "objective/joint_clip.hpp"
#include "objective/takes_part.hpp"

namespace dpmpi {

TunedLosses::TunedLosses(const ModelFamily& family, const ScalarLoss& loss, PublicSet set,
                         std::unique_ptr<Turns> turns)
    : hyper_(family.hyper_parameters()),
      loss_(loss),
      set_(std::move(set)),
      model_(family.on(set_)),
      turns_(std::move(turns)),
      dim_(hyper_.dim()),
      stride_(round_up(set_.features + 1, 8)),
      rows_(tile_rows * stride_),
      values_(hyper_.count()) {}

void TunedLosses::train(std::span<const double> point, std::span<double> model) {
  hyper_.at(point, values_);
  const bool finite = std::all_of(point.begin(), point.end(), [](double x) { return std::isfinite(x); });
  if (!finite || !model_->train(values_, model)) std::fill(model.begin(), model.end(), not_a_number);
  ++trained_;
  heartbeat().beat();
}

void TunedLosses::prepare(std::span<const float> w) {
  verify(w.size() == dim_, "a point has dim() coordinates");
  point_.assign(w.begin(), w.end());
  if (point_ == prepared_) return;
  prepared_ = point_;
  models_.resize(model_->size());
  train(point_, models_);
}

void TunedLosses::prepare_points(std::span<const double> points) {
  verify(points.size() % dim_ == 0, "points have dim() coordinates");
  prepared_.clear();
  models_.assign(points.size() / dim_ * model_->size(), 0.0);
  turns_->share(model_->size(), models_,
                [&](std::size_t p, std::span<double> model) { train(points.subspan(p * dim_, dim_), model); });
}

/// Calls use(first, n, score) for the rows first .. first + n - 1.
template <class Use>
void TunedLosses::for_each_tile(std::span<const double> model, const Rows& rows, const Use& use) {
  verify(rows.records.features == set_.features, "records of another width");
  std::array<double, tile_rows> score{};
  for (std::size_t first = 0; first < rows.size(); first += tile_rows) {
    const std::size_t n = std::min(tile_rows, rows.size() - first);
    copy_rows(Rows{rows.records, rows.index.subspan(first, n)}, stride_, rows_.data());
    model_->predict(model, rows_.data(), stride_, score.data());
    use(first, n, score.data());
  }
}

void TunedLosses::losses_at(std::size_t p, const Rows& rows, std::span<double> out) {
  const std::size_t size = model_->size();
  verify((p + 1) * size <= models_.size() && out.size() == rows.size(), "a point that was prepared, a loss a row");
  for_each_tile(
      std::span(models_).subspan(p * size, size), rows, [&](std::size_t first, std::size_t n, const double* score) {
        std::array<double, tile_rows> label{}, loss{};
        for (std::size_t i = 0; i < n; ++i) {
          const std::uint32_t row = rows.index[first + i];
          label[i] = takes_part(rows.records, row) ? static_cast<double>(rows.records.label[row]) : not_a_number;
        }
        loss_.values(score, label.data(), loss.data());
        std::copy_n(loss.begin(), n, out.begin() + static_cast<std::ptrdiff_t>(first));
      });
}

void TunedLosses::losses(const Rows& rows, std::span<double> out) { losses_at(0, rows, out); }

void TunedLosses::scores(const Rows& rows, std::span<float> out) {
  for_each_tile(std::span(models_).first(model_->size()), rows,
                [&](std::size_t first, std::size_t n, const double* score) {
                  for (std::size_t i = 0; i < n; ++i) out[first + i] = static_cast<float>(score[i]);
                });
}

}  // namespace dpmpi
