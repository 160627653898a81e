#include "privacy/curator/running_release.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "core/errors.hpp"

namespace dpmpi {

double leaf_noise_scale(const Query& query, std::uint64_t step, double clip_scale) {
  if (!query.as<RunningSum>()->adaptive) return 1;
  return std::min(1.0, query.sensitivity_scale(query.clip_at(step) / query.bound.clip * clip_scale));
}

RunningRelease::RunningRelease(const Query& query, const Slice& slice, bool releases)
    : query_(query),
      leaves_(RunningSum::leaves(query)),
      slice_(slice),
      releases_(releases),
      newest_(releases ? query.dim : 0),
      noise_in_newest_(slice.size()) {
  if (query.is_private()) prefix_.emplace(query.as<RunningSum>()->tree(query), slice.size());
}

// The noise of the prefix that ends at `step`, in units of a node's deviation. A node is drawn at the step that
// ends it, by its level; PrefixNoise keeps it as long as prefixes need it. Functions are handed on by reference, so
// that a step allocates nothing.
std::span<const double> RunningRelease::next_noise(SecretStream& noise, std::uint64_t step, double leaf_scale) {
  const std::uint64_t width = round_up(query_.dim, 8);
  const auto draw = [&](std::uint32_t level, std::span<double> out) {
    noise.normals(step, query_.query_index, level * width + slice_.first, out);
  };
  return prefix_->next(leaf_scale, std::cref(draw));
}

// R_t = R_{t-1} + leaf_t + (n_t - n_{t-1}): the newest release, the present sum, and the change of the noise. All
// are integers, so R_t is exactly the sum of the leaves plus n_t, and no sum without noise ever exists.
void RunningRelease::add_leaf(LatticeAccumulator& sum, SecretStream& noise, std::uint64_t step, double clip_scale) {
  if (step % leaves_ == 0) {
    std::ranges::fill(newest_, 0);
    std::ranges::fill(noise_in_newest_, 0);
    if (prefix_) prefix_->restart();
  }
  std::span<const double> prefix;
  if (prefix_) {
    verify(prefix_->leaf() == step % leaves_, "the leaves of a running sum come in order");
    prefix = next_noise(noise, step, leaf_noise_scale(query_, step, clip_scale));
  }
  const double scale = query_.noise_std * query_.lattice.scale();
  const auto go_on = [&](std::size_t first, std::span<std::int64_t> total) {
    if (releases_)
      for (std::size_t i = 0; i < total.size(); ++i) total[i] += newest_[first + i];
    if (prefix.empty()) return;
    const Slice own = slice_.within({first, first + total.size()});
    for (std::size_t j = own.first; j < own.last; ++j) {
      const auto n = nearest_point(scale * prefix[j - slice_.first]);
      total[j - first] += n - std::exchange(noise_in_newest_[j - slice_.first], n);
    }
  };
  const Slice touched = releases_ ? Slice{0, query_.dim} : slice_;
  sum.finish(touched.first, touched.last, std::cref(go_on));
}

void RunningRelease::keep(std::span<const std::int64_t> released) { std::ranges::copy(released, newest_.begin()); }

void RunningRelease::archive(Archive& archive) {
  if (prefix_) leaf_scales_.assign(prefix_->scales().begin(), prefix_->scales().end());
  archive.field(query_.name + ".running", newest_);
  archive.field(query_.name + ".leaf_scales", leaf_scales_);
}

void RunningRelease::replay(SecretStream& noise, std::uint64_t step) {
  const std::uint64_t leaf = step % leaves_;  // leaves of the present run that are done
  if (!prefix_ || leaf == 0) return;          // the next step starts a run
  verify(leaf_scales_.size() == leaf && newest_.size() == (releases_ ? query_.dim : 0),
         "a checkpoint of a running sum");
  prefix_->restart();
  std::span<const double> prefix;
  for (std::uint64_t i = 0; i < leaf; ++i) prefix = next_noise(noise, step - leaf + i, leaf_scales_[i]);
  const double scale = query_.noise_std * query_.lattice.scale();
  for (std::size_t j = 0; j < prefix.size(); ++j) noise_in_newest_[j] = nearest_point(scale * prefix[j]);
}

}  // namespace dpmpi
