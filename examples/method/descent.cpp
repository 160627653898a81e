// Gradient descent on all records: the example of docs/developer/adding_a_method.md. A method has three parts:
// settings, which the config fills; a plan, which follows from settings and public facts; and the algorithm, which
// runs.
#include "core/numbers/real.hpp"
#include "method/method.hpp"
#include "objective/minimax/saddle.hpp"

namespace dpmpi {
namespace {

struct DescentSettings final : MethodSettings {
  std::int64_t steps = 100, seed = 1;
  double clip = 1, rate = 0.1;

  void declare(Options& options) override {
    options.add("steps", steps, "number of steps", Range::closed(1, 0x1p40))
        .add("clip", clip, "bound on the norm of one record's gradient", Range::positive())
        .add("rate", rate, "learning rate", Range::positive())
        .add("seed", seed, "public seed of the start point", Range::at_least(0));
  }
  std::unique_ptr<const MethodPlan> plan(const PublicFacts& facts) const override;
};

class DescentPlan final : public MethodPlan {
 public:
  DescentPlan(const DescentSettings& settings, const PublicFacts& facts) : settings_(settings), facts_(facts) {
    require_gradients(*facts.objective, "descent");
    steps = whole(settings.steps);
  }

  std::vector<QuerySpec> queries(double noise_multiplier) const override {
    return {{.name = "gradient",
             .dim = facts_.objective->dim(),
             .sampling = FullBatch{},
             .bound = {settings_.clip},
             .slack = offered(facts_.objective->gradients()).gradient_slack(),
             .noise_multiplier = noise_multiplier,
             .steps = steps}};
  }

  std::unique_ptr<Algorithm> start(Objective& objective, const std::vector<Query>& queries) const override;

 private:
  DescentSettings settings_;
  PublicFacts facts_;
};

class Descent final : public Algorithm {
 public:
  Descent(const DescentSettings& settings, Objective& objective, const Query& gradient)
      : objective_(objective),
        gradient_(gradient),
        rate_(static_cast<float>(settings.rate)),
        per_record_(static_cast<float>(1 / real(gradient.records))),
        x_(objective.dim()),
        mean_(objective.dim()) {
    objective.initialise(PublicStream(whole(settings.seed), "start point"), x_);
  }

  void step(Curator& curator, std::uint64_t t) override {
    const Batch everyone = curator.draw(gradient_, t);
    auto total = curator.sum(gradient_, everyone, clipped_gradients(objective_, x_));
    const auto noisy = curator.release(std::move(total));

    for (std::size_t j = 0; j < x_.size(); ++j) mean_[j] = per_record_ * noisy[j];
    objective_.add_regularizer_gradient(x_, mean_);  // the public part joins after the release
    for (std::size_t j = 0; j < x_.size(); ++j) x_[j] -= rate_ * mean_[j];
  }

  std::span<const float> iterate() override { return x_; }
  void archive(Archive& archive) override { archive.field("x", x_); }

 private:
  Objective& objective_;
  Query gradient_;
  float rate_, per_record_;
  AlignedVector<float> x_, mean_;
};

std::unique_ptr<const MethodPlan> DescentSettings::plan(const PublicFacts& facts) const {
  return std::make_unique<DescentPlan>(*this, facts);
}
std::unique_ptr<Algorithm> DescentPlan::start(Objective& objective, const std::vector<Query>& queries) const {
  return std::make_unique<Descent>(settings_, objective, queries.at(0));
}

const MethodRegistration descent{
    {"descent", "gradient descent on all records", "none", make_method<DescentSettings>}};

}  // namespace
}  // namespace dpmpi
