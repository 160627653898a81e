#include "data/load/block_places.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "data/formats/text_lines.hpp"
#include "data/load/throw_on_all_ranks.hpp"
#include "data/memory.hpp"
#include "data/records/packed.hpp"

namespace dpmpi {
namespace {

/// A record of a text: how many records and lines come before it, and its first byte.
struct Mark {
  std::uint64_t row = 0, line = 0, byte = 0;
};

/// Chooses the records of a part from which the root finds where blocks begin.
class Marks {
 public:
  /// Of the first part, where these rows, ascending from 0, are known to begin a block.
  explicit Marks(std::vector<std::uint64_t> rows) : rows_(std::move(rows)) {}
  /// Of another part, where nobody knows how many records come before: every 2^k-th, `most` or fewer.
  explicit Marks(std::size_t most) : most_(most) {}

  void see(const Mark& record) {
    if (record.row != next_) return;
    marks_.push_back(record);
    next_ = rows_.empty() ? after_thinning(record.row) : next_row(record.row);
  }
  const std::vector<Mark>& chosen() const { return marks_; }

 private:
  std::uint64_t next_row(std::uint64_t row) const {
    const auto next = std::ranges::upper_bound(rows_, row);
    return next == rows_.end() ? ~std::uint64_t{0} : *next;
  }
  std::uint64_t after_thinning(std::uint64_t row) {
    if (marks_.size() > most_) {
      every_ *= 2;
      std::erase_if(marks_, [&](const Mark& mark) { return mark.row % every_ != 0; });
    }
    return (row / every_ + 1) * every_;
  }

  std::vector<std::uint64_t> rows_;
  std::size_t most_ = 0;
  std::uint64_t every_ = 1, next_ = 0;
  std::vector<Mark> marks_;
};

/// Sizes of one rank's part of a text.
struct PartSize {
  std::uint64_t records = 0, lines = 0;
};

void check_slots(const std::string& path, std::uint64_t records, std::uint64_t slots) {
  if (records > slots)
    throw DataError(fmt::format(
        "{} holds more records than the {} that are declared (data.records or data.shard_records)", path, slots));
}

constexpr std::uint64_t glance_every = 4096;  // lines, which take less than a look at the clock

/// Where a file begins of several that are read as one: so many lines of a share before it.
struct FileStart {
  std::uint64_t part = 0, line = 0;
};

/// What a rank finds in its share, if a record begins with it, or if it begins in a quoted field.
struct Share {
  bool open = false;  ///< whether a quoted field is open behind the lines that were seen
  std::uint64_t records = 0;
  Marks marks;

