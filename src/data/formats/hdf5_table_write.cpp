#include "data/formats/hdf5_table_write.hpp"

#include <algorithm>
#include <cstring>

#include "core/errors.hpp"
#include "data/formats/hdf5_written.hpp"

namespace dpmpi {
namespace {

constexpr std::size_t longest_fixed = 64;
/// Rows that are kept until they are written, and the rows of a chunk: fewer where a row has many columns.
hsize_t rows_at_once(std::size_t columns, hsize_t records) {
  constexpr hsize_t fields = 1 << 21;
  return std::min<hsize_t>(records, std::clamp<hsize_t>(fields / columns, 64, 16384));
}

Hdf5Handle type_of(const NewHdf5Column& column, const std::string& path) {
  Hdf5Handle type(H5Tcopy(column.is_text ? H5T_C_S1 : H5T_IEEE_F64LE), H5Tclose, path);
  if (!column.is_text) return type;
  H5Tset_size(type.id(), column.longest > longest_fixed ? H5T_VARIABLE : std::max<std::size_t>(1, column.longest));
  H5Tset_strpad(type.id(), column.longest > longest_fixed ? H5T_STR_NULLTERM : H5T_STR_NULLPAD);
  H5Tset_cset(type.id(), H5T_CSET_UTF8);
  return type;
}

/// A column's dataset, and its values in the rows that are not written yet.
class WrittenColumn {
 public:
  WrittenColumn(const WrittenHdf5& file, const NewHdf5Column& column, hsize_t records, hsize_t chunk)
      : is_text_(column.is_text),
        bytes_(std::max<std::size_t>(1, column.longest)),
        records_(records),
        type_(type_of(column, file.path())),
        dataset_(file.create(column.name, type_.id(), {records}, chunk)) {
    if (is_text_)
      texts_.resize(chunk);
    else
      numbers_.resize(chunk);
  }

  void put(hsize_t row, std::string_view text) { texts_[row].assign(text); }
  void put(hsize_t row, double number) { numbers_[row] = number; }

  void write(const WrittenHdf5& file, hsize_t first, hsize_t rows) {
    file.write(dataset_, type_.id(), {records_}, first, rows, is_text_ ? texts(rows) : numbers_.data());
  }

 private:
  /// As the library takes them: pointers, or texts of one length behind one another.
  const void* texts(hsize_t rows) {
    if (bytes_ > longest_fixed) {
      pointers_.clear();
      for (hsize_t r = 0; r < rows; ++r) pointers_.push_back(texts_[r].c_str());
      return pointers_.data();
    }
    fixed_.assign(rows * bytes_, '\0');
    for (hsize_t r = 0; r < rows; ++r) texts_[r].copy(fixed_.data() + r * bytes_, bytes_);
    return fixed_.data();
  }

  bool is_text_;
  std::size_t bytes_;
  hsize_t records_;
  Hdf5Handle type_, dataset_;
  std::vector<double> numbers_;
  std::vector<std::string> texts_;
  std::vector<const char*> pointers_;
  std::vector<char> fixed_;
};

}  // namespace

class NewHdf5Table::File {
 public:
  File(const std::string& path, const std::vector<NewHdf5Column>& columns, hsize_t records)
      : path_(path), file_(path_), records_(records), chunk_(rows_at_once(columns.size(), records)) {
    for (const NewHdf5Column& column : columns) columns_.emplace_back(file_, column, records, chunk_);
  }

  template <class Value>
  void put(std::size_t column, const Value& value) {
    columns_.at(column).put(rows_, value);
  }

  void end_record() {
    if (++rows_ == chunk_) write();
  }

  void finish() {
    if (rows_ > 0) write();
    verify(first_ == records_, "as many records as were announced");
    file_.finish();
  }

 private:
  void write() {
    for (WrittenColumn& column : columns_) column.write(file_, first_, rows_);
    first_ += rows_;
    rows_ = 0;
  }

  std::string path_;
  WrittenHdf5 file_;
  hsize_t records_, chunk_, first_ = 0, rows_ = 0;  // rows that are not written yet stand from first_ on
  std::vector<WrittenColumn> columns_;
};

NewHdf5Table::NewHdf5Table(const std::string& path, const std::vector<NewHdf5Column>& columns,
                           std::uint64_t records)
    : file_(std::make_unique<File>(path, columns, records)) {}
NewHdf5Table::~NewHdf5Table() = default;
void NewHdf5Table::put(std::size_t column, std::string_view text) { file_->put(column, text); }
void NewHdf5Table::put(std::size_t column, double number) { file_->put(column, number); }
void NewHdf5Table::end_record() { file_->end_record(); }
void NewHdf5Table::finish() { file_->finish(); }

}  // namespace dpmpi
