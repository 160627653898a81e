#include "dpmpi/privacy/pld_grid.hpp"

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

LossLaw empty_law(const LossPair& pair, LossRange range, double step) {
  LossLaw law{step, pair.anchor};
  law.first = static_cast<std::int64_t>(std::floor((range.low - pair.anchor) / step)) - 1;
  const auto last = static_cast<std::int64_t>(std::ceil((range.high - pair.anchor) / step)) + 1;
  law.mass.assign(static_cast<std::size_t>(last - law.first + 1), 0.0);
  law.loss_error =
      pair.loss_error + 0x1p-48 * (1 + std::abs(pair.anchor) + std::max(-range.low, range.high) + step);
  return law;
}

// Where an atom stands on the grid: index (relative to law.first) of the point below it and the distance from there
// in losses. Atoms within 2^-40 steps of a point count as standing on it; that is part of the loss error.
struct Place {
  double index, distance;
};
Place place(const LossLaw& law, double loss) {
  const double position = (loss - law.anchor) / law.step - static_cast<double>(law.first);
  const double nearest = std::round(position);
  if (std::abs(position - nearest) <= 0x1p-40) return {nearest, 0};
  const double below = std::floor(position);
  return {below, (position - below) * law.step};
}

// Splits p and q = scaled_q e^(-g_i) of losses in [g_i, g_{i+1}] between the ends so that both are kept. That
// spreads e^(-loss) under P, of which gamma -> (1 - gamma e^(-loss))_+ is convex, so H grows ("connect the dots",
// Doroshenko et al. 2022). More p and less q make H grow, too.
void split(LossLaw& law, std::size_t i, double p, double scaled_q) {
  const double upper = std::clamp((p - scaled_q) / -std::expm1(-law.step), 0.0, p);
  law.mass[i] += p - upper;
  law.mass[i + 1] += upper;
}

LossLaw discretize_up(const LossPair& pair, LossRange range, double step) {
  LossLaw law = empty_law(pair, range, step);
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
    else if (at.index >= static_cast<double>(last))
      law.infinite += atom.p;
    else
      split(law, static_cast<std::size_t>(at.index), atom.p, atom.p * std::exp(-at.distance));
  }
  law.loss_error += 0x1p-40 * (pair.atoms.empty() ? 0.0 : step);
  return law;
}

// A cell around the grid point g: p, and its excess r = p - e^g q over a loss of exactly g.
struct Cell {
  double p = 0, excess = 0;
  double scaled_q() const { return p - excess; }
};

std::vector<Cell> cells_around_points(const LossPair& pair, const LossLaw& law) {
  std::vector<Cell> cells(law.mass.size());
  const std::size_t last = cells.size() - 1;
  if (pair.cut) {
    LossCut low = pair.cut(law.loss(0) - law.step / 2);  // what lies below is dropped
    for (std::size_t i = 0; i <= last; ++i) {
      const LossCut high = pair.cut(law.loss(i) + law.step / 2);
      const CellMass cell = between(low, high);
      const double p = cell.p - cell.p_error;
      if (p > 0) cells[i] = {p, p - std::exp(law.loss(i)) * (cell.q + cell.q_error)};
      low = high;
    }
    cells[last].p += low.p_above * (1 - low.error);  // rounded down, so without excess
  }
  for (const LossAtom& atom : pair.atoms) {
    const Place at = place(law, atom.loss);
    const bool up = at.distance > law.step / 2;
    const double index = std::min(at.index + up, static_cast<double>(last));
    if (index < 0) continue;
    Cell& cell = cells[static_cast<std::size_t>(index)];
    cell.p += atom.p;
    if (at.index + up <= static_cast<double>(last))
      cell.excess -= atom.p * std::expm1(up ? law.step - at.distance : -at.distance);
  }
  return cells;
}

// A cell whose excess is not 0 borrows a share of the neighbouring grid point's mass and merges with it into an
// output of loss exactly g: merging outputs is post-processing. (Why all may borrow at once: H is above each line
// P(S_i) - gamma Q(S_i), S_i the losses above the i-th cell boundary. Connect, at the grid's gammas, the smaller of
// the two lines of the adjacent boundaries: each segment lies below its line, and its slopes change by the masses
// below.) A neighbour lends at most half of its own mass to each side. A cell that lacks excess and cannot borrow
// it from above joins the cell below, which then has some to give; where what is below cannot take it, losses are
// rounded down.
void make_lendable(std::vector<Cell>& cells, double step) {
  const double to_above = -1 / std::expm1(-step), to_below = 1 / std::expm1(step);
  const std::size_t last = cells.size() - 1;
  for (std::size_t i = cells.size(); i-- > 0;) {
    Cell& cell = cells[i];
    if (cell.excess >= 0) continue;
    if (i < last && -cell.excess * to_above <= cells[i + 1].scaled_q() / 2) continue;
    if (i > 0) {
      cells[i - 1].p += cell.p;
      cells[i - 1].excess += cell.p - std::exp(-step) * cell.scaled_q();
    }
    cell = {};
  }
  for (std::size_t i = 0; i <= last; ++i)
    if (cells[i].excess > 0 && (i == 0 || cells[i].excess * to_below > cells[i - 1].scaled_q() / 2))
      cells[i].excess = 0;
}

LossLaw discretize_down(const LossPair& pair, LossRange range, double step) {
  LossLaw law = empty_law(pair, range, step);
  law.infinite = pair.infinite;
  std::vector<Cell> cells = cells_around_points(pair, law);
  make_lendable(cells, step);
  const double to_above = -1 / std::expm1(-step), to_below = 1 / std::expm1(step);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const Cell& cell = cells[i];
    law.mass[i] += cell.scaled_q() * (1 - 0x1p-50);  // less than the rounding of what follows
    if (cell.excess > 0) {
      law.mass[i] += cell.excess * to_above;
      law.mass[i - 1] -= cell.excess * to_below;
    } else if (cell.excess < 0) {
      law.mass[i] -= cell.excess * to_below;
      law.mass[i + 1] += cell.excess * to_above;
    }
  }
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
  // Bisection outwards from the anchor; where there is nothing beyond it, the result is the anchor.
  const auto edge = [&](double limit, auto mass_beyond) {
    double inside = pair.anchor, outside = limit;
    if (mass_beyond(pair, inside) <= tail) return inside;
    if (mass_beyond(pair, outside) > tail) return outside;
    for (int i = 0; i < 200 && std::abs(outside - inside) > 1e-3 * std::abs(outside - pair.anchor); ++i) {
      const double middle = (inside + outside) / 2;
      (mass_beyond(pair, middle) <= tail ? outside : inside) = middle;
    }
    return outside;
  };
  return {edge(std::min(-largest_loss, pair.anchor), p_below), edge(std::max(largest_loss, pair.anchor), p_above)};
}

LossLaw discretize(const LossPair& pair, LossRange range, double step, Bound bound) {
  return bound == Bound::upper ? discretize_up(pair, range, step) : discretize_down(pair, range, step);
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
  LossCut low{};
  for (int i = -half; i <= half; ++i) {
    const double fraction = std::pow(std::abs(i) / static_cast<double>(half), 4);
    const double distance = (i < 0 ? range.low : range.high) - pair.anchor;
    const LossCut high = pair.cut(pair.anchor + fraction * distance);
    if (i > -half)
      if (const CellMass cell = between(low, high); cell.p > 0 && cell.q > 0)
        points.push_back({std::log(cell.p / cell.q), std::log(cell.p)});
    low = high;
  }
  return points;
}

}  // namespace dpmpi
