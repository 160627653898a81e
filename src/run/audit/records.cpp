#include "run/audit/records.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/errors.hpp"
#include "core/numbers/random.hpp"
#include "data/records/builder.hpp"

namespace dpmpi {
namespace {

constexpr float empty = std::numeric_limits<float>::quiet_NaN();

RowRule rule_of(const RecordShape& shape) { return {shape.unit_norm, shape.bias, shape.row_scale}; }

/// Ends a row whose features are value(j).
template <class Value>
void add_row(RecordsBuilder& builder, float label, Value&& value) {
  for (std::size_t j = 0; j < builder.features(); ++j) {
    const double x = value(j);
    if (builder.storage() == Storage::dense_u8)
      builder.byte_row()[j] = static_cast<std::uint8_t>(x > 0 ? 255 : 0);
    else if (builder.storage() == Storage::dense_f32)
      builder.dense_row()[j] = static_cast<float>(x);
    else if (x != 0)
      builder.entry(static_cast<std::uint32_t>(j), static_cast<float>(x));
  }
  builder.finish_row(label);
}

std::vector<float> labels_for(const Objective& objective) {
  switch (objective.label_kind()) {
    case LabelKind::sign:
      return {1, -1};
    case LabelKind::class_:
      return {0, 1, static_cast<float>(objective.classes() - 1)};
    case LabelKind::count:
      return {0, 1, 1000};
    case LabelKind::real:
      return {1, -1, 1000, -1000};
  }
  return {};
}

/// The rows that the objective takes.
Records accepted(const RecordShape& shape, const Objective& objective, const Records& all) {
  std::vector<RowSource> good;
  for (std::uint32_t i = 0; i < all.count; ++i) {
    const RowSource source{&all, i};
    Shard one;
    one.facts = {1, shape.features, shape.storage};
    one.layout = BlockLayout::of(one.facts, 1);
    one.blocks.push_back({0, 0, copy_rows(shape, std::span(&source, 1))});
    try {
      objective.check_records(one);
      good.push_back(source);
    } catch (const DataError&) {  // not a record of this objective
    }
  }
  return copy_rows(shape, good);
}

}  // namespace

RecordShape RecordShape::of(const DatasetFacts& facts, const DataOptions& options) {
  return {facts.storage, facts.features, static_cast<float>(options.bias), static_cast<float>(options.scale),
          options.normalize == "l2"};
}

Records copy_rows(const RecordShape& shape, std::span<const RowSource> rows) {
  RecordsBuilder builder(shape.storage, shape.features, rows.size(), rule_of(shape));
  for (const RowSource& source : rows) {
    const auto [from, row] = std::pair(source.records, source.row);
    if (!from || std::isnan(from->label[row])) {
      builder.finish_row(empty);
      continue;
    }
    if (shape.storage == Storage::dense_f32)
      std::copy_n(from->row_f32(row), shape.features, builder.dense_row());
    else if (shape.storage == Storage::dense_u8)
      std::copy_n(from->row_u8(row), shape.features, builder.byte_row());
    else
      for (auto e = from->row_begin[row]; e < from->row_begin[row + 1]; ++e)
        builder.entry(from->column[e], from->value[e]);
    if (!from->weight.empty()) builder.set_weight(from->weight[row]);
    if (!from->offset.empty()) builder.set_offset(from->offset[row]);
    builder.finish_row(from->label[row]);
  }
  Records all = builder.take();
  for (std::size_t i = 0; i < rows.size(); ++i) {  // as they were, not as a second rounding would have them
    if (!rows[i].records || std::isnan(all.label[i])) continue;
    all.norm[i] = rows[i].records->norm[rows[i].row];
    if (shape.storage == Storage::dense_u8) all.row_scale[i] = rows[i].records->row_scale[rows[i].row];
  }
  return all;
}

Records made_up_records(const RecordShape& shape, const Objective& objective) {
  const double sizes[] = {1, 2, 5, 10, 20, 50, 100}, width = std::sqrt(static_cast<double>(shape.features));
  const std::function<double(std::size_t)> directions[] = {[](std::size_t j) { return j == 0 ? 1.0 : 0.0; },
                                                           [=](std::size_t) { return 1 / width; }};
  const std::vector<float> labels = labels_for(objective);
  RecordsBuilder builder(shape.storage, shape.features, std::size(sizes) * std::size(directions) * labels.size(),
                         rule_of(shape));
  for (const double size : sizes)
    for (const auto& direction : directions)
      for (const float label : labels) add_row(builder, label, [&](std::size_t j) { return size * direction(j); });
  return accepted(shape, objective, builder.take());
}

Records random_canaries(const RecordShape& shape, const Objective& objective, std::size_t count, double size,
                        std::uint64_t seed) {
  const std::vector<float> labels = labels_for(objective);
  const double each = size / std::sqrt(static_cast<double>(shape.features));
  RecordsBuilder builder(shape.storage, shape.features, count, rule_of(shape));
  for (std::size_t i = 0; i < count; ++i) {
    const PublicStream coins(seed, "canary", i);
    add_row(builder, labels[coins.below(0, labels.size())],
            [&](std::size_t j) { return coins.word(j + 1) % 2 == 0 ? each : -each; });
  }
  return accepted(shape, objective, builder.take());
}

namespace {

/// A block whose slot i holds units[i].
Records block_of(const RecordShape& shape, std::span<const RowSource> units) {
  if (std::ranges::all_of(units, [](const RowSource& unit) { return unit.copies == 1; }))
    return copy_rows(shape, units);
  std::vector<RowSource> rows;
  std::vector<std::uint32_t> begin{0};
  for (const RowSource& unit : units) {
    if (unit.records) rows.insert(rows.end(), unit.copies, unit);
    begin.push_back(static_cast<std::uint32_t>(rows.size()));
  }
  Records all = copy_rows(shape, rows);
  all.person_begin = std::move(begin);
  return all;
}

}  // namespace

Shard shard_of(const Communicator& comm, const RecordShape& shape, const DatasetFacts& facts,
               const BlockLayout& layout, const std::function<RowSource(std::uint64_t)>& source) {
  Shard shard{facts, layout, {}};
  const Ownership ownership = Ownership::even(layout.blocks, comm.size());
  for (std::uint32_t b = ownership.begin(comm.rank()); b < ownership.end(comm.rank()); ++b) {
    std::vector<RowSource> rows;
    for (std::uint64_t i = layout.begin(b); i < layout.begin(b + 1); ++i) rows.push_back(source(i));
    shard.blocks.push_back({b, layout.begin(b), block_of(shape, rows)});
  }
  return shard;
}

Shard compact_shard(const Communicator& comm, const RecordShape& shape, const DatasetFacts& facts,
                    const BlockLayout& layout, std::uint64_t first, std::span<const RowSource> rows) {
  Shard shard{facts, layout, {}};
  if (comm.rank() == comm.size() - 1) shard.blocks.push_back({0, first, block_of(shape, rows)});
  return shard;
}

}  // namespace dpmpi
