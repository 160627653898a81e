#include "data/formats/hdf5_table.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/errors.hpp"
#include "data/formats/hdf5_columns.hpp"
#include "data/formats/hdf5_rows.hpp"
#include "data/formats/table_row.hpp"

namespace dpmpi {
namespace {

using Use = TableColumn::Use;

/// Throws DataError for a column that cannot be what the columns file says, naming its line.
void check_usable(const Hdf5Field& field, const TableColumn& column, const ColumnsFile& file,
                  const std::string& path) {
  const bool names_somebody = column.use == Use::person;
  const std::string trouble = names_somebody && field.packed() ? "packed numbers" : field.trouble_of_column();
  if (trouble.empty()) return;
  const ColumnRule* const rule = file.find(column.name);
  refuse_file(path, fmt::format("dataset {} holds {}, where a column has one number or word a record ({} says {})",
                                field.name, trouble, rule ? file.place(*rule) : file.path,
                                rule ? column_kind_name(rule->kind) : "a column"));
}

/// Whether a column takes a number as it is, without its digits.
bool takes_number(const TableColumn& column, double x) {
  return column.code && column.code->takes_numbers() && std::isfinite(x);
}

}  // namespace

Layout Hdf5Table::inspect(const std::vector<Head>& files) {
  const Head& head = files[0];
  if (head.gzip) refuse_file(head.path, "is gzipped, and HDF5 is read by byte ranges: decompress it");
  if (!options_.datasets.empty())
    throw ConfigError(fmt::format("data.datasets = {}: data.columns names the datasets: leave out data.datasets",
                                  fmt::join(options_.datasets, ",")));
  const ColumnsFile& file = *options_.columns_file;
  const Hdf5Columns columns = hdf5_columns(hdf5_fields(head.path), &file);
  try {
    schema_ = TableSchema(columns.names, options_);
  } catch (const ConfigError& problem) {
    throw ConfigError(fmt::format("{}: {}", head.path, problem.what()));
  }
  const Hdf5Field* first = nullptr;
  for (std::size_t c = 0; c < columns.fields.size(); ++c) {
    const Hdf5Field& field = columns.fields[c];
    if (schema_.columns[c].use == Use::drop) continue;
    check_usable(field, schema_.columns[c], file, head.path);
    if (first == nullptr) first = &field;
    if (field.shape[0] != first->shape[0])
      refuse_file(head.path, fmt::format("dataset {} holds {} records where {} holds {}", field.name,
                                         show_field(field.shape[0]), first->name, show_field(first->shape[0])));
    reads_.push_back({c, field.name, field.column_cell()});
  }
  if (first == nullptr || first->shape[0] == 0) refuse_file(head.path, "holds no records");
  const Storage storage = schema_.storage(options_);
  return {.storage = storage,
          .features = schema_.features,
          .row_entries = storage == Storage::sparse_f32 ? schema_.row_entries : 0,
          .sections = {{.row_bytes = row_bytes(), .rows = first->shape[0]}},
          .columns = schema_.signature(),
          .feature_names = schema_.feature_names()};
}

std::uint64_t Hdf5Table::row_bytes() const {
  std::uint64_t bytes = 0;
  for (const Read& read : reads_) bytes += read.cell.bytes();
  return bytes;
}

std::unique_ptr<InputFile> Hdf5Table::content(std::unique_ptr<InputFile> file) const {
  const std::string& path = file->path();
  std::map<std::string, Hdf5Field> all;
  for (Hdf5Field& field : hdf5_fields(path)) all.emplace(field.name, std::move(field));
  std::vector<Hdf5Field> fields;
  for (const Read& read : reads_) {
    const auto found = all.find(read.field);
    if (found == all.end() || !found->second.trouble_of_column().empty() ||
        found->second.column_cell() != read.cell)
      throw DataError(fmt::format("{} is not the same file on all ranks: its datasets differ", path));
    fields.push_back(found->second.as_column());
  }
  return std::make_unique<InputFile>(path, hdf5_rows(path, {fields}));
}

void Hdf5Table::read(const Piece& piece, const FeatureMap& map, const LabelRule& labels,
                     RecordsBuilder& out) const {
  piece.position.shows_byte = false;  // bytes of what the library gives are nowhere in the file
  TableRow record(piece, schema_, false, map, labels, out);
  std::string scratch;
  for_each_row(piece, [&](const char* at) {
    record.begin();
    for (const Read& read : reads_) {
      const TableColumn& column = schema_.columns[read.column];
      const double x = read.cell.is_text ? std::nan("") : read.cell.number(at);
      if (takes_number(column, x))
        record.take_number(read.column, x);
      else
        record.take(read.column, read.cell.text(at, scratch));
      at += read.cell.bytes();
    }
    record.finish(piece.position.global_index,
                  [&](std::uint64_t kind, const std::string& what) { add_row_fault(piece, kind, what); });
  });
}

void Hdf5Table::archive(Archive& archive) {
  archive_columns_file(archive, options_);
  std::vector<std::string> names;
  for (const TableColumn& column : schema_.columns) names.push_back(column.name);
  std::uint64_t columns = names.size(), reads = reads_.size();
  archive.field("columns", columns);
  names.resize(columns);
  for (std::string& name : names) archive.field("column", name);
  archive.field("reads", reads);
  reads_.resize(reads);
  for (Read& read : reads_) {
    archive.field("column", read.column);
    archive.field("field", read.field);
    read.cell.archive(archive);
  }
  if (archive.reading()) schema_ = TableSchema(names, options_);
}

}  // namespace dpmpi
