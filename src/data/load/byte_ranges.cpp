#include "data/load/byte_ranges.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "data/load/throw_on_all_ranks.hpp"
#include "data/memory.hpp"
#include "data/records/text.hpp"

namespace dpmpi {
namespace {

using Consume = std::function<std::uint64_t(const BlockBytes&)>;

/// `announced` is where the file should end.
std::string read_exactly(InputFile& file, std::uint64_t begin, std::uint64_t bytes, std::uint64_t announced) {
  std::string out = file.read(begin, bytes);
  if (out.size() < bytes)
    throw DataError(fmt::format("{}: truncated: it ends at byte {} where byte {} is expected", file.path(),
                                show_field(begin + out.size()), show_field(announced)));
  return out;
}

/// Where bytes that end at `end` end in one of several files that are read as one.
std::uint64_t end_in_part(const InputFile& file, std::size_t part, std::uint64_t end) {
  return file.parts().empty() ? end : std::min(end, file.parts()[part].end);
}

/// A range of a plain file in pieces that stay in cache.
void stream(InputFile& file, const Extent& extent, const Section& section, std::uint32_t block,
            const Consume& consume) {
  constexpr std::uint64_t target = std::uint64_t{1} << 20, longest = std::uint64_t{64} << 20;
  const std::uint64_t unit = section.row_bytes;
  const std::uint64_t usual = unit == 0 ? target : std::max(unit, target / unit * unit);
  const std::uint64_t end = std::min(extent.end, file.size());
  std::uint64_t piece = usual;
  for (std::uint64_t at = extent.begin; at < end;) {
    const std::size_t part = file.part_at(at);
    const std::uint64_t stop = end_in_part(file, part, end);
    const std::string bytes = read_exactly(file, at, std::min(piece, stop - at), end);
    std::size_t whole = bytes.size();
    if (unit == 0 && at + whole < stop) {
      whole = bytes.rfind('\n') + 1;
      if (whole == 0) {  // one very long line: try again with more of it
        piece *= 2;
        continue;
      }
    }
    BlockBytes given{block, std::string_view(bytes).substr(0, whole), part, file.part_begun_at(at) != nullptr,
                     at + whole < stop};
    const std::uint64_t left = consume(given);
    at += whole - left;
    piece = left < whole ? usual : piece * 2;
    if (piece <= longest || left < whole) continue;
    given.more = false;  // a record of so many lines is a fault: a quoted field that is not closed
    consume(given);
    return;
  }
}

/// Runs `step` unless an earlier one failed, and keeps its error for later, when all ranks are ready to hear of it.
template <class Step>
void run_unless(std::exception_ptr& failed, Step&& step) {
  if (failed) return;
  try {
    step();
  } catch (...) {
    failed = std::current_exception();
  }
}
/// All bytes of an extent; to the end of the file if it is open-ended.
std::string read_extent(InputFile& file, const Extent& extent, std::uint64_t announced) {
  if (extent.end != ~std::uint64_t{0}) {
    check_memory(extent.end - extent.begin, available_memory(), file.path(), false);
    return read_exactly(file, extent.begin, extent.end - extent.begin, announced);
  }
  constexpr std::size_t chunk = std::size_t{16} << 20;
  std::string bytes;
  for (bool more = true; more;) {
    const std::string next = file.read(extent.begin + bytes.size(), chunk);
    more = next.size() == chunk;
    bytes += next;
  }
  return bytes;
}

/// Rows of a binary array must end where the file ends; reading on also checks the gzip checksum.
void check_end(InputFile& file, const std::vector<Extent>& extents, std::uint64_t unit) {
  if (unit == 0) return;
  if (!file.read(extents.back().end, 1).empty())
    throw DataError(fmt::format("{}: trailing bytes after byte {}, where its header announces the end", file.path(),
                                show_field(extents.back().end)));
}

/// Calls visit(piece, whether it is the last) for a block's bytes in each of several files that are read as one;
/// for an empty block once.
template <class Visit>
void for_each_piece(const InputFile& file, std::uint32_t block, std::uint64_t begin, std::string_view bytes,
                    Visit&& visit) {
  for (bool last = false; !last;) {
    const std::size_t part = file.part_at(begin);
    const std::uint64_t end = end_in_part(file, part, begin + bytes.size());
    const std::string_view piece = bytes.substr(0, end - begin);
    bytes.remove_prefix(piece.size());
    last = bytes.empty();
    visit(BlockBytes{block, piece, part, file.part_begun_at(begin) != nullptr}, last);
    begin = end;
  }
}

/// What stands in front of a piece on its way from the root.
struct PieceHead {
  std::uint64_t part = 0;
  std::uint8_t begins = 0, last = 1, failed = 0;
  std::array<std::uint8_t, 5> unused{};
};

void send_piece(const Communicator& comm, int owner, const PieceHead& head, std::string_view bytes) {
  std::string message(sizeof head, '\0');
  std::memcpy(message.data(), &head, sizeof head);
  comm.send(message.append(bytes), owner);
}

void send_blocks(const Communicator& comm, InputFile& file, const std::vector<Extent>& extents,
                 const BlockRange& range, std::uint64_t unit, Progress& sent, const Consume& consume,
                 std::exception_ptr& reading, std::exception_ptr& consuming) {
  for (std::uint32_t block = range.ownership.first.front(); block < range.ownership.first.back(); ++block) {
    const Extent& extent = extents[block - range.first];
    std::string bytes;
    if (extent.begin < extent.end)
      run_unless(reading, [&] { bytes = read_extent(file, extent, extents.back().end); });
    const int owner = range.ownership.owner(block);
    for_each_piece(file, block, extent.begin, bytes, [&](const BlockBytes& given, bool last) {
      if (owner != comm.rank())
        send_piece(comm, owner, {given.part, given.begins, last, reading != nullptr}, given.bytes);
      else if (!reading && !given.bytes.empty())
        run_unless(consuming, [&] { consume(given); });
    });
    if (owner != comm.rank()) sent.add(range.layout.size(block));
  }
  run_unless(reading, [&] { check_end(file, extents, unit); });
}

void receive_blocks(const Communicator& comm, const BlockRange& range, const Consume& consume,
                    std::exception_ptr& consuming) {
  std::uint32_t block = range.ownership.begin(comm.rank());
  while (block < range.ownership.end(comm.rank())) {
    const std::string message = comm.receive(0);
    PieceHead head;
    std::memcpy(&head, message.data(), sizeof head);
    const auto bytes = std::string_view(message).substr(sizeof head);
    if (!head.failed && !bytes.empty())
      run_unless(consuming, [&] { consume({block, bytes, head.part, head.begins != 0}); });
    if (head.last) ++block;
  }
}

}  // namespace

void fetch(const Communicator& comm, const SourceFile& source, const std::vector<Extent>& extents,
           const BlockRange& range, const Section& section, Progress& sent, const Consume& consume) {
  const std::uint64_t unit = section.row_bytes;
  if (!source.gzip) {
    throw_on_all_ranks(comm, [&] {
      for (std::uint32_t b = range.ownership.begin(comm.rank()); b < range.ownership.end(comm.rank()); ++b)
        stream(*source.file, extents[b - range.first], section, b, consume);
    });
    return;
  }
  std::exception_ptr reading, consuming;
  if (comm.is_root())
    send_blocks(comm, *source.file, extents, range, unit, sent, consume, reading, consuming);
  else
    receive_blocks(comm, range, consume, consuming);
  throw_on_all_ranks(comm, [&] {
    for (const std::exception_ptr& error : {reading, consuming})
      if (error) std::rethrow_exception(error);
  });
}

}  // namespace dpmpi
