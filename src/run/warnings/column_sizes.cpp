#include "run/warnings/column_sizes.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <sstream>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "data/records/text.hpp"
#include "objective/copy_rows.hpp"
#include "run/warnings/public_sample.hpp"

namespace dpmpi {
namespace {

constexpr std::uint64_t most_looked_at = 4096;
constexpr std::size_t most_columns = std::size_t{1} << 18;  // of wider files the first ones: 4 MiB of sums
constexpr double uneven = 100, rare = 1.0 / 20;
constexpr double unit = 0x1p-20;  // of sums of logarithms

// Number and sum of log2 |x| of every column, over entries that are not 0, in whole units: their order does not
// matter.
class ColumnTally {
 public:
  explicit ColumnTally(std::size_t columns) : columns_(columns), sums_(2 * columns) {}

  void add(const Rows& rows) {
    const Records& records = rows.records;
    for (const std::uint32_t i : rows.index) {
      if (records.storage != Storage::sparse_f32)
        for (std::size_t j = 0; j < columns_; ++j) add(j, feature_of(records, i, j));
      else
        for (auto e = records.row_begin[i]; e < records.row_begin[i + 1]; ++e)
          add(records.column[e], records.value[e]);
    }
  }
  std::span<std::int64_t> sums() { return sums_; }

 private:
  void add(std::size_t column, float x) {
    if (column >= columns_ || x == 0 || !std::isfinite(x)) return;
    sums_[2 * column] += 1;
    sums_[2 * column + 1] += std::llrint(std::log2(std::abs(static_cast<double>(x))) / unit);
  }

  std::size_t columns_;
  std::vector<std::int64_t> sums_;
};

/// Of features of a table with a header.
std::vector<std::string> names_in(const std::string& lines) {
  std::vector<std::string> names;
  std::istringstream in(lines);
  for (std::string name; std::getline(in, name);) names.push_back(name);
  return names;
}

}  // namespace

std::vector<ColumnSize> column_sizes(const Communicator& comm, const Shard& shard) {
  const PublicSample sample(comm, shard, most_looked_at);
  ColumnTally tally(std::min(static_cast<std::size_t>(shard.facts.features), most_columns));
  sample.for_each([&](const Rows& rows) { tally.add(rows); });
  comm.sum(tally.sums());
  const auto enough = static_cast<std::int64_t>(std::ceil(rare * static_cast<double>(sample.size())));
  std::vector<ColumnSize> sizes;
  const auto sums = tally.sums();
  for (std::size_t j = 0; 2 * j < sums.size(); ++j)
    if (const std::int64_t n = sums[2 * j]; n > 0 && n >= enough)
      sizes.push_back({j, std::exp2(static_cast<double>(sums[2 * j + 1]) * unit / static_cast<double>(n))});
  return sizes;
}

std::optional<Warning> uneven_columns(const Communicator& comm, const Shard& shard, const std::string& names) {
  std::vector<ColumnSize> sizes = column_sizes(comm, shard);
  if (sizes.empty()) return {};
  std::ranges::stable_sort(sizes, std::ranges::greater(), &ColumnSize::size);
  const double ratio = sizes.front().size / sizes.back().size;
  if (!(ratio > uneven)) return {};

  const std::vector<std::string> named = names_in(names);
  const auto number = [](std::size_t j) { return fmt::format("feature {}", j + 1); };
  constexpr std::size_t shown = 3;  // of the largest, and of the smallest
  const std::size_t ends = std::min(shown, sizes.size() / 2);
  Warning warning{"scales", "", {{"ratio", three_digits(ratio)}, {"columns", nlohmann::ordered_json::object()}}};
  const auto list = [&](std::size_t first) {
    std::vector<std::string> all;
    for (std::size_t k = first; k < first + ends; ++k) {
      const std::size_t j = sizes[k].feature;
      all.push_back(fmt::format("{} ({:.3g})", j < named.size() ? show(named[j]) : number(j), sizes[k].size));
      warning.numbers["columns"][j < named.size() ? named[j] : number(j)] = three_digits(sizes[k].size);
    }
    return fmt::format("{}", fmt::join(all, ", "));
  };
  const std::string large = list(0), small = list(sizes.size() - ends);
  warning.text = fmt::format(
      "features of data.eval differ in size by a factor of {:.3g}: large are {}; small are {}. Clipped gradients and "
      "their noise follow the large ones, and little is learned from the others. Give data.std (and data.mean) public "
      "numbers of about their size: those of data.eval may be used, those of data.train may not. data.scale and "
      "data.normalize change all features alike",
      ratio, large, small);
  return warning;
}

}  // namespace dpmpi
