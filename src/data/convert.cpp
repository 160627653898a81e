#include "dpmpi/data/convert.hpp"

#include <fmt/format.h>

#include "dpmpi/core/errors.hpp"
#include "dpmpi/data/load.hpp"
#include "dpmpi/data/write.hpp"

namespace dpmpi {

void ConvertOptions::declare(Options& options) {
  options.add("input", input, "File to convert; an IDX or NumPy pair is written images,labels");
  options.add("output", output, "Native record file to write");
}

std::uint64_t convert(const ConvertOptions& options, DataOptions data) {
  if (options.input.empty() || options.output.empty())
    throw ConfigError("convert needs an input and an output file");
  if (data.scale != 1 || !data.mean.empty() || !data.deviation.empty() || data.normalize != "none" ||
      !data.keep_one_in.empty() || data.records != 0)
    throw ConfigError(
        "convert writes the values of the file: set data.scale, mean, std, normalize, keep_one_in and records "
        "in the config that trains on the result");
  data.train = options.input;
  data.shards.clear();
  const Communicator alone = Communicator::alone();
  const LabelKind kind = data.positive.empty() ? LabelKind::real : LabelKind::sign;
  const BlockLayout layout{inspect(alone, data, DataRole::training).records, 1};
  const Shard shard = load(alone, data, DataRole::training, layout, Ownership::even(1, 1), kind);
  write_records(options.output, Format::native, shard.blocks[0].records);
  return layout.records;
}

}  // namespace dpmpi
