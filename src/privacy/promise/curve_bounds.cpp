#include "privacy/promise/curve_bounds.hpp"

#include <algorithm>
#include <cmath>

#include "core/errors.hpp"
#include "core/numbers/real.hpp"

namespace dpmpi {
namespace {

/// Whether so many right guesses, or more, cannot have probability `tail`: of all laws with this tail, the one of
/// least total probability has more than there is. Masses are means over the records.
bool impossible(const Guesses& g, std::span<const CurvePoint> curve, double tail) {
  constexpr double rounding = 1 + 1e-9;  // of the sums below
  const double records = real(g.records), all = real(g.made) / records * rounding;
  double right = tail * real(g.right) / records, wrong = tail * real(g.made - g.right) / records;
  for (std::uint64_t i = g.right; i-- > 0 && right + wrong <= all;) {
    double needed = 0;
    for (const CurvePoint& point : curve) needed = std::max(needed, (right - point.delta) / point.odds);
    if (needed <= wrong) continue;
    right += real(i) / real(g.made - i) * (needed - wrong);
    wrong = needed;
  }
  return right + wrong > all;
}

}  // namespace

double gain(const Bet& bet, const Guesses& run, double delta) {
  verify(run.made == bet.made && run.right <= run.made && run.made <= run.records && bet.least < bet.made,
         "a bet on the guesses that were made");
  verify(bet.odds >= 1 && bet.stake > 0 && bet.stake < 1 && delta >= 0, "a fair bet");
  const double earned = run.right > bet.least ? real(run.right) : 0;
  const double paid = run.right >= bet.least ? bet.odds * real(run.made - run.right) : 0;
  const double most_paid = bet.odds * real(bet.made - bet.least), fair = real(run.records) * delta;
  return 1 + bet.stake * (earned - paid - fair) / (most_paid + fair);
}

double guessing_p_value(const Guesses& guesses, std::span<const CurvePoint> curve) {
  verify(guesses.right <= guesses.made && guesses.made <= guesses.records, "right guesses among guesses");
  if (!impossible(guesses, curve, 1)) return 1;
  double low = -700, high = 0;  // logarithms
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (impossible(guesses, curve, std::exp(middle)) ? high : low) = middle;
  }
  return std::exp(high);
}

}  // namespace dpmpi
