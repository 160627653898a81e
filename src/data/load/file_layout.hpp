#pragma once
// What the first bytes of a file tell about it. They hold records, so the root reads them alone, and the others get
// the conclusion.

#include <cstdint>
#include <optional>
#include <string>

#include "core/files/archive.hpp"
#include "data/formats/arrays.hpp"
#include "data/formats/file.hpp"
#include "data/formats/table.hpp"
#include "data/records/builder.hpp"
#include "data/records/options.hpp"

namespace dpmpi {

/// First bytes of a file: the whole file, or enough lines of a text.
struct Head {
  std::string path, bytes;
  std::uint64_t size = 0;  ///< bytes of the file; 0: unknown (gzip)
  bool gzip = false;
};
Head read_head(InputFile& file, const DataOptions& options);

/// Everything needed to read a file's records.
struct FileLayout {
  Format format = Format::csv;
  Storage storage = Storage::dense_f32;
  std::uint64_t features = 0;

  bool is_text() const { return format <= Format::tsv; }
  // Text.
  TableLayout table;        // csv, tsv
  std::uint64_t begin = 0;  // byte of the first line that may be a record
  std::uint64_t line = 1;   // its number
  char comment = '\0';
  // Binary.
  ArrayHeader rows, labels;
  NativeHeader native;
  std::uint64_t records() const { return rows.rows; }  // binary only; on the root

  /// The public feature map. ConfigError if a mean would fill sparse rows.
  FeatureMap feature_map(const DataOptions& options) const;

  /// What every rank may know: how rows are read. How many there are, and so where they lie, may be secret
  /// (data.records) and stays where it was.
  void archive(Archive& archive);
};

/// `labels` is the second file of an IDX or NumPy pair.
FileLayout file_layout(const Head& head, const std::optional<Head>& labels, const DataOptions& options);

}  // namespace dpmpi
