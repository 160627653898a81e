#include "privacy/loss_distributions/grid.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

namespace dpmpi {

namespace {

constexpr double largest_loss = 600;

// Masses of the cells between neighbouring cuts, from that side of each law which has the smaller masses.
struct CellMass {
  double p = 0, p_error = 0, q = 0, q_error = 0;
};
CellMass between(const LossCut& low, const LossCut& high) {
  CellMass cell;
  const auto difference = [&](double above, double below, double error) {
    return std::pair(std::max(above - below, 0.0), error * (above + below));
  };
  const double error = std::max(low.error, high.error);
  std::tie(cell.p, cell.p_error) = low.p_above < high.p_below ? difference(low.p_above, high.p_above, error)
                                                              : difference(high.p_below, low.p_below, error);
  std::tie(cell.q, cell.q_error) = low.q_above < high.q_below ? difference(low.q_above, high.q_above, error)
                                                              : difference(high.q_below, low.q_below, error);
  return cell;
}

// From a point to the next one, in steps: a power of two. Masses crowd at the anchor (place 0) or, where that is
// the end of all losses, somewhere between it and loss 0 (at the place `zero`).
std::int64_t stride_at(std::int64_t place, double zero, double dense) {
  const double at = static_cast<double>(place);
  const double far = std::max({std::min(0.0, zero) - at, at - std::max(0.0, zero), 0.0}) / dense;
  return far < 2 ? 1 : std::int64_t{1} << static_cast<int>(2 * std::floor(std::log2(far)));
}

GridLaw empty_law(const LossPair& pair, double anchor, LossRange range, double step, double dense) {
  GridLaw law{step, anchor};
  const auto first = static_cast<std::int64_t>(std::floor((range.low - anchor) / step)) - 1;
  const auto last = static_cast<std::int64_t>(std::ceil((range.high - anchor) / step)) + 1;
  if (!pair.atoms.empty()) dense = everywhere;  // atoms have their points
  const double zero = -anchor / step;
  for (std::int64_t place = first; place < last; place += stride_at(place, zero, dense)) law.place.push_back(place);
  law.place.push_back(last);
  law.mass.assign(law.place.size(), 0.0);
  law.loss_error = pair.loss_error + 0x1p-48 * (1 + std::abs(anchor) + std::max(-range.low, range.high) + step);
  return law;
}

// Where an atom stands: index of the point below it (-1: none) and the distance from there in losses. Atoms within
// 2^-40 steps of a point of the grid count as standing on it; that is part of the loss error.
struct Place {
  std::ptrdiff_t index;
  double distance;
};
Place place(const GridLaw& law, double loss) {
  const double position = (loss - law.anchor) / law.step - static_cast<double>(law.place.front());
  const double nearest = std::round(position);
  const double from = std::abs(position - nearest) <= 0x1p-40 ? nearest : position;
  const auto above = std::ranges::upper_bound(
      law.place, from, {}, [&](std::int64_t at) { return static_cast<double>(at - law.place.front()); });
  const std::ptrdiff_t index = above - law.place.begin() - 1;
  if (index < 0) return {-1, 0};
  const std::int64_t below = law.place[static_cast<std::size_t>(index)] - law.place.front();
  return {index, (from - static_cast<double>(below)) * law.step};
}

// Splits p and q = scaled_q e^(-g_i) of losses in [g_i, g_{i+1}] between the ends so that both are kept. That
// spreads e^(-loss) under P, of which gamma -> (1 - gamma e^(-loss))_+ is convex, so H grows ("connect the dots",
// Doroshenko et al. 2022). More p and less q make H grow, too.
void split(GridLaw& law, std::size_t i, double p, double scaled_q) {
  const double upper = std::clamp((p - scaled_q) / -std::expm1(-law.gap(i)), 0.0, p);
  law.mass[i] += p - upper;
  law.mass[i + 1] += upper;
}

GridLaw discretize_up(const LossPair& pair, LossRange range, double step, double dense) {
  GridLaw law = empty_law(pair, pair.anchor, range, step, dense);
  law.infinite = pair.infinite;
  const std::size_t last = law.mass.size() - 1;
  if (pair.cut) {
    LossCut low = pair.cut(law.loss(0));
    law.mass[0] += low.p_below * (1 + low.error);
    for (std::size_t i = 0; i < last; ++i) {
      const LossCut high = pair.cut(law.loss(i + 1));
      const CellMass cell = between(low, high);
      split(law, i, cell.p + cell.p_error, std::exp(law.loss(i)) * std::max(cell.q - cell.q_error, 0.0));
      low = high;
    }
    law.infinite += low.p_above * (1 + low.error);
  }
  for (const LossAtom& atom : pair.atoms) {
    const Place at = place(law, atom.loss);
    if (at.index < 0)
      law.mass[0] += atom.p;
    else if (at.index >= static_cast<std::ptrdiff_t>(last))
      law.infinite += atom.p;
    else
      split(law, static_cast<std::size_t>(at.index), atom.p, atom.p * std::exp(-at.distance));
  }
  law.loss_error += 0x1p-40 * (pair.atoms.empty() ? 0.0 : step);
  return law;
}

// The outputs around a grid point g: p, its excess p - e^g q over a loss of exactly g, and mass that needs no
// treatment because it has this loss.
struct Cell {
  double p = 0, excess = 0, exact = 0, lent = 0;
  double movable_q() const { return p - excess; }  // times e^g
  double lendable() const { return std::max(0.0, (movable_q() + exact) * (1 - 0x1p-20) - lent); }
};

std::vector<Cell> cells_around_points(const LossPair& pair, const GridLaw& law) {
  std::vector<Cell> cells(law.mass.size());
  const std::size_t last = cells.size() - 1;
  if (pair.cut) {
    LossCut low = pair.cut(law.loss(0) - law.step / 2);  // what lies below is dropped
    for (std::size_t i = 0; i <= last; ++i) {
      const LossCut high = pair.cut(law.loss(i) + law.gap(i) / 2);
      const CellMass cell = between(low, high);
      const double p = cell.p - cell.p_error;
      if (p > 0) cells[i] = {p, p - std::exp(law.loss(i)) * (cell.q + cell.q_error)};
      low = high;
    }
    cells[last].exact += low.p_above * (1 - low.error);  // rounded down
  }
  for (const LossAtom& atom : pair.atoms) {
    const Place at = place(law, atom.loss);
    if (at.index < 0) continue;
    const double gap = law.gap(static_cast<std::size_t>(at.index));
    const bool up = at.distance > gap / 2;
    const std::size_t index = static_cast<std::size_t>(at.index) + up;
    Cell& cell = cells[std::min(index, last)];
    if (at.distance == 0 || index > last) {
      cell.exact += atom.p;
    } else {
      cell.p += atom.p;
      cell.excess -= atom.p * std::expm1(up ? gap - at.distance : -at.distance);
    }
  }
  return cells;
}

// Optimistic laws. Merging outputs is post-processing, so it makes no H grow, and a cell that borrows the right
// share of the neighbouring grid point's mass becomes one output of loss exactly g. Why all cells may borrow at
// once: H is above each line P(S_i) - gamma Q(S_i), S_i the losses above the i-th boundary. Take at each of the
// grid's gammas the smaller of the two lines of the adjacent boundaries and connect these points: every segment
// lies below its line, and its slopes change by the masses that lending gives. They must not be negative: no point
// lends more than it has.
class Lending {
 public:
  Lending(std::vector<Cell>& cells, const GridLaw& law) : cells_(cells), law_(law), step_(law.step) {}

