#include "data/formats/native_sparse.hpp"

#include <fmt/format.h>

#include "core/errors.hpp"
#include "data/records/text.hpp"

namespace dpmpi {
namespace {

template <class T>
std::vector<T> read_array(InputFile& file, std::uint64_t offset, std::uint64_t first, std::uint64_t count) {
  check_memory(count * sizeof(T), available_memory(), file.path(), false);
  std::vector<T> values(count);
  const std::span<char> bytes(reinterpret_cast<char*>(values.data()), count * sizeof(T));
  if (file.read(offset + first * sizeof(T), bytes) < bytes.size())
    throw DataError(fmt::format("{}: truncated", file.path()));
  return values;
}

}  // namespace

void read_native_sparse(InputFile& file, const NativeHeader& header, std::uint64_t first_row,
                        const std::vector<float>& labels, const FeatureMap& map, RecordsBuilder& out) {
  const auto begin = read_array<std::uint64_t>(file, header.rows(), first_row, labels.size() + 1);
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (begin[i] > begin[i + 1] || begin[i + 1] > header.entries)
      throw DataError(fmt::format("{}: record {}: row offsets {}, {} are not ascending in 0..{}", file.path(),
                                  first_row + i + 1, show_field(begin[i]), show_field(begin[i + 1]),
                                  show_field(header.entries)));
  const std::uint64_t first = begin.front(), entries = begin.back() - first;
  const auto column = read_array<std::uint32_t>(file, header.columns(), first, entries);
  const auto value = read_array<float>(file, header.values(), first, entries);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    for (std::uint64_t e = begin[i] - first; e < begin[i + 1] - first; ++e) {
      if (column[e] >= header.features || (e > begin[i] - first && column[e] <= column[e - 1]))
        throw DataError(fmt::format("{}: record {}: column {} is not ascending in 0..{}", file.path(),
                                    first_row + i + 1, show_field(column[e]), header.features - 1));
      try {
        out.entry(column[e], map(column[e], static_cast<double>(value[e])));
      } catch (const Malformed& problem) {
        throw DataError(fmt::format("{}: record {}: {}", file.path(), first_row + i + 1, problem.what()));
      }
    }
    out.finish_row(labels[i]);
  }
}

}  // namespace dpmpi
