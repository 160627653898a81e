#pragma once
// Loading a dataset onto ranks. Every rank reads only its own blocks; the records of a block are the same on any
// number of ranks. A gzipped file is read by the root, which sends the blocks out.
//
// The files of this folder in the order in which a dataset passes through them, none of which knows any format:
//   data_files    which files: one, a pair, or the sites', and where this rank sees them
//   load          all of them, one after the other
//   input_files   opened by the ranks; the root asks the Format what the first bytes tell (column_names: and
//   whether
//                 names in them are public), and tells the others
//   file_loader   one file's blocks on this rank, which the next three bring together
//   block_places  where the blocks lie in the file
//   byte_ranges   their bytes, piece by piece; the Format reads each into a RecordsBuilder
//   mapped_rows   with data.memory = map: where the rows are that stay in it
//   persons       with data.person: its records from where they stand to the blocks of their persons
//   shared_memory whether they fit, on all ranks of a machine together

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "comm/communicator.hpp"
#include "core/numbers/random.hpp"
#include "data/load/data_files.hpp"
#include "data/records/blocks.hpp"

namespace dpmpi {

/// Number of records (of persons with data.person) and features, and the layout in memory: reads headers and counts
/// lines, or reads persons if their number is not declared, no other values. Collective;
/// all ranks get the same facts. Throws ConfigError if the file is not set or the settings do not fit it, DataError
/// if it is unreadable, malformed or holds more records than declared: on all ranks alike, with the first failing
/// rank's message.
DatasetFacts inspect(const Communicator& comm, const Dataset& dataset);

/// DatasetFacts::feature_names of the training file; empty if it cannot be seen from here. Local.
std::string feature_names(const Dataset& training);
/// Features go by their place, so a table with the same names in another order would give numbers without meaning:
/// throws DataError if `names`, of the file that option `key` gives, are not those of the training file. Where one
/// of them has none, nothing is compared. Local.
void check_feature_names(const std::string& key, const std::string& names, const std::string& of_training);
/// Throws DataError if the records `found`, of the file that option `key` gives, cannot be scored by what is
/// trained on `training`: other names or another number of features, or floats where those are bytes. Collective.
void check_alike(const Communicator& comm, const std::string& key, const DatasetFacts& found,
                 const DatasetFacts& training);

/// What loading records of persons takes besides.
struct PlacedPersons {
  std::optional<SecretKey> key = {};  ///< decides who has which slot; on the root
  /// In its place, where the dataset is one site's of several: key_of_persons of that site.
  std::optional<SecretKey> site_key = {};
  /// Called with the records in the order of the file, whose places messages can name; it may throw. Local.
  std::function<void(const Shard&)> look = {};
};

/// What is derived of a run's key for the persons of a site, from 0: it places them, and nobody else.
SecretKey key_of_persons(const SecretKey& key, std::size_t site);

/// This rank's blocks. `layout` is BlockLayout::of(inspect(...), blocks); `ownership` has comm.size() runs; labels
/// are checked against `kind` and, for class_, `classes`. Slots beyond the file's records and records thinned out
/// by data.keep_one_in are empty. With data.person slots are those of persons. Collective; errors as for inspect.
Shard load(const Communicator& comm, const Dataset& dataset, const BlockLayout& layout, const Ownership& ownership,
           LabelKind kind, std::size_t classes = 0, const PlacedPersons& persons = {});

}  // namespace dpmpi
