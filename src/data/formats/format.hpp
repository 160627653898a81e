#pragma once
// A format of files: what the first bytes of one tell, and how its records are read. The table of all formats is in
// format.cpp.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/files/archive.hpp"
#include "data/formats/faults.hpp"
#include "data/formats/file.hpp"
#include "data/records/builder.hpp"
#include "data/records/labels.hpp"
#include "data/records/options.hpp"

namespace dpmpi {

struct TableSchema;

/// First bytes of a file: the whole file, or enough lines of a text.
struct Head {
  std::string path, bytes;
  std::uint64_t size = 0;  ///< bytes of the file; 0: unknown (gzip)
  bool gzip = false;
};
Head read_head(InputFile& file, const ReadingRules& options);
/// The format whose files begin with these bytes; empty: they may be those of a text.
std::string_view format_by_magic(std::string_view head);

/// What lies in a file for every record: a line of text, or a row of as many bytes as any other.
struct Section {
  std::size_t file = 0;         ///< of a pair images,labels: 0 or 1
  bool labels = false;          ///< labels alone; not read where records have none
  std::uint64_t row_bytes = 0;  ///< 0: lines of text
  std::uint64_t begin = 0;      ///< byte of the first line that may be a record, or of the first row
  std::uint64_t line = 1;       ///< text: number of the first line
  char comment = '\0';          ///< text: what begins a line that is no record
  char delimiter = '\0';        ///< table: what separates fields, of which quoted ones may hold line ends
  std::uint64_t rows = 0;       ///< how many; of a text nobody knows yet

  bool is_text() const { return row_bytes == 0; }
  /// What every rank may know. How many rows there are, and so where they lie, may be secret (data.records).
  void archive(Archive& archive);
};

/// How the records of a file lie in it, and in memory.
struct Layout {
  Storage storage = Storage::dense_f32;
  std::uint64_t features = 0;
  std::uint64_t row_entries = 0;  ///< as DatasetFacts says
  std::vector<Section> sections =
      {};                    ///< read one after the other: labels first, if they are apart, then the records
  std::string columns = {};  ///< names and uses of columns, equal for files whose rows mean the same; not archived
  std::string feature_names = {};  ///< a line for each; empty if the file has none; not archived

  const Section& records() const { return sections.back(); }
  void archive(Archive& archive);
};

/// Where a piece of a file stands, for messages and for rules that depend on a record's global index.
struct Position {
  std::string file;
  std::uint64_t line = 1;          ///< text: of the first line of the piece
  std::uint64_t global_index = 0;  ///< of its first record
  std::uint64_t first_index = 0;   ///< global index of the file's first record
  std::uint64_t byte = 0;          ///< rows: where the first one begins
  bool shows_byte = false;         ///< which would tell how many records there are
  std::uint64_t lines_before = 0;  ///< text: of other files that are read as one with this one

  bool more = false;       ///< text: the file goes on behind the piece
  std::uint64_t left = 0;  ///< text: bytes at the end of the piece that begin a record which goes on behind it

  std::uint64_t line_in_file() const { return line - lines_before; }
  /// Goes on in `another` of the files that are read as one, at its line of this number.
  void enter(const std::string& another, std::uint64_t its_line);
};

/// Consecutive whole lines or rows of one block.
struct Piece {
  const Section& section;
  std::string_view bytes;
  Position& position;         ///< read() moves it behind the piece
  Faults& faults;             ///< read() adds to them
  InputFile* file = nullptr;  ///< what they were read from; a gzipped file is not here
};

/// One file, or pair of files, of a format, as `options` say. inspect() runs where the file is seen first; the
/// other ranks get what it found by archive(), and then every rank reads the pieces of its own blocks from
/// content(). All local.
class Format {
 public:
  explicit Format(const ReadingRules& options) : options_(options) {}
  virtual ~Format() = default;
  /// What the first bytes of a file, or of a pair, tell. Throws DataError for files that are malformed, ConfigError
  /// for settings that do not fit.
  virtual Layout inspect(const std::vector<Head>& files) = 0;
  /// What a file's sections count bytes of, on every rank that reads it: mostly the file itself.
  virtual std::unique_ptr<InputFile> content(std::unique_ptr<InputFile> file) const { return file; }
  /// Appends all records of a piece to `out` (or, of labels that lie apart, the labels) and moves its position.
  /// Faults have file, line or record, column, value (show_field) and what is allowed; with one, what is in `out`
  /// means nothing. Throws DataError if the piece is not made of rows at all.
  virtual void read(const Piece& piece, const FeatureMap& map, const LabelRule& labels,
                    RecordsBuilder& out) const = 0;
  /// What inspect() found and read() needs; nothing that may be secret.
  virtual void archive(Archive&) {}
  /// The feature (of `features`) that data.mean or data.std mean by a name. Throws ConfigError.
  virtual std::size_t feature_of(const std::string& name, std::size_t features) const {
    return feature_number(name, features);
  }
  /// What the first line has in the place of column names, if data.header = auto takes it for them.
  virtual std::vector<std::string> supposed_names(const Head&) const { return {}; }
  /// Whether rows stand in the file as in Records, so that they can stay there. After inspect() or archive().
  virtual bool rows_can_stay() const { return false; }
  /// What the columns of a table are, after inspect() or archive(); null: the format has none.
  virtual const TableSchema* schema() const { return nullptr; }

 protected:
  const ReadingRules options_;
};

/// The name of a file's format: data.format, or for `auto` by its first bytes, its name's ending, its first lines.
/// Throws DataError if nothing fits.
std::string_view detect_format(const ReadingRules& options, const Head& head);
std::unique_ptr<Format> make_format(std::string_view name, const ReadingRules& options);

}  // namespace dpmpi
