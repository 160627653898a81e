#include "objective/values/projected_differences.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "objective/joint_clip.hpp"
#include "objective/takes_part.hpp"
#include "objective/values/difference_probe.hpp"

namespace dpmpi {
namespace {

bool is_bound(double v) { return v >= 0 && std::isfinite(v); }

void check(const Objective& objective, const Frames& frames, const DifferenceRule& rule) {
  verify(frames.dim() == objective.dim(), "a frame of the model's dimension");
  objective.refuse_factors({.weight = true}, "differences along directions");
  if (!(rule.radius > 0 && std::isfinite(rule.radius)))
    throw ConfigError(fmt::format("the probe radius is {}, allowed: a finite number > 0", rule.radius));
  if (!is_bound(rule.feature_bound) || !is_bound(rule.label_bound) || !is_bound(rule.l2))
    throw ConfigError(fmt::format(
        "bounds of features and labels and the ridge are {}, {} and {}, allowed: finite numbers > 0, or 0 for none",
        rule.feature_bound, rule.label_bound, rule.l2));
}

std::unique_ptr<ProjectedDifferences::Probe> make_probe(Objective& objective, Frames& frames,
                                                        const DifferenceRule& rule) {
  check(objective, frames, rule);
  if (auto linear = linear_differences(objective, frames, rule)) return linear;
  if (rule.feature_bound > 0 || rule.label_bound > 0)
    throw ConfigError("bounds of features and labels are enforced for linear models only");
  if (auto together = differences_together(objective, frames, rule)) return together;
  return evaluated_differences(objective, frames, rule);
}

/// Each coordinate, to clip / sqrt(K). False if one is not finite.
bool clip_coordinates(std::span<const double> q, double clip, std::span<double> y) {
  const double most = clip / std::sqrt(static_cast<double>(q.size()));
  if (!std::all_of(q.begin(), q.end(), [](double v) { return std::isfinite(v); })) return false;
  for (std::size_t k = 0; k < q.size(); ++k) y[k] = std::clamp(q[k], -most, most);
  return true;
}

}  // namespace

ProjectedDifferences::ProjectedDifferences(Objective& objective, Frames& frames, const DifferenceRule& rule)
    : probe_(make_probe(objective, frames, rule)),
      clipped_(frames.count()),
      joint_(rule.joint),
      dim_(objective.dim()) {}

ProjectedDifferences::~ProjectedDifferences() = default;

bool ProjectedDifferences::linear(const Objective& objective) { return objective.is_linear(); }
bool ProjectedDifferences::linear() const { return probe_->linear(); }

// Only `this` is captured, so that a step allocates nothing.
Kernel ProjectedDifferences::kernel(std::span<const double> w) {
  verify(w.size() == dim_, "a point of another dimension");
  probe_->prepare(w);
  Kernel kernel([this](const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) { add(rows, bound, sum); });
  kernel.readings = probe_->readings();
  kernel.begin = [this](std::size_t reading) { probe_->begin(reading); };
  kernel.read = [this](const Rows& rows) { probe_->read(rows); };
  return kernel;
}

void ProjectedDifferences::unclipped(std::span<const double> w, const Rows& rows, std::span<double> q) {
  verify(q.size() == rows.size() * clipped_.size(), "one number for each row and direction");
  probe_->prepare(w);
  for (std::size_t reading = 0; reading < probe_->readings(); ++reading) {
    probe_->begin(reading);
    if (reading + 1 < probe_->readings()) probe_->read(rows);
  }
  std::copy_n(probe_->differences(rows), q.size(), q.begin());
}

void ProjectedDifferences::add(const Rows& rows, const L2Bound& bound, LatticeAccumulator& sum) {
  verify(bound.clipping == Clipping::flat, "differences are clipped as one vector or one by one");
  const std::size_t K = clipped_.size();
  const double* q = probe_->differences(rows);
  for (std::size_t r = 0; r < rows.size(); ++r, q += K) {
    if (!takes_part(rows.records, rows.index[r])) continue;
    const auto clip = joint_ ? clip_jointly : clip_coordinates;
    if (!clip({q, K}, bound.clip, clipped_)) continue;
    sum.begin(1);
    sum.add(0, std::span<const double>(clipped_));
  }
}

// clip / sqrt(K) is rounded twice and squared K times: below the slack of the joint clip, too.
NumericSlack ProjectedDifferences::slack(std::size_t count) { return joint_clip_slack(count); }

}  // namespace dpmpi
