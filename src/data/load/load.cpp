#include "data/load/load.hpp"

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "data/columns/columns_file.hpp"
#include "data/load/file_loader.hpp"
#include "data/load/mapped_rows.hpp"
#include "data/load/persons.hpp"
#include "data/load/shared_memory.hpp"
#include "data/load/throw_on_all_ranks.hpp"
#include "data/records/builder.hpp"
#include "data/records/text.hpp"

namespace dpmpi {
namespace {

/// The rank that looks at a site's file before blocks are known: the first that will own one of its blocks when the
/// number of ranks is a multiple of the number of sites, or the other way round.
int first_reader(std::uint32_t shard, std::uint32_t shards, int ranks) {
  if (static_cast<std::uint32_t>(ranks) <= shards) return Ownership::even(shards, ranks).owner(shard);
  return static_cast<int>(shard * static_cast<std::uint64_t>(ranks) / shards);
}

DatasetFacts inspect_part(const Communicator& comm, const Dataset& dataset, const NamedFiles& part) {
  const Source source = open_source(comm, dataset, part);
  check_rows_can_stay(dataset, source);
  DatasetFacts facts{
      static_cast<std::uint64_t>(part.declared), source.features(), source.storage(), {}, source.feature_names()};
  facts.row_entries = source.layout.row_entries;
  if (part.declared == 0) facts.records = count_records(comm, source);
  return facts;
}

/// Where this rank sees the files of two sites, they must not be one file under two names.
void check_distinct_files(const std::vector<std::string>& paths) {
  for (auto later = paths.begin(); later != paths.end(); ++later)
    for (auto earlier = paths.begin(); earlier != later; ++earlier) {
      std::error_code not_seen;
      if (std::filesystem::equivalent(*earlier, *later, not_seen))
        throw ConfigError(fmt::format("data.shards: {} and {} are the same file: a record would fill two slots",
                                      *earlier, *later));
    }
}

DatasetFacts inspect_sites(const Communicator& comm, const Dataset& dataset) {
  const std::vector<NamedFiles>& sites = dataset.parts;
  const std::size_t shards = sites.size();
  constexpr std::size_t numbers = 4;                 // records, features, storage and entries of a row
  std::vector<std::int64_t> seen(numbers * shards);  // of each
  std::string names;                                 // of the first site's features, which the root looks at
  throw_on_all_ranks(comm, [&] {
    check_distinct_files(dataset.seen());
    for (std::size_t s = 0; s < shards; ++s) {
      if (first_reader(static_cast<std::uint32_t>(s), static_cast<std::uint32_t>(shards), comm.size()) !=
          comm.rank())
        continue;
      const DatasetFacts facts = inspect_part(Communicator::alone(), dataset, sites[s]);
      if (s == 0) names = facts.feature_names;
      const std::uint64_t found[] = {facts.records, facts.features, static_cast<std::uint64_t>(facts.storage),
                                     facts.row_entries};
      std::ranges::copy(found, seen.begin() + static_cast<std::ptrdiff_t>(numbers * s));
    }
  });
  comm.sum(seen);
  DatasetFacts facts{0, static_cast<std::uint64_t>(seen[1]), static_cast<Storage>(seen[2]), {}, names};
  facts.row_entries = static_cast<std::uint64_t>(seen[3]);
  for (std::size_t s = 0; s < shards; ++s) {
    const std::int64_t* const of_site = seen.data() + numbers * s;
    if (of_site[1] != seen[1] || of_site[2] != seen[2])
      throw DataError(
          fmt::format("{} has {} features, but {} has {} (or another element type): the sites' files must agree",
                      sites[s].names, of_site[1], sites[0].names, seen[1]));
    facts.shards.push_back(static_cast<std::uint64_t>(of_site[0]));
    facts.records += facts.shards.back();
  }
  return facts;
}

/// What must be the same in every site's file, as text.
std::string signature(const Layout& layout) {
  return fmt::format("{} features, storage {}, columns {}", layout.features, static_cast<int>(layout.storage),
                     layout.columns);
}

void check_signature(const std::string& file, const std::string& mine, const std::string& reference) {
  if (mine != reference)
    throw DataError(fmt::format("{}: its columns differ from those of another site's file: {} here, {} there", file,
                                mine, reference));
}

/// What is wrong in the places that the ranks have read, in one text that is the same on any number of ranks.
void refuse_on_all_ranks(const Communicator& comm, Faults& faults) {
  if (!comm.any(!faults.empty())) return;
  Archive written;
  faults.archive(written);
  for (const std::string& bytes : comm.gather(written.bytes())) {
    Archive archive(bytes);
    Faults of_rank;
    of_rank.archive(archive);
    faults.merge(std::move(of_rank));
  }
  std::string text = faults.text();
  comm.broadcast(text);
  throw DataError(text);
}

void add_to(Shard& shard, LoadedBlocks loaded) {
  std::ranges::move(loaded.blocks, std::back_inserter(shard.blocks));
  if (loaded.file) shard.files.push_back(std::move(loaded.file));
}

/// This rank's blocks of the sites' files, each read by its owners alone.
void load_sites(const Communicator& comm, const Dataset& dataset, const LabelRule& labels,
                const Ownership& ownership, Shard& shard, Faults& faults) {
  const auto sites = static_cast<std::uint32_t>(dataset.parts.size());
  const std::uint32_t per_site = shard.layout.blocks / sites;
  const std::uint32_t first = ownership.begin(comm.rank()), last = ownership.end(comm.rank());
  std::string mine, file;
  throw_on_all_ranks(comm, [&] {
    const Communicator alone = Communicator::alone();
    for (std::uint32_t s = first / per_site; s * per_site < last; ++s) {
      const Source source = open_source(alone, dataset, dataset.parts[s]);
      file = source.path();
      if (!mine.empty()) check_signature(file, signature(source.layout), mine);
      mine = signature(source.layout);
      shard.facts.features = source.features();
      shard.facts.storage = source.storage();
      // The layout of the site's own records, so that row numbers start at its file's first record.
      const Ownership run{{std::max(first, s * per_site), std::min(last, (s + 1) * per_site)}};
      const BlockRange range{shard.layout, run, s * per_site, (s + 1) * per_site};
      add_to(shard, load_file(alone, dataset, labels, source, range, faults));
    }
  });
  std::string reference = mine;
  comm.broadcast(reference);
  throw_on_all_ranks(comm, [&] { check_signature(file, mine, reference); });
}

DatasetFacts inspect_records(const Communicator& comm, const Dataset& dataset) {
  return dataset.by_site ? inspect_sites(comm, dataset) : inspect_part(comm, dataset, dataset.first());
}

Shard load_records(const Communicator& comm, const Dataset& dataset, const BlockLayout& layout,
                   const Ownership& ownership, const LabelRule& labels) {
  Shard shard;
  shard.layout = layout;
  shard.facts.records = layout.records;
  Faults faults;
  if (dataset.by_site) {
    verify(layout.blocks % dataset.parts.size() == 0, "every site has the same number of blocks");
    load_sites(comm, dataset, labels, ownership, shard, faults);
  } else {
    const Source source = open_source(comm, dataset, dataset.first());
    shard.facts.features = source.features();
    shard.facts.storage = source.storage();
    add_to(shard, load_file(comm, dataset, labels, source, {shard.layout, ownership, 0, layout.blocks}, faults));
  }
  refuse_on_all_ranks(comm, faults);
  return shard;
}

bool has_persons(const Dataset& dataset) { return dataset.rules.persons != ReadingRules::Persons::nothing; }

/// Who reads the blocks of records that are then brought to `owners`. A gzipped file is read by the root, which
/// would send records to ranks that send them on: it keeps them until their owners are known.
Ownership readers_of(const Communicator& comm, const Dataset& dataset, const Ownership& owners) {
  if (dataset.by_site || !open_source(comm, dataset, dataset.first()).files.front().gzip) return owners;
  Ownership root{std::vector<std::uint32_t>(owners.first.size(), owners.first.back())};
  root.first.front() = 0;
  return root;
}

std::vector<std::string> names_of_sites(const Dataset& dataset) {
  std::vector<std::string> names;
  for (const NamedFiles& part : dataset.parts) names.push_back(part.names);
  return names;
}

/// The same files with all the records that are in them: what is declared are persons.
Dataset undeclared(Dataset dataset) {
  for (NamedFiles& part : dataset.parts) part.declared = 0;
  return dataset;
}

/// The same without anything but whose the records are.
Dataset persons_alone(const Dataset& dataset) {
  Dataset alone = undeclared(dataset);
  ReadingRules& rules = alone.rules;
  rules.persons = ReadingRules::Persons::alone;
  rules.label = no_label;
  rules.features = 0;
  rules.image.clear(), rules.transform.clear();
  for (auto* of_values : {&rules.mean, &rules.deviation, &rules.positive, &rules.label_map, &rules.only_labels})
    of_values->clear();
  return alone;
}

/// Puts numbers of slots for persons in the place of those of records.
void count_persons_of(const Communicator& comm, const Dataset& dataset, DatasetFacts& facts) {
  const auto sites = static_cast<std::uint32_t>(dataset.parts.size()),
             ranks = static_cast<std::uint32_t>(comm.size());
  const BlockLayout layout = BlockLayout::of(facts, (ranks + sites - 1) / sites * sites);
  const Ownership owners = Ownership::even(layout.blocks, comm.size());
  const Dataset alone = persons_alone(dataset);
  const LabelRule none(alone.rules, LabelKind::real, 0, false);
  Shard shard = load_records(comm, alone, layout, readers_of(comm, alone, owners), none);
  const std::vector<std::uint64_t> persons = count_persons(
      {.comm = comm, .owners = owners, .sites = names_of_sites(dataset), .blocks = std::move(shard.blocks)});
  const auto slots_of = [&](std::uint64_t number) { return number * dataset.slots_of_unit; };
  facts.records = slots_of(std::accumulate(persons.begin(), persons.end(), std::uint64_t{0}));
  if (facts.shards.empty()) return;
  facts.shards.clear();
  std::ranges::transform(persons, std::back_inserter(facts.shards), slots_of);
}

/// Slots for all the records that persons may have, whether there are any or not.
void check_slots(const Communicator& comm, const Dataset& dataset, const BlockLayout& layout,
                 const Ownership& ownership, const DatasetFacts& facts) {
  const std::uint64_t slots = layout.begin(ownership.end(comm.rank())) - layout.begin(ownership.begin(comm.rank()));
  check_memory_together(
      comm,
      RecordsBuilder::bytes(facts.storage, facts.features, slots, facts.row_entries, factors_of(dataset.rules)),
      slots, facts.features, dataset.key, true);
}

/// Lines as a list.
std::string with_commas(std::string lines) {
  lines.pop_back();
  std::ranges::replace(lines, '\n', ',');
  return lines;
}

}  // namespace

std::string feature_names(const Dataset& training) try {
  Dataset labelled = training;
  std::string& label = labelled.rules.label;
  if (label == no_label) label = "auto";  // of records to predict; those of the training have one
  const ShowFields show(labelled.shows_values());
  return open_source(Communicator::alone(), labelled, labelled.first()).feature_names();
} catch (const Error&) {  // not here
  return {};
}

void check_feature_names(const std::string& key, const std::string& names, const std::string& of_training) {
  // Tables of different widths are refused by their widths.
  const bool alike = std::ranges::count(of_training, '\n') == std::ranges::count(names, '\n');
  if (!of_training.empty() && !names.empty() && alike && names != of_training)
    throw DataError(fmt::format(
        "{}: its features are {}, those of the training file {}; they go by their place: put the columns "
        "into the same order, under the same names",
        key, with_commas(names), with_commas(of_training)));
}

void check_alike(const Communicator& comm, const std::string& key, const DatasetFacts& found,
                 const DatasetFacts& training) {
  // Names are on the root only.
  throw_on_all_ranks(comm, [&] { check_feature_names(key, found.feature_names, training.feature_names); });
  if (found.features != training.features)
    throw DataError(fmt::format("{} has {} features, data.train has {}", key, found.features, training.features));
  if (training.storage == Storage::dense_u8 && found.storage != Storage::dense_u8)
    throw DataError(fmt::format("{} has numbers where data.train has bytes: give both in one format", key));
}

DatasetFacts inspect(const Communicator& comm, const Dataset& dataset) {
  const ShowFields show(dataset.shows_values());
  DatasetFacts facts = inspect_records(comm, dataset);
  if (has_persons(dataset) && dataset.parts.front().declared == 0) count_persons_of(comm, dataset, facts);
  facts.slots_of_unit = dataset.slots_of_unit;
  return facts;
}

SecretKey key_of_persons(const SecretKey& key, std::size_t site) { return key.derive("persons of a site", site); }

Shard load(const Communicator& comm, const Dataset& dataset, const BlockLayout& layout, const Ownership& ownership,
           LabelKind kind, std::size_t classes, const PlacedPersons& persons) {
  verify(ownership.first.size() == static_cast<std::size_t>(comm.size()) + 1, "one run of blocks per rank");
  verify(ownership.first.back() == layout.blocks, "every block has an owner");
  const ShowFields show(dataset.shows_values());
  const LabelRule labels(dataset.rules, kind, classes, dataset.role == DataRole::training);
  verify(!has_persons(dataset) || !comm.is_root() || persons.key || persons.site_key,
         "the root has the key by which persons are placed");
  if (!has_persons(dataset)) return load_records(comm, dataset, layout, ownership, labels);
  const Dataset whole = undeclared(dataset);
  const DatasetFacts in_files = inspect_records(comm, whole);
  if (dataset.slots_of_unit > 1) check_slots(comm, dataset, layout, ownership, in_files);
  Shard shard = load_records(comm, whole, BlockLayout::of(in_files, layout.blocks),
                             readers_of(comm, whole, ownership), labels);
  throw_on_all_ranks(comm, [&] {
    if (persons.look) persons.look(shard);
  });
  const float bias = static_cast<float>(dataset.rules.bias);
  const auto key_of_site = [&](std::size_t site) {
    return persons.site_key ? *persons.site_key : key_of_persons(*persons.key, site);
  };
  shard.blocks = bring_together({comm, ownership, names_of_sites(dataset), in_files.storage, in_files.features,
                                 bias, std::move(shard.blocks)},
                                layout, key_of_site, {dataset.person_records, dataset.slots_of_unit});
  shard.layout = layout;
  shard.facts.records = layout.records;
  return shard;
}

}  // namespace dpmpi
