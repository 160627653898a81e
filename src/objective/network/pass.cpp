#include "objective/network/pass.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "objective/copy_rows.hpp"
#include "objective/network/clip.hpp"

namespace dpmpi {

void check_inputs(const MlpShape& shape, const Rows& rows) {
  verify(rows.records.features == shape.features() && rows.records.bias == shape.input_bias,
         "records have the features and the constant column that the network was made for");
}

template <class T>
void copy_inputs(const MlpShape& shape, const Rows& rows, T* out) {
  check_inputs(shape, rows);
  copy_rows(rows, shape.width(0), out, shape.left_out);
}

template void copy_inputs(const MlpShape&, const Rows&, float*);
template void copy_inputs(const MlpShape&, const Rows&, double*);

template <class T>
std::size_t gather_input(const MlpShape& shape, const Rows& rows, Scratch<T>& input) {
  const std::size_t padded = round_up(rows.size(), 16);
  copy_inputs(shape, rows, input.row(0));
  std::fill(input.row(rows.size()), input.row(padded), T{0});
  return padded;
}

template std::size_t gather_input(const MlpShape&, const Rows&, Scratch<float>&);

std::vector<ParameterGroup> network_groups(const MlpShape& shape) {
  std::vector<ParameterGroup> all;
  for (std::size_t l = 0; l < shape.layers(); ++l) {
    const std::string prefix = shape.layers() == 1 ? "" : fmt::format("layer{}.", l + 1);
    all.push_back({prefix + "weight", shape.weight_offset(l), shape.outputs(l), shape.inputs(l)});
    if (shape.has_bias(l)) all.push_back({prefix + "bias", shape.bias_offset(l), shape.outputs(l), 1});
  }
  return all;
}

// Forward and weight gradient use every parameter, the backward pass those behind the first layer.
double network_flops(const MlpShape& shape) {
  return 6.0 * static_cast<double>(shape.dim()) - 2.0 * static_cast<double>(shape.parameters(0));
}

void check_units(const MlpShape& shape) {
  verify(shape.units.size() >= 2, "a network has inputs and outputs");
  for (const std::size_t units : shape.units)
    if (units == 0) throw ConfigError("a layer of the network has no units (or the records have no features)");
}

// Variances: He et al. (2015) before relu and leaky relu, Glorot and Bengio (2010) before tanh and softplus.
void initialise_network(const MlpShape& shape, const PublicStream& stream, std::span<float> w,
                        std::uint64_t first) {
  verify(w.size() == shape.dim(), "a point has dim() coordinates");
  if (shape.layers() == 1) return std::fill(w.begin(), w.end(), 0.0F);
  stream.normals(first, w);
  for (std::size_t l = 0; l < shape.layers(); ++l) {
    const auto in = static_cast<double>(shape.inputs(l)), out = static_cast<double>(shape.outputs(l));
    const bool relu = l + 1 < shape.layers() &&
                      (shape.activation == Activation::relu || shape.activation == Activation::leaky_relu);
    const auto scale = static_cast<float>(std::sqrt(relu ? 2.0 / in : 2.0 / (in + out)));
    for (std::size_t j = shape.weight_offset(l); j < shape.bias_offset(l); ++j) w[j] *= scale;
    for (std::size_t j = shape.bias_offset(l); j < shape.weight_offset(l + 1); ++j) w[j] = 0;
  }
}

MlpClippedGradient::MlpClippedGradient(const MlpShape& shape, MlpPass& pass, OutputLoss& loss)
    : shape_(shape),
      pass_(pass),
      loss_(loss),
      gradient_(shape, MlpPass::rows_at_once),
      outputs_(shape.units.back()),
      delta_(shape.units.back()),
      slopes_(MlpPass::rows_at_once * loss.slopes()),
      factors_(shape.layers() + (loss.slopes() > 0 ? 1 : 0)),
      kept_(MlpPass::rows_at_once) {}

void MlpClippedGradient::add(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) {
  run(rows);
  for (std::size_t r = 0; r < rows.size(); ++r) clip_row(r, bound);
  sum.begin(rows.size());
  add_rows(rows.size(), sum);
}

void MlpClippedGradient::add_rows(std::size_t rows, LatticeAccumulator& sum) {
  MlpNetwork<float>& network = pass_.network();
  for (std::size_t l = 0; l < shape_.layers(); ++l) {
    const OuterProducts<float> term{network.delta(l + 1), l == 0 ? pass_.input().rows() : network.level(l)};
    gradient_.add(l, {&term, 1}, rows, sum);
  }
  add_slopes(rows, sum);
}

void MlpClippedGradient::norms(const Rows& rows, std::span<double> out) {
  run(rows);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const std::span<const double> of_row = squares(r);
    out[r] = std::sqrt(std::accumulate(of_row.begin(), of_row.end(), 0.0));
  }
}

