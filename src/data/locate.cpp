// Where the blocks of a file lie in it. The root learns all of it and tells every rank about its own blocks: where
// data.records is declared, how many slots hold a record is secret, and lengths of lines follow private values.

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "dpmpi/core/errors.hpp"
#include "dpmpi/data/all_or_none.hpp"
#include "dpmpi/data/text.hpp"
#include "packed.hpp"
#include "source.hpp"

namespace dpmpi {
namespace {

/// What one rank found in its part of a text.
struct LineScan {
  std::vector<std::uint64_t> start;    // of each record
  std::vector<std::uint64_t> skipped;  // for each line that is no record: records before it in this part
  std::uint64_t lines() const { return start.size() + skipped.size(); }
  /// Lines of this part before record `row`.
  std::uint64_t lines_before(std::uint64_t row) const {
    const auto after = std::upper_bound(skipped.begin(), skipped.end(), row);
    return row + static_cast<std::uint64_t>(after - skipped.begin());
  }
};

constexpr std::uint64_t glance_every = 4096;  // lines, which take less than a look at the clock

/// This rank's equal share of the bytes of a plain text; all of a gzipped one on the root.
LineScan scan_lines(const Communicator& comm, Source& source) {
  LineScan scan;
  all_or_none(comm, [&] {
    if (!source.records.file) return;
    InputFile& file = *source.records.file;
    const FileLayout& layout = source.layout;
    const std::uint64_t total = file.size() - std::min(file.size(), layout.begin);
    const auto share = [&](int rank) {
      const auto r = static_cast<std::uint64_t>(rank), size = static_cast<std::uint64_t>(comm.size());
      return layout.begin + total / size * r + std::min(r, total % size);
    };
    const std::uint64_t from = file.gzip() ? layout.begin : share(comm.rank());
    const std::uint64_t to = file.gzip() ? ~std::uint64_t{0} : share(comm.rank() + 1);
    // A text's length in bytes follows its private values: the share is shown, not the number.
    Progress progress("counting the lines of " + std::filesystem::path(file.path()).filename().string(),
                      file.gzip() ? 0 : to - from, "");
    std::uint64_t counted = from;
    for_each_line(file, layout.begin, from, to, [&](std::uint64_t offset, std::string_view line) {
      if (scan.lines() % glance_every == 0) progress.add(offset - counted), counted = offset;
      if (is_record(line, layout.comment))
        scan.start.push_back(offset);
      else
        scan.skipped.push_back(scan.start.size());
    });
  });
  return scan;
}

/// Sizes of one rank's part of a text.
struct PartSize {
  std::uint64_t records = 0, lines = 0;
};

/// Of every rank's part, on the root; empty elsewhere.
std::vector<PartSize> gather_sizes(const Communicator& comm, const LineScan& scan) {
  std::vector<PartSize> sizes;
  const std::vector<PartSize> mine{PartSize{scan.start.size(), scan.lines()}};
  for (const auto& part : gather_lists(comm, mine)) sizes.push_back(part.at(0));
  return sizes;
}

std::uint64_t total_records(const std::vector<PartSize>& parts) {
  std::uint64_t total = 0;
  for (const PartSize& part : parts) total += part.records;
  return total;
}

/// Calls visit(block, row) for each block that holds one of the file's `records` rows, with its first row.
template <class Visit>
void for_each_filled(const BlockRange& range, std::uint64_t records, Visit&& visit) {
  for (std::uint32_t block = range.first; block < range.last; ++block)
    if (const std::uint64_t row = range.row(block, records); row < range.row(block + 1, records)) visit(block, row);
}

/// Which rows begin a block: for each part those that lie in it, counted from its first. On the root.
std::vector<std::vector<std::uint64_t>> first_rows(const std::vector<PartSize>& parts, const BlockRange& range) {
  std::vector<std::vector<std::uint64_t>> rows(parts.size());
  std::size_t part = 0;
  std::uint64_t before = 0;
  for_each_filled(range, total_records(parts), [&](std::uint32_t, std::uint64_t row) {
    while (row - before >= parts[part].records) before += parts[part++].records;
    rows[part].push_back(row - before);
  });
  return rows;
}

/// The first byte of a line, and the number of lines before it.
struct LineStart {
  std::uint64_t byte = 0, lines_before = 0;
};

/// From where the blocks' first rows are, in every part: a block ends where the next one begins. On the root.
std::vector<Extent> extents_between(const std::vector<std::vector<LineStart>>& found,
                                    const std::vector<PartSize>& parts, const BlockRange& range,
                                    std::uint64_t first_line) {
  std::vector<Extent> filled;
  for (std::size_t p = 0; p < parts.size(); first_line += parts[p++].lines)
    for (const LineStart& start : found[p]) {
      if (!filled.empty()) filled.back().end = start.byte;
      filled.push_back({start.byte, ~std::uint64_t{0}, first_line + start.lines_before});
    }
  std::vector<Extent> extents(range.count());
  auto next = filled.begin();
  for_each_filled(range, total_records(parts),
                  [&](std::uint32_t block, std::uint64_t) { extents[block - range.first] = *next++; });
  return extents;
}

/// Of the root's extents of all blocks every rank gets its own (without `tell_bytes` only their lines); the root
/// keeps all.
std::vector<Extent> hand_out(const Communicator& comm, std::vector<Extent> extents, const BlockRange& range,
                             bool tell_bytes) {
  std::vector<std::vector<Extent>> parts;
  for (int rank = 0; comm.is_root() && rank < comm.size(); ++rank) {
    auto& part = parts.emplace_back();
    for (std::uint32_t b = range.ownership.begin(rank); b < range.ownership.end(rank); ++b) {
      part.push_back(extents[b - range.first]);
      if (!tell_bytes) part.back().begin = part.back().end = 0;
    }
  }
  const std::vector<Extent> mine = scatter_lists(comm, parts);
  if (comm.is_root()) return extents;
  std::vector<Extent> known(range.count());
  std::ranges::copy(mine, known.begin() + (range.ownership.begin(comm.rank()) - range.first));
  return known;
}

}  // namespace

std::uint64_t count_records(const Communicator& comm, Source& source) {
  std::uint64_t records = source.layout.is_text() ? total_records(gather_sizes(comm, scan_lines(comm, source)))
                                                  : source.layout.records();
  comm.broadcast(records);
  if (records == 0) throw DataError(fmt::format("{}: holds no records", source.records.path));
  return records;
}

// Whoever looked through the part that a block begins in tells the root where.
std::vector<Extent> locate_text(const Communicator& comm, Source& source, const BlockRange& range) {
  const LineScan scan = scan_lines(comm, source);
  const std::vector<PartSize> parts = gather_sizes(comm, scan);
  all_or_none(comm, [&] { check_slots(source.records.path, total_records(parts), range.slots()); });
  std::vector<LineStart> mine;
  for (const std::uint64_t row : scatter_lists(comm, first_rows(parts, range)))
    mine.push_back({scan.start.at(row), scan.lines_before(row)});
  const auto found = gather_lists(comm, mine);
  return hand_out(comm, extents_between(found, parts, range, source.layout.line), range, !source.records.gzip);
}

std::vector<Extent> locate_rows(const Communicator& comm, const ArrayHeader& array, const BlockRange& range) {
  std::vector<Extent> extents;
  for (std::uint32_t b = range.first; comm.is_root() && b < range.last; ++b)
    extents.push_back({array.offset + range.row(b, array.rows) * array.row_bytes(),
                       array.offset + range.row(b + 1, array.rows) * array.row_bytes(), 0});
  return hand_out(comm, std::move(extents), range, true);
}

}  // namespace dpmpi
