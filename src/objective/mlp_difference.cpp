#include "dpmpi/objective/mlp_difference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "dpmpi/objective/gather.hpp"
#include "dpmpi/objective/mlp_clip.hpp"

namespace dpmpi {

double squared_norm(const LayerDifference& layer) {
  const std::size_t out = layer.delta_change.size(), in = layer.level.size();
  const double delta_change2 = squared_norm(layer.delta_change.data(), out);
  const double level2 = squared_norm(layer.level.data(), in);
  if (!usable_square(delta_change2) || !usable_square(level2)) return std::numeric_limits<double>::quiet_NaN();
  if (layer.delta.empty()) return delta_change2 * level2;

  const double delta2 = squared_norm(layer.delta.data(), out);
  const double level_change2 = squared_norm(layer.level_change.data(), in);
  if (!usable_square(delta2) || !usable_square(level_change2)) return std::numeric_limits<double>::quiet_NaN();
  const double square = delta_change2 * level2 + delta2 * level_change2 +
                        2 * dot(layer.delta_change.data(), layer.delta.data(), out) *
                            dot(layer.level.data(), layer.level_change.data(), in);
  const double upper = std::sqrt(delta_change2 * level2) + std::sqrt(delta2 * level_change2);
  return std::max(0.0, square + 0x1p-46 * static_cast<double>(in + out) * upper * upper);
}

MlpDifference::MlpDifference(const MlpShape& shape)
    : shape_(shape),
      head_(shape.head, shape.units.back()),
      input_(rows_at_once(), shape.width(0)),
      at_w_(shape, rows_at_once()),
      at_v_(shape, rows_at_once()),
      gradient_(shape, 2 * rows_at_once()),
      factors_(shape.layers()) {}

void MlpDifference::prepare(std::span<const float> w, std::span<const float> v) {
  at_w_.load(w);
  at_v_.load(v);
}

void MlpDifference::add(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) {
  const std::size_t padded = round_up(rows.size(), 16);
  gather_rows(rows, input_.width, input_.row(0));
  std::fill(input_.row(rows.size()), input_.row(padded), 0.0);
  for (MlpNetwork<double>* network : {&at_w_, &at_v_}) {
    network->forward(input_, padded);
    set_output_deltas(rows, *network);
    network->backward(padded);
  }
  subtract(padded);
  for (std::size_t r = 0; r < rows.size(); ++r) clip_row(r, bound);
  for (std::size_t r = rows.size(); r < padded; ++r) zero_row(r);

  sum.begin(rows.size());
  for (std::size_t l = 0; l < shape_.layers(); ++l) {
    const OuterProducts<double> delta_changes{at_w_.delta(l + 1), l == 0 ? input_ : at_w_.level(l)};
    const OuterProducts<double> level_changes{at_v_.delta(l + 1), at_v_.level(l)};
    const OuterProducts<double> terms[] = {delta_changes, level_changes};
    gradient_.add(l, std::span(terms, l == 0 ? 1 : 2), padded, sum);
  }
}

void MlpDifference::set_output_deltas(const Rows& rows, MlpNetwork<double>& network) {
  const Scratch<double>& outputs = network.level(shape_.layers());
  Scratch<double>& delta = network.delta(shape_.layers());
  for (std::size_t r = 0; r < rows.size(); ++r)
    head_.gradient(outputs.row(r), rows.records.label[rows.index[r]], delta.row(r));
}

void MlpDifference::subtract(std::size_t rows) {
  for (std::size_t l = 1; l <= shape_.layers(); ++l) {
    const std::size_t n = rows * shape_.width(l);
    double* delta = at_w_.delta(l).row(0);
    const double* delta_v = at_v_.delta(l).row(0);
    for (std::size_t j = 0; j < n; ++j) delta[j] -= delta_v[j];
    if (l == shape_.layers()) continue;
    const double* level = at_w_.level(l).row(0);
    double* level_v = at_v_.level(l).row(0);
    for (std::size_t j = 0; j < n; ++j) level_v[j] = level[j] - level_v[j];
  }
}

LayerDifference MlpDifference::layer_difference(std::size_t layer, std::size_t row) const {
  const auto values = [row](const Scratch<double>& scratch) { return std::span(scratch.row(row), scratch.width); };
  if (layer == 0) return {values(at_w_.delta(1)), values(input_), {}, {}};
  return {values(at_w_.delta(layer + 1)), values(at_w_.level(layer)), values(at_v_.delta(layer + 1)),
          values(at_v_.level(layer))};
}

void MlpDifference::clip_row(std::size_t row, const L2Bound& bound) {
  for (std::size_t l = 0; l < shape_.layers(); ++l) factors_[l] = squared_norm(layer_difference(l, row));
  if (!squares_to_factors(bound, factors_)) {
    zero_row(row);
    return;
  }
  for (std::size_t l = 0; l < shape_.layers(); ++l) {
    double* delta_change = at_w_.delta(l + 1).row(row);
    double* delta = at_v_.delta(l + 1).row(row);
    for (std::size_t j = 0; j < shape_.width(l + 1); ++j) {
      delta_change[j] *= factors_[l];
      delta[j] *= factors_[l];
    }
  }
}

void MlpDifference::zero_row(std::size_t row) {
  const auto zero = [row](Scratch<double>& scratch) { std::fill_n(scratch.row(row), scratch.width, 0.0); };
  zero(input_);
  for (MlpNetwork<double>* network : {&at_w_, &at_v_})
    for (std::size_t l = 1; l <= shape_.layers(); ++l) {
      zero(network->delta(l));
      if (l < shape_.layers()) zero(network->level(l));
    }
}

}  // namespace dpmpi