void MlpClippedGradient::run(const Rows& rows) {
  const std::size_t padded = pass_.forward(rows);
  set_output_deltas(rows);
  pass_.network().backward(padded);
}

void MlpClippedGradient::set_output_deltas(const Rows& rows) {
  Scratch<float>& delta = pass_.network().delta(shape_.layers());
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::copy_n(pass_.outputs(r), outputs_.size(), outputs_.begin());
    loss_.select(rows, r);
    loss_.gradient(outputs_.data(), label(rows, r), tail_, delta_.data(), slopes_.data() + r * loss_.slopes());
    const double weight = rows.records.weight_of(rows.index[r]);
    for (std::size_t k = 0; k < delta_.size(); ++k) delta.row(r)[k] = static_cast<float>(weight * delta_[k]);
    for (double& slope : std::span(slopes_).subspan(r * loss_.slopes(), loss_.slopes())) slope *= weight;
  }
}

std::span<double> MlpClippedGradient::squares(std::size_t row) {
  const std::size_t layers = shape_.layers(), slopes = loss_.slopes();
  for (std::size_t l = 0; l < layers; ++l)
    factors_[l] = squared_norm(pass_.network().delta(l + 1).row(row), shape_.width(l + 1)) *
                  (l == 0 ? pass_.input().squared_norm(row)
                          : squared_norm(pass_.network().level(l).row(row), shape_.width(l)));
  if (slopes > 0) factors_[layers] = squared_norm(slopes_.data() + row * slopes, slopes);
  return factors_;
}

void MlpClippedGradient::clip_row(std::size_t row, const L2Bound& bound) {
  const std::span<double> factors = squares(row);
  kept_[row] = squares_to_factors(bound, factors);
  kept(row) ? scale_row(row, factors) : zero_row(row);
}

void MlpClippedGradient::scale_row(std::size_t row, std::span<const double> factors) {
  const std::size_t layers = shape_.layers(), slopes = loss_.slopes();
  for (std::size_t l = 0; l < layers; ++l) {
    if (factors[l] == 1) continue;
    const float factor = scaled(1.0F, static_cast<float>(factors[l]));
    float* delta = pass_.network().delta(l + 1).row(row);
    for (std::size_t j = 0; j < shape_.width(l + 1); ++j) delta[j] = scaled(delta[j], factor);
  }
  double* slope = slopes_.data() + row * slopes;
  for (std::size_t j = 0; j < slopes; ++j) slope[j] *= factors[layers];
}

/// Zero factors alone would not do: 0 * inf is NaN.
void MlpClippedGradient::zero_row(std::size_t row) {
  const auto zero = [row](Scratch<float>& scratch) { std::fill_n(scratch.row(row), scratch.width, 0.0F); };
  pass_.input().zero(row);
  for (std::size_t l = 0; l < shape_.layers(); ++l) {
    if (l > 0) zero(pass_.network().level(l));
    zero(pass_.network().delta(l + 1));
  }
  std::fill_n(slopes_.begin() + static_cast<std::ptrdiff_t>(row * loss_.slopes()), loss_.slopes(), 0.0);
}

/// Each row's slopes go to the lattice by themselves.
void MlpClippedGradient::add_slopes(std::size_t rows, LatticeAccumulator& sum) {
  const std::size_t slopes = loss_.slopes();
  for (std::size_t r = 0; r < rows && slopes > 0; ++r)
    sum.add(shape_.dim(), std::span<const double>(slopes_).subspan(r * slopes, slopes));
}

// The squares of float32 numbers are exact in double and cannot overflow or vanish there, so a norm of S terms is
// off by less than (S + 8) 2^-53. The factor and each scaled delta round to float32 (2^-24 each, subnormals go to
// zero); the product delta a is not rounded before it enters the sum. Slopes are double throughout.
NumericSlack MlpClippedGradient::slack() const {
  std::size_t terms = loss_.slopes();
  for (std::size_t l = 0; l < shape_.layers(); ++l) terms += shape_.width(l) + shape_.width(l + 1);
  return {.clip = 3 * 0x1p-24 + static_cast<double>(terms + 8) * 0x1p-53, .summed_rows = MlpPass::rows_at_once};
}

}  // namespace dpmpi
