#include "data/formats/text_lines.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <string>
#include <string_view>

namespace dpmpi {

void refuse_no_text(const Head& head) {
  constexpr std::size_t one_in =
      64;  // bytes of a text may be damaged or come from an old terminal; of others many are
  const auto is_control = [](char c) {
    return static_cast<unsigned char>(c) < 0x20 && std::string_view("\t\n\v\f\r").find(c) == std::string_view::npos;
  };
  if (head.bytes.find('\0') != head.bytes.npos)
    refuse_file(head.path, "is no text, for it holds zero bytes: UTF-8 text is expected (not UTF-16)");
  if (static_cast<std::size_t>(std::ranges::count_if(head.bytes, is_control)) * one_in > head.bytes.size())
    refuse_file(head.path, "is no text, for it holds control characters: UTF-8 text is expected");
}

void for_each_line(InputFile& file, std::uint64_t start, std::uint64_t from, std::uint64_t to,
                   const std::function<void(std::uint64_t, std::string_view)>& visit) {
  constexpr std::size_t chunk = std::size_t{1} << 16, longest = std::size_t{64} << 20;
  bool inside = from != start;  // begin one byte early: if that is a line end, `from` begins a line
  std::uint64_t base = inside ? from - 1 : from;
  std::size_t at = 0, searched = 0;  // where the line begins; no line end lies before
  std::string buffer;
  for (bool ended = false;;) {
    const std::size_t newline = buffer.find('\n', searched);
    if (newline == std::string::npos && !ended) {
      buffer.erase(0, at);
      base += at;
      at = 0;
      searched = buffer.size();
      if (searched > longest)
        refuse_file(file.path(),
                    fmt::format("line at byte {} is longer than 64 MiB; is this text?", show_field(base)));
      buffer.resize(searched + chunk);
      const std::size_t got = file.read(base + searched, std::span(buffer).subspan(searched));
      buffer.resize(searched + got);
      ended = got < chunk;
      continue;
    }
    const std::uint64_t offset = base + at;
    if (at == buffer.size() || (!inside && offset >= to)) return;
    const std::size_t stop = newline == std::string::npos ? buffer.size() : newline;
    if (!inside) visit(offset, std::string_view(buffer).substr(at, stop - at));
    inside = false;
    if (newline == std::string::npos) return;
    at = searched = newline + 1;
  }
}

void Position::enter(const std::string& another, std::uint64_t its_line) {
  file = another;
  lines_before = line - its_line;
}

void for_each_record_of(InputFile& file, const Section& records,
                        const std::function<void(const Position&, std::string_view)>& visit) {
  Position position{file.parts().empty() ? file.path() : file.parts().front().path, records.line};
  Position first = position;  // of the record that is open
  std::string held;
  bool open = false;
  const auto close = [&] {
    if (open) visit(first, held);
    open = false;
  };
  for_each_line(file, records.begin, records.begin, std::numeric_limits<std::uint64_t>::max(),
                [&](std::uint64_t offset, std::string_view line) {
                  if (const auto* const part = file.part_begun_at(offset)) {
                    position.enter(part->path, part->line);
                    close();
                  }
                  const bool goes_on = open;
                  if (goes_on || is_record(line, records.comment)) {
                    const bool stays = records.delimiter != '\0' && open_behind(line, open, records.delimiter);
                    if (!goes_on) first = position, ++position.global_index;
                    if (!goes_on && !stays) visit(first, line);
                    if (goes_on || stays) goes_on ? held.append("\n").append(line) : held.assign(line);
                    if (goes_on && !stays) visit(first, held);
                    open = stays;
                  }
                  ++position.line;
                });
  close();
}

}  // namespace dpmpi
