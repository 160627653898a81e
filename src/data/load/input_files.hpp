#pragma once
// A dataset's file, or its pair images,labels, opened by the ranks of a communicator.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "data/formats/format.hpp"
#include "data/load/data_files.hpp"
#include "data/load/transformed.hpp"

namespace dpmpi {

/// A file as a rank sees it: open if this rank reads it (all ranks a plain file, only the root a gzipped one).
struct SourceFile {
  std::unique_ptr<InputFile> file;
  std::string path;   ///< the root's, for messages
  bool gzip = false;  ///< or one of several: the root alone opens them
  /// Of several that are read as one: the root's paths, and where what is read of them begins.
  struct Part {
    std::string path;
    std::uint64_t begin = 0, line = 1;
  };
  std::vector<Part> parts = {};
};

struct Source {
  std::vector<SourceFile> files;
  std::string format_name;
  std::unique_ptr<Format> format;
  Layout layout;
  std::optional<ImageTransform> transform;  ///< what becomes of records as they are read

  /// Of records in memory.
  std::uint64_t features() const { return transform ? transform->out.size() : layout.features; }
  Storage storage() const { return transform ? Storage::dense_f32 : layout.storage; }
  std::string feature_names() const { return transform ? std::string() : layout.feature_names; }

  const SourceFile& file_of(const Section& section) const { return files[section.file]; }
  const std::string& path() const { return files.front().path; }
  /// The public feature map. ConfigError if a mean would fill sparse rows.
  FeatureMap feature_map(const ReadingRules& rules) const;
};

/// Opens one part of a dataset. The root looks at the first bytes and tells the others their layout. Collective;
/// errors are thrown on all ranks.
Source open_source(const Communicator& comm, const Dataset& dataset, const NamedFiles& part);

}  // namespace dpmpi
