#pragma once
// What the first bytes of a file tell about it. A pure function of those bytes and the config, so that the root can
// read them and every rank comes to the same conclusion (or error).

#include <cstdint>
#include <optional>
#include <string>

#include "dpmpi/data/arrays.hpp"
#include "dpmpi/data/builder.hpp"
#include "dpmpi/data/file.hpp"
#include "dpmpi/data/options.hpp"
#include "dpmpi/data/table.hpp"

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
  std::uint64_t records() const { return rows.rows; }  // binary only

  /// The public feature map. ConfigError if a mean would fill sparse rows.
  FeatureMap feature_map(const DataOptions& options) const;
};

/// `labels` is the second file of an IDX or NumPy pair.
FileLayout file_layout(const Head& head, const std::optional<Head>& labels, const DataOptions& options);

}  // namespace dpmpi
