#include "source.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "column_names.hpp"
#include "dpmpi/core/errors.hpp"
#include "dpmpi/data/all_or_none.hpp"
#include "dpmpi/data/text.hpp"

namespace dpmpi {
namespace {

/// The root reads the first bytes and tells the others.
Head share_head(const Communicator& comm, const DataOptions& options, const std::string& name) {
  Head head;
  all_or_none(comm, [&] {
    if (!comm.is_root()) return;
    InputFile file(find_file(options, name));
    head = read_head(file, options);
  });
  comm.broadcast(head.path);
  comm.broadcast(head.bytes);
  comm.broadcast(head.size);
  comm.broadcast(head.gzip);
  return head;
}

/// data.features comes from the config alone: whatever the file holds, the parameters, a gradient, a sum and the
/// noise, of doubles, must fit before anything of that length is allocated.
void check_dimension(const Communicator& comm, const DataOptions& options, const std::string& path) {
  all_or_none(comm, [&] {
    const auto features = static_cast<std::uint64_t>(std::max<std::int64_t>(options.features, 0));
    check_memory(4 * sizeof(double) * features, available_memory(),
                 fmt::format("{}: data.features = {}: a model of that many parameters", path, features));
  });
}

SourceFile open_file(const Communicator& comm, const DataOptions& options, const std::string& name,
                     const Head& head) {
  SourceFile source{nullptr, head.path, head.gzip};
  all_or_none(comm, [&] {
    if (head.gzip && !comm.is_root()) return;
    source.file = std::make_unique<InputFile>(find_file(options, name));
    if (source.file->size() != head.size)
      throw DataError(fmt::format("{} has {} bytes here, but {} bytes on the root: the ranks see different files",
                                  source.file->path(), show_field(source.file->size()), show_field(head.size)));
  });
  return source;
}

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

/// (records, lines) of every rank's part, on all ranks.
std::vector<std::int64_t> share_counts(const Communicator& comm, const LineScan& scan) {
  std::vector<std::int64_t> counts(2 * static_cast<std::size_t>(comm.size()));
  const auto mine = 2 * static_cast<std::size_t>(comm.rank());
  counts[mine] = static_cast<std::int64_t>(scan.start.size());
  counts[mine + 1] = static_cast<std::int64_t>(scan.lines());
  comm.sum(counts);
  return counts;
}

std::uint64_t total_records(const std::vector<std::int64_t>& counts) {
  std::int64_t total = 0;
  for (std::size_t i = 0; i < counts.size(); i += 2) total += counts[i];
  return static_cast<std::uint64_t>(total);
}

}  // namespace

Source open_source(const Communicator& comm, const DataOptions& options, const std::string& name, DataRole role) {
  const std::size_t comma = name.find(',');
  const std::string first(trim(name.substr(0, comma)));
  const Head head = share_head(comm, options, first);
  check_dimension(comm, options, head.path);
  if (role != DataRole::evaluation)
    all_or_none(comm, [&] {
      if (comm.is_root()) check_public_names(head, options);
    });
  std::optional<Head> label_head;
  Source source;
  if (comma != std::string::npos) {
    const std::string second(trim(std::string_view(name).substr(comma + 1)));
    label_head = share_head(comm, options, second);
    source.labels = open_file(comm, options, second, *label_head);
  }
  source.layout = file_layout(head, label_head, options);
  source.records = open_file(comm, options, first, head);
  return source;
}

std::uint64_t count_records(const Communicator& comm, Source& source) {
  if (!source.layout.is_text()) return source.layout.records();
  const std::uint64_t records = total_records(share_counts(comm, scan_lines(comm, source)));
  if (records == 0) throw DataError(fmt::format("{}: holds no records", source.records.path));
  return records;
}

void check_slots(const std::string& path, std::uint64_t records, std::uint64_t slots) {
  if (records > slots)
    throw DataError(fmt::format(
        "{} holds more records than the {} that are declared (data.records or data.shard_records)", path, slots));
}

std::vector<Extent> locate_text(const Communicator& comm, Source& source, const BlockRange& range) {
  const LineScan scan = scan_lines(comm, source);
  const auto counts = share_counts(comm, scan);
  const std::uint64_t records = total_records(counts);
  check_slots(source.records.path, records, range.slots());

  std::uint64_t my_first = 0, my_line = source.layout.line;
  for (std::size_t i = 0; i < 2 * static_cast<std::size_t>(comm.rank()); i += 2) {
    my_first += static_cast<std::uint64_t>(counts[i]);
    my_line += static_cast<std::uint64_t>(counts[i + 1]);
  }
  // Whoever scanned a block's first row says where it is.
  const std::size_t blocks = range.count();
  std::vector<std::int64_t> where(2 * blocks);
  for (std::size_t b = 0; b < blocks; ++b) {
    const std::uint64_t row = range.row(range.first + static_cast<std::uint32_t>(b), records);
    if (row < my_first || row - my_first >= scan.start.size()) continue;
    where[2 * b] = static_cast<std::int64_t>(scan.start[row - my_first]);
    where[2 * b + 1] = static_cast<std::int64_t>(my_line + scan.lines_before(row - my_first));
  }
  comm.sum(where);

  std::vector<Extent> extents(blocks);
  for (std::size_t b = blocks; b-- > 0;) {
    const auto block = range.first + static_cast<std::uint32_t>(b);
    const std::uint64_t stop = range.row(block + 1, records);
    if (range.row(block, records) == stop) continue;
    extents[b].begin = static_cast<std::uint64_t>(where[2 * b]);
    extents[b].line = static_cast<std::uint64_t>(where[2 * b + 1]);
    extents[b].end = stop == records ? ~std::uint64_t{0} : extents[b + 1].begin;
  }
  return extents;
}

std::vector<Extent> locate_rows(const ArrayHeader& array, const BlockRange& range) {
  std::vector<Extent> extents;
  for (std::uint32_t b = range.first; b < range.last; ++b)
    extents.push_back({array.offset + range.row(b, array.rows) * array.row_bytes(),
                       array.offset + range.row(b + 1, array.rows) * array.row_bytes(), 0});
  return extents;
}

}  // namespace dpmpi
