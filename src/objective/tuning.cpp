#include "dpmpi/objective/tuning.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "dpmpi/core/errors.hpp"
#include "dpmpi/core/heartbeat.hpp"
#include "dpmpi/core/log.hpp"
#include "dpmpi/core/progress.hpp"
#include "dpmpi/data/file.hpp"
#include "dpmpi/objective/gather.hpp"
#include "dpmpi/objective/joint_clip.hpp"
#include "dpmpi/objective/usable.hpp"

namespace dpmpi {
namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

[[noreturn]] void refuse_gradients() {
  throw ConfigError(
      "objectives that tune hyper-parameters offer losses only, no gradients: use a method that needs none");
}

}  // namespace

void TuningOptions::declare(Options& options, const std::vector<std::string>& losses) {
  loss = losses.front();
  options.add("train", train, "file of the public records that models are trained on, read as data.eval is");
  options.add("loss", loss, "loss of a record, of the model's score and the label", losses);
  options.add("start", start, "start of the search in the box: its centre, or a random point of it",
              {"centre", "random"});
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
    : features_(facts.features),
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

void Tuning::open(const Communicator& comm, const DataOptions& data) {
  comm_ = &comm;
  set_ = std::make_unique<PublicSet>(
      read_public_set(comm, data, "objective.train", options_.train, features_, label_kind()));
  check_memory(static_cast<std::uint64_t>(model_->training_bytes(set_->count)), available_memory(),
               fmt::format("training on the {} records of objective.train = {}", set_->count, options_.train));
  model_->open(*set_);
}

std::vector<std::string> Tuning::assumptions() const {
  return {
      fmt::format("the records of objective.train = {}, on which models are trained, are public or protected by "
                  "other means: the "
                  "guarantee is for the records that models are scored on, and for nobody who is in both files",
                  options_.train)};
}

void Tuning::initialise(const PublicStream& stream, std::span<float> w) const {
  for (std::size_t j = 0; j < w.size(); ++j)
    w[j] = options_.start == "random" ? static_cast<float>(box_edge * (2 * stream.uniform(j) - 1)) : 0.0F;
}

void Tuning::train(std::span<const double> point, std::span<double> model) {
  model_->hyper_parameters().at(point, values_);
  const bool finite = std::all_of(point.begin(), point.end(), [](double x) { return std::isfinite(x); });
  if (!finite || !model_->train(values_, model)) std::fill(model.begin(), model.end(), not_a_number);
  ++trained_;
  heartbeat().beat();
}

void Tuning::prepare(std::span<const float> w) {
  verify(w.size() == dim() && set_, "a point has dim() coordinates, and open() comes first");
  point_.assign(w.begin(), w.end());
  if (point_ == prepared_) return;
  prepared_ = point_;
  models_.resize(model_->size());
  train(point_, models_);
}

void Tuning::prepare_points(std::span<const double> points) {
  verify(points.size() % dim() == 0 && set_, "points have dim() coordinates, and open() comes first");
  const std::size_t count = points.size() / dim(), size = model_->size();
  const auto rank = static_cast<std::size_t>(comm_->rank()), ranks = static_cast<std::size_t>(comm_->size());
  prepared_.clear();
  models_.assign(count * size, 0.0);
  Progress progress("training models", count, "models");
  for (std::size_t p = rank; p < count; p += ranks) {
    train(points.subspan(p * dim(), dim()), std::span(models_).subspan(p * size, size));
    progress.add(std::min(ranks, count - p));
  }
  share(count);
}

// Every number was written by one rank and is zero on the others, so the integer sum of their bits is its bits.
void Tuning::share(std::size_t count) {
  const std::size_t size = model_->size();
  bits_.resize(size);
  std::size_t failed = 0;
  for (std::size_t p = 0; p < count; ++p) {
    double* const model = models_.data() + p * size;
    std::memcpy(bits_.data(), model, size * sizeof *model);
    comm_->sum(bits_);
    std::memcpy(model, bits_.data(), size * sizeof *model);
    if (std::isnan(model[0])) ++failed;
  }
  if (failed > 0 && comm_->is_root())
    warn("{} of {} models could not be trained (singular, or diverged): their losses are no numbers", failed,
         count);
}

/// Calls use(first, n, score) for the rows first .. first + n - 1.
template <class Use>
void Tuning::for_each_tile(std::span<const double> model, const Rows& rows, const Use& use) {
  verify(rows.records.features == features_, "records of another width");
  std::array<double, tile_rows> score{};
  for (std::size_t first = 0; first < rows.size(); first += tile_rows) {
    const std::size_t n = std::min(tile_rows, rows.size() - first);
    gather_rows(Rows{rows.records, rows.index.subspan(first, n)}, stride_, rows_.data());
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
          label[i] = usable(rows.records, row) ? static_cast<double>(rows.records.label[row]) : not_a_number;
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

void Tuning::prepare_pair(std::span<const float>, std::span<const float>) { refuse_gradients(); }
void Tuning::add_clipped_gradients(const Rows&, const L2Bound&, LatticeAccumulator&) { refuse_gradients(); }
void Tuning::add_clipped_differences(const Rows&, const L2Bound&, LatticeAccumulator&) { refuse_gradients(); }

}  // namespace dpmpi
