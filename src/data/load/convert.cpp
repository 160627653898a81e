#include "data/load/convert.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/errors.hpp"
#include "data/columns/columns_file.hpp"
#include "data/formats/write.hpp"
#include "data/load/load.hpp"
#include "data/load/read_columns.hpp"
#include "data/records/text.hpp"
#include "data/synthetic/episodes.hpp"

namespace dpmpi {

void ConvertOptions::declare(Options& options) {
  options.add("input", input, "File to convert; an IDX or NumPy pair is written images,labels");
  options.add("output", output, "File to write: HDF5 if its name ends in .h5 or .hdf5, else the native format");
  options.add("episode_column", episode_column,
              "Feature (from 1) that names the episode of a transition: a record becomes an episode; 0: none",
              Range::non_negative());
  options.add("episode_steps", episode_steps, "Transitions that such a record has room for", Range::closed(1, 1e5));
}

std::uint64_t convert(const ConvertOptions& options, DataOptions data) {
  if (options.input.empty() || options.output.empty())
    throw ConfigError("convert needs an input and an output file");
  if (data.scale != 1 || !data.mean.empty() || !data.deviation.empty() || data.normalize != "none" ||
      !data.transform.empty() || !data.keep_one_in.empty() || !data.only_labels.empty() || data.records != 0)
    throw ConfigError(
        "convert writes the values of the file: set data.scale, mean, std, normalize, transform, keep_one_in, only_labels and "
        "records in the config that trains on the result");
  data.train = options.input;
  data.shards.clear();
  std::vector<std::string> problems;
  read_columns(data, problems);
  data.validate(problems);
  if (data.by_person())
    problems.emplace_back(
        "convert writes records and forgets whose they are: train on the table itself, or leave out data.person for "
        "a promise per record");
  if (data.columns_file)
    for (const ColumnRule& column : data.columns_file->columns)
      if (is_factor(column.kind))
        problems.push_back(fmt::format(
            "convert writes features and labels: column {} ({}) is of kind {}, which no other format holds: train on "
            "the table itself, or leave the column out (kind ignore)",
            show(column.name), data.columns_file->place(column), column_kind_name(column.kind)));
  if (!problems.empty()) throw ConfigError(fmt::format("{}", fmt::join(problems, "\n  ")));
  const Dataset input = DataFiles(data).training;
  keep_files(input.paths(), options.output);
  const Communicator alone = Communicator::alone();
  const LabelKind kind = input.rules.positive.empty() ? LabelKind::real : LabelKind::sign;
  const BlockLayout layout{inspect(alone, input).records, 1};
  const Shard shard = load(alone, input, layout, Ownership::even(1, 1), kind);
  const Records& records = shard.blocks[0].records;
  const std::string_view format = names_hdf5(options.output) ? "hdf5" : "native";
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
