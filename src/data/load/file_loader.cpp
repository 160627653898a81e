#include "data/load/file_loader.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>

#include <fmt/format.h>

#include "data/columns/columns_file.hpp"
#include "data/load/byte_ranges.hpp"
#include "data/load/mapped_rows.hpp"
#include "data/load/shared_memory.hpp"
#include "data/load/throw_on_all_ranks.hpp"
#include "data/records/text.hpp"

namespace dpmpi {
namespace {

/// One file's blocks on this rank while they are filled.
class FileLoader {
 public:
  FileLoader(const Communicator& comm, const Dataset& dataset, const LabelRule& labels, const Source& source,
             const BlockRange& range, Faults& faults)
      : comm_(comm),
        labels_(labels),
        source_(source),
        range_(range),
        begin_(range.ownership.begin(comm.rank())),
        end_(range.ownership.end(comm.rank())),
        map_(source.feature_map(dataset.rules)),
        rule_{dataset.rules.normalize == "l2", to_feature(dataset.rules.bias), to_feature(dataset.rules.scale)},
        file_rule_(source.transform ? RowRule{false, 0, rule_.row_scale} : rule_),
        factors_(factors_of(dataset.rules)),
        counted_(dataset.counted),
        mapped_(dataset.mapped),
        persons_(dataset.rules.persons != ReadingRules::Persons::nothing),
        faults_(faults) {
    file_rule_.in_file = mapped_;
  }

  LoadedBlocks load() {
    std::vector<std::vector<Extent>> extents;
    for (const Section& section : source_.layout.sections)
      extents.push_back(locate_blocks(comm_, source_, section, range_));
    LoadedBlocks loaded;
    if (mapped_) throw_on_all_ranks(comm_, [&] { rows_in_file_.emplace(map(extents.back())); });
    allocate(extents.back());
    for (std::size_t s = 0; s < extents.size(); ++s) {
      faults_.begin_part(range_.first * std::uint64_t{2} + s);
      read(source_.layout.sections[s], extents[s]);
    }
    for (std::uint32_t b = begin_; b < end_; ++b)
      loaded.blocks.push_back({b, range_.layout.begin(b), builders_[b - begin_].take(rows_of(b))});
    if (source_.transform && faults_.empty()) transform(loaded.blocks);
    if (mapped_) loaded.file = rows_in_file_->file();
    return loaded;
  }

 private:
  /// Before the records are checked, so that no change after the check goes unseen.
  MappedBlocks map(const std::vector<Extent>& extents) const {
    const Section& rows = source_.layout.records();
    const std::uint64_t begin = extents[begin_ - range_.first].begin;
    std::uint64_t end = begin;
    for (std::uint32_t b = begin_; b < end_; ++b)  // blocks behind the file have no extent
      end = std::max(end, extents[b - range_.first].end);
    return {*source_.file_of(rows).file, rows, begin, end, own_slots()};
  }

  /// Null: they are in memory.
  std::shared_ptr<const void> rows_of(std::uint32_t block) const {
    return mapped_ ? rows_in_file_->at(range_.layout.begin(block) - range_.layout.begin(begin_)) : nullptr;
  }

  std::uint64_t own_slots() const { return range_.layout.begin(end_) - range_.layout.begin(begin_); }

  /// Bytes that the entries of sparse rows of a LIBSVM text may need, which follow private values: one of 8 bytes
  /// takes at least 4 of text (" 1:1").
  std::uint64_t entry_bytes(const std::vector<Extent>& extents) const {
    const SourceFile& source = source_.file_of(source_.layout.records());
    std::uint64_t text = 0;
    for (std::uint32_t b = begin_; b < end_ && !source.gzip; ++b) {
      const Extent& extent = extents[b - range_.first];
      text += std::min(extent.end, source.file->size()) - extent.begin;
    }
    return 2 * text;
  }

  /// What the file holds, and beside it what becomes of that.
  std::uint64_t row_bytes() const {
    const Layout& layout = source_.layout;
    if (mapped_) return RecordsBuilder::bytes_beside(layout.storage, own_slots(), factors_);
    std::uint64_t bytes =
        RecordsBuilder::bytes(layout.storage, layout.features, own_slots(), layout.row_entries, factors_);
    if (source_.transform)
      bytes += RecordsBuilder::bytes(source_.storage(), source_.features(), own_slots(), 0, factors_);
    return bytes;
  }

