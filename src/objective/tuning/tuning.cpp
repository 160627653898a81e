#include "objective/tuning/tuning.hpp"

#include <fmt/format.h>

#include "core/errors.hpp"
#include "data/memory.hpp"

namespace dpmpi {
void ModelTuningOptions::declare(Options& options, const std::vector<std::string>& losses) {
  loss = losses.front();
  options.add("train", train, "file of the public records that models are trained on, read as data.eval is");
  options.add("loss", loss, "loss of a record, of the model's score and the label", losses);
  declare_start(options, start);
  options.add("delta", delta, "residual beyond which loss = huber is linear", Range::positive());
}

std::unique_ptr<ScalarLoss> ModelTuningOptions::make_loss() const {
  if (loss == "huber") return huber_loss(delta);
  if (loss == "absolute") return absolute_loss();
  if (loss == "logistic") return logistic_loss();
  if (loss == "hinge") return hinge_loss();
  verify(loss == "squared", "a loss that was declared");
  return squared_loss();
}

Tuning::Tuning(const ObjectiveFacts& facts, const ModelTuningOptions& options, std::unique_ptr<ModelFamily> family)
    : TunedObjective(options.start),
      features_(facts.features),
      options_(options),
      family_(std::move(family)),
      loss_(options.make_loss()) {
  if (options.train.empty())
    throw ConfigError("objective.train is not set: the file of the public records that models are trained on");
  if (dim() == 0)
    throw ConfigError("no hyper-parameter is searched for: give one of them two numbers, the bounds of its range");
}

// Of a kernel model with a thousand training records: how many there are is not known when plans are made.
double Tuning::flops_per_record() const { return 1000 * (2.0 * static_cast<double>(features_) + 40); }

void Tuning::take(PublicSet set, std::unique_ptr<Turns> turns) {
  check_memory(static_cast<std::uint64_t>(family_->training_bytes(set.count)), available_memory(),
               fmt::format("training on the {} records of objective.train = {}", set.count, options_.train));
  losses_ = std::make_unique<TunedLosses>(*family_, *loss_, std::move(set), std::move(turns));
}

std::vector<std::string> Tuning::assumptions() const {
  return {fmt::format(
      "the records of objective.train = {}, on which models are trained, are public or protected by other means: the "
      "guarantee is for the records that models are scored on, and for nobody who is in both files",
      options_.train)};
}

}  // namespace dpmpi
