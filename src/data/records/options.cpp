#include "data/records/options.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/errors.hpp"
#include "core/trim.hpp"
#include "data/records/text.hpp"
#include "data/transform/image_transform.hpp"

namespace dpmpi {
namespace {

void declare_files(DataOptions& d, Options& o) {
  o.add(
      "train", d.train,
      "Training file; an IDX or NumPy pair is written images,labels; a pattern such as visits-*.csv names tables that are "
      "read as one. Relative paths are looked up in data.root, then in $DPMPI_DATA, then beside the config file");
  o.add("eval", d.eval,
        "Public held-out file (or pattern) for metrics, with the same features; never part of the privacy promise");
  o.add("root", d.root, "Folder that relative paths start from");
  o.add(
      "shards", d.shards,
      "Training files a.csv,b.csv,... of several sites, in place of data.train. Each is read only by the ranks that own "
      "its blocks; data.blocks must be a multiple of their number, and so should be the number of ranks");
  o.add(
      "shard_records", d.shard_records,
      "Public number of records of each shard; empty: counted at start-up, and the counts are then treated as public",
      Range::at_least(1));
  o.add(
      "columns", d.columns,
      "Public text file that says of every column of CSV and TSV what it is: a line NAME KIND ATTRIBUTES each, looked up "
      "as data files are; in place of one_hot, drop, missing, mean and std");
  o.add("columns_digest", d.columns_digest,
        "SHA-256 of data.columns: another file is refused (empty: that of the file)");
  std::vector<std::string> formats = format_names();
  formats.insert(formats.begin(), "auto");
  o.add("format", d.format, "File format; auto goes by content and name", formats);
  o.add(
      "blocks", d.blocks,
      "Contiguous blocks the records are cut into (at least the number of ranks): a constant of the config, for results "
      "depend on it; 0 chooses it from n and the expected batch",
      Range::closed(0, 1 << 20));
  o.add(
      "memory", d.memory,
      "Where training records are while steps read them. load: in memory. map: dense rows stay in their native file (made by "
      "dpmpi convert IN OUT --set data.memory=map), which may be larger than memory; labels and norms, 8 to 12 bytes a "
      "record, are loaded",
      {"load", "map"});
  o.add(
      "records", d.records,
      "Declared public number of records n (of persons with data.person); slots beyond those of the file stay empty. 0 "
      "counts the file and treats the count as public",
      Range::non_negative());
  o.add(
      "person", d.person,
      "Column of CSV and TSV (a name, or a number from 1), or dataset of HDF5, that says whose a record is: the promise is then for a person, "
      "with all records, and no longer for a record. Never a feature");
  o.add("person_records", d.person_records,
        "With data.person: records of a person that are used at most, chosen at random and in secret; 0: all",
        Range::closed(0, 1e9));
  o.add(
      "person_sampling", d.person_sampling,
      "What a step draws with data.person. persons: a person with all records, whose clipped mean counts. records: each "
      "record by itself, clipped by itself; the noise hides all data.person_records of a person",
      {"persons", "records"});
  o.add(
      "test_share", d.test_share,
      "Share of the records (of the persons with data.person) that is kept out of training, by a public rule on their "
      "slots. At the end the run evaluates the model on them by noisy counts, under the same promise; 0: none",
      Range::closed(0, 0.5));
  o.add(
      "features", d.features,
      "Number of features. Required for LIBSVM (the largest index would be a statistic of private data); checked for the "
      "other formats; 0 takes the file's width. Refused if the vectors of a model of that length do not fit into memory",
      Range::closed(0, 4294967295.0));
}

void declare_tables(ReadingRules& d, Options& o) {
  o.add(
      "header", d.header,
      "Whether a CSV or TSV file starts with column names; auto: yes if no field of the first line is a number while one "
      "of the second line is. A private file's first line could be a record that looks like names: auto refuses it unless "
      "the config or data.eval has all of these names",
      {"auto", "yes", "no"});
  o.add(
      "label", d.label,
      "Label column of CSV and TSV: first, last, a column name, or a column number from 1; auto: the column called "
      "label, target, class or y; none: the file has no labels, in any format (for dpmpi predict). Of HDF5 the name of "
      "a dataset");
  o.add(
      "datasets", d.datasets,
      "Datasets of HDF5 that hold the features, in this order: one with a row for every record, or several with a "
      "number for every record; empty: the only one with rows, else all with numbers but the label and data.drop");
  o.add("skip_lines", d.skip_lines, "Lines to skip at the start of each CSV or TSV file", Range::non_negative());
  o.add("comment", d.comment,
        "Character that starts a comment line in CSV and TSV; empty: none (LIBSVM: always #)");
  o.add(
      "missing", d.missing,
      "Number that stands for a missing field (empty, ? or NA) of CSV and TSV; empty: a missing field is an error");
  o.add("one_hot", d.one_hot,
        "Public vocabularies of text columns, column:v1|v2|v3,...: one 0/1 feature per word, in this order");
  o.add("unknown", d.unknown, "A text that is not in its column's vocabulary: error, or zero (no word is set)",
        {"error", "zero"});
  o.add("drop", d.drop,
        "Columns of CSV and TSV (names, or numbers from 1), or datasets of HDF5, that are not used");
  o.add("separator", d.separator, "What stands between the fields of a table; auto: a comma in csv, a tab in tsv",
        {"auto", "comma", "tab", "semicolon", "bar"});
  o.add("decimal", d.decimal, "What stands before the decimals of the numbers in a table", {"point", "comma"});
  o.add("index_base", d.index_base, "Number of the first feature in LIBSVM files", Range::closed(0, 1));
  o.add(
      "show_values", d.show_values,
      "Quote what stands in a private file in an error message (it reaches every rank and the job's log): the offending "
      "field or index, and the file's length. Files are private in train, plan, convert and behind --data, not as data.eval");
  o.add(
      "storage", d.storage,
      "How rows of tables and of LIBSVM stand in memory. dense: all features, 4 bytes each. sparse: those that are not 0, "
      "8 bytes each. auto: LIBSVM sparse; a table sparse where by its columns at most one feature in 16 is not 0",
      {"auto", "dense", "sparse"});
  o.add("densify", d.densify, "An older way to say data.storage = dense of LIBSVM files");
}

void declare_values(ReadingRules& d, Options& o) {
  o.add("scale", d.scale, "Public factor on every feature; 8-bit rows stay 8-bit", Range::closed(1e-30, 1e30));
  o.add(
      "mean", d.mean,
      "Public means subtracted after data.scale: one number, one per feature, or column:number,...; never estimate them "
      "from the private records");
  o.add("std", d.deviation, "Public divisors applied after data.mean, in the same notation; all > 0");
  o.add(
      "normalize", d.normalize,
      "none, or l2: every record to Euclidean norm 1 (before the constant column). Column statistics of private data are "
      "not offered; standard and minmax need data.mean and data.std");
  o.add(
      "image", d.image,
      "Shape CHANNELSxHEIGHTxWIDTH of the images that data.transform takes, whose pixels a file has channel by channel, "
      "each row by row");
  o.add(
      "transform", d.transform,
      "Steps that make features of an image, each image by itself: scattering J=SCALES L=ANGLES, groupnorm GROUPS. After "
      "data.scale, mean and std, before data.normalize");
  o.add("bias", d.bias, "Value of the constant column added to every record; 0: none", Range::closed(0, 1e6));
  o.add(
      "positive", d.positive,
      "Labels, as written in the file, that become +1; all others become -1 (one class or a group against the rest)");
  o.add("label_map", d.label_map, "Labels as numbers: raw:number,...; a label that is not listed is then an error");
  o.add(
      "only_labels", d.only_labels,
      "Labels, as written in the file, that take part, in training and evaluation; records with others become empty "
      "slots, which count in the number of records");
  o.add(
      "keep_one_in", d.keep_one_in,
      "Public class imbalance for experiments: label:N,... keeps one of N training records with that label, by a public "
      "random rule on the record's index; the others become empty slots");
}

/// Throws ConfigError if a name stands twice in `names`, which belong to option `key`.
void check_distinct(const std::vector<std::string>& names, const std::string& key) {
  std::unordered_map<std::string, std::string> seen;
  for (const std::string& later : names)
    if (const auto [earlier, fresh] = seen.emplace(identity_of(later), later); !fresh)
      throw ConfigError(
          fmt::format("{} names {} twice{}: give every name once", key, show(later),
                      earlier->second == later ? "" : fmt::format(" (also as {})", show(earlier->second))));
}

/// The names of a list of name:value entries; malformed entries are reported elsewhere.
std::vector<std::string> entry_names(const std::vector<std::string>& list) {
  std::vector<std::string> names;
  for (const auto& entry : list)
    if (const std::size_t colon = entry.rfind(':'); colon != std::string::npos)
      names.emplace_back(trim(std::string_view(entry).substr(0, colon)));
  return names;
}

/// Words are compared as texts, as in the file's fields.
void check_vocabulary(const std::string& entry) {
  const std::size_t colon = std::min(entry.find(':'), entry.size() - 1);
  const auto words = split_words(std::string_view(entry).substr(colon + 1));
  for (auto word = words.begin(); word != words.end(); ++word)
    if (std::find(words.begin(), word, *word) != word)
      throw ConfigError(
          fmt::format("data.one_hot = {} has the word {} twice: give every word once", entry, show(*word)));
}

/// The same path twice is refused whatever it leads to: on different machines nobody could tell the files apart.
void check_shard_paths(const std::vector<std::string>& shards) {
  std::vector<std::string> paths;
  for (const auto& shard : shards) {
    const std::string path = std::filesystem::path(shard).lexically_normal().string();
    if (std::find(paths.begin(), paths.end(), path) != paths.end())
      throw ConfigError(fmt::format("data.shards has {} twice: a record would fill two slots", shard));
    paths.push_back(path);
  }
}

/// Slots that data.person_sampling = records gives a person: as many as a group has of which anything good is
/// known.
constexpr std::int64_t most_sampled_records = 1024;

/// Every number of a file is to be one of an image, at its place.
void check_transform(const DataOptions& data, std::vector<std::string>& problems) {
  const auto transform = read_transform(data.image, data.transform, problems);
  if (data.transform.empty()) return;
  const auto refuse = [&](const std::string& why) {
    problems.push_back(fmt::format("data.transform = {}: {}", fmt::join(data.transform, ", "), why));
  };
  if (!data.columns.empty())
    refuse("a table with data.columns has columns of several kinds, and no images: leave one of the two out");
  if (!data.one_hot.empty()) refuse("words of data.one_hot are no pixels: leave one of the two out");
  if (data.storage == "sparse") refuse("images have all their pixels: leave data.storage = sparse out");
  if (transform && data.features > 0 && data.features != static_cast<std::int64_t>(transform->in.size()))
    refuse(fmt::format("data.features = {} is the number of pixels in the file, and images of {} have {}",
                       data.features, data.image, transform->in.size()));
}

/// Whatever would move rows, or make another row of one.
void check_mapping(const DataOptions& data, std::vector<std::string>& problems) {
  if (!data.mapped()) return;
  const std::pair<bool, std::string_view> hindrances[] = {
      {data.by_person(), "data.person brings the records of a person together"},
      {data.test_share > 0, "data.test_share moves the held-out records out of the blocks"},
      {!data.keep_one_in.empty(), "data.keep_one_in empties slots"},
      {!data.only_labels.empty(), "data.only_labels empties slots"},
      {!data.transform.empty(), "data.transform makes other features of the images"},
      {!data.mean.empty() || !data.deviation.empty(), "data.mean and data.std make other values of the features"}};
  for (const auto& [stands, why] : hindrances)
    if (stands)
      problems.push_back(fmt::format(
          "data.memory = map leaves rows in their file as they are, and {}: leave one of the two out", why));
}

bool needs_private_statistics(const std::string& normalize) { return normalize != "none" && normalize != "l2"; }

}  // namespace

void DataOptions::declare(Options& options) {
  declare_files(*this, options);
  declare_tables(*this, options);
  declare_values(*this, options);
}

void DataOptions::validate(std::vector<std::string>& problems) const {
  const auto attempt = [&](auto&& check) {
    try {
      check();
    } catch (const ConfigError& e) {
      problems.emplace_back(e.what());
    }
  };
  if (!train.empty() && !shards.empty())
    problems.emplace_back("data.train and data.shards are both set: give one of them");
  if (!shard_records.empty() && shard_records.size() != shards.size())
    problems.push_back(fmt::format("data.shard_records has {} entries for {} shards: give one count per shard",
                                   shard_records.size(), shards.size()));
  if (!shards.empty() && records > 0)
    problems.emplace_back("data.records is for data.train: with data.shards give data.shard_records");
  if (needs_private_statistics(normalize) && (mean.empty() || deviation.empty()))
    problems.push_back(fmt::format(
        "data.normalize = {} would need statistics of the private records, which would be released without noise. Use l2 "
        "(each record by itself), or give public values: data.mean and data.std (for minmax: lower bounds and widths)",
        normalize));
  if (person_records > 0 && !by_person())
    problems.push_back(
        fmt::format("data.person_records = {} bounds the records of a person: set data.person", person_records));
  if (person_sampling == "records" && !by_person() && person_records == 0)
    problems.emplace_back("data.person_sampling = records is about the records of a person: set data.person");
  if (samples_records() && (person_records < 1 || person_records > most_sampled_records))
    problems.push_back(fmt::format(
        "data.person_sampling = records with data.person_records = {}: the noise has to hide all records of a "
        "person that are used; set data.person_records to 1 to {}",
        person_records, most_sampled_records));
  if (samples_records() && records > (std::int64_t{1} << 53) / std::max<std::int64_t>(1, person_records))
    problems.push_back(fmt::format("data.records = {} with data.person_records = {}: more than 2^53 slots", records,
                                   person_records));
  if (by_person() && !keep_one_in.empty())
    problems.emplace_back(
        "data.keep_one_in goes by a record's place in the file, which other persons' records move: leave it out, or "
        "data.person");
  check_transform(*this, problems);
  check_mapping(*this, problems);
  if (test_share > 0 && samples_records())
    problems.emplace_back(
        "data.test_share with data.person_sampling = records: held-out persons are counted by the means of their records; "
        "set data.person_sampling = persons");
  if (test_share > 0 && !keep_one_in.empty())
    problems.emplace_back(
        "data.test_share with data.keep_one_in: the held-out records would be thinned out as well, and the counts would "
        "not say how good the model is for the others: leave out one of the two");
  if (comment.size() > 1) problems.push_back(fmt::format("data.comment = {} must be a single character", comment));
  if (decimal == "comma" && (separator == "comma" || (separator == "auto" && format == "csv")))
    problems.emplace_back(
        "data.decimal = comma: the fields are separated by something else then: set data.separator = semicolon, tab or bar");
  if (!positive.empty() && !label_map.empty())
    problems.emplace_back("data.positive and data.label_map are both set: give one of them");
  if (densify && storage == "sparse")
    problems.emplace_back("data.densify = true and data.storage = sparse: leave out one of them");
  if (!missing.empty()) attempt([&] { option_number(missing, "data.missing"); });
  attempt([&] { check_shard_paths(shards); });
  for (const std::string& shard : shards)
    if (shard.find_first_of("*?") != shard.npos)
      problems.push_back(fmt::format(
          "data.shards = {}: it takes the name of one file for each site; a pattern, whose files are one table, is for "
          "data.train and data.eval",
          shard));
  attempt([&] { check_distinct(datasets, "data.datasets"); });
  attempt([&] { check_distinct(entry_names(label_map), "data.label_map"); });
  attempt([&] { check_distinct(only_labels, "data.only_labels"); });
  attempt([&] { check_distinct(entry_names(keep_one_in), "data.keep_one_in"); });
  attempt([&] { check_distinct(entry_names(mean), "data.mean"); });
  attempt([&] { check_distinct(entry_names(deviation), "data.std"); });
  for (const auto& e : one_hot) attempt([&] { check_vocabulary(e); });
  for (const auto& e : label_map)
    attempt([&] { option_number(split_entry(e, "data.label_map").value, "data.label_map"); });
  for (const auto& e : keep_one_in)
    attempt([&] {
      const double n = option_number(split_entry(e, "data.keep_one_in").value, "data.keep_one_in");
      if (n < 1 || n > 4e9 || n != std::floor(n))
        throw ConfigError(fmt::format("data.keep_one_in = {}: keep one in a whole number >= 1", e));
    });
}

NamedValue split_entry(const std::string& entry, const std::string& key) {
  const std::size_t colon = entry.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == entry.size())
    throw ConfigError(fmt::format("{} = {}: entries are written name:value", key, entry));
  return {std::string(trim(std::string_view(entry).substr(0, colon))),
          std::string(trim(std::string_view(entry).substr(colon + 1)))};
}

double option_number(const std::string& text, const std::string& key) {
  double x = 0;
  if (!to_number(trim(text), x)) throw ConfigError(fmt::format("{}: {} is not a finite number", key, show(text)));
  return x;
}

}  // namespace dpmpi