  void allocate(const std::vector<Extent>& extents) {
    const Layout& layout = source_.layout;
    const bool sparse_text =
        layout.records().is_text() && layout.storage == Storage::sparse_f32 && layout.row_entries == 0;
    const std::uint64_t rows = row_bytes();
    if (persons_)  // twice: while they are brought together
      check_memory_together(comm_, 2 * (rows + own_slots() * sizeof(PersonTag)), 0, source_.features(),
                            source_.path(), false);
    else
      check_memory_together(comm_, rows + (sparse_text ? entry_bytes(extents) : 0), own_slots(), source_.features(),
                            source_.path(), !sparse_text);
    throw_on_all_ranks(comm_, [&] {
      for (std::uint32_t b = begin_; b < end_; ++b)
        builders_.emplace_back(layout.storage, layout.features, range_.layout.size(b), file_rule_,
                               layout.row_entries);
    });
  }

  /// Of what this rank reads. How many of the declared slots hold a record is secret: neither numbers nor a share.
  Progress progress_of(const Section& section) const {
    if (section.labels) return {"reading labels", 0, ""};
    const SourceFile& source = source_.file_of(section);
    const bool sends = source.gzip && comm_.is_root() && comm_.size() > 1;
    const std::uint64_t slots = sends ? range_.slots() : own_slots();
    return {fmt::format("reading {}{}", std::filesystem::path(source.path).filename().string(),
                        slots == range_.slots() ? "" : " (the root's part)"),
            counted_ ? slots : 0, counted_ ? "records" : ""};
  }

  /// Each block gives up its images when their features are there.
  void transform(std::vector<Block>& blocks) {
    TransformedImage work(*source_.transform);
    const bool all = own_slots() == range_.slots();
    Progress progress(all ? "transforming images" : "transforming images (the root's part)",
                      counted_ ? own_slots() : 0, counted_ ? "images" : "");
    for (Block& block : blocks)
      block.records = transformed(work, std::move(block.records), source_.features(), rule_, progress);
  }

  void read(const Section& section, const std::vector<Extent>& extents) {
    if (section.labels && labels_.unlabelled()) return;
    const SourceFile& source = source_.file_of(section);
    std::vector<Position> positions;
    for (std::uint32_t b = begin_; b < end_; ++b) {
      const Extent& extent = extents[b - range_.first];
      positions.push_back({source.path, extent.line, range_.layout.begin(b), range_.first_index(), extent.begin,
                           counted_, extent.before});
    }
    Progress progress = progress_of(section);
    fetch(comm_, source, extents, range_, section, progress, [&](const BlockBytes& given) {
      Position& position = positions[given.block - begin_];
      if (!source.parts.empty()) {
        const SourceFile::Part& part = source.parts[given.part];
        position.file = part.path;
        if (given.begins) position.enter(part.path, part.line);
      }
      position.more = given.more;
      const std::uint64_t before = position.global_index;
      source_.format->read({section, given.bytes, position, faults_, source.file.get()}, map_, labels_,
                           builders_[given.block - begin_]);
      progress.add(position.global_index - before);
      return position.left;
    });
  }

  const Communicator& comm_;
  const LabelRule& labels_;
  const Source& source_;
  BlockRange range_;
  std::uint32_t begin_, end_;  // this rank's blocks
  FeatureMap map_;
  RowRule rule_, file_rule_;  // the second is for rows as they stand in the file
  RecordFactors factors_;
  bool counted_;  // the number of records is public
  bool mapped_;   // rows stay in the file
  bool persons_;  // records are those of persons: how many there are is secret, and not declared either
  Faults& faults_;
  std::vector<RecordsBuilder> builders_;
  std::optional<MappedBlocks> rows_in_file_;
};

}  // namespace

LoadedBlocks load_file(const Communicator& comm, const Dataset& dataset, const LabelRule& labels,
                       const Source& source, const BlockRange& range, Faults& faults) {
  return FileLoader(comm, dataset, labels, source, range, faults).load();
}

}  // namespace dpmpi
