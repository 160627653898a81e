#include "objective/linear/probe.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/errors.hpp"
#include "objective/copy_rows.hpp"
#include "objective/math/dot.hpp"

namespace dpmpi {
namespace {

/// The margins at + step * along[j].
struct Line {
  double at, step;
};

/// out[j] = phi at along[j] of the line; what is left of the last tile repeats its first margin.
void evaluate(const ScalarLoss& phi, const Line& line, const double* label, std::span<const double> along,
              double* out) {
  double margin[tile_rows], value[tile_rows];
  std::size_t j = 0;
  for (; j + tile_rows <= along.size(); j += tile_rows) {
    for (std::size_t r = 0; r < tile_rows; ++r) margin[r] = line.at + line.step * along[j + r];
    phi.values(margin, label, out + j);
  }
  const std::size_t rest = along.size() - j;
  if (rest == 0) return;
  for (std::size_t r = 0; r < tile_rows; ++r) margin[r] = line.at + line.step * along[j + (r < rest ? r : 0)];
  phi.values(margin, label, value);
  std::copy_n(value, rest, out + j);
}

}  // namespace

LinearProbe::LinearProbe(std::size_t dim) : dim_(dim) {}

void LinearProbe::prepare(std::span<const double> x, std::span<const double> y) {
  verify(x.size() == dim_ && (y.empty() || y.size() == dim_), "a point of another dimension");
  pair_ = !y.empty();
  for (auto* v : {&x_, &y_, &record_}) v->resize(round_up(dim_, 16));  // at the first call: most runs have none
  std::copy(x.begin(), x.end(), x_.begin());
  std::copy(y.begin(), y.end(), y_.begin());
}

void LinearProbe::load(const Rows& row) {
  verify(row.size() == 1 && row.records.features + (row.records.bias != 0 ? 1 : 0) == dim_,
         "one record of the model's dimension");
  copy_rows(row, record_.size(), record_.data());
  label_ = row.records.label[row.index[0]];
  norm_ = std::sqrt(squared_norm(record_.data(), record_.size()));
  at_x_ = dot(x_.data(), record_.data(), record_.size());
  at_y_ = pair_ ? dot(y_.data(), record_.data(), record_.size()) : at_x_;
  if (row.records.offset.empty()) return;
  at_x_ += row.records.offset_of(row.index[0]);
  at_y_ += row.records.offset_of(row.index[0]);
}

void LinearProbe::losses(const ScalarLoss& phi, double step, std::span<const double> along, std::span<double> up,
                         std::span<double> down) const {
  if (!std::isfinite(at_x_) || !std::isfinite(at_y_)) {  // a capped loss would forget it
    std::fill(up.begin(), up.end(), std::numeric_limits<double>::quiet_NaN());
    return;
  }
  double label[tile_rows];
  std::fill_n(label, tile_rows, label_);
  const double back = pair_ ? step : -step;
  evaluate(phi, {at_x_, step}, label, along, up.data());
  evaluate(phi, {at_y_, back}, label, along, down.data());
}

}  // namespace dpmpi
