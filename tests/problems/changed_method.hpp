#pragma once
// A registered method of which runs do something else than planned.

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "method/method.hpp"

namespace dpmpi::test {

/// Makes of an algorithm at its start point the one that runs.
using Change = std::function<std::unique_ptr<Algorithm>(std::unique_ptr<Algorithm>)>;

class ChangedPlan final : public MethodPlan {
 public:
  ChangedPlan(std::unique_ptr<const MethodPlan> plan, Change change)
      : plan_(std::move(plan)), change_(std::move(change)) {
    steps = plan_->steps;
    assumptions = plan_->assumptions;
    footprint = plan_->footprint;
    most_points = plan_->most_points;
  }
  std::vector<QuerySpec> queries(double noise_multiplier) const override {
    return plan_->queries(noise_multiplier);
  }
  bool releases(std::uint64_t t) const override { return plan_->releases(t); }
  std::unique_ptr<Algorithm> start(Objective& objective, const std::vector<Query>& queries) const override {
    return change_(plan_->start(objective, queries));
  }

 private:
  std::unique_ptr<const MethodPlan> plan_;
  Change change_;
};

class ChangedSettings final : public MethodSettings {
 public:
  ChangedSettings(std::unique_ptr<MethodSettings> settings, Change change)
      : settings_(std::move(settings)), change_(std::move(change)) {}
  void declare(Options& options) override { settings_->declare(options); }
  void validate(std::vector<std::string>& problems) const override { settings_->validate(problems); }
  std::unique_ptr<const MethodPlan> plan(const PublicFacts& facts) const override {
    return std::make_unique<ChangedPlan>(settings_->plan(facts), change_);
  }

 private:
  std::unique_ptr<MethodSettings> settings_;
  Change change_;
};

}  // namespace dpmpi::test
