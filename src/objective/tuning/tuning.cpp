#include "objective/tuning/tuning.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "core/console/heartbeat.hpp"
#include "core/errors.hpp"
#include "core/numbers/real.hpp"
#include "data/memory.hpp"
#include "objective/copy_rows.hpp"
#include "objective/joint_clip.hpp"
#include "objective/takes_part.hpp"

namespace dpmpi {
void TuningOptions::declare(Options& options, const std::vector<std::string>& losses) {
  loss = losses.front();
  options.add("train", train, "file of the public records that models are trained on, read as data.eval is");
  options.add("loss", loss, "loss of a record, of the model's score and the label", losses);
  declare_start(options, start);
  options.add("delta", delta, "residual beyond which loss = huber is linear", Range::positive());
}

std::unique_ptr<ScalarLoss> TuningOptions::make_loss() const {
  if (loss == "huber") return huber_loss(delta);
  if (loss == "absolute") return absolute_loss();
  if (loss == "logistic") return logistic_loss();
  if (loss == "hinge") return hinge_loss();
  verify(loss == "squared", "a loss that was declared");
  return squared_loss();
}

Tuning::Tuning(const ObjectiveFacts& facts, const TuningOptions& options, std::unique_ptr<TunedModel> model)
    : TunedObjective(options.start),
      features_(facts.features),
      stride_(round_up(facts.features + 1, 8)),
      options_(options),
      model_(std::move(model)),
      loss_(options.make_loss()),
      rows_(tile_rows * stride_),
      values_(model_->hyper_parameters().count()) {
  if (options.train.empty())
    throw ConfigError("objective.train is not set: the file of the public records that models are trained on");
  if (dim() == 0)
    throw ConfigError("no hyper-parameter is searched for: give one of them two numbers, the bounds of its range");
}

// Of a kernel model with a thousand training records: how many there are is not known when plans are made.
double Tuning::flops_per_record() const { return 1000 * (2.0 * static_cast<double>(features_) + 40); }

void Tuning::take(PublicSet set, std::unique_ptr<Turns> turns) {
  turns_ = std::move(turns);
  set_ = std::make_unique<PublicSet>(std::move(set));
  check_memory(static_cast<std::uint64_t>(model_->training_bytes(set_->count)), available_memory(),
               fmt::format("training on the {} records of objective.train = {}", set_->count, options_.train));
  model_->open(*set_);
}

std::vector<std::string> Tuning::assumptions() const {
  return {fmt::format(
      "the records of objective.train = {}, on which models are trained, are public or protected by other means: the "
      "guarantee is for the records that models are scored on, and for nobody who is in both files",
      options_.train)};
}

void Tuning::train(std::span<const double> point, std::span<double> model) {
  model_->hyper_parameters().at(point, values_);
  const bool finite = std::all_of(point.begin(), point.end(), [](double x) { return std::isfinite(x); });
  if (!finite || !model_->train(values_, model)) std::fill(model.begin(), model.end(), not_a_number);
  ++trained_;
  heartbeat().beat();
}

void Tuning::prepare(std::span<const float> w) {
  verify(w.size() == dim() && set_, "a point has dim() coordinates, and take() comes first");
  point_.assign(w.begin(), w.end());
  if (point_ == prepared_) return;
  prepared_ = point_;
  models_.resize(model_->size());
  train(point_, models_);
}

void Tuning::prepare_points(std::span<const double> points) {
  verify(points.size() % dim() == 0 && set_, "points have dim() coordinates, and take() comes first");
  prepared_.clear();
  models_.assign(points.size() / dim() * model_->size(), 0.0);
  turns_->share(model_->size(), models_,
                [&](std::size_t p, std::span<double> model) { train(points.subspan(p * dim(), dim()), model); });
}

/// Calls use(first, n, score) for the rows first .. first + n - 1.
template <class Use>
void Tuning::for_each_tile(std::span<const double> model, const Rows& rows, const Use& use) {
  verify(rows.records.features == features_, "records of another width");
  std::array<double, tile_rows> score{};
  for (std::size_t first = 0; first < rows.size(); first += tile_rows) {
    const std::size_t n = std::min(tile_rows, rows.size() - first);
    copy_rows(Rows{rows.records, rows.index.subspan(first, n)}, stride_, rows_.data());
    model_->predict(model, rows_.data(), stride_, score.data());
    use(first, n, score.data());
  }
}

void Tuning::losses_at(std::size_t p, const Rows& rows, std::span<double> out) {
  const std::size_t size = model_->size();
  verify((p + 1) * size <= models_.size() && out.size() == rows.size(), "a point that was prepared, a loss a row");
  for_each_tile(
      std::span(models_).subspan(p * size, size), rows, [&](std::size_t first, std::size_t n, const double* score) {
        std::array<double, tile_rows> label{}, loss{};
        for (std::size_t i = 0; i < n; ++i) {
          const std::uint32_t row = rows.index[first + i];
          label[i] = takes_part(rows.records, row) ? static_cast<double>(rows.records.label[row]) : not_a_number;
        }
        loss_->values(score, label.data(), loss.data());
        std::copy_n(loss.begin(), n, out.begin() + static_cast<std::ptrdiff_t>(first));
      });
}

void Tuning::losses(const Rows& rows, std::span<double> out) { losses_at(0, rows, out); }

void Tuning::scores(const Rows& rows, std::span<float> out) {
  for_each_tile(std::span(models_).first(model_->size()), rows,
                [&](std::size_t first, std::size_t n, const double* score) {
                  for (std::size_t i = 0; i < n; ++i) out[first + i] = static_cast<float>(score[i]);
                });
}

}  // namespace dpmpi
