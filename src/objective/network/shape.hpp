#pragma once
// Where the parameters of a multilayer perceptron stand, in the flat vector and in padded scratch.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/aligned.hpp"
#include "data/records/records.hpp"
#include "objective/class_weights.hpp"
#include "objective/score_layers.hpp"

namespace dpmpi {

/// Scratch for `rows` x `width` values; rows are 64-byte-aligned for widths that are multiples of 16.
template <class T>
struct Scratch {
  std::size_t width = 0;
  AlignedVector<T> values;
  Scratch(std::size_t rows, std::size_t row_width) : width(row_width), values(rows * row_width, T{0}) {}
  T* row(std::size_t r) { return values.data() + r * width; }
  const T* row(std::size_t r) const { return values.data() + r * width; }
};

/// Rows of a level as their entries that are not 0, row after row, columns ascending.
struct SparseRows {
  std::vector<std::size_t> begin, end;  ///< of each row among the entries
  std::vector<std::uint32_t> column;
  std::vector<float> value;

  explicit SparseRows(std::size_t rows) : begin(rows, 0), end(rows, 0) {}
  std::span<const std::uint32_t> columns(std::size_t r) const {
    return std::span(column).subspan(begin[r], end[r] - begin[r]);
  }
  const float* values(std::size_t r) const { return value.data() + begin[r]; }
};

/// The rows of a level as products read them: entries alone, if there are any; else the first `whole` columns (a
/// multiple of 16) of row r stand at in_place[r], 64-byte-aligned, and the others in a scratch.
template <class T>
struct LevelRows {
  const Scratch<T>& copied;
  std::span<const T* const> in_place = {};
  std::size_t whole = 0;
  const SparseRows* entries = nullptr;
  LevelRows(const Scratch<T>& all) : copied(all) {}  // NOLINT: a scratch holds all columns
  LevelRows(const Scratch<T>& others, std::span<const T* const> first, std::size_t columns)
      : copied(others), in_place(first), whole(columns) {}
  LevelRows(const Scratch<T>& none, const SparseRows& all) : copied(none), entries(&all) {}
  /// Columns j.. of row r, as far as they stand together.
  const T* at(std::size_t r, std::size_t j) const {
    return j < whole ? in_place[r] + j : copied.row(r) + (j - whole);
  }
};

/// What options call activations.
std::vector<std::string> activation_names();
Activation activation_named(std::string_view name);  ///< one of activation_names()

/// What turns the outputs s into a loss.
enum class Head {
  softmax,   ///< log sum_k exp(s_k) - s_label
  logistic,  ///< log(1 + exp(-label s)), one output, label -1 or +1
  squared,   ///< (s - label)^2 / 2, one output
  absolute,  ///< |s - label|, one output
  ramp       ///< min(1, max(0, 1 - label s)), one output, label -1 or +1
};

Head head_named(std::string_view name);  ///< by its enumerator
/// What labels a loss takes.
LabelKind labels_of(Head head);

/// Layer l (0 .. layers()-1) maps the level a_l (units[l] values and a constant) to s = W_l a_l + b_l * bias(l),
/// and a_{l+1} = activation(s), except for the last one. Parameters: per layer W_l (units[l+1] x units[l],
/// row-major), b_l. In scratch, level l is a row (a_l, bias(l), zeros) of width(l) values, and [W_l b_l] is
/// width(l+1) x width(l).
struct MlpShape {
  std::vector<std::size_t> units;  ///< inputs, hidden layers..., outputs
  float input_bias = 1;            ///< the first layer's constant input; 0: that layer has no bias parameters
  Activation activation = Activation::relu;
  Head head = Head::softmax;
  std::optional<std::size_t> left_out =
      {};                           ///< feature (from 0) of the records that is no input, as all others are
  ClassWeights class_weights = {};  ///< of the losses of heads that have classes

  std::size_t features() const { return units.front() + (left_out ? 1 : 0); }  ///< of the records
  std::size_t layers() const { return units.size() - 1; }
  std::size_t inputs(std::size_t l) const { return units[l]; }
  std::size_t outputs(std::size_t l) const { return units[l + 1]; }
  float bias(std::size_t l) const { return l == 0 ? input_bias : 1.0F; }
  bool has_bias(std::size_t l) const { return bias(l) != 0; }
  /// Length of a row of level l in scratch (level layers(): the outputs): a multiple of 16.
  std::size_t width(std::size_t l) const { return round_up(units[l] + (l < layers() && has_bias(l) ? 1 : 0), 16); }

  std::size_t parameters(std::size_t l) const { return outputs(l) * (inputs(l) + (has_bias(l) ? 1 : 0)); }
  std::size_t weight_offset(std::size_t l) const;
  std::size_t bias_offset(std::size_t l) const { return weight_offset(l) + outputs(l) * inputs(l); }
  std::size_t dim() const { return weight_offset(layers()); }
};

/// The same for others.
ScoreLayers score_layers_of(const MlpShape& shape);

/// MlpShape::units with the hidden layers of an option.
std::vector<std::size_t> units_of(std::size_t features, const std::vector<std::int64_t>& hidden,
                                  std::size_t outputs);

}  // namespace dpmpi
