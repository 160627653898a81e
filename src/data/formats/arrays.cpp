#include "data/formats/arrays.hpp"

#include <fmt/format.h>

#include "core/errors.hpp"
#include "data/records/text.hpp"

namespace dpmpi {
namespace {

float label_of(const ArrayHeader& array, const char* row, const LabelRule& labels, std::uint64_t global_index) {
  if (array.element == Element::i64)
    return labels.decode(number_at<std::int64_t>(row, array.big_endian), global_index);
  if (array.element == Element::u64)
    return labels.decode(number_at<std::uint64_t>(row, array.big_endian), global_index);
  return labels.decode(array.value(row, 0), global_index);
}

/// What may be known of an array: how a row is read.
void archive_row(Archive& archive, ArrayHeader& array) {
  archive.field("element", array.element);
  archive.field("big_endian", array.big_endian);
  archive.field("width", array.width);
}

void append_values(const ArrayHeader& array, const char* row, const FeatureMap& map, RecordsBuilder& out) {
  if (out.storage() == Storage::dense_u8)
    std::copy_n(row, array.width, reinterpret_cast<char*>(out.byte_row()));
  else
    for (std::size_t j = 0; j < array.width; ++j) out.dense_row()[j] = map(j, array.value(row, j));
}

}  // namespace

std::size_t element_bytes(Element element) {
  constexpr std::size_t bytes[] = {1, 1, 2, 4, 8, 8, 4, 8};
  return bytes[static_cast<std::size_t>(element)];
}

void ArrayHeader::set_shape(const std::vector<std::uint64_t>& shape, const std::string& file) {
  constexpr std::uint64_t limit = std::uint64_t{1} << 62;
  std::uint64_t total = element_bytes(element);
  for (const std::uint64_t n : shape) {
    if (n == 0) refuse_file(file, "holds no records (a dimension is 0)");
    if (n > limit / total)
      refuse_file(file, fmt::format("dimension {} makes the array larger than 2^62 bytes", show_field(n)));
    total *= n;
  }
  rows = shape[0];
  width = 1;
  for (std::size_t i = 1; i < shape.size(); ++i) width *= shape[i];
}

double ArrayHeader::value(const char* row, std::size_t j) const {
  const char* const p = row + j * element_bytes(element);
  switch (element) {
    case Element::u8:
      return number_at<std::uint8_t>(p);
    case Element::i8:
      return number_at<std::int8_t>(p);
    case Element::i16:
      return number_at<std::int16_t>(p, big_endian);
    case Element::i32:
      return number_at<std::int32_t>(p, big_endian);
    case Element::i64:
      return static_cast<double>(number_at<std::int64_t>(p, big_endian));
    case Element::u64:
      return static_cast<double>(number_at<std::uint64_t>(p, big_endian));
    case Element::f32:
      return static_cast<double>(number_at<float>(p, big_endian));
    case Element::f64:
      break;
  }
  return number_at<double>(p, big_endian);
}

Section ArrayHeader::section(std::size_t file, bool labels) const {
  return {.file = file, .labels = labels, .row_bytes = row_bytes(), .begin = offset, .rows = rows};
}

void check_size(const Head& head, std::uint64_t announced) {
  if (head.gzip || head.size == announced) return;
  refuse_file(head.path,
              fmt::format("has {} bytes where its header announces {}: {}", show_field(head.size),
                          show_field(announced), head.size < announced ? "truncated" : "trailing bytes"));
}

void add_row_fault(const Piece& piece, std::uint64_t kind, const std::string& what) {
  const Position& at = piece.position;
  if (!piece.faults.knows(kind))
    piece.faults.add(at.global_index, kind,
                     fmt::format("{}: record {}{}: {}", at.file, at.global_index - at.first_index + 1,
                                 at.shows_byte ? fmt::format(" (byte {})", at.byte) : "", what));
}

void Arrays::archive(Archive& archive) {
  archive_row(archive, rows_);
  archive_row(archive, labels_);
}

void Arrays::read(const Piece& piece, const FeatureMap& map, const LabelRule& labels, RecordsBuilder& out) const {
  if (piece.section.labels)
    return for_each_row(piece, [&](const char* row) {
      out.add_label(label_of(labels_, row, labels, piece.position.global_index));
    });
  for_each_row(piece, [&](const char* row) {
    append_values(rows_, row, map, out);
    read_behind(row + rows_.row_bytes(), out);
    out.finish_row(labels.unlabelled() ? labels.label_of_none() : out.added_label());
  });
}

Layout ArrayPair::inspect(const std::vector<Head>& files) {
  const Head& head = files[0];
  if (files.size() == 1 && options_.label != no_label)
    refuse_file(head.path, fmt::format("has no labels: write the pair as images,labels for the {} format", name_));
  rows_ = parse_(head.bytes, head.path);
  check_size(head, rows_.end());
  Layout layout{.storage = rows_.element == Element::u8 ? Storage::dense_u8 : Storage::dense_f32,
                .features = rows_.width};
  if (files.size() == 2) {
    labels_ = parse_(files[1].bytes, files[1].path);
    if (labels_.width != 1)
      refuse_file(files[1].path,
                  fmt::format("holds rows of {} numbers where one label a record is expected", labels_.width));
    if (labels_.rows != rows_.rows)
      refuse_file(files[1].path, fmt::format("holds {} labels for the {} records of {}", show_field(labels_.rows),
                                             show_field(rows_.rows), head.path));
    check_size(files[1], labels_.end());
    layout.sections.push_back(labels_.section(1, true));
  }
  layout.sections.push_back(rows_.section(0, false));
  return layout;
}

}  // namespace dpmpi
