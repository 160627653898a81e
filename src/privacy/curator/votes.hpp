#pragma once
// An extra coordinate of a sum in which every unit votes whether it is within the clip (Andrew et al. 2021,
// arXiv:1905.03871, whose b_i - 1/2 it is). It shares the bound J of a contribution with the vector before it,
//   clip^2 + vote^2 = J^2,
// so that sensitivity, noise and events are those of any other sum with the bound J: docs/theory/adaptive_clip.md.

#include <cstdint>
#include <span>
#include <vector>

#include "objective/kernel.hpp"

namespace dpmpi {

/// The bound of the coordinates before the votes, which have `share` of the squared bound.
L2Bound split_bound(const L2Bound& joint, double share);
/// What a vote counts: + or - this. In lattice points it is rounded down to a whole number.
double vote_size(const L2Bound& joint, double share);

/// The votes of one sum.
class Votes {
 public:
  Votes(const L2Bound& joint, double share, Lattice lattice);

  /// The clip of the coordinates before the votes.
  const L2Bound& bound() const { return bound_; }
  /// In lattice points: 0 for a length that is not finite, plus for one of at most the clip, else minus.
  std::int64_t of(double length) const;

 private:
  L2Bound bound_;
  std::int64_t size_;
};

/// Adds what rows vote to the last coordinate of a sum on the lattice of `votes`. The kernel tells lengths.
/// `lengths` is memory, which is kept. Local.
void add_votes(const Votes& votes, const Kernel& kernel, const Rows& rows, LatticeAccumulator& sum,
               std::vector<double>& lengths);

}  // namespace dpmpi
