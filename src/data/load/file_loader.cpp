#include "data/load/file_loader.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "data/formats/libsvm.hpp"
#include "data/formats/native_sparse.hpp"
#include "data/load/shared_memory.hpp"
#include "data/load/throw_on_all_ranks.hpp"
#include "data/records/text.hpp"

namespace dpmpi {
namespace {

/// One file's blocks on this rank while they are filled.
class FileLoader {
 public:
  FileLoader(const Communicator& comm, const DataOptions& options, const LabelRule& labels, Source& source,
             const BlockRange& range)
      : comm_(comm),
        labels_(labels),
        source_(source),
        range_(range),
        map_(source.layout.feature_map(options)),
        rule_{options.normalize == "l2", to_feature(options.bias), to_feature(options.scale)},
        index_base_(static_cast<std::uint32_t>(options.index_base)),
        counted_(options.records == 0 && options.shard_records.empty()) {}

  std::vector<Block> load() {
    if (source_.layout.is_text())
      load_text();
    else
      load_binary();
    std::vector<Block> blocks;
    for (std::uint32_t b = begin(); b < end(); ++b)
      blocks.push_back({b, range_.layout.begin(b), builder(b).take()});
    return blocks;
  }

 private:
  std::uint32_t begin() const { return range_.ownership.begin(comm_.rank()); }
  std::uint32_t end() const { return range_.ownership.end(comm_.rank()); }
  RecordsBuilder& builder(std::uint32_t block) { return builders_[block - begin()]; }

  void allocate(std::uint64_t extra_bytes) {
    const FileLayout& layout = source_.layout;
    const std::uint64_t slots = range_.layout.begin(end()) - range_.layout.begin(begin());
    // How many bytes a text of sparse rows needs follows its private values.
    check_memory_together(comm_, RecordsBuilder::bytes(layout.storage, layout.features, slots) + extra_bytes, slots,
                          layout.features, source_.records.path,
                          !layout.is_text() || layout.storage != Storage::sparse_f32);
    throw_on_all_ranks(comm_, [&] {
      for (std::uint32_t b = begin(); b < end(); ++b)
        builders_.emplace_back(layout.storage, layout.features, range_.layout.size(b), rule_);
    });
  }

  /// Of what this rank reads. How many of the declared slots hold a record is secret: neither numbers nor a share.
  Progress new_progress() const {
    const std::uint64_t own = range_.layout.begin(end()) - range_.layout.begin(begin());
    const bool sends = source_.records.gzip && comm_.is_root() && comm_.size() > 1;
    const std::uint64_t slots = sends ? range_.slots() : own;
    return {fmt::format("reading {}{}", std::filesystem::path(source_.records.path).filename().string(),
                        slots == range_.slots() ? "" : " (the root's part)"),
            counted_ ? slots : 0, counted_ ? "records" : ""};
  }

  void load_text() {
    const auto extents = locate_text(comm_, source_, range_);
    std::vector<TextPosition> positions;
    std::uint64_t text = 0;
    for (std::uint32_t b = begin(); b < end(); ++b) {
      const Extent& e = extents[b - range_.first];
      positions.push_back({source_.records.path, e.line, range_.layout.begin(b)});
      if (!source_.records.gzip) text += std::min(e.end, source_.records.file->size()) - e.begin;
    }
    // An entry of 8 bytes takes at least 4 of text (" 1:1").
    allocate(source_.layout.storage == Storage::sparse_f32 ? 2 * text : 0);
    Progress progress = new_progress();
    fetch(comm_, source_.records, extents, range_, 0, progress, [&](std::uint32_t block, std::string_view bytes) {
      TextPosition& position = positions[block - begin()];
      const std::uint64_t before = position.global_index;
      if (source_.layout.format == Format::libsvm)
        parse_libsvm(bytes, position, {index_base_}, map_, labels_, builder(block));
      else
        parse_table(bytes, position, source_.layout.table.schema, map_, labels_, builder(block));
      progress.add(position.global_index - before);
    });
  }

  void load_binary() {
    const FileLayout& layout = source_.layout;
    throw_on_all_ranks(comm_, [&] {
      if (comm_.is_root()) check_slots(source_.records.path, layout.records(), range_.slots());
    });
    allocate(0);
    decoded_.resize(end() - begin());
    load_labels();
    Progress progress = new_progress();
    if (layout.storage == Storage::sparse_f32) return load_native_sparse(progress);
    const auto extents = locate_rows(comm_, layout.rows, range_);
    fetch(comm_, source_.records, extents, range_, layout.rows.row_bytes(), progress,
          [&](std::uint32_t block, std::string_view bytes) {
            append_rows(block, bytes, extents[block - range_.first].begin);
            progress.add(bytes.size() / layout.rows.row_bytes());
          });
  }

