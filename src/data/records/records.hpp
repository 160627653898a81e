#pragma once
// Records in memory: one block's rows in one of three layouts, and the view of some of them that kernels get.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/aligned.hpp"
#include "data/records/person_tag.hpp"

namespace dpmpi {

enum class Storage {
  dense_f32,  ///< float32 rows
  dense_u8,   ///< 8-bit rows (images) that stay 8-bit in memory; feature = row_scale * byte
  sparse_f32  ///< compressed rows: (column, value) pairs, columns ascending
};

/// How labels are encoded in Records::label.
enum class LabelKind {
  real,    ///< any finite number
  sign,    ///< -1 or +1
  class_,  ///< 0 .. classes-1
  count    ///< 0, 1, 2, ... up to largest_count
};
/// Largest label of kind count: float32 holds every whole number up to here.
inline constexpr double largest_count = 0x1p24;
/// Whether labels are quantities, which may need a bound, and not names.
inline constexpr bool is_quantity(LabelKind kind) { return kind == LabelKind::real || kind == LabelKind::count; }

/// What a table may say of a record beside its features and its label, and an objective may heed.
struct RecordFactors {
  bool weight = false, exposure = false;
};

/// The records of one block, immutable after loading. Feature (i, j) has the value row_scale[i] * raw(i, j)
/// (row_scale is filled for dense_u8 only). Every record also has a constant column `bias` (0: none) after its
/// features.
struct Records {
  Storage storage = Storage::dense_f32;
  std::size_t count = 0;     ///< rows
  std::size_t features = 0;  ///< columns without bias
  /// Elements between rows (dense): features padded to 16 floats, or to 64 bytes; pads are 0.
  std::size_t stride = 0;
  float bias = 0;

  /// The first of dense rows that stay in their file (data.memory = map), which lie there as f32 or u8 would have
  /// them; those have no entries then. Null: they are in memory.
  std::shared_ptr<const void> mapped;
  AlignedVector<float> f32;              ///< dense_f32: count x stride
  AlignedVector<std::uint8_t> u8;        ///< dense_u8: count x stride
  std::vector<float> row_scale;          ///< dense_u8: count
  std::vector<std::uint64_t> row_begin;  ///< sparse: count + 1
  std::vector<std::uint32_t> column;     ///< sparse
  std::vector<float> value;              ///< sparse

  std::vector<float> label;  ///< count; NaN marks an empty slot, which contributes nothing
  /// Euclidean norm of (features, bias) of each record, rounded up (never below the true norm); 0 for an empty
  /// slot.
  std::vector<float> norm;
  /// Of a table with a column of weights: what each record's loss is multiplied by, from 0 to 1. No entries: 1.
  std::vector<float> weight;
  /// Of a table with a column of exposures: what is added to each record's score, their logarithms. No entries: 0.
  std::vector<float> offset;

  /// Where the unit of privacy is a person: rows person_begin[p] .. person_begin[p + 1] - 1 are those of person p
  /// of this block, whose slot may be empty. Else it has no entries, and every row is a unit by itself.
  std::vector<std::uint32_t> person_begin;
  /// Whose a row is, of a table with data.person until its rows are brought together: count.
  std::vector<PersonTag> person;

  double weight_of(std::size_t i) const { return weight.empty() ? 1 : static_cast<double>(weight[i]); }
  double offset_of(std::size_t i) const { return offset.empty() ? 0 : static_cast<double>(offset[i]); }

  std::size_t units() const { return person_begin.empty() ? count : person_begin.size() - 1; }
  /// First row of a unit, or behind the last of the one before.
  std::uint32_t unit_begin(std::uint32_t unit) const { return person_begin.empty() ? unit : person_begin[unit]; }
  const float* row_f32(std::size_t i) const {
    return (mapped ? static_cast<const float*>(mapped.get()) : f32.data()) + i * stride;
  }
  const std::uint8_t* row_u8(std::size_t i) const {
    return (mapped ? static_cast<const std::uint8_t*>(mapped.get()) : u8.data()) + i * stride;
  }
  /// Dense rows, wherever they stand.
  std::span<const float> all_f32() const {
    return {row_f32(0), storage == Storage::dense_f32 ? count * stride : 0};
  }
  std::span<const std::uint8_t> all_u8() const {
    return {row_u8(0), storage == Storage::dense_u8 ? count * stride : 0};
  }
};

/// Some rows of one block, ascending: what a kernel gets (a micro-batch).
struct Rows {
  const Records& records;
  std::span<const std::uint32_t> index;  ///< positions inside the block
  /// Numbers of the records in their batch, over all ranks; empty: their positions in `index`.
  std::span<const std::uint32_t> slot = {};
  /// Rows that will be shown next, as far as that is known: for kernels that ask memory for them.
  std::span<const std::uint32_t> next = {};
  std::size_t size() const { return index.size(); }
};

/// What is public about a dataset.
struct DatasetFacts {
  /// Number of slots: declared, or counted and then treated as public. A slot is for a record or, with data.person,
  /// for a person.
  std::uint64_t records = 0;
  std::uint64_t features = 0;
  Storage storage = Storage::dense_f32;
  std::vector<std::uint64_t> shards = {};  ///< slots of each site's file, in order; empty: one file
  /// On the root, of a table that has a header: names of the features, in order, a line for each. Else empty.
  std::string feature_names = {};
  /// Sparse rows of a table: how many entries a row has at most, by its columns alone. 0: nothing is known of it.
  std::uint64_t row_entries = 0;
  std::uint64_t slots_of_unit = 1;  ///< data.person_sampling = records: a person's records have so many slots
  std::uint64_t units() const { return records / slots_of_unit; }  ///< n of the promise
};

}  // namespace dpmpi
