#include "objective/values/paired_losses.hpp"

#include "core/errors.hpp"

namespace dpmpi {

void PairedLosses::prepare(std::span<const double> x, std::span<const double> y) {
  if (own_) return at_ = objective_.probes(x, y), void();
  const std::size_t dim = objective_.dim();
  verify(x.size() == dim && (y.empty() || y.size() == dim), "a point has dim() coordinates");
  x_ = x;
  y_ = y;
  point_.resize(dim);
}

void PairedLosses::probe(const Rows& row, double radius, const DirectionTile& tile, std::span<double> up,
                         std::span<double> down) {
  if (own_) return at_.probe(row, radius, tile, up, down);
  for (std::size_t j = 0; j < tile.count; ++j) {
    const double* u = tile.row(j);
    up[j] = loss_at(row, x_, radius, u);
    down[j] = y_.empty() ? loss_at(row, x_, -radius, u) : loss_at(row, y_, radius, u);
  }
}

double PairedLosses::loss_at(const Rows& row, std::span<const double> from, double step, const double* u) {
  for (std::size_t k = 0; k < from.size(); ++k) point_[k] = static_cast<float>(from[k] + step * u[k]);
  double loss = 0;
  objective_.at(point_).losses(row, {&loss, 1});
  return loss;
}

}  // namespace dpmpi
