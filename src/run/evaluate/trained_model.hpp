#pragma once
// A finished run's model, with records to look at it by: what `evaluate` and `predict` work on.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "core/numbers/random.hpp"
#include "data/load/data_files.hpp"
#include "data/records/blocks.hpp"
#include "objective/objective.hpp"
#include "run/config/config.hpp"

namespace dpmpi {

/// Throws ConfigError if `output` is a file that a run left (but for report.html and audit.json). Local.
void refuse_part_of_run(const std::string& output);
/// The models that are scored were trained on this file: throws DataError if it is not the one that the run's
/// certificate names. Collective.
void check_file_of_models(const Communicator& comm, const std::string& run, const Dataset& models);
/// Throws PrivacyError if a pattern in data.train matches other names than when `run` was trained: a training file
/// under another name would be taken for a public one. Collective.
void refuse_renamed_training_files(const Communicator& comm, const std::string& run, const Dataset& training);
/// Throws ConfigError if writing to `output` would replace the config's own file or one of its data files, as far
/// as they can be seen from here. Local.
void keep_inputs(const RunConfig& config, const DataFiles& files, const std::string& output);

/// A model, how its records are read, and the files whose scored() are to be looked at.
struct ModelToScore {
  std::unique_ptr<const RunConfig> config;
  DataFiles files;
  Dataset trained_on;     ///< with overrides: files.training, where the run itself looks for it
  std::string run, file;  ///< the directory (empty: the model file came alone), and the model in it
  std::optional<std::uint64_t> features{};  ///< that the model file says; a run's plan says them otherwise
};
/// Of a finished run's directory, or of a model file by itself, which nothing certifies then. `data`: the given
/// file (empty: none, data.eval is scored). Overrides say how these are read: [data] but for the training data.
/// Local. Throws ConfigError, DataError.
ModelToScore model_to_score(const std::string& place, const std::string& data,
                            const std::vector<std::string>& overrides);
/// The same where no records need be named.
ModelToScore model_at(const std::string& place, const std::string& data, const std::vector<std::string>& overrides);

/// The config of the finished run `run`, whose model can be used. Local. Throws ConfigError, DataError.
std::unique_ptr<const RunConfig> finished_run(const std::string& run, const std::vector<std::string>& overrides);

/// A model whose records are not needed. Local. Errors as for read_trained_model().
struct ModelAlone {
  std::unique_ptr<Objective> objective;
  std::vector<float> parameters;
  std::uint64_t features = 0;  ///< of a record, after preparation
};
ModelAlone read_model_alone(const std::string& run, const RunConfig& config);
ModelAlone read_model_alone(const ModelToScore& model);

/// The model, on every rank, and this rank's share of the records.
struct TrainedModel {
  std::unique_ptr<Objective> objective;
  std::vector<float> parameters;
  Shard records;  ///< its facts have the names of features on the root
};

/// The model, and of the records to score what is public: model.records has their facts alone. Collective; errors
/// as for read_trained_model().
TrainedModel read_model_for(const Communicator& comm, const ModelToScore& scored);
/// The blocks by which the records of these facts are scored. Local.
BlockLayout scoring_layout(const Communicator& comm, const DatasetFacts& facts);
/// The records themselves; `key`: decides who has which slot, where they are of persons; on the root. Collective.
void read_records_to_score(const Communicator& comm, const ModelToScore& scored, TrainedModel& model,
                           const std::optional<SecretKey>& key = {});

/// Reads the model and the records to score. Collective; all ranks throw alike: PrivacyError if a run's model is
/// not the one that RUN/certificate.json certifies, DataError or ConfigError if a file is missing or the records do
/// not fit the model.
TrainedModel read_trained_model(const Communicator& comm, const ModelToScore& scored);

}  // namespace dpmpi
