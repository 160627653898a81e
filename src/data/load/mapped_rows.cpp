#include "data/load/mapped_rows.hpp"

#include <string>

#include <fmt/format.h>

#include "core/errors.hpp"

namespace dpmpi {
namespace {

std::string what_stands_there(const Source& source) {
  if (source.format_name != "native") return fmt::format("read as {}", source.format_name);
  if (source.layout.storage == Storage::sparse_f32)
    return "a native file of sparse rows, which are loaded (leave data.memory out)";
  return "a native file that was made without it";
}

}  // namespace

void check_rows_can_stay(const Dataset& dataset, const Source& source) {
  if (!dataset.mapped) return;
  if (!source.format->rows_can_stay())
    throw ConfigError(fmt::format(
        "{}: data.memory = map takes a file of dense rows that `dpmpi convert IN OUT --set data.memory=map` "
        "has made; this is {}",
        source.path(), what_stands_there(source)));
  const ReadingRules& rules = dataset.rules;
  if (source.storage() != Storage::dense_f32) return;  // the scale of bytes is a number beside the row
  const auto refuse = [&](const std::string& setting) {
    throw ConfigError(fmt::format(
        "{}: data.memory = map leaves rows of float32 as they are, and {} makes others of them: scale what is "
        "converted, or leave one of the two out",
        source.path(), setting));
  };
  if (rules.scale != 1) refuse(fmt::format("data.scale = {}", rules.scale));
  if (rules.normalize == "l2") refuse("data.normalize = l2");
}

MappedBlocks::MappedBlocks(const InputFile& file, const Section& rows, std::uint64_t begin, std::uint64_t end,
                           std::uint64_t slots)
    : file_(file.mapped()), row_bytes_(rows.row_bytes), first_(file_->map(begin, end, slots * row_bytes_)) {
  verify(begin % cache_line == 0 && row_bytes_ % cache_line == 0, "mapped rows are aligned as those in memory");
}

std::shared_ptr<const void> MappedBlocks::at(std::uint64_t row) const {
  return {first_, first_.get() + row * row_bytes_};
}

}  // namespace dpmpi