  /// Makes all cells able to borrow what they need: parts of them join a neighbour, or their losses are rounded
  /// down.
  void settle() {
    for (std::size_t i = cells_.size(); i-- > 0;)
      if (cells_[i].excess < 0) borrow_from_above(i);
    for (std::size_t i = 0; i < cells_.size(); ++i)
      if (cells_[i].excess > 0 && !join_above(i)) borrow_from_below(i);
  }

  void lend(std::vector<double>& mass) const {
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      const Cell& cell = cells_[i];
      mass[i] += (cell.movable_q() + cell.exact) * (1 - 0x1p-50);  // less than the rounding of what follows
      if (cell.excess > 0) {
        mass[i] += cell.excess * gap(i - 1).from_above;
        mass[i - 1] -= cell.excess * gap(i - 1).from_below;
      } else if (cell.excess < 0) {
        mass[i] -= cell.excess * gap(i).from_below;
        mass[i + 1] += cell.excess * gap(i).from_above;
      }
    }
  }

 private:
  // Between neighbouring points: e^gap, and what the two ends lend for one unit of excess.
  struct Gap {
    double grow, from_above, from_below;
    explicit Gap(double gap)
        : grow(std::exp(gap)), from_above(-1 / std::expm1(-gap)), from_below(1 / std::expm1(gap)) {}
  };
  Gap gap(std::size_t i) const { return law_.gap(i) == law_.step ? step_ : Gap(law_.gap(i)); }

