#include "data/formats/libsvm.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "data/formats/text_lines.hpp"

namespace dpmpi {
namespace {

constexpr char comment = '#';

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }

std::string_view token_at(const char* p, const char* end) {
  const char* stop = p;
  while (stop != end && !is_space(*stop)) ++stop;
  return {p, static_cast<std::size_t>(stop - p)};
}

/// Reads one `index:value`; returns what follows. `previous` is the last number seen (index_base - 1 at first).
const char* parse_entry(const char* p, const char* end, std::uint32_t base, const FeatureMap& map,
                        std::int64_t& previous, RecordsBuilder& out) {
  std::int64_t index = 0;
  const auto [colon, error] = std::from_chars(p, end, index);
  if (error != std::errc{} || colon == end || *colon != ':')
    throw Malformed(fmt::format("{} is not index:value", show_field(token_at(p, end))), Malformed::entry);
  const std::int64_t last = static_cast<std::int64_t>(out.features()) + base - 1;
  if (index < base || index > last)
    throw Malformed(fmt::format("feature index {} is not in {}..{} (data.features = {}, data.index_base = {})",
                                show_field(index), base, last, out.features(), base),
                    Malformed::index);
  if (index <= previous)
    throw Malformed(fmt::format("feature index {} comes after {}: indices must ascend, without duplicates",
                                show_field(index), show_field(previous)),
                    Malformed::order);
  double x = 0;
  const char* const stop = scan_number(colon + 1, end, x);
  if (stop == nullptr || (stop != end && !is_space(*stop)))
    throw Malformed(fmt::format("value {} of feature {} is not a number", show_field(token_at(colon + 1, end)),
                                show_field(index)));
  const auto column = static_cast<std::uint32_t>(index - base);
  out.put(column, map(column, x));
  previous = index;
  return stop;
}

/// The label at the start of a line; moves p behind it.
float parse_label(const char*& p, const char* end, std::uint64_t global_index, const LabelRule& labels) {
  while (p != end && is_space(*p)) ++p;
  const std::string_view label = token_at(p, end);
  const bool missing = label.find(':') != label.npos;
  if (!missing) p += label.size();
  if (labels.unlabelled()) return labels.label_of_none();
  if (missing)
    throw Malformed(fmt::format("label is missing: the line starts with {}", show_field(label)), Malformed::label);
  return labels.decode(label, global_index);
}

void parse_row(const Piece& piece, std::string_view line, std::uint64_t global_index, std::uint32_t base,
               const FeatureMap& map, const LabelRule& labels, RecordsBuilder& out) {
  const char* p = line.data();
  const auto* const hash = static_cast<const char*>(std::memchr(p, comment, line.size()));
  const char* const end = hash != nullptr ? hash : p + line.size();
  float y = 0;
  try {
    y = parse_label(p, end, global_index, labels);
  } catch (const Malformed& problem) {  // the entries are looked at all the same
    add_fault(piece, Malformed::label, problem.what());
  }
  if (map.moves_zero())  // densified rows only: entries that are not written are zeros of the file
    for (std::size_t j = 0; j < out.features(); ++j) out.dense_row()[j] = map(j, 0);
  for (std::int64_t previous = std::int64_t{base} - 1;;) {
    while (p != end && is_space(*p)) ++p;
    if (p == end) break;
    p = parse_entry(p, end, base, map, previous, out);
  }
  out.finish_row(y);
}

/// A text of which the first bytes hold no record is one without: read_head looks for the first lines that are one.
bool holds_record(std::string_view bytes) {
  for (std::size_t at = 0, stop; at < bytes.size(); at = stop + 1) {
    stop = std::min(bytes.find('\n', at), bytes.size());
    if (is_record(bytes.substr(at, stop - at), comment)) return true;
  }
  return false;
}

}  // namespace

Layout Libsvm::inspect(const std::vector<Head>& files) {
  const Head& head = files[0];
  refuse_no_text(head);
  if (options_.features == 0)
    throw ConfigError(
        fmt::format("{} is LIBSVM text: set data.features to the public number of features (the largest "
                    "index in the file would be a statistic of private data)",
                    head.path));
  const std::size_t begin = head.bytes.starts_with("\xef\xbb\xbf") ? 3 : 0;
  if (!holds_record(std::string_view(head.bytes).substr(begin))) refuse_file(head.path, "holds no records");
  const bool dense = options_.densify || options_.storage == "dense";
  return {.storage = dense ? Storage::dense_f32 : Storage::sparse_f32,
          .features = static_cast<std::uint64_t>(options_.features),
          .sections = {{.begin = begin, .comment = comment}}};
}

void Libsvm::read(const Piece& piece, const FeatureMap& map, const LabelRule& labels, RecordsBuilder& out) const {
  const auto base = static_cast<std::uint32_t>(options_.index_base);
  for_each_record(piece, [&](std::string_view line, std::uint64_t global_index) {
    parse_row(piece, line, global_index, base, map, labels, out);
  });
}

}  // namespace dpmpi
