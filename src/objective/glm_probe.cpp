#include "dpmpi/objective/glm_probe.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "dpmpi/core/errors.hpp"
#include "dpmpi/objective/dot.hpp"
#include "dpmpi/objective/gather.hpp"

namespace dpmpi {

LinearProbe::LinearProbe(std::size_t dim) : dim_(dim), x_(round_up(dim, 16)), y_(x_.size()), record_(x_.size()) {}

void LinearProbe::prepare(std::span<const double> x, std::span<const double> y) {
  verify(x.size() == dim_ && (y.empty() || y.size() == dim_), "a point of another dimension");
  pair_ = !y.empty();
  std::copy(x.begin(), x.end(), x_.begin());
  std::copy(y.begin(), y.end(), y_.begin());
}

void LinearProbe::load(const Rows& row) {
  verify(row.size() == 1 && row.records.features + (row.records.bias != 0 ? 1 : 0) == dim_,
         "one record of the model's dimension");
  gather_rows(row, record_.size(), record_.data());
  label_ = row.records.label[row.index[0]];
  norm_ = std::sqrt(squared_norm(record_.data(), record_.size()));
  at_x_ = dot(x_.data(), record_.data(), record_.size());
  at_y_ = pair_ ? dot(y_.data(), record_.data(), record_.size()) : at_x_;
}

void LinearProbe::losses(const ScalarLoss& phi, double step, std::span<const double> along, std::span<double> up,
                         std::span<double> down) const {
  if (!std::isfinite(at_x_) || !std::isfinite(at_y_)) {  // a capped loss would forget it
    std::fill(up.begin(), up.end(), std::numeric_limits<double>::quiet_NaN());
    return;
  }
  double margin[tile_rows], label[tile_rows], value[tile_rows];
  std::fill_n(label, tile_rows, label_);
  const double back = pair_ ? step : -step;
  for (std::size_t j = 0; j < along.size(); j += tile_rows) {
    const std::size_t count = std::min(tile_rows, along.size() - j);
    const auto evaluate = [&](double at, double towards, std::span<double> out) {
      for (std::size_t r = 0; r < tile_rows; ++r) margin[r] = at + towards * along[j + std::min(r, count - 1)];
      phi.values(margin, label, value);
      for (std::size_t r = 0; r < count; ++r) out[j + r] = value[r];
    };
    evaluate(at_x_, step, up);
    evaluate(at_y_, back, down);
  }
}

}  // namespace dpmpi