  double lendable_above(std::size_t i) const { return i + 1 < cells_.size() ? cells_[i + 1].lendable() : 0; }
  double lendable_below(std::size_t i) const { return i > 0 ? cells_[i - 1].lendable() : 0; }

  // What cannot be served joins the cell below, with an excess there.
  void borrow_from_above(std::size_t i) {
    Cell& cell = cells_[i];
    const double need = -cell.excess * gap(i).from_above, served = std::min(1.0, lendable_above(i) / need);
    if (i > 0 && served < 1) {
      cells_[i - 1].p += (1 - served) * cell.p;
      cells_[i - 1].excess += (1 - served) * (cell.p - cell.movable_q() / gap(i - 1).grow);
    }
    cell.p *= served;
    cell.excess *= served;
    if (served > 0) cells_[i + 1].lent += need * served;
  }

  // What cannot be served is rounded down: more q.
  void borrow_from_below(std::size_t i) {
    Cell& cell = cells_[i];
    if (i == 0) {
      cell.excess = 0;
      return;
    }
    const double from_below = gap(i - 1).from_below;
    cell.excess = std::min(cell.excess, lendable_below(i) / from_below);
    cells_[i - 1].lent += cell.excess * from_below;
  }

  // Where there is nothing to borrow below, if the cell above can then borrow enough and none borrowed from here.
  bool join_above(std::size_t i) {
    Cell& cell = cells_[i];
    const bool served = i > 0 && cell.excess * gap(i - 1).from_below <= lendable_below(i);
    if (served || cell.lent > 0 || i + 2 >= cells_.size()) return false;
    Cell& above = cells_[i + 1];
    const double excess = above.excess + cell.p - cell.movable_q() * gap(i).grow;
    const double more = (std::min(above.excess, 0.0) - excess) * gap(i + 1).from_above;
    if (excess > 0 || more > cells_[i + 2].lendable()) return false;
    above.p += cell.p;
    above.excess = excess;
    cells_[i + 2].lent += more;
    cell.p = cell.excess = 0;
    return true;
  }

