#include "privacy/curator/clip_selection.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/errors.hpp"

namespace dpmpi {

ClipGrid::ClipGrid(double lowest) {
  verify(lowest > 0 && std::isfinite(lowest), "a grid of clips begins above 0");
  for (double& clip : clips_) clip = lowest, lowest *= ratio;
}

std::size_t ClipGrid::bin(double norm) const {
  if (!std::isfinite(norm)) return bins;
  const auto above = std::upper_bound(clips_.begin() + 1, clips_.end() - 1, norm);
  return static_cast<std::size_t>(above - clips_.begin()) - 1;
}

double ClipGrid::choose(std::span<const double> counts, double target) const {
  verify(counts.size() == bins, "a count for every bin");
  double tail = std::accumulate(counts.begin(), counts.end(), 0.0);
  for (std::size_t j = 0; j < bins; ++j) {
    if (tail <= target) return clips_[j];
    tail -= counts[j];
  }
  return highest();
}

QuerySpec ClipGrid::query(double noise_multiplier) const {
  return {.name = "clip",
          .dim = bins,
          .sampling = FullBatch{},
          .bound = {1},
          .noise_multiplier = noise_multiplier,
          .steps = 1,
          .kind = ExactSum{.one_hot = true}};
}

Kernel ClipGrid::counts(Objective& objective, std::span<const float> w) const {
  offered(objective.norms());
  return one_hot_counts([this, at = objective.at(w), norms = std::vector<double>()](
                            const Rows& rows, std::span<std::size_t> bin_of) mutable {
    norms.resize(std::max(norms.size(), rows.size()));
    const auto of_rows = std::span(norms).first(rows.size());
    at.gradient_norms(rows, of_rows);
    std::transform(of_rows.begin(), of_rows.end(), bin_of.begin(), [this](double norm) { return bin(norm); });
  });
}

}  // namespace dpmpi
