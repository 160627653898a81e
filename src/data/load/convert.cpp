#include "data/load/convert.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/errors.hpp"
#include "data/columns/columns_file.hpp"
#include "data/formats/write.hpp"
#include "data/load/convert_table.hpp"
#include "data/load/load.hpp"
#include "data/load/read_columns.hpp"
#include "data/records/text.hpp"
#include "data/synthetic/episodes.hpp"

namespace dpmpi {

void ConvertOptions::declare(Options& options) {
  options.add("input", input, "File to convert; an IDX or NumPy pair is written images,labels");
  options.add("output", output, "File to write: HDF5 if its name ends in .h5 or .hdf5, else the native format");
  options.add(
      "as", as,
      "features: numbers, as a training has them. table: every column of a table as a dataset of its own, with its "
      "words and gaps, for data.columns (HDF5)",
      {"features", "table"});
  options.add("episode_column", episode_column,
              "Feature (from 1) that names the episode of a transition: a record becomes an episode; 0: none",
              Range::non_negative());
  options.add("episode_steps", episode_steps, "Transitions that such a record has room for", Range::closed(1, 1e5));
}

namespace {

/// Rows that are to stay in the file are written as memory would have them.
void refuse_other_values(const DataOptions& data, bool to_map) {
  if (!data.keep_one_in.empty() || !data.only_labels.empty() || data.records != 0 ||
      (!to_map && (data.scale != 1 || !data.mean.empty() || !data.deviation.empty() || data.normalize != "none" ||
                   !data.transform.empty())))
    throw ConfigError(
        "convert writes the values of the file: set data.scale, mean, std, normalize, transform, keep_one_in, only_labels and "
        "records in the config that trains on the result");
}

std::string_view format_of(const DataOptions& data, const std::string& output, bool to_map, Storage storage) {
  if (!to_map) return names_hdf5(output) ? "hdf5" : "native";
  if (names_hdf5(output))
    throw ConfigError(fmt::format(
        "{}: data.memory = map is for the native format: give an output whose name does not end in .h5 or .hdf5",
        output));
  if (storage == Storage::sparse_f32)
    throw ConfigError(
        "data.memory = map is for dense rows, and those of the input are sparse: add --set data.storage=dense, or leave "
        "data.memory out");
  if (storage == Storage::dense_u8 && (data.scale != 1 || data.normalize != "none"))
    throw ConfigError(
        "rows of bytes are written as they are: set data.scale and data.normalize in the config that trains on the result");
  return "mapped";
}

/// What has no place beside finished features and labels.
void refuse_other_columns(const DataOptions& data, std::vector<std::string>& problems) {
  if (data.by_person())
    problems.emplace_back(
        "convert writes records and forgets whose they are: train on the table itself, write its columns as they are "
        "(--as table), or leave out data.person for a promise per record");
  if (!data.columns_file) return;
  for (const ColumnRule& column : data.columns_file->columns)
    if (is_factor(column.kind))
      problems.push_back(fmt::format(
          "convert writes features and labels: column {} ({}) is of kind {}, which is neither: train on the table "
          "itself, write its columns as they are (--as table), or leave the column out (kind ignore)",
          show(column.name), data.columns_file->place(column), column_kind_name(column.kind)));
}

}  // namespace

std::uint64_t convert(const ConvertOptions& options, DataOptions data) {
  if (options.input.empty() || options.output.empty())
    throw ConfigError("convert needs an input and an output file");
  const bool to_map = data.mapped();  // what is written, and not how it is read
  data.memory = "load";
  refuse_other_values(data, to_map);
  data.train = options.input;
  data.shards.clear();
  std::vector<std::string> problems;
  read_columns(data, problems);
  data.validate(problems);
  const bool as_table = options.as == "table";
  if (as_table && options.episode_column != 0)
    problems.emplace_back("--as table writes no episodes: leave one of the two out");
  if (as_table && to_map) problems.emplace_back("--as table writes all columns as they are: leave data.memory out");
  if (!as_table) refuse_other_columns(data, problems);
  if (!problems.empty()) throw ConfigError(fmt::format("{}", fmt::join(problems, "\n  ")));
  if (as_table) return convert_table(options.input, options.output, data);
  const Dataset input = DataFiles(data).training;
  keep_files(input.paths(), options.output);
  const Communicator alone = Communicator::alone();
  const LabelKind kind = input.rules.positive.empty() ? LabelKind::real : LabelKind::sign;
  const BlockLayout layout{inspect(alone, input).records, 1};
  const Shard shard = load(alone, input, layout, Ownership::even(1, 1), kind);
  const Records& records = shard.blocks[0].records;
  const std::string_view format = format_of(data, options.output, to_map, records.storage);
  if (options.episode_column == 0) {
    write_records(options.output, format, records);
    return layout.records;
  }
  const Records episodes = group_episodes(records, static_cast<std::size_t>(options.episode_column),
                                          static_cast<std::size_t>(options.episode_steps), options.input);
  write_records(options.output, format, episodes);
  return episodes.count;
}

}  // namespace dpmpi
