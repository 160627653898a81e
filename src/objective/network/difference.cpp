#include "objective/network/difference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "objective/network/clip.hpp"
#include "objective/network/pass.hpp"

namespace dpmpi {
namespace {

template <class T>
bool usable(double square) {
  return sizeof(T) == 4 ? square < 0x1p80 : usable_square(square);
}

struct Norms {
  double square;  ///< of Dd a'^T + d Da^T, with the guard
  double parts;   ///< |Dd| |a'| + |d| |Da|
};

template <class T>
Norms norms(const LayerDifference<T>& layer) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  const std::size_t out = layer.delta_change.size(), in = layer.level.size();
  const double delta_change2 = squared_norm(layer.delta_change.data(), out);
  const double level2 = squared_norm(layer.level.data(), in);
  if (!usable<T>(delta_change2) || !usable<T>(level2)) return {none, none};
  if (layer.delta.empty()) return {delta_change2 * level2, 0};

  const double delta2 = squared_norm(layer.delta.data(), out);
  const double level_change2 = squared_norm(layer.level_change.data(), in);
  if (!usable<T>(delta2) || !usable<T>(level_change2)) return {none, none};
  const double square = delta_change2 * level2 + delta2 * level_change2 +
                        2 * dot(layer.delta_change.data(), layer.delta.data(), out) *
                            dot(layer.level.data(), layer.level_change.data(), in);
  const double parts = std::sqrt(delta_change2 * level2) + std::sqrt(delta2 * level_change2);
  return {std::max(0.0, square + 0x1p-46 * static_cast<double>(in + out) * parts * parts), parts};
}

}  // namespace

template <class T>
double squared_norm(const LayerDifference<T>& layer) {
  return norms(layer).square;
}

template <class T>
double clipping_square(const LayerDifference<T>& layer) {
  const Norms n = norms(layer);
  return std::isnan(n.square) ? n.square : std::max(n.square, 0.25 * n.parts * n.parts);
}

template double squared_norm(const LayerDifference<float>&);
template double squared_norm(const LayerDifference<double>&);
template double clipping_square(const LayerDifference<float>&);
template double clipping_square(const LayerDifference<double>&);

MlpDifference::MlpDifference(const MlpShape& shape, OutputLoss& loss)
    : shape_(shape),
      loss_(loss),
      input_(MlpPass::rows_at_once, shape.width(0)),
      pair_(shape, MlpPass::rows_at_once),
      gradient_(shape, 2 * MlpPass::rows_at_once),
      outputs_(shape.units.back()),
      delta_w_(shape.units.back()),
      delta_v_(shape.units.back()),
      slope_v_(loss.slopes()),
      slope_changes_(MlpPass::rows_at_once * loss.slopes()),
      factors_(shape.layers() + (loss.slopes() > 0 ? 1 : 0)) {}

NumericSlack MlpDifference::slack() {
  return {.clip = 5 * 0x1p-24, .summed_rows = MlpPass::rows_at_once, .magnification = 2};
}

void MlpDifference::prepare(std::span<const float> w, std::span<const float> v) {
  pair_.load(w, v);
  tail_w_ = w.subspan(shape_.dim());
  tail_v_ = v.subspan(shape_.dim());
}

void MlpDifference::add(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) {
  const std::size_t padded = gather_input(shape_, rows, input_);
  pair_.forward(input_, padded);
  set_output_deltas(rows);
  pair_.backward(padded);
  for (std::size_t r = 0; r < rows.size(); ++r) clip_row(r, bound);
  for (std::size_t r = rows.size(); r < padded; ++r) zero_row(r);

  sum.begin(rows.size());
  for (std::size_t l = 0; l < shape_.layers(); ++l) {
    const OuterProducts<float> delta_changes{pair_.delta_change(l + 1), l == 0 ? input_ : pair_.level(l)};
    const OuterProducts<float> level_changes{pair_.delta(l + 1), pair_.level_change(l)};
    const OuterProducts<float> terms[] = {delta_changes, level_changes};
    gradient_.add(l, std::span(terms, l == 0 ? 1 : 2), padded, sum);
  }
  add_slopes(rows.size(), sum);
}

