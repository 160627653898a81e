#include "objective/at_point.hpp"

#include "objective/objective.hpp"

namespace dpmpi {
namespace {

/// Losses of the rows, `each` of one after the other. That of an empty slot stays NaN.
void weigh(const Rows& rows, std::span<double> losses, std::size_t each = 1) {
  if (rows.records.weight.empty()) return;
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (double& loss : losses.subspan(i * each, each)) loss *= rows.records.weight_of(rows.index[i]);
}

}  // namespace

Prepared::Prepared(Objective& objective) : objective_(&objective), number_(++objective.preparations_) {}

Objective& Prepared::prepared() const {
  if (objective_ == nullptr || objective_->preparations_ != number_) throw PointReplaced();
  return *objective_;
}

void ValuesAtPoint::losses(const Rows& rows, std::span<double> out) const {
  unweighted_losses(rows, out);
  weigh(rows, out);
}

void ValuesAtPoint::unweighted_losses(const Rows& rows, std::span<double> out) const {
  offered(prepared().values()).losses(rows, out);
}

void ValuesAtPoint::scores(const Rows& rows, std::span<float> out) const {
  offered(prepared().values()).scores(rows, out);
}

void AtPoint::add_clipped_gradients(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) const {
  offered(prepared().gradients()).add_clipped_gradients(rows, bound, sum);
}

std::span<const std::uint32_t> AtPoint::add_clipped_means(const Persons& persons, const MeanBound& bound,
                                                          LatticeAccumulator& sum) const {
  return offered(prepared().means()).add_clipped_means(persons, bound, sum);
}

void AtPoint::gradient_norms(const Rows& rows, std::span<double> out) const {
  offered(prepared().norms()).gradient_norms(rows, out);
}

void AtPoint::norms_at_point(const Rows& rows, std::span<double> out) const {
  offered(prepared().norms()).norms_at_point(rows, out);
}

std::vector<Measure> AtPoint::measures(const SetTotals& whole, const Shard& shard) const {
  return offered(prepared().set_measures()).measures(whole, shard);
}

void PointParts::add(std::span<const float> part) {
  Objective& objective = prepared();
  verify(told_ + part.size() <= objective.dim(), "a point has dim() coordinates");
  offered(objective.parts()).prepare_part(told_, part);
  told_ += part.size();
}

ValuesAtPoint PointParts::complete() const {
  verify(told_ == prepared().dim(), "a point is told to its last coordinate");
  ValuesAtPoint whole;
  static_cast<Prepared&>(whole) = *this;
  return whole;
}

void AtPoints::losses(std::size_t p, const Rows& rows, std::span<double> out) const {
  prepared();
  own_->losses_at(p, rows, out);
  weigh(rows, out);
}

void AtProbes::probe(const Rows& row, double radius, const DirectionTile& tile, std::span<double> up,
                     std::span<double> down) const {
  prepared();
  own_->probe(row, radius, tile, up, down);
  weigh(row, up.first(tile.count), tile.count);
  weigh(row, down.first(tile.count), tile.count);
}

}  // namespace dpmpi
