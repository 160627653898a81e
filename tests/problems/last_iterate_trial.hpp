#pragma once
// Trials of zo-hidden on logistic regression.

#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "objective/math/frames.hpp"
#include "problems/trial.hpp"

namespace dpmpi::test::hidden_trial {

using Settings = std::map<std::string, std::string>;
using Vector = std::vector<double>;

inline constexpr test::RecordsShape shape{Storage::dense_f32, 300, 12, 1, LabelKind::sign};

inline std::unique_ptr<Objective> logistic() {
  return test::make_objective("logistic", {shape.features, shape.storage, shape.bias});
}

inline const Settings composed{{"steps", "40"}, {"directions", "4"}, {"rate", "3"}, {"release", "all"}};
inline const Settings hidden{{"steps", "400"},       {"directions", "4"}, {"ball", "0.5"},
                             {"feature_bound", "1"}, {"window", "300"},   {"share", "0.4"}};

inline Trial trial(const Settings& settings, double multiplier, Shard shard = test::random_shard(shape, 2)) {
  return Trial("zo-hidden", settings, multiplier, logistic(), std::move(shard));
}

/// Nobody takes part: what moves is noise.
inline Shard nobody() {
  Shard shard = test::random_shard(shape, 2);
  for (auto& block : shard.blocks)
    for (std::size_t i = 0; i < block.records.count; ++i) test::remove_record(block.records, i);
  return shard;
}

/// The iterate in double.
inline Vector state(const Trial& t) {
  const auto bytes = t.algorithm->replicated();
  Vector w(bytes.size() / sizeof(double));
  std::memcpy(w.data(), bytes.data(), bytes.size());
  return w;
}

inline double norm(const Vector& v) { return std::sqrt(std::inner_product(v.begin(), v.end(), v.begin(), 0.0)); }

inline Vector minus(Vector a, const Vector& b) {
  for (std::size_t j = 0; j < a.size(); ++j) a[j] -= b[j];
  return a;
}

/// U^T v.
inline Vector along(Frames& frames, const Vector& v) {
  Vector out(frames.count());
  frames.project(v, out);
  return out;
}

/// v - U U^T v.
inline Vector across(Frames& frames, Vector v) {
  Vector a = along(frames, v);
  for (double& x : a) x = -x;
  frames.add(a, v);
  return v;
}

}  // namespace dpmpi::test::hidden_trial
