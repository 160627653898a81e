#include "data/load/file_layout.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/trim.hpp"
#include "data/formats/file.hpp"
#include "data/records/text_lines.hpp"

namespace dpmpi {
namespace {

bool is_binary(std::string_view head) {
  return head.starts_with("DPMPIREC") || head.starts_with("\x93NUMPY") ||
         (head.size() > 3 && head[0] == 0 && head[1] == 0);
}

/// Whole lines of `bytes` that look like records or a header.
std::size_t record_lines(std::string_view bytes, const DataOptions& options) {
  std::size_t count = 0;
  for (std::size_t at = 0, stop; (stop = bytes.find('\n', at)) != std::string_view::npos; at = stop + 1) {
    const std::string_view line = trim(bytes.substr(at, stop - at));
    count += !line.empty() && line[0] != '#' && (options.comment.empty() || line[0] != options.comment[0]);
  }
  return count;
}

/// A text of which the first bytes hold no record is one without: read_head looks for the first lines that are one.
bool holds_record(std::string_view bytes, char comment) {
  for (std::size_t at = 0, stop; at < bytes.size(); at = stop + 1) {
    stop = std::min(bytes.find('\n', at), bytes.size());
    if (is_record(bytes.substr(at, stop - at), comment)) return true;
  }
  return false;
}

void set_text(FileLayout& layout, const Head& head, const DataOptions& options) {
  if (layout.format == Format::libsvm) {
    if (options.features == 0)
      throw ConfigError(
          fmt::format("{} is LIBSVM text: set data.features to the public number of features (the largest "
                      "index in the file would be a statistic of private data)",
                      head.path));
    layout.features = static_cast<std::uint64_t>(options.features);
    layout.storage = options.densify ? Storage::dense_f32 : Storage::sparse_f32;
    layout.comment = '#';
    if (head.bytes.starts_with("\xef\xbb\xbf")) layout.begin = 3;
    if (!holds_record(std::string_view(head.bytes).substr(layout.begin), layout.comment))
      refuse_file(head.path, "holds no records");
    return;
  }
  layout.table = table_layout(head.bytes, options, layout.format == Format::csv ? ',' : '\t', head.path);
  layout.features = layout.table.schema.features;
  layout.begin = layout.table.begin;
  layout.line = layout.table.line;
  layout.comment = layout.table.schema.comment;
}

void check_size(const Head& head, std::uint64_t expected) {
  if (head.gzip || head.size == expected) return;
  refuse_file(head.path, fmt::format("has {} bytes where its header announces {}: {}", show_field(head.size),
                                     show_field(expected), head.size < expected ? "truncated" : "trailing bytes"));
}

void set_native(FileLayout& layout, const Head& head, const DataOptions& options) {
  if (head.gzip)
    refuse_file(head.path, "the native format is read by byte ranges and cannot be gzipped: decompress it");
  layout.native = parse_native_header(head.bytes, head.path);
  check_size(head, layout.native.end());
  layout.storage = layout.native.storage;
  layout.features = layout.native.features;
  layout.labels = layout.native.label_array();
  layout.rows = layout.native.row_array();
  if (layout.storage == Storage::sparse_f32 && options.densify)
    throw ConfigError("data.densify is for LIBSVM text: convert the file again with it");
}

void set_pair(FileLayout& layout, const Head& head, const std::optional<Head>& labels, const DataOptions& options) {
  const auto parse = layout.format == Format::idx ? parse_idx_header : parse_npy_header;
  if (!labels && options.label != no_label)
    refuse_file(head.path, fmt::format("has no labels: write the pair as images,labels for the {} format",
                                       format_name(layout.format)));
  layout.rows = parse(head.bytes, head.path);
  check_size(head, layout.rows.end());
  layout.features = layout.rows.width;
  layout.storage = layout.rows.element == Element::u8 ? Storage::dense_u8 : Storage::dense_f32;
  if (!labels) return;
  layout.labels = parse(labels->bytes, labels->path);
  if (layout.labels.width != 1)
    refuse_file(labels->path,
                fmt::format("holds rows of {} numbers where one label a record is expected", layout.labels.width));
  if (layout.labels.rows != layout.rows.rows)
    refuse_file(labels->path, fmt::format("holds {} labels for the {} records of {}",
                                          show_field(layout.labels.rows), show_field(layout.rows.rows), head.path));
  check_size(*labels, layout.labels.end());
}

void archive_column(Archive& archive, TableColumn& column) {
  archive.field("use", column.use);
  archive.field("name", column.name);
  archive.field("feature", column.feature);
  std::uint64_t words = column.words.size();
  archive.field("words", words);
  column.words.resize(words);
  for (std::string& word : column.words) archive.field("word", word);
}

void archive_schema(Archive& archive, TableSchema& schema) {
  archive.field("delimiter", schema.delimiter);
  archive.field("comment", schema.comment);
  archive.field("features", schema.features);
  archive.field("zero_if_unknown", schema.zero_if_unknown);
  archive.field("fill_missing", schema.fill_missing);
  archive.field("missing", schema.missing);
  std::uint64_t columns = schema.columns.size();
  archive.field("columns", columns);
  schema.columns.resize(columns);
  for (TableColumn& column : schema.columns) archive_column(archive, column);
}

void archive_row(Archive& archive, ArrayHeader& array) {
  archive.field("element", array.element);
  archive.field("big_endian", array.big_endian);
  archive.field("width", array.width);
}

}  // namespace

Head read_head(InputFile& file, const DataOptions& options) {
  constexpr std::size_t longest = std::size_t{64} << 20;
  Head head{file.path(), file.read(0, std::size_t{1} << 16), file.size(), file.gzip()};
  if (is_binary(head.bytes)) return head;
  const auto wanted = static_cast<std::size_t>(options.skip_lines) + 2;
  bool ended = head.bytes.size() < (std::size_t{1} << 16);
  while (!ended && record_lines(head.bytes, options) < wanted) {
    const std::size_t have = head.bytes.size();
    if (have > longest) refuse_file(head.path, "no two lines in its first 64 MiB; is this text?");
    head.bytes += file.read(have, have);
    ended = head.bytes.size() < 2 * have;
  }
  if (!ended) head.bytes.resize(head.bytes.rfind('\n') + 1);
  return head;
}

Format detect_format(const std::string& setting, const std::string& file, std::string_view head) {
  for (const Format format : {Format::libsvm, Format::csv, Format::tsv, Format::idx, Format::npy, Format::native})
    if (setting == format_name(format)) return format;
  if (head.starts_with("DPMPIREC")) return Format::native;
  if (head.starts_with("\x93NUMPY")) return Format::npy;
  if (is_binary(head)) return Format::idx;
  std::string_view stem = file;
  if (stem.ends_with(".gz")) stem.remove_suffix(3);
  if (stem.ends_with(".csv")) return Format::csv;
  if (stem.ends_with(".tsv")) return Format::tsv;
  if (stem.ends_with(".libsvm") || stem.ends_with(".svm")) return Format::libsvm;
  const std::string_view first = head.substr(0, head.find('\n'));
  if (first.find(',') != first.npos) return Format::csv;
  if (head.substr(0, 1 << 16).find(':') != head.npos) return Format::libsvm;
  if (first.find('\t') != first.npos) return Format::tsv;
  if (head.find(',') != head.npos) return Format::csv;
  if (head.find('\t') != head.npos) return Format::tsv;
  refuse_file(file, fmt::format("its format is not recognised (it starts with {}): set data.format",
                                show_field(head.substr(0, 40))));
}

std::string_view format_name(Format format) {
  constexpr std::string_view names[] = {"libsvm", "csv", "tsv", "idx", "npy", "native"};
  return names[static_cast<std::size_t>(format)];
}

FileLayout file_layout(const Head& head, const std::optional<Head>& labels, const DataOptions& options) {
  FileLayout layout;
  layout.format = detect_format(options.format, head.path, head.bytes);
  if (layout.is_text())
    set_text(layout, head, options);
  else if (layout.format == Format::native)
    set_native(layout, head, options);
  else
    set_pair(layout, head, labels, options);
  if (labels && layout.format != Format::idx && layout.format != Format::npy)
    refuse_file(head.path, fmt::format("the {} format holds its labels itself; a second file {} is not used",
                                       format_name(layout.format), labels->path));
  if (options.features > 0 && layout.features != static_cast<std::uint64_t>(options.features))
    refuse_file(head.path,
                fmt::format("has {} features where data.features = {}", layout.features, options.features));
  const FeatureMap map = layout.feature_map(options);
  if (layout.storage == Storage::dense_u8 && map.affine()) layout.storage = Storage::dense_f32;
  return layout;
}

void FileLayout::archive(Archive& archive) {
  archive.field("format", format);
  archive.field("storage", storage);
  archive.field("features", features);
  archive_schema(archive, table.schema);
  archive.field("begin", begin);
  archive.field("line", line);
  archive.field("comment", comment);
  archive_row(archive, rows);
  archive_row(archive, labels);
}

FeatureMap FileLayout::feature_map(const DataOptions& options) const {
  FeatureMap map(options, features, [&](const std::string& name) {
    const bool columns = format == Format::csv || format == Format::tsv;
    return columns ? table.schema.feature_of(name) : feature_number(name, features);
  });
  if (storage == Storage::sparse_f32 && map.moves_zero())
    throw ConfigError(
        "data.mean would fill the zeros of sparse rows: set data.densify = true, or leave data.mean out");
  return map;
}

}  // namespace dpmpi