  std::vector<Cell>& cells_;
  const GridLaw& law_;
  Gap step_;
};

// Where mass crowds at an end of all losses, its cell has no neighbour to borrow from. So the grid is put where
// this cell needs nothing: at the loss of its merged output, or a trifle below, because too much excess costs a
// trifle and too little moves the whole cell.
double merged_anchor(const LossPair& pair, double step) {
  double anchor = pair.anchor;
  if (!pair.atoms.empty()) return anchor;
  for (int i = 0; i < 40; ++i) {
    const CellMass cell = between(pair.cut(anchor - step / 2), pair.cut(anchor + step / 2));
    if (!(cell.p > 0 && cell.q > 0)) return pair.anchor;
    const double before = std::exchange(anchor, std::log(cell.p / cell.q));
    if (std::abs(anchor - before) < 0x1p-24 * step) break;
  }
  return anchor - 0x1p-20 * step;
}

// Atoms at both ends of all losses can borrow from nobody: off the grid they lose up to a step in every use. More
// noise that puts both on the grid lowers H, too, but by a part step/span of epsilon at most, however many uses.
LossPair with_span_on_grid(const LossPair& pair, double step) {
  const double steps = std::abs(pair.span) / step, whole = std::floor(steps + 0x1p-40);
  if (!pair.narrowed || whole < 1 || std::abs(steps - whole) <= 0x1p-40) return pair;
  return pair.narrowed(whole * step);
}

GridLaw discretize_down(const LossPair& given, LossRange range, double step, double dense) {
  const LossPair pair = with_span_on_grid(given, step);
  GridLaw law = empty_law(pair, merged_anchor(pair, step), range, step, dense);
  law.infinite = pair.infinite;
  std::vector<Cell> cells = cells_around_points(pair, law);
  Lending lending(cells, law);
  lending.settle();
  lending.lend(law.mass);
  for (double& mass : law.mass) mass = std::max(mass * (1 - 0x1p-50), 0.0);
  law.loss_error += 0x1p-40 * (pair.atoms.empty() ? 0.0 : step);
  return law;
}

double p_above(const LossPair& pair, double loss) {
  double mass = pair.cut ? pair.cut(loss).p_above : 0;
  for (const LossAtom& atom : pair.atoms)
    if (atom.loss > loss) mass += atom.p;
  return mass;
}
double p_below(const LossPair& pair, double loss) {
  double mass = pair.cut ? pair.cut(loss).p_below : 0;
  for (const LossAtom& atom : pair.atoms)
    if (atom.loss < loss) mass += atom.p;
  return mass;
}

}  // namespace

LossRange loss_range(const LossPair& pair, double tail) {
  // Bisection outwards from 0, which losses surround: E_P e^(-loss) = 1. The anchor may be where all losses end,
  // far from those that occur (log(1 - q) at rates q near 1).
  const auto edge = [&](double limit, auto mass_beyond) {
    double inside = 0, outside = limit;
    if (pair.anchor * limit > 0 && mass_beyond(pair, pair.anchor) <= tail) outside = pair.anchor;
    if (mass_beyond(pair, inside) <= tail) return inside;
    if (mass_beyond(pair, outside) > tail) return outside;
    for (int i = 0; i < 200 && std::abs(outside - inside) > 1e-3 * std::abs(outside); ++i) {
      const double middle = (inside + outside) / 2;
      (mass_beyond(pair, middle) <= tail ? outside : inside) = middle;
    }
    return outside;
  };
  return {edge(std::min(-largest_loss, pair.anchor), p_below), edge(std::max(largest_loss, pair.anchor), p_above)};
}

GridLaw discretize(const LossPair& pair, LossRange range, double step, Bound bound, double dense) {
  return bound == Bound::upper ? discretize_up(pair, range, step, dense)
                               : discretize_down(pair, range, step, dense);
}

double aligned_step(const LossPair& pair, double step) {
  const double span = std::abs(pair.span);
  return span < step ? step : span / (2 * std::ceil(span / (2 * step)));
}

std::vector<SketchPoint> sketch(const LossPair& pair, LossRange range) {
  std::vector<SketchPoint> points;
  for (const LossAtom& atom : pair.atoms)
    if (atom.p > 0 && atom.loss >= range.low && atom.loss <= range.high)
      points.push_back({atom.loss, std::log(atom.p)});
  if (!pair.cut) return points;
  // Edges crowd towards the anchor: mechanisms with small sampling rates have losses of many magnitudes.
  constexpr int half = 256;
  const double center = std::clamp(pair.anchor, range.low, range.high);
  LossCut low{};
  for (int i = -half; i <= half; ++i) {
    const double fraction = std::pow(std::abs(i) / static_cast<double>(half), 4);
    const double distance = (i < 0 ? range.low : range.high) - center;
    const LossCut high = pair.cut(center + fraction * distance);
    if (i > -half)
      if (const CellMass cell = between(low, high); cell.p > 0 && cell.q > 0)
        points.push_back({std::log(cell.p / cell.q), std::log(cell.p)});
    low = high;
  }
  return points;
}

}  // namespace dpmpi
