#include "data/load/input_files.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/files/archive.hpp"
#include "core/trim.hpp"
#include "data/load/column_names.hpp"
#include "data/load/throw_on_all_ranks.hpp"
#include "data/records/packed.hpp"
#include "data/records/text.hpp"

namespace dpmpi {
namespace {

/// Opens a file on the root, which looks at its first bytes and keeps them to itself: they hold records.
Head look_at(const Communicator& comm, const DataOptions& options, const std::string& name, SourceFile& source) {
  Head head;
  throw_on_all_ranks(comm, [&] {
    if (!comm.is_root()) return;
    source.file = std::make_unique<InputFile>(find_file(options, name));
    head = read_head(*source.file, options);
    source.path = head.path;
    source.gzip = head.gzip;
  });
  comm.broadcast(source.path);
  comm.broadcast(source.gzip);
  return head;
}

/// data.features comes from the config alone: whatever the file holds, the parameters, a gradient, a sum and the
/// noise, of doubles, must fit before anything of that length is allocated.
void check_dimension(const Communicator& comm, const DataOptions& options, const std::string& path) {
  throw_on_all_ranks(comm, [&] {
    const auto features = static_cast<std::uint64_t>(std::max<std::int64_t>(options.features, 0));
    check_memory(4 * sizeof(double) * features, available_memory(),
                 fmt::format("{}: data.features = {}: a model of that many parameters", path, features));
  });
}

/// What the root read off the first bytes, on all ranks; how many records there are stays with the root.
void share(const Communicator& comm, FileLayout& layout) {
  Archive written;
  if (comm.is_root()) layout.archive(written);
  std::string bytes = written.bytes();
  comm.broadcast(bytes);
  if (comm.is_root()) return;
  Archive archive(bytes);
  layout.archive(archive);
  archive.finish();
}

/// A plain file is opened by all ranks. Its size may follow private values: only the root compares.
void open_everywhere(const Communicator& comm, const DataOptions& options, const std::string& name,
                     SourceFile& source) {
  if (source.gzip) return;
  throw_on_all_ranks(comm, [&] {
    if (!source.file) source.file = std::make_unique<InputFile>(find_file(options, name));
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

Source open_source(const Communicator& comm, const DataOptions& options, const std::string& name, DataRole role) {
  const std::size_t comma = name.find(',');
  const bool pair = comma != std::string::npos;
  const std::string first(trim(name.substr(0, comma)));
  const std::string second = pair ? std::string(trim(std::string_view(name).substr(comma + 1))) : "";
  Source source;
  const Head head = look_at(comm, options, first, source.records);
  check_dimension(comm, options, source.records.path);
  if (role != DataRole::evaluation)
    throw_on_all_ranks(comm, [&] {
      if (comm.is_root()) check_public_names(head, options);
    });
  std::optional<Head> label_head;
  if (pair) label_head = look_at(comm, options, second, source.labels);
  throw_on_all_ranks(comm, [&] {
    if (comm.is_root()) source.layout = file_layout(head, label_head, options);
  });
  share(comm, source.layout);
  open_everywhere(comm, options, first, source.records);
  if (pair) open_everywhere(comm, options, second, source.labels);
  return source;
}

void check_slots(const std::string& path, std::uint64_t records, std::uint64_t slots) {
  if (records > slots)
    throw DataError(fmt::format(
        "{} holds more records than the {} that are declared (data.records or data.shard_records)", path, slots));
}

}  // namespace dpmpi
