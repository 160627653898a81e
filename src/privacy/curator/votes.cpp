#include "privacy/curator/votes.hpp"

#include <algorithm>
#include <cmath>

namespace dpmpi {

L2Bound split_bound(const L2Bound& joint, double share) {
  return {joint.clip * std::sqrt(1 - share), joint.clipping};
}

double vote_size(const L2Bound& joint, double share) { return joint.clip * std::sqrt(share); }

Votes::Votes(const L2Bound& joint, double share, Lattice lattice)
    : bound_(split_bound(joint, share)),
      size_(static_cast<std::int64_t>(std::floor(vote_size(joint, share) * lattice.scale()))) {}

std::int64_t Votes::of(double length) const {
  if (!std::isfinite(length)) return 0;
  return length <= bound_.clip ? size_ : -size_;
}

// The rows are announced once more: the kernel may have announced them in parts, and spilled between.
void add_votes(const Votes& votes, const Kernel& kernel, const Rows& rows, LatticeAccumulator& sum,
               std::vector<double>& lengths) {
  lengths.resize(std::max(lengths.size(), rows.size()));
  const auto of_rows = std::span(lengths).first(rows.size());
  kernel.lengths(rows, of_rows);
  std::int64_t balance = 0;
  for (const double length : of_rows) balance += votes.of(length);
  const double value = static_cast<double>(balance) * sum.lattice().quantum();
  sum.begin(rows.size());
  sum.add(sum.dim() - 1, std::span(&value, 1));
}

}  // namespace dpmpi
