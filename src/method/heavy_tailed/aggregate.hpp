#pragma once
// One good point from J points of which a majority is good. Asi, Liu and Tian: Algorithm 3, which needs the radius
// of the good points and uses three times the radius that its proof allows; here no radius is needed.

#include <cstddef>
#include <cstdint>
#include <span>

namespace dpmpi {

/// ceil(0.51 folds): how many points have to be good.
std::uint64_t majority(std::uint64_t folds);

/// The smallest odd J <= 20001 with Pr[Bin(J, success) < majority(J)] <= failure, by exact binomials (the paper:
/// 400 log(1 / failure)). success in (0.51, 1): the chance of a fold. Throws ConfigError if there is none.
std::uint64_t folds_for(double success, double failure);

struct Aggregate {
  std::size_t index = 0;  ///< of the chosen point
  double radius = 0;      ///< of the ball around it that holds a majority of the points
};

/// Of `points` (rows of `dim` numbers) the one whose majority(J)-th nearest point, itself included, is nearest; the
/// first such one. If a majority lies within R of some z, so does it within 3 R: both majorities share a point,
/// within R of z and within the chosen radius <= 2 R of the chosen point. Post-processing. O(J^2 dim).
Aggregate aggregate(std::span<const double> points, std::size_t dim);

}  // namespace dpmpi
