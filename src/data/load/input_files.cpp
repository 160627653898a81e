#include "data/load/input_files.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/files/archive.hpp"
#include "data/formats/joined_tables.hpp"
#include "data/load/column_names.hpp"
#include "data/load/throw_on_all_ranks.hpp"
#include "data/memory.hpp"
#include "data/records/packed.hpp"

namespace dpmpi {
namespace {

/// data.features comes from the config alone: whatever the file holds, the parameters, a gradient, a sum and the
/// noise, of doubles, must fit before anything of that length is allocated.
void check_dimension(const ReadingRules& rules, const std::string& names) {
  const auto features = static_cast<std::uint64_t>(std::max<std::int64_t>(rules.features, 0));
  check_memory(4 * sizeof(double) * features, available_memory(),
               fmt::format("{}: data.features = {}: a model of that many parameters", names, features));
}

std::string file_name(const std::string& path) { return std::filesystem::path(path).filename().string(); }

/// Opens the files and looks at their first bytes, which hold records.
std::vector<Head> look_at(const ReadingRules& rules, const NamedFiles& part, Source& source) {
  std::vector<Head> heads;
  if (part.joined) {
    std::vector<std::string> paths;
    for (const FoundFile& found : part.files) paths.push_back(found.path());
    OpenedFile opened = open_joined(part.names, paths, rules);
    std::vector<SourceFile::Part> parts;
    bool gzip = opened.head.gzip;
    for (const FilePart& one : opened.file->pieces()) {
      parts.push_back({one.file->path(), one.begin, one.line});
      gzip |= one.file->gzip();
    }
    source.files.push_back({std::move(opened.file), part.names, gzip, std::move(parts)});
    heads.push_back(std::move(opened.head));
    return heads;
  }
  for (const FoundFile& found : part.files) {
    auto file = std::make_unique<InputFile>(found.path());
    const Head& head = heads.emplace_back(read_head(*file, rules));
    source.files.push_back({std::move(file), head.path, head.gzip});
  }
  return heads;
}

/// What the format finds in the first bytes, if the config agrees with it.
void inspect_heads(const std::vector<Head>& heads, const ReadingRules& rules, Source& source) {
  source.format_name = detect_format(rules, heads[0]);
  const bool is_text_table = source.format_name == "csv" || source.format_name == "tsv",
             has_columns = is_text_table || source.format_name == "hdf5";
  if (rules.columns_file && !has_columns)
    throw ConfigError(
        fmt::format("{}: data.columns is for tables (csv, tsv, hdf5); this file is read as {} (data.format)",
                    source.path(), source.format_name));
  if (!rules.person.empty() && !has_columns)
    throw ConfigError(fmt::format(
        "{}: data.person names a column of a table (csv, tsv, hdf5); this file is read as {} (data.format)",
        source.path(), source.format_name));
  const bool takes_storage = is_text_table || source.format_name == "libsvm" || (has_columns && rules.columns_file);
  if (rules.storage != "auto" && !takes_storage)
    throw ConfigError(fmt::format(
        "{}: data.storage = {} is for texts (csv, tsv, libsvm); this file is read as {}, which is stored as it is",
        source.path(), rules.storage, source.format_name));
  source.format = make_format(source.format_name, rules);
  Layout& layout = source.layout = source.format->inspect(heads);
  const auto in_second = [](const Section& section) { return section.file == 1; };
  if (heads.size() > 1 && std::ranges::none_of(layout.sections, in_second))
    refuse_file(
        source.path(),
        fmt::format(
            "the {} format holds its labels itself; a second file {} is not used (files that hold a part of the records each: a pattern such as visits-*.csv, or data.shards for several sites)",
            source.format_name, heads[1].path));
  if (rules.features > 0 && layout.features != static_cast<std::uint64_t>(rules.features))
    refuse_file(source.path(),
                fmt::format("has {} features where data.features = {}", layout.features, rules.features));
  const FeatureMap map = source.feature_map(rules);
  if (layout.storage == Storage::dense_u8 && map.affine()) layout.storage = Storage::dense_f32;
  if (source.transform) check_images(*source.transform, layout, source.path());
}

/// What the root read off the first bytes, on all ranks; how many records there are stays with the root, and so do
/// the bytes.
void share(const Communicator& comm, const ReadingRules& rules, Source& source) {
  const auto archive_fields = [&](Archive& archive) {
    for (SourceFile& file : source.files) {
      archive.field("path", file.path);
      archive.field("gzip", file.gzip);
      std::uint64_t count = file.parts.size();
      archive.field("parts", count);
      file.parts.resize(count);
      for (SourceFile::Part& part : file.parts) {
        archive.field("path", part.path);
        archive.field("begin", part.begin);
        archive.field("line", part.line);
      }
    }
    archive.field("format", source.format_name);
    if (archive.reading()) source.format = make_format(source.format_name, rules);
    source.layout.archive(archive);
    source.format->archive(archive);
  };
  Archive written;
  if (comm.is_root()) archive_fields(written);
  std::string bytes = written.bytes();
  comm.broadcast(bytes);
  if (comm.is_root()) return;
  Archive archive(bytes);
  archive_fields(archive);
  archive.finish();
}

/// What the root has opened, as this rank sees it.
std::unique_ptr<InputFile> open_here(const std::vector<FoundFile>& here, const SourceFile& source) {
  if (source.parts.empty()) return std::make_unique<InputFile>(here.at(0).path());
  const auto same = [](const FoundFile& file, const SourceFile::Part& part) {
    return file.found() && file_name(file.path()) == file_name(part.path);
  };
  if (!std::ranges::equal(here, source.parts, same))
    throw DataError(fmt::format(
        "{}: other files match on some rank than on the root: put them where all ranks see them", source.path));
  std::vector<FilePart> parts;
  for (std::size_t p = 0; p < here.size(); ++p) {
    auto file = std::make_unique<InputFile>(here[p].path());
    if (source.parts[p].begin >= file->size())
      throw DataError(
          fmt::format("{} is not the same file on all ranks: it is shorter than on the root", file->path()));
    parts.push_back({std::move(file), source.parts[p].begin, source.parts[p].line});
  }
  return std::make_unique<InputFile>(source.path, std::move(parts));
}

/// A plain file is opened by all ranks. Its size may follow private values: only the root compares.
void open_everywhere(const Communicator& comm, const std::vector<FoundFile>& here, SourceFile& source) {
  if (source.gzip) return;
  throw_on_all_ranks(comm, [&] {
    if (!source.file) source.file = open_here(here, source);
  });
  const auto sizes = gather_lists<std::uint64_t>(comm, {source.file->size()});
  throw_on_all_ranks(comm, [&] {
    for (std::size_t r = 0; r < sizes.size(); ++r)
      if (sizes[r] != sizes[0])
        throw DataError(
            fmt::format("{} is not the same file on all ranks: it has another size on rank {} than on the root",
                        source.path, r));
  });
}

}  // namespace

Source open_source(const Communicator& comm, const Dataset& dataset, const NamedFiles& part) {
  const ReadingRules& rules = dataset.rules;
  Source source;
  source.transform = transform_of(rules);
  throw_on_all_ranks(comm, [&] {
    check_dimension(rules, part.names);
    if (!comm.is_root()) return source.files.resize(part.joined ? 1 : part.files.size());
    const std::vector<Head> heads = look_at(rules, part, source);
    if (dataset.role != DataRole::evaluation) check_public_names(heads[0], dataset);
    inspect_heads(heads, rules, source);
  });
  share(comm, rules, source);
  for (std::size_t i = 0; i < source.files.size(); ++i)
    open_everywhere(comm, part.joined ? part.files : std::vector{part.files[i]}, source.files[i]);
  throw_on_all_ranks(comm, [&] {
    for (SourceFile& file : source.files)
      if (file.file) file.file = source.format->content(std::move(file.file));
  });
  return source;
}

FeatureMap Source::feature_map(const ReadingRules& rules) const {
  FeatureMap map(rules, layout.features,
                 [&](const std::string& name) { return format->feature_of(name, layout.features); });
  if (layout.storage == Storage::sparse_f32 && map.moves_zero())
    throw ConfigError(
        "data.mean would fill the zeros of sparse rows: set data.storage = dense, or leave data.mean out");
  return map;
}

}  // namespace dpmpi
