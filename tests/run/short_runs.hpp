#pragma once
// Settings with which every registered method makes a short run.

#include <string>
#include <vector>

#include "method/method.hpp"

namespace dpmpi::test {

using Settings = std::vector<std::string>;

// Losses in a file of one's own.
inline bool is_code(const std::string& objective) { return objective == "plugin" || objective == "python"; }

// Options of a method that make a short run; for losses that are no functions of <w, x>, few directions. A new
// method must be named here if it does not know the last ones.
inline Settings options_of(const std::string& method, const std::string& objective) {
  const bool linear = objective != "mlp" && objective != "network" && objective != "softmax" && !is_code(objective);
  if (method == "zo-o2nc") {
    Settings settings{"method.inner=8", "method.batch=20", "method.first_batch=60"};
    if (!linear)
      for (const char* few : {"method.directions=block", "method.block=4", "method.count=8"})
        settings.emplace_back(few);
    return settings;
  }
  if (method == "zo-naive") return {"method.inner=8", "method.batch=20"};
  if (method == "zo-hidden")
    return {"method.release=all", "method.directions=4",     "method.steps=7",
            "method.rate=0.5",    "method.sampling=poisson", "method.batch=150"};
  if (method == "gibo")
    return {"method.steps=5", "method.batch=fixed", "method.b=4", "method.memory=window:6", "method.clip=0.3"};
  if (method == "random-search") return {"method.candidates=9", "method.block=3"};
  if (method == "random-stopping") return {"method.gamma=0.3", "privacy.trust=cluster"};
  if (method == "ucb-bo") return {"method.steps=5", "method.candidates=30"};
  if (method == "clipped-gd" && objective == "mallows")  // which knows no norms of gradients
    return {"method.steps=7", "method.clip_rule=fixed", "method.clip=1"};
  if (method == "clipped-gd") return {"method.steps=7"};
  if (method == "ht-glm") return {"method.batch=8", "method.gk=20", "privacy.trust=cluster"};
  if (method == "ht-smooth")
    return {"method.mode=guarded", "method.rate=1e-4",         "method.clip=1",  "method.hits=20",
            "method.phases=2",     "method.feature_bound=1.5", "method.batch=4", "privacy.trust=cluster"};
  if (method == "ht-localize") return {"method.folds=2", "method.phases=2", "method.steps=3", "method.clip=0.3"};
  if (method == "ht-known-lipschitz")
    return {"method.clip=0.3", "method.radius=2", "method.certificate=0.01", "privacy.trust=cluster"};
  if (method == "dp-ftrl") return {"method.batch=60", "method.passes=2", "method.clip=0.3"};
  Settings settings{"method.batch=150", "method.steps=7", "method.clip=0.3"};
  if (objective == "td" || objective == "worst_group" || objective == "wgan")
    for (const char* more : {"method.dual_clip=0.4", "method.dual_rate=0.5"}) settings.emplace_back(more);
  if (objective == "wgan") settings.emplace_back("method.rate=0.5");  // no noise says one
  if (method == "private-diff")
    for (const char* more : {"method.restart=3", "method.dual_steps=2"}) settings.emplace_back(more);
  return settings;
}

// Min-max problems are for min-max methods, and these for no others.
inline bool min_max(const std::string& name) {
  return name == "auc" || name == "td" || name == "worst_group" || name == "wgan" || name == "dp-sgda" ||
         name == "dptd" || name == "private-diff";
}

// An objective that the method can train.
inline std::string objective_of(const std::string& method) {
  return min_max(method) ? "auc" : method == "ht-smooth" ? "mean" : "logistic";
}

// All registered methods but those of tests of audits.
inline std::vector<std::string> product_methods() {
  std::vector<std::string> all;
  for (const auto& method : methods())
    if (method.name != "printed-private-diff" && !method.summary.empty()) all.push_back(method.name);
  return all;
}

// Methods that look at losses of a few points only.
inline bool searches(const std::string& method) {
  return method == "random-search" || method == "random-stopping" || method == "ucb-bo";
}

}  // namespace dpmpi::test