  /// Every rank reads the header of the file, which it has open, and its own rows.
  void load_native_sparse(Progress& progress) {
    throw_on_all_ranks(comm_, [&] {
      InputFile& file = *source_.records.file;
      const NativeHeader header = parse_native_header(file.read(0, NativeHeader::bytes), file.path());
      for (std::uint32_t b = begin(); b < end(); ++b) {
        read_native_sparse(file, header, range_.row(b, header.records), decoded_[b - begin()], map_, builder(b));
        progress.add(range_.layout.size(b));
      }
    });
  }

  void load_labels() {
    const FileLayout& layout = source_.layout;
    if (labels_.unlabelled()) {
      for (std::uint32_t b = begin(); b < end(); ++b)
        decoded_[b - begin()].assign(range_.layout.size(b), labels_.label_of_none());
      return;
    }
    SourceFile& label_file = source_.labels.path.empty() ? source_.records : source_.labels;
    Progress progress("reading labels", 0, "");
    const auto extents = locate_rows(comm_, layout.labels, range_);
    fetch(comm_, label_file, extents, range_, layout.labels.row_bytes(), progress,
          [&](std::uint32_t block, std::string_view bytes) {
            decode_labels(block, bytes, label_file.path, extents[block - range_.first].begin);
          });
  }

  void decode_labels(std::uint32_t block, std::string_view bytes, const std::string& path,
                     std::uint64_t first_byte) {
    const ArrayHeader& array = source_.layout.labels;
    auto& labels = decoded_[block - begin()];
    for (std::size_t at = 0; at < bytes.size(); at += array.row_bytes()) {
      const std::uint64_t row = labels.size(), index = range_.layout.begin(block) + row;
      try {
        labels.push_back(labels_.decode(array.value(bytes.data() + at, 0), index));
      } catch (const Malformed& problem) {
        fail_at_record(path, index, first_byte + row * array.row_bytes(), problem);
      }
    }
  }

  void append_rows(std::uint32_t block, std::string_view bytes, std::uint64_t first_byte) {
    const ArrayHeader& array = source_.layout.rows;
    RecordsBuilder& out = builder(block);
    for (std::size_t at = 0; at < bytes.size(); at += array.row_bytes()) {
      try {
        append_row(bytes.substr(at, array.row_bytes()), decoded_[block - begin()][out.rows()], out);
      } catch (const Malformed& problem) {
        fail_at_record(source_.records.path, range_.layout.begin(block) + out.rows(),
                       first_byte + out.rows() * array.row_bytes(), problem);
      }
    }
  }

  void append_row(std::string_view row, float label, RecordsBuilder& out) const {
    const ArrayHeader& array = source_.layout.rows;
    if (out.storage() == Storage::dense_u8) {
      std::copy(row.begin(), row.end(), reinterpret_cast<char*>(out.byte_row()));
    } else {
      for (std::size_t j = 0; j < array.width; ++j) out.dense_row()[j] = map_(j, array.value(row.data(), j));
    }
    out.finish_row(label);
  }

  /// In the native format the byte of a row tells how many records there are.
  [[noreturn]] void fail_at_record(const std::string& path, std::uint64_t index, std::uint64_t byte,
                                   const Malformed& problem) const {
    throw DataError(fmt::format("{}: record {}{}: {}", path, index - range_.first_index() + 1,
                                counted_ ? fmt::format(" (byte {})", byte) : "", problem.what()));
  }

  const Communicator& comm_;
  const LabelRule& labels_;
  Source& source_;
  BlockRange range_;
  FeatureMap map_;
  RowRule rule_;
  std::uint32_t index_base_;
  bool counted_;  // the number of records is public
  std::vector<RecordsBuilder> builders_;
  std::vector<std::vector<float>> decoded_;  // binary formats: labels of each block
};

}  // namespace

std::vector<Block> load_file(const Communicator& comm, const DataOptions& options, const LabelRule& labels,
                             Source& source, const BlockRange& range) {
  return FileLoader(comm, options, labels, source, range).load();
}

}  // namespace dpmpi
