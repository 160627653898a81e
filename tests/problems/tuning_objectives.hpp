#pragma once
// The objectives that tune hyper-parameters, small, with a public set in a file.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "data/formats/write.hpp"
#include "data/load/data_files.hpp"
#include "objective/tuning/tuning.hpp"
#include "run/objective/on_ranks.hpp"
#include "support/data_files.hpp"
#include "support/shards.hpp"

namespace dpmpi::test {

struct TuningCase {
  std::string name;  ///< for messages
  std::string objective;
  std::vector<std::pair<std::string, std::string>> options;
  LabelKind labels;
};

/// Every one of them, with every kind of label.
inline std::vector<TuningCase> tuning_cases() {
  using Options = std::vector<std::pair<std::string, std::string>>;
  const Options network{{"objective.epochs", "25"}, {"objective.width", "1,5"}};
  Options signs = network;
  signs.emplace_back("objective.loss", "logistic");
  return {{"process", "tune_gp", {{"objective.noise", "0.1,1"}}, LabelKind::real},
          {"process, huber", "tune_gp", {{"objective.loss", "huber"}, {"objective.delta", "0.3"}}, LabelKind::real},
          {"machine", "tune_svm", {}, LabelKind::sign},
          {"machine, regression",
           "tune_svm",
           {{"objective.loss", "squared"}, {"objective.lengthscale", "0.2,5"}, {"objective.epsilon", "0.01,1"}},
           LabelKind::real},
          {"ridges", "tune_logistic", {}, LabelKind::sign},
          {"one ridge", "tune_logistic", {{"objective.per_feature", "false"}}, LabelKind::sign},
          {"network", "tune_mlp", network, LabelKind::real},
          {"network, signs", "tune_mlp", signs, LabelKind::sign}};
}

inline constexpr std::size_t tuning_features = 5;

/// Records to score, and (with another seed) to train on.
inline Records tuning_records(LabelKind labels, std::size_t count, unsigned seed,
                              Storage storage = Storage::dense_f32) {
  return random_records({storage, count, tuning_features, 1, labels}, seed);
}

/// The objective, opened: its public set of 21 records is written to `file`.
inline std::unique_ptr<Tuning> make_tuning(const TuningCase& c, const std::string& file, const Communicator& comm) {
  auto options = c.options;
  options.emplace_back("objective.train", file);
  if (comm.is_root()) write_records(file, "native", tuning_records(c.labels, 21, 77));
  comm.barrier();
  auto objective = test::make_objective(c.objective, {tuning_features, Storage::dense_f32, 1}, options);
  auto* tuning = dynamic_cast<Tuning*>(objective.release());
  give_public_records(comm, *tuning, DataFiles({}, file));
  return std::unique_ptr<Tuning>(tuning);
}

/// Points of the box, count x dim, exact in float32.
inline std::vector<double> tuning_points(const Objective& objective, std::size_t count) {
  std::vector<double> points(count * objective.dim());
  const PublicStream random(3, "tuning points");
  for (std::size_t k = 0; k < points.size(); ++k)
    points[k] = static_cast<double>(static_cast<float>(3 * random.uniform(k) - 1.5));
  return points;
}

}  // namespace dpmpi::test
