#include "objective/tuning/public_records.hpp"

#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "data/load/load.hpp"
#include "data/load/throw_on_all_ranks.hpp"
#include "data/memory.hpp"
#include "objective/copy_rows.hpp"
#include "objective/takes_part.hpp"

namespace dpmpi {

double PublicSet::bytes(std::size_t count, std::size_t features) {
  return 8.0 * static_cast<double>(round_up(count, 8)) * static_cast<double>(features + 1);
}

PublicSet::PublicSet(const Records& records) : features(records.features) {
  std::vector<std::uint32_t> kept;
  for (std::uint32_t i = 0; i < records.count; ++i)
    if (takes_part(records, i)) kept.push_back(i);
  count = kept.size();
  stride = round_up(count, 8);
  x.resize(features * stride);
  y.resize(stride);
  std::vector<double> row(features + 1);
  for (std::size_t k = 0; k < count; ++k) {
    copy_rows(Rows{records, std::span(kept).subspan(k, 1)}, row.size(), row.data());
    for (std::size_t j = 0; j < features; ++j) x[j * stride + k] = row[j];
    y[k] = static_cast<double>(records.label[kept[k]]);
  }
}

PublicSet read_public_set(const Communicator& comm, const DataFiles& files, const std::string& key,
                          const std::string& name, std::size_t features, LabelKind kind) {
  std::optional<PublicSet> set;
  throw_on_all_ranks(comm, [&] {
    const Communicator alone = Communicator::alone();
    const DatasetFacts facts = inspect(alone, files.models);
    if (facts.features != features)
      throw DataError(
          fmt::format("{} = {} has {} features, data.train has {}", key, name, facts.features, features));
    check_feature_names(key + " = " + name, facts.feature_names, feature_names(files.training));
    check_memory(static_cast<std::uint64_t>(PublicSet::bytes(facts.records, features)), available_memory(),
                 fmt::format("{} = {}", key, name));
    const Shard shard = load(alone, files.models, BlockLayout::of(facts, 1), Ownership::even(1, 1), kind);
    set.emplace(shard.blocks.at(0).records);
    if (set->count == 0) throw DataError(fmt::format("{} = {} has no record to train on", key, name));
  });
  return *std::move(set);
}

}  // namespace dpmpi
