#pragma once
// The search for the tightest value of an unknown, whatever says what epsilon is there.

#include <cmath>
#include <functional>
#include <optional>

#include "privacy/promise/calibrate.hpp"

namespace dpmpi {

using EpsilonOf = std::function<double(double)>;

/// x or the next value that can be printed, `steps` of them away from it in the direction of more privacy.
double on_grid(const Unknown& unknown, double x, double steps = 0);

/// One search: along log(x), because epsilon is nearly a power of the unknown.
class Search {
 public:
  static constexpr double fine = 5e-8;    ///< within the seventh significant digit; whole numbers exactly
  static constexpr double coarse = 1e-3;  ///< where epsilon costs much and is hardly better known
  static constexpr double rough = 1e-2;   ///< to begin another search with

  /// Epsilon is to be at most `epsilon`; the value is the tightest up to a relative `resolution`.
  Search(const Unknown& unknown, const EpsilonOf& epsilon_of, double epsilon, double resolution = fine);

  /// The tightest value that keeps the target, found outward from `start` by steps that grow from a factor e^0.7 or
  /// less. Empty if there is none. It has been evaluated.
  std::optional<double> tightest(double start);

 private:
  /// excess: log(epsilon / target), at most 0 exactly where the target is kept.
  struct Point {
    double x, excess;
  };

  double bound(bool private_end) const { return private_end == unknown_.protects ? unknown_.most : unknown_.least; }
  bool inside(double x) const { return x >= unknown_.least && x <= unknown_.most; }
  Point at(double x) const;
  double moved(double x, double stride) const;
  bool bracket(double start);
  void narrow();
  bool adjacent(double a, double b) const;
  double between(double x, double a, double b) const;

  const Unknown& unknown_;
  const EpsilonOf& epsilon_of_;
  double epsilon_, resolution_;
  std::optional<Point> keeps_, breaks_;  // neighbours of which one keeps and one breaks the target
};

/// What is to be found.
struct Problem {
  const Unknown& unknown;
  const EventsOf& events;
  const PrivacyTarget& target;

  /// A value that keeps the target, and the tightest up to a relative `resolution`.
  std::optional<double> solve(const EpsilonOf& epsilon_of, std::optional<double> near,
                              double resolution = Search::fine) const {
    return Search(unknown, epsilon_of, target.epsilon, resolution).tightest(near.value_or(unknown.start));
  }
  /// Whether x uses more of the target than y, if both keep it.
  bool tighter(double x, double y) const { return unknown.protects ? x < y : x > y; }
};

}  // namespace dpmpi
