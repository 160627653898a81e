#include "data/formats/format.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/trim.hpp"
#include "data/formats/arrays.hpp"
#include "data/formats/foreign.hpp"
#include "data/formats/hdf5.hpp"
#include "data/formats/hdf5_table.hpp"
#include "data/formats/libsvm.hpp"
#include "data/formats/native.hpp"
#include "data/formats/table.hpp"
#include "data/records/text.hpp"

namespace dpmpi {
namespace {

using Made = std::unique_ptr<Format>;

/// A columns file is for tables; without one, datasets are arrays of numbers.
Made make_hdf5(const ReadingRules& options) {
  if (options.columns_file) return std::make_unique<Hdf5Table>(options);
  return std::make_unique<Hdf5>(options);
}

struct Entry {
  std::string_view name;
  Made (*make)(const ReadingRules&);
  std::string_view magic = {};                   // first bytes; a text has none
  std::array<std::string_view, 3> endings = {};  // of names of files
};

/// All formats.
constexpr Entry formats[] = {
    {"libsvm", [](auto& o) -> Made { return std::make_unique<Libsvm>(o); }, {}, {".libsvm", ".svm"}},
    {"csv", [](auto& o) -> Made { return std::make_unique<Table>(o, ','); }, {}, {".csv"}},
    {"tsv", [](auto& o) -> Made { return std::make_unique<Table>(o, '\t'); }, {}, {".tsv"}},
    {"idx", [](auto& o) -> Made { return std::make_unique<ArrayPair>(o, "idx", parse_idx_header); }, {"\0\0", 2}},
    {"npy", [](auto& o) -> Made { return std::make_unique<ArrayPair>(o, "npy", parse_npy_header); }, "\x93NUMPY"},
    {"hdf5", make_hdf5, "\x89HDF\r\n\x1a\n", {".h5", ".hdf5", ".nc"}},
    {"native", [](auto& o) -> Made { return std::make_unique<Native>(o); }, NativeHeader::magic},
};

/// What tells texts apart that have no ending, the strongest sign first. A colon far behind may stand in the long
/// header of a table.
struct Sign {
  char character;
  enum Where { first_line, first_bytes, anywhere } where;
  std::string_view name;
};
constexpr Sign signs[] = {{',', Sign::first_line, "csv"},
                          {':', Sign::first_bytes, "libsvm"},
                          {'\t', Sign::first_line, "tsv"},
                          {',', Sign::anywhere, "csv"},
                          {'\t', Sign::anywhere, "tsv"}};

const Entry* with_magic(std::string_view head) {
  const auto* const found = std::ranges::find_if(
      formats, [&](const Entry& f) { return !f.magic.empty() && head.size() > 3 && head.starts_with(f.magic); });
  return found == std::end(formats) ? nullptr : found;
}

/// Whole lines of `bytes` that look like records or a header; `quoted`: those alone behind which no quotation mark
/// of the text seems to be open.
std::size_t record_lines(std::string_view bytes, const ReadingRules& options, bool quoted) {
  std::size_t count = 0;
  bool open = false;
  for (std::size_t at = 0, stop; (stop = bytes.find('\n', at)) != std::string_view::npos; at = stop + 1) {
    const std::string_view line = trim(bytes.substr(at, stop - at));
    open = quoted && open != (std::ranges::count(line, '"') % 2 != 0);
    if (open) continue;
    count += !line.empty() && line[0] != '#' && (options.comment.empty() || line[0] != options.comment[0]);
  }
  return count;
}

}  // namespace

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const Entry& format : formats) names.emplace_back(format.name);
  return names;
}

Made make_format(std::string_view name, const ReadingRules& options) {
  const auto* const found = std::ranges::find(formats, name, &Entry::name);
  verify(found != std::end(formats), "formats are named as in their table");
  return found->make(options);
}

std::string_view format_by_magic(std::string_view head) {
  const Entry* const found = with_magic(head);
  return found ? found->name : std::string_view();
}

std::string_view detect_format(const ReadingRules& options, const Head& head) {
  const auto* const named = std::ranges::find(formats, options.format, &Entry::name);
  if (named != std::end(formats)) return named->name;
  if (const Entry* const found = with_magic(head.bytes)) return found->name;
  std::string_view stem = head.path;
  if (stem.ends_with(".gz")) stem.remove_suffix(3);
  for (const Entry& format : formats)
    for (const std::string_view ending : format.endings)
      if (!ending.empty() && stem.ends_with(ending)) return format.name;
  if (options.separator != "auto") return "csv";
  const std::string_view all = head.bytes;
  const std::string_view looked_at[] = {all.substr(0, all.find('\n')), all.substr(0, std::size_t{1} << 16), all};
  for (const Sign& sign : signs)
    if (looked_at[sign.where].find(sign.character) != all.npos) return sign.name;
  refuse_file(head.path, fmt::format("its format is not recognised (it starts with {}): set data.format",
                                     show_field(all.substr(0, 40))));
}

Head read_head(InputFile& file, const ReadingRules& options) {
  constexpr std::size_t least = std::size_t{1} << 16, for_quotes = std::size_t{1} << 20,
                        longest = std::size_t{64} << 20;
  Head head{file.path(), file.read(0, least), file.size(), file.gzip()};
  std::string& bytes = head.bytes;
  if (with_magic(bytes) != nullptr) return head;
  refuse_foreign(head.path, bytes);
  const auto wanted = static_cast<std::size_t>(options.skip_lines) + 2;
  bool ended = bytes.size() < least;
  while (!ended && (record_lines(bytes, options, false) < wanted ||
                    (bytes.size() < for_quotes && record_lines(bytes, options, true) < wanted))) {
    const std::size_t have = bytes.size();
    if (have > longest) refuse_file(head.path, "no two lines in its first 64 MiB; is this text?");
    bytes.resize(2 * have);
    bytes.resize(have + file.read(have, std::span(bytes).subspan(have)));
    ended = bytes.size() < 2 * have;
  }
  if (!ended) bytes.resize(bytes.rfind('\n') + 1);
  return head;
}

void Section::archive(Archive& archive) {
  archive.field("file", file);
  archive.field("labels", labels);
  archive.field("row_bytes", row_bytes);
  if (is_text()) archive.field("begin", begin);
  archive.field("line", line);
  archive.field("comment", comment);
  archive.field("delimiter", delimiter);
}

void Layout::archive(Archive& archive) {
  archive.field("storage", storage);
  archive.field("features", features);
  archive.field("row_entries", row_entries);
  std::uint64_t count = sections.size();
  archive.field("sections", count);
  sections.resize(count);
  for (Section& section : sections) section.archive(archive);
}

}  // namespace dpmpi
