#pragma once
// Fills the Records of one block row by row: public feature maps on the way in, norms on the way out.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/console/progress.hpp"
#include "data/records/options.hpp"
#include "data/records/records.hpp"

namespace dpmpi {

/// The public affine map x -> (scale x - mean_j) / std_j of every feature, in double, rounded once to float32.
class FeatureMap {
 public:
  /// `index_of` finds the feature (from 0) that an entry `name:number` of data.mean or data.std means; it throws
  /// ConfigError for an unknown name. ConfigError for a wrong number of entries, or std <= 0.
  FeatureMap(const ReadingRules& options, std::size_t features,
             const std::function<std::size_t(const std::string&)>& index_of);

  bool affine() const { return !mean_.empty(); }  ///< data.mean or data.std is given
  double scale() const { return scale_; }
  double mean(std::size_t feature) const { return affine() ? mean_[feature] : 0; }
  double deviation(std::size_t feature) const { return affine() ? deviation_[feature] : 1; }
  bool moves_zero() const;  ///< some mean is not 0: sparse rows would fill up
  /// Throws Malformed if x or the result is not finite in float32.
  float operator()(std::size_t feature, double x) const;

 private:
  double scale_;
  std::vector<double> mean_, deviation_;
};

/// Number of the feature in `name` (from 1), for formats whose features have no names. Throws ConfigError.
std::size_t feature_number(const std::string& name, std::size_t features);

/// What the builder needs to know besides the rows.
struct RowRule {
  bool unit_norm = false;  ///< data.normalize = l2
  float bias = 1;
  float row_scale = 1;   ///< dense_u8: feature = row_scale * byte
  bool in_file = false;  ///< dense rows stay in their file as they are: only what is said of them is kept
};

class RecordsBuilder {
 public:
  /// Allocates `slots` rows (dense: all zero), and of sparse rows room for `row_entries` entries each; they may
  /// have more. Rows that are never finished stay empty slots.
  RecordsBuilder(Storage storage, std::size_t features, std::size_t slots, const RowRule& rule,
                 std::uint64_t row_entries = 0);

  std::size_t rows() const { return rows_; }  ///< finished rows
  Storage storage() const { return records_.storage; }
  std::size_t features() const { return records_.features; }

  /// The row being filled (dense_f32 and dense_u8); all zero at first.
  float* dense_row() { return records_.f32.data() + place() * records_.stride; }
  std::uint8_t* byte_row() { return records_.u8.data() + place() * records_.stride; }
  /// Adds an entry to the row being filled (sparse_f32), in any order; a column at most once.
  void entry(std::uint32_t column, float value);
  /// Sets a feature of the row being filled, of floats in either storage; at most once.
  void put(std::size_t column, float value) {
    if (storage() == Storage::dense_f32)
      dense_row()[column] = value;
    else if (value != 0)
      entry(static_cast<std::uint32_t>(column), value);
  }

  /// The label of a row to come, in order, where a file holds labels apart; and that of the row being filled.
  void add_label(float label) { records_.label.at(labels_++) = label; }
  float added_label() const { return records_.label[rows_]; }

  /// Whose the row being filled is.
  void set_person(const PersonTag& person);
  /// Its weight, and the logarithm of its exposure.
  void set_weight(float weight) { set_factor(records_.weight, 1, weight); }
  void set_offset(float offset) { set_factor(records_.offset, 0, offset); }

  /// Ends the row: l2 normalisation and norm bound. A NaN label makes it an empty slot.
  void finish_row(float label);

  /// Counts the rows that are finished from now on; must outlive the last of them.
  void report_to(Progress& progress) { progress_ = &progress; }

  /// The records; their dense rows begin at `mapped`, if they stay in their file. The builder is spent.
  Records take(std::shared_ptr<const void> mapped = nullptr);

  /// Bytes that `slots` rows take, of sparse rows with `row_entries` entries each.
  static std::uint64_t bytes(Storage storage, std::size_t features, std::uint64_t slots,
                             std::uint64_t row_entries = 0, RecordFactors factors = {});
  /// What they take beside their features: all that dense rows take which stay in their file.
  static std::uint64_t bytes_beside(Storage storage, std::uint64_t slots, RecordFactors factors = {});

 private:
  std::size_t place() const { return rule_.in_file ? 0 : rows_; }
  void set_factor(std::vector<float>& factors, float otherwise, float value);
  std::span<float> values();
  void clear_row();
  void sort_entries();
  void finish_float_row();
  void finish_byte_row();
  Records records_;
  RowRule rule_;
  std::size_t rows_ = 0, labels_ = 0;
  std::vector<std::pair<std::uint32_t, float>> sorted_;  // of a row
  Progress* progress_ = nullptr;
};

/// An upper bound in float32 of the Euclidean norm of (values, bias).
float norm_bound(std::span<const float> values, float bias);

}  // namespace dpmpi
