#pragma once
// What a config asks of an objective that trains models by a config of its own, which is objective.trainer.

#include <memory>
#include <string>
#include <vector>

#include "run/config/config.hpp"

namespace dpmpi {

class TrainingBuilder : public ObjectiveEntry::Builder {
 public:
  /// The config of objective.trainer, a path that begins at `folder` unless it is absolute. Once, after the options
  /// were read and before anything below. Throws ConfigError.
  virtual void read_trainer(const std::string& folder, ConfigOf whose) = 0;
  virtual const RunConfig& trainer() const = 0;  ///< as its file stands
  /// Appends a message for everything in which `config`, whose objective this is, does not fit the trainer's.
  virtual void check(const RunConfig& config, std::vector<std::string>& problems) const = 0;

  using ObjectiveEntry::Builder::make;
  /// The same without a look at the trainer's data, of which this is public.
  virtual std::unique_ptr<Objective> make(const ObjectiveFacts& facts, const DatasetFacts& trainer_data) const = 0;
};

}  // namespace dpmpi
