#include "data/formats/libsvm.hpp"

#include <charconv>
#include <cstring>

#include <fmt/format.h>

#include "data/records/text.hpp"

namespace dpmpi {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }

std::string_view token_at(const char* p, const char* end) {
  const char* stop = p;
  while (stop != end && !is_space(*stop)) ++stop;
  return {p, static_cast<std::size_t>(stop - p)};
}

/// Reads one `index:value`; returns what follows. `previous` is the last number seen (index_base - 1 at first).
const char* parse_entry(const char* p, const char* end, const LibsvmRule& rule, const FeatureMap& map,
                        std::int64_t& previous, RecordsBuilder& out) {
  std::int64_t index = 0;
  const auto [colon, error] = std::from_chars(p, end, index);
  if (error != std::errc{} || colon == end || *colon != ':')
    throw Malformed(fmt::format("{} is not index:value", show_field(token_at(p, end))));
  const std::int64_t last = static_cast<std::int64_t>(out.features()) + rule.index_base - 1;
  if (index < rule.index_base || index > last)
    throw Malformed(fmt::format("feature index {} is not in {}..{} (data.features = {}, data.index_base = {})",
                                show_field(index), rule.index_base, last, out.features(), rule.index_base));
  if (index <= previous)
    throw Malformed(fmt::format("feature index {} comes after {}: indices must ascend, without duplicates",
                                show_field(index), show_field(previous)));
  double x = 0;
  const char* const stop = scan_number(colon + 1, end, x);
  if (stop == nullptr || (stop != end && !is_space(*stop)))
    throw Malformed(fmt::format("value {} of feature {} is not a number", show_field(token_at(colon + 1, end)),
                                show_field(index)));
  const auto column = static_cast<std::uint32_t>(index - rule.index_base);
  const float value = map(column, x);
  if (out.storage() == Storage::dense_f32)
    out.dense_row()[column] = value;
  else if (value != 0)
    out.entry(column, value);
  previous = index;
  return stop;
}

void parse_row(std::string_view line, std::uint64_t global_index, const LibsvmRule& rule, const FeatureMap& map,
               const LabelRule& labels, RecordsBuilder& out) {
  const char* p = line.data();
  const auto* const hash = static_cast<const char*>(std::memchr(p, '#', line.size()));
  const char* const end = hash != nullptr ? hash : p + line.size();
  while (p != end && is_space(*p)) ++p;
  const std::string_view label = token_at(p, end);
  const bool missing = label.find(':') != label.npos;
  if (missing && !labels.unlabelled())
    throw Malformed(fmt::format("label is missing: the line starts with {}", show_field(label)));
  const float y = labels.unlabelled() ? labels.label_of_none() : labels.decode(label, global_index);
  if (!missing) p += label.size();
  if (map.moves_zero())  // densified rows only: entries that are not written are zeros of the file
    for (std::size_t j = 0; j < out.features(); ++j) out.dense_row()[j] = map(j, 0);
  for (std::int64_t previous = std::int64_t{rule.index_base} - 1;;) {
    while (p != end && is_space(*p)) ++p;
    if (p == end) break;
    p = parse_entry(p, end, rule, map, previous, out);
  }
  out.finish_row(y);
}

}  // namespace

void parse_libsvm(std::string_view text, TextPosition& position, const LibsvmRule& rule, const FeatureMap& map,
                  const LabelRule& labels, RecordsBuilder& out) {
  for_each_record(text, '#', position, [&](std::string_view line, std::uint64_t global_index) {
    parse_row(line, global_index, rule, map, labels, out);
  });
}

}  // namespace dpmpi
