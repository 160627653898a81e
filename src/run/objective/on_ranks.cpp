#include "run/objective/on_ranks.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/files/digest.hpp"
#include "core/files/file_reader.hpp"
#include "data/load/load.hpp"
#include "data/load/throw_on_all_ranks.hpp"
#include "data/memory.hpp"
#include "objective/tuning/public_records.hpp"
#include "run/objective/train_by_turns.hpp"

namespace dpmpi {
namespace {

class TurnsOfRanks final : public Turns {
 public:
  explicit TurnsOfRanks(const Communicator& comm) : comm_(comm) {}
  void share(std::size_t size, std::span<double> models, const Train& train) override {
    train_by_turns(comm_, size, models, train);
  }

 private:
  const Communicator& comm_;
};

PublicSet read(const PublicFile& file, const DataFiles& files, LabelKind kind) {
  const std::string place = file.key + " = " + file.name;
  const Communicator alone = Communicator::alone();
  const DatasetFacts facts = inspect(alone, files.models);
  if (facts.features != file.features)
    throw DataError(fmt::format("{} has {} features, data.train has {}", place, facts.features, file.features));
  check_feature_names(place, facts.feature_names, feature_names(files.training));
  check_memory(static_cast<std::uint64_t>(PublicSet::bytes(facts.records, file.features)), available_memory(),
               place);
  const Shard shard = load(alone, files.models, BlockLayout::of(facts, 1), Ownership::even(1, 1), kind);
  PublicSet set(shard.blocks.at(0).records);
  if (set.count == 0) throw DataError(fmt::format("{} has no record to train on", place));
  return set;
}

}  // namespace

std::string digests_of(const Dataset& dataset) {
  std::string digests;
  for (const std::string& path : dataset.paths()) digests += (digests.empty() ? "" : ",") + file_digest(path);
  return digests;
}

void give_public_records(const Communicator& comm, Objective& objective, const DataFiles& files) {
  PublicTraining* const training = objective.public_training();
  if (training == nullptr) return;
  std::string digests;
  throw_on_all_ranks(comm, [&] {
    digests = digests_of(files.models);
    training->take(read(training->public_file(), files, objective.label_kind()),
                   std::make_unique<TurnsOfRanks>(comm));
  });
  comm.agree(sha256(digests), files.models.key);
}

double TotalsOfRanks::largest(double mine) const {
  double largest = mine;
  for (const std::string& text : comm_.gather(std::string(reinterpret_cast<const char*>(&mine), sizeof mine))) {
    double other = 0;
    std::memcpy(&other, text.data(), sizeof other);
    largest = std::max(largest, other);
  }
  comm_.broadcast(largest);
  return largest;
}

}  // namespace dpmpi
