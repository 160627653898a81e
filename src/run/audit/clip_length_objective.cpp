#include "run/audit/clip_length_objective.hpp"

#include <cmath>
#include <limits>

#include "core/numbers/random.hpp"
#include "data/records/builder.hpp"

namespace dpmpi {

// A canary's label is its number, counted from 1, with the sign of its contribution.
void WorstCase::add_clipped_gradients(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) {
  const std::vector<ParameterGroup>& layers = bound.clipping == Clipping::flat ? whole_ : layers_;
  const double each = bound.clip / std::sqrt(static_cast<double>(layers.size()));
  for (const std::uint32_t i : rows.index) {
    const double label = static_cast<double>(rows.records.label[i]);
    if (std::isnan(label)) continue;
    const auto number = static_cast<std::size_t>(std::abs(label)) - 1;
    sum.begin(1);
    for (const ParameterGroup& layer : layers) {
      const std::size_t size = layer.rows * layer.cols;
      if (number < size) {
        const double value = std::copysign(each, label);
        sum.add(layer.offset + number, std::span(&value, 1));
        continue;
      }
      const PublicStream bits(number, "worst case");
      signs_.resize(size);
      for (std::size_t j = 0; j < size; ++j)
        signs_[j] = (bits.word(j) % 2 == 0 ? label : -label) / std::abs(label) * each /
                    std::sqrt(static_cast<double>(size));
      sum.add(layer.offset, std::span<const double>(signs_));
    }
  }
}

// Beyond every clip.
void WorstCase::gradient_norms(const Rows& rows, std::span<double> out) {
  for (std::size_t r = 0; r < rows.size(); ++r)
    out[r] = std::isnan(rows.records.label[rows.index[r]]) ? std::numeric_limits<double>::quiet_NaN()
                                                           : std::numeric_limits<double>::max();
}

Records worst_case_canaries(const RecordShape& shape, std::size_t count, bool negative) {
  RecordsBuilder builder(shape.storage, shape.features, count, {});
  for (std::size_t i = 0; i < count; ++i) {
    const auto number = static_cast<float>(i + 1);
    builder.finish_row(negative ? -number : number);
  }
  return builder.take();
}

}  // namespace dpmpi
