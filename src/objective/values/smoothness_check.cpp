// Asserted constants of smoothness against the differences that a run would form, on synthetic public records.

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/numbers/random.hpp"
#include "objective/values/projected_differences.hpp"
#include "objective/values/smoothness.hpp"

namespace dpmpi {
namespace {

constexpr std::uint64_t seed = 0x5300714e55;  // any: the records are public
constexpr std::uint64_t samples = 64;
constexpr std::size_t most_columns = 4096;  // of a sparse record

double norm(std::span<const double> v) {
  double square = 0;
  for (const double x : v) square += x * x;
  return std::sqrt(square);
}

float label(const Objective& objective, double label_bound, const PublicStream& bits) {
  const std::uint64_t word = bits.word(0);
  switch (objective.label_kind()) {
    case LabelKind::real:
      return static_cast<float>((2 * bits.uniform(2) - 1) * 2 * (label_bound > 0 ? label_bound : 1));
    case LabelKind::count:
      return static_cast<float>(word % 64);
    case LabelKind::sign:
      return word % 2 == 0 ? -1.0F : 1.0F;
    case LabelKind::class_:
      return static_cast<float>(word % objective.classes());
  }
  return 0;
}

/// A record along the features of `direction` (where the curvature of linear models is largest), and far outside
/// the bound, if there is one, so that enforcing it is part of what is checked.
Records record_along(std::span<const double> direction, const ObjectiveFacts& facts, double feature_bound) {
  const std::size_t features = facts.features;
  Records r;
  r.storage = facts.storage;
  r.count = 1;
  r.features = features;
  r.bias = facts.bias;
  r.stride = round_up(features, facts.storage == Storage::dense_u8 ? 64 : 16);
  const double length = feature_bound > 0 ? 100 * (feature_bound + std::abs(facts.bias)) : 1;
  const double scale = length / std::max(norm(direction.first(std::min(features, direction.size()))), 1e-300);
  const auto value = [&](std::size_t j) {
    return j < direction.size() ? static_cast<float>(scale * direction[j]) : 0.0F;
  };
  double square = static_cast<double>(facts.bias) * facts.bias;
  const auto count_in = [&](double x) { square += x * x; };
  switch (facts.storage) {
    case Storage::dense_f32:
      r.f32.assign(r.stride, 0.0F);
      for (std::size_t j = 0; j < features; ++j) count_in(r.f32[j] = value(j));
      break;
    case Storage::dense_u8:
      r.u8.assign(r.stride, 0);
      r.row_scale = {static_cast<float>(length / 255 / std::sqrt(static_cast<double>(features)))};
      for (std::size_t j = 0; j < features; ++j) {
        r.u8[j] = static_cast<std::uint8_t>(value(j) > 0 ? 255 : 0);
        count_in(static_cast<double>(r.row_scale[0]) * r.u8[j]);
      }
      break;
    case Storage::sparse_f32:
      for (std::size_t j = 0; j < std::min(features, most_columns); ++j) {
        r.column.push_back(static_cast<std::uint32_t>(j));
        r.value.push_back(value(j));
        count_in(value(j));
      }
      r.row_begin = {0, r.column.size()};
      break;
  }
  r.norm = {std::nextafter(static_cast<float>(std::sqrt(square)), std::numeric_limits<float>::infinity())};
  return r;
}

}  // namespace

// The central difference q(w) along a unit vector u is the mean of <grad f, u> on a segment, so exactly
// |q| <= L and lower r <= q(w + r u) - q(w) <= M r.
void check_smoothness(Objective& objective, const ObjectiveFacts& facts, const Smoothness& smoothness,
                      double feature_bound, double label_bound, double radius, double l2) {
  const std::size_t d = objective.dim();
  Frames frames(DirectionLaw::stiefel, d, 1, seed);
  const bool linear = objective.is_linear();
  const double xi = radius * (linear ? 1e-3 : 0.05), step = xi, inside = radius - xi - step;
  ProjectedDifferences probe(objective, frames,
                             {.radius = xi, .feature_bound = feature_bound, .label_bound = label_bound, .l2 = l2});
  // Points of other objectives are float32, and so may be their losses.
  const double rounding =
      1e-9 * smoothness.L + 2 * smoothness.probe_error_fp + (linear ? 0 : 0x1p-20 * smoothness.L * radius / xi);

  std::vector<double> w(d);  // one vector for all: the model may be large
  for (std::uint64_t sample = 0; sample < samples; ++sample) {
    const PublicStream bits(seed, "smoothness", sample);
    frames.begin(sample);
    const auto move = [&](double distance) { frames.add({&distance, 1}, w); };
    // Along the direction linear models curve most, across it least.
    Records record;
    if (sample % 4 != 3) {
      std::fill(w.begin(), w.end(), 0.0);
      move(1);
      record = record_along(w, facts, feature_bound);
    }
    bits.normals(4, w);
    if (sample % 4 == 3) record = record_along(w, facts, feature_bound);
    record.label = {label(objective, label_bound, bits)};

    // Points from one end of the ball to the other.
    const double along = inside * (2 * static_cast<double>(sample) / (samples - 1) - 1);
    const double across = std::sqrt(std::max(0.0, inside * inside - along * along)) * bits.uniform(1) / norm(w);
    for (double& v : w) v *= across;
    move(along);
    const double shrink = std::min(1.0, inside / norm(w));
    for (double& v : w) v *= shrink;
    const std::uint32_t only = 0;
    double from = 0, to = 0;
    probe.unclipped(w, {record, {&only, 1}}, {&from, 1});
    move(step);
    probe.unclipped(w, {record, {&only, 1}}, {&to, 1});
    const double slope = std::max(std::abs(from), std::abs(to)), curvature = (to - from) / step;
    const double tolerance = 2 * rounding / step;
    const auto refuse = [](const char* what, double found, double asserted) {
      throw PrivacyError(
          fmt::format("the loss is not as smooth as asserted: {} {} on a synthetic record, asserted {}", what,
                      found, asserted));
    };
    if (!(slope <= smoothness.L + rounding)) refuse("slope", slope, smoothness.L);
    if (!(curvature <= smoothness.M * (1 + 1e-9) + tolerance)) refuse("curvature", curvature, smoothness.M);
    if (!(curvature >= smoothness.lower - tolerance)) refuse("curvature", curvature, smoothness.lower);
  }
}

}  // namespace dpmpi