/// The outputs at w are those at v plus their change, exact in double; so are the differences of the loss's slopes,
/// to 2^-52 of themselves.
void MlpDifference::set_output_deltas(const Rows& rows) {
  const std::size_t last = shape_.layers(), slopes = loss_.slopes();
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const float *at_v = pair_.level(last).row(r), *change = pair_.level_change(last).row(r);
    std::copy_n(at_v, outputs_.size(), outputs_.begin());
    loss_.select(rows, r);
    loss_.gradient(outputs_.data(), label(rows, r), tail_v_, delta_v_.data(), slope_v_.data());
    for (std::size_t k = 0; k < outputs_.size(); ++k) outputs_[k] += static_cast<double>(change[k]);
    double* slope = slope_changes_.data() + r * slopes;
    loss_.gradient(outputs_.data(), label(rows, r), tail_w_, delta_w_.data(), slope);
    const double weight = rows.records.weight_of(rows.index[r]);
    for (std::size_t j = 0; j < slopes; ++j) slope[j] = weight * (slope[j] - slope_v_[j]);
    for (std::size_t k = 0; k < outputs_.size(); ++k) {
      pair_.delta(last).row(r)[k] = static_cast<float>(weight * delta_w_[k]);
      pair_.delta_at_v(last).row(r)[k] = static_cast<float>(weight * delta_v_[k]);
      pair_.delta_change(last).row(r)[k] = static_cast<float>(weight * (delta_w_[k] - delta_v_[k]));
    }
  }
}

LayerDifference<float> MlpDifference::layer_difference(std::size_t layer, std::size_t row) {
  const auto values = [row](const Scratch<float>& scratch) { return std::span(scratch.row(row), scratch.width); };
  if (layer == 0) return {values(pair_.delta_change(1)), values(input_), {}, {}};
  return {values(pair_.delta_change(layer + 1)), values(pair_.level(layer)), values(pair_.delta(layer + 1)),
          values(pair_.level_change(layer))};
}

void MlpDifference::clip_row(std::size_t row, const L2Bound& bound) {
  const std::size_t layers = shape_.layers(), slopes = loss_.slopes();
  for (std::size_t l = 0; l < layers; ++l) factors_[l] = clipping_square(layer_difference(l, row));
  double* slope = slope_changes_.data() + row * slopes;
  if (slopes > 0) factors_[layers] = squared_norm(slope, slopes);
  if (!squares_to_factors(bound, factors_)) {
    zero_row(row);
    return;
  }
  for (std::size_t l = 0; l < layers; ++l) {
    auto factor = static_cast<float>(factors_[l]);
    if (factor == 1) continue;
    if (factor < std::numeric_limits<float>::min()) factor = 0;  // subnormal numbers have few bits
    float* delta_change = pair_.delta_change(l + 1).row(row);
    float* delta = pair_.delta(l + 1).row(row);
    for (std::size_t j = 0; j < shape_.width(l + 1); ++j) delta_change[j] *= factor, delta[j] *= factor;
  }
  for (std::size_t j = 0; j < slopes; ++j) slope[j] *= factors_[layers];
}

void MlpDifference::zero_row(std::size_t row) {
  const auto zero = [row](Scratch<float>& scratch) { std::fill_n(scratch.row(row), scratch.width, 0.0F); };
  zero(input_);
  for (std::size_t l = 1; l <= shape_.layers(); ++l) {
    zero(pair_.delta(l));
    zero(pair_.delta_change(l));
    zero(pair_.level(l));
    zero(pair_.level_change(l));
  }
  std::fill_n(slope_changes_.begin() + static_cast<std::ptrdiff_t>(row * loss_.slopes()), loss_.slopes(), 0.0);
}

/// Each row's slopes go to the lattice by themselves.
void MlpDifference::add_slopes(std::size_t rows, LatticeAccumulator& sum) {
  const std::size_t slopes = loss_.slopes();
  for (std::size_t r = 0; r < rows && slopes > 0; ++r)
    sum.add(shape_.dim(), std::span<const double>(slope_changes_).subspan(r * slopes, slopes));
}

}  // namespace dpmpi