  /// `quotes`: whether the line has quotation marks that count.
  void see(std::string_view line, bool quotes, std::uint64_t number, std::uint64_t offset, const Section& section) {
    if (!open) {
      if (!is_record(line, section.comment)) return;
      marks.see({records++, number, offset});
    }
    if (quotes) open = open_behind(line, open, section.delimiter);
  }
};

struct Scan {
  PartSize size = {};
  std::vector<Mark> marks = {};
  std::vector<FileStart> starts = {};
};

/// Which of its shares is each rank's. Only from the first on is known where quoted fields begin. Collective.
const Share& own_share(const Communicator& comm, const std::vector<Share>& shares) {
  std::vector<std::uint8_t> open_behind;
  for (const Share& share : shares) open_behind.push_back(share.open ? 1 : 0);
  const auto all = gather_lists(comm, open_behind);
  std::vector<std::vector<std::uint8_t>> chosen;
  std::uint8_t open = 0;
  for (const auto& of_rank : all) {
    chosen.push_back({open});
    open = of_rank.at(open);
  }
  return shares.at(scatter_lists(comm, chosen).at(0));
}

/// Looks at this rank's equal share of the bytes of a plain text; at all of a gzipped one on the root.
Scan scan_lines(const Communicator& comm, const SourceFile& source, const Section& section, const Marks& marks) {
  Scan scan;
  std::vector<Share> shares(2, {false, 0, marks});
  shares[1].open = true;
  throw_on_all_ranks(comm, [&] {
    if (!source.file) return;
    InputFile& file = *source.file;
    const std::uint64_t total = file.size() - std::min(file.size(), section.begin);
    const auto share = [&](int rank) {
      const auto r = static_cast<std::uint64_t>(rank), size = static_cast<std::uint64_t>(comm.size());
      return section.begin + total / size * r + std::min(r, total % size);
    };
    const std::uint64_t from = source.gzip ? section.begin : share(comm.rank());
    const std::uint64_t to = source.gzip ? ~std::uint64_t{0} : share(comm.rank() + 1);
    const std::size_t possible = comm.is_root() || section.delimiter == '\0' ? 1 : 2;
    // A text's length in bytes follows its private values: the share is shown, not the number.
    Progress progress("counting the lines of " + std::filesystem::path(file.path()).filename().string(),
                      source.gzip ? 0 : to - from, "");
    std::uint64_t counted = from, lines = 0;
    const auto& parts = file.parts();
    std::size_t next = file.part_at(from);
    if (next == 0 || parts[next].offset < from) ++next;
    for_each_line(file, section.begin, from, to, [&](std::uint64_t offset, std::string_view line) {
      if (lines % glance_every == 0) progress.add(offset - counted), counted = offset;
      if (next < parts.size() && offset == parts[next].offset) {
        scan.starts.push_back({next++, lines});
        for (Share& each : shares) each.open = false;
      }
      const bool quotes = section.delimiter != '\0' && line.find('"') != line.npos;
      for (std::size_t s = 0; s < possible; ++s) shares[s].see(line, quotes, lines, offset, section);
      ++lines;
    });
    scan.size.lines = lines;
  });
  const Share& mine = section.delimiter == '\0' ? shares[0] : own_share(comm, shares);
  scan.size.records = mine.records;
  scan.marks = mine.marks.chosen();
  return scan;
}

/// Of every rank's part, on the root; empty elsewhere.
std::vector<PartSize> gather_sizes(const Communicator& comm, const PartSize& mine) {
  std::vector<PartSize> sizes;
  for (const auto& part : gather_lists<PartSize>(comm, {mine})) sizes.push_back(part.at(0));
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

/// What this rank marks: not so much that the root could not hold all ranks' marks, and so much that it hardly
/// reads anything again.
Marks marks_of_part(const Communicator& comm, const BlockRange& range) {
  constexpr std::size_t per_block = 64;
  if (!comm.is_root()) return Marks(per_block * (range.count() / static_cast<std::size_t>(comm.size()) + 1));
  std::vector<std::uint64_t> rows;
  for_each_filled(range, range.slots(), [&](std::uint32_t, std::uint64_t row) { rows.push_back(row); });
  return Marks(std::move(rows));
}

/// The marks of a whole text, ascending. On the root.
class MarkedText {
 public:
  MarkedText(InputFile& file, const Section& section, const std::vector<PartSize>& sizes,
             const std::vector<std::vector<Mark>>& parts)
      : file_(file), section_(section) {
    std::uint64_t rows = 0, lines = section.line;
    for (std::size_t p = 0; p < parts.size(); rows += sizes[p].records, lines += sizes[p++].lines)
      for (const Mark& mark : parts[p]) marks_.push_back({rows + mark.row, lines + mark.line, mark.byte});
  }

  /// Record `row`, looked for from the last mark before it on.
  Mark find(std::uint64_t row) {
    const auto after = std::ranges::upper_bound(marks_, row, {}, &Mark::row);
    const Mark& near = *std::prev(after);
    if (near.row == row) return near;
    const std::uint64_t end = after == marks_.end() ? file_.size() : after->byte;
    check_memory(end - near.byte, available_memory(), file_.path(), false);
    Position position{file_.path(), near.line, near.row};
    std::optional<Mark> found;
    for (std::uint64_t at = near.byte, stop; at < end && !found; at = stop) {  // no record goes on in another file
      stop = file_.parts().empty() ? end : std::min(end, file_.parts()[file_.part_at(at)].end);
      const std::string text = file_.read(at, stop - at);
      for_each_record(text, section_, position, [&](std::string_view line, std::uint64_t index) {
        if (index == row) found = {row, position.line, at + static_cast<std::uint64_t>(line.data() - text.data())};
      });
    }
    if (!found) throw DataError(fmt::format("{} was changed while it was read", file_.path()));
    return *found;
  }

 private:
  InputFile& file_;
  const Section& section_;
  std::vector<Mark> marks_;
};

/// Of each of the files that are read as one: lines before it, without those of itself that are left out; so a
/// line's number less these is its number in the file. On the root, of a file by itself none.
std::vector<std::uint64_t> lines_before_files(const InputFile& file, const Section& section,
                                              const std::vector<PartSize>& sizes,
                                              const std::vector<std::vector<FileStart>>& starts) {
  std::vector<std::uint64_t> before(file.parts().size());
  std::uint64_t lines = section.line;
  for (std::size_t r = 0; r < starts.size(); lines += sizes[r++].lines)
    for (const FileStart& start : starts[r])
      before[start.part] = lines + start.line - file.parts()[start.part].line;
  return before;
}

/// A block ends where the next one begins. On the root.
std::vector<Extent> extents_of(MarkedText text, const InputFile& file, const std::vector<std::uint64_t>& before,
                               const BlockRange& range, std::uint64_t records) {
  std::vector<Extent> extents(range.count());
  Extent* last = nullptr;
  for_each_filled(range, records, [&](std::uint32_t block, std::uint64_t row) {
    const Mark first = text.find(row);
    if (last != nullptr) last->end = first.byte;
    last = &extents[block - range.first];
    *last = {first.byte, ~std::uint64_t{0}, first.line, before.empty() ? 0 : before[file.part_at(first.byte)]};
  });
  return extents;
}

/// Of the root's extents of all blocks every rank gets its own (without `tell_bytes` only their lines, and nothing
/// of an empty block, which lies where the records end); the root keeps all.
std::vector<Extent> hand_out(const Communicator& comm, std::vector<Extent> extents, const BlockRange& range,
                             bool tell_bytes) {
  std::vector<std::vector<Extent>> parts;
  for (int rank = 0; comm.is_root() && rank < comm.size(); ++rank) {
    auto& part = parts.emplace_back();
    for (std::uint32_t b = range.ownership.begin(rank); b < range.ownership.end(rank); ++b) {
      part.push_back(extents[b - range.first]);
      if (part.back().begin == part.back().end) part.back() = {};
      if (!tell_bytes) part.back().begin = part.back().end = 0;
    }
  }
  const std::vector<Extent> mine = scatter_lists(comm, parts);
  if (comm.is_root()) return extents;
  std::vector<Extent> known(range.count());
  std::ranges::copy(mine, known.begin() + (range.ownership.begin(comm.rank()) - range.first));
  return known;
}

// No rank is asked anything that depends on other ranks' records: each tells the root what it has marked, and the
// root looks up the rest in the file.
std::vector<Extent> locate_lines(const Communicator& comm, const SourceFile& source, const Section& section,
                                 const BlockRange& range) {
  const Scan scan = scan_lines(comm, source, section, marks_of_part(comm, range));
  const std::vector<PartSize> sizes = gather_sizes(comm, scan.size);
  const auto parts = gather_lists(comm, scan.marks);
  const auto starts = gather_lists(comm, scan.starts);
  std::vector<Extent> extents;
  throw_on_all_ranks(comm, [&] {
    if (!comm.is_root()) return;
    const std::uint64_t records = total_records(sizes);
    check_slots(source.path, records, range.slots());
    extents = extents_of({*source.file, section, sizes, parts}, *source.file,
                         lines_before_files(*source.file, section, sizes, starts), range, records);
  });
  return hand_out(comm, std::move(extents), range, !source.gzip);
}

/// The root knows how many rows there are.
std::vector<Extent> locate_rows(const Communicator& comm, const SourceFile& source, const Section& section,
                                const BlockRange& range) {
  std::vector<Extent> extents;
  throw_on_all_ranks(comm, [&] {
    if (!comm.is_root()) return;
    check_slots(source.path, section.rows, range.slots());
    for (std::uint32_t b = range.first; b < range.last; ++b)
      extents.push_back({section.begin + range.row(b, section.rows) * section.row_bytes,
                         section.begin + range.row(b + 1, section.rows) * section.row_bytes, 0});
  });
  return hand_out(comm, std::move(extents), range, true);
}

}  // namespace

std::uint64_t count_records(const Communicator& comm, const Source& source) {
  const Section& records = source.layout.records();
  std::uint64_t count = records.rows;
  if (records.is_text())
    count = total_records(
        gather_sizes(comm, scan_lines(comm, source.file_of(records), records, Marks(std::size_t{1})).size));
  comm.broadcast(count);
  if (count == 0) throw DataError(fmt::format("{}: holds no records", source.path()));
  return count;
}

std::vector<Extent> locate_blocks(const Communicator& comm, const Source& source, const Section& section,
                                  const BlockRange& range) {
  const auto locate = section.is_text() ? locate_lines : locate_rows;
  return locate(comm, source.file_of(section), section, range);
}

}  // namespace dpmpi
