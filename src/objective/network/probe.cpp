#include "objective/network/probe.hpp"

#include <algorithm>

#include "core/errors.hpp"
#include "objective/math/dot.hpp"
#include "objective/network/network.hpp"
#include "objective/network/pass.hpp"

namespace dpmpi {

MlpProbe::MlpProbe(const MlpShape& shape) : shape_(shape), head_(shape), record_(shape.width(0)) {
  const std::size_t widest = *std::max_element(shape.units.begin() + 1, shape.units.end());
  for (auto* sums : {&at_x_, &at_y_, &along_}) sums->resize(shape.units[1]);
  for (auto* sums : {&level_, &sums_, &turn_}) sums->resize(widest);
}

void MlpProbe::prepare(std::span<const double> x, std::span<const double> y) {
  verify(x.size() == shape_.dim() && (y.empty() || y.size() == x.size()), "a point has dim() coordinates");
  x_ = x;
  y_ = y;
}

/// sums = W_l level + b_l bias(l), for the parameters w.
void MlpProbe::multiply(std::size_t layer, const double* w, const double* level, double* sums) const {
  const std::size_t inputs = shape_.inputs(layer);
  const double* weight = w + shape_.weight_offset(layer);
  const double* bias = w + shape_.bias_offset(layer);
  for (std::size_t k = 0; k < shape_.outputs(layer); ++k) {
    sums[k] = dot(weight + k * inputs, level, inputs);
    if (shape_.has_bias(layer)) sums[k] += static_cast<double>(shape_.bias(layer)) * bias[k];
  }
}

/// The loss at `at` + step * u. `first_sums`: those of the first layer at `at`.
double MlpProbe::loss(std::span<const double> at, const std::vector<double>& first_sums, double step,
                      const double* u, float label) {
  for (std::size_t k = 0; k < first_sums.size(); ++k) level_[k] = first_sums[k] + step * along_[k];
  for (std::size_t layer = 1; layer < shape_.layers(); ++layer) {
    apply(shape_.activation, level_.data(), shape_.inputs(layer));
    multiply(layer, at.data(), level_.data(), sums_.data());
    multiply(layer, u, level_.data(), turn_.data());
    for (std::size_t k = 0; k < shape_.outputs(layer); ++k) level_[k] = sums_[k] + step * turn_[k];
  }
  return head_.loss(level_.data(), label);
}

void MlpProbe::losses(const Rows& row, double radius, const DirectionTile& tile, std::span<double> up,
                      std::span<double> down) {
  copy_inputs(shape_, row, record_.data());
  const float label = row.records.label[row.index[0]];
  const bool pair = !y_.empty();
  multiply(0, x_.data(), record_.data(), at_x_.data());
  if (pair) multiply(0, y_.data(), record_.data(), at_y_.data());
  for (std::size_t j = 0; j < tile.count; ++j) {
    multiply(0, tile.row(j), record_.data(), along_.data());
    up[j] = loss(x_, at_x_, radius, tile.row(j), label);
    down[j] = pair ? loss(y_, at_y_, radius, tile.row(j), label) : loss(x_, at_x_, -radius, tile.row(j), label);
  }
}

}  // namespace dpmpi
