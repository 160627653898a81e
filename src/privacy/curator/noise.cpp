// How the noise of single releases joins their sums: at the root, or by slices at all ranks. Functions are handed
// on by reference, so that a step allocates nothing.

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "core/console/heartbeat.hpp"
#include "core/errors.hpp"
#include "core/numbers/discrete_gaussian.hpp"
#include "core/numbers/random.hpp"
#include "core/secrecy.hpp"
#include "privacy/curator/query_state.hpp"

namespace dpmpi {

// What phases hand over is on the root when its noise joins it, and the scores of runs are compared there. A draw
// of the exact discrete Gaussian begins where the one before has ended.
bool drawn_by_slices(const Query& query) {
  const bool summed = !query.as<Phases>() && !query.as<BestOfRuns>();
  return summed && query.is_private() && query.noise == Noise::gaussian;
}

Slice Curator::noise_slice(const Query& query) const {
  if (noise_by_slices_ && drawn_by_slices(query)) return slice_of(query.dim, comm_.rank(), comm_.size());
  return curates_ ? Slice{0, query.dim} : Slice{};
}

// Discrete Gaussian: exact on the lattice, coordinate after coordinate from one reader, because a draw uses a
// varying number of words. Gaussian: rounding is post-processing of the continuous draw, because the sum is on the
// lattice too.
void Curator::add_noise(QueryState& s, std::uint64_t step, double clip_scale, const Slice& slice) {
  const Stopwatch watch(timing_.noise);
  const InStage stage(Stage::noise);
  if (s.running) return s.running->add_leaf(s.sum, *noise_, step, clip_scale);
  if (!s.query.is_private() || slice.size() == 0) return;
  const Query& query = s.query.at(step);
  const double noise_scale = query.sensitivity_scale(clip_scale) * query.noise_scale(step);
  if (query.noise == Noise::discrete_gaussian) {
    const double finer = query.lattice.quantum() * s.sum.lattice().scale();
    const double quanta = std::ceil(static_cast<double>(query.noise_quanta) * noise_scale * finer);
    const DiscreteGaussianSampler sampler(static_cast<std::uint64_t>(quanta));
    SecretReader bits(*noise_, step, query.query_index);
    const auto add = [&](std::size_t, std::span<std::int64_t> total) {
      for (auto& value : total) value += sampler(bits);
    };
    return s.sum.finish(slice.first, slice.last, std::cref(add));
  }
  const double scale = query.noise_std * noise_scale * s.sum.lattice().scale();
  alignas(64) std::array<double, 1024> normal;
  const auto add = [&](std::size_t first, std::span<std::int64_t> total) {
    verify(total.size() <= normal.size(), "the noise of a piece of the sum");
    noise_->normals(step, query.query_index, first, std::span(normal).first(total.size()));
    for (std::size_t i = 0; i < total.size(); ++i) total[i] += nearest_point(scale * normal[i]);
  };
  s.sum.finish(slice.first, slice.last, std::cref(add));
  wipe(normal);
}

}  // namespace dpmpi
