#include "method/sgd/optimizer.hpp"

#include <algorithm>
#include <cmath>

#include "core/numbers/random.hpp"

namespace dpmpi {

void Optimizer::declare(Options& options) {
  options.add("optimizer", kind_, "update rule from the released gradient", {"sgd", "adam"})
      .add("rate", rate_, "learning rate at the start", Range::positive())
      .add("schedule", schedule_, "how the rate goes from method.rate to method.final_rate over the run",
           {"constant", "linear", "cosine"})
      .add("final_rate", final_rate_, "learning rate at the end of a linear or cosine schedule",
           Range::non_negative())
      .add("momentum", momentum_, "heavy-ball momentum (sgd)", {0, 1, false, true})
      .add("beta1", beta1_, "decay of the first moment (adam)", {0, 1, false, true})
      .add("beta2", beta2_, "decay of the second moment (adam)", {0, 1, false, true})
      .add("stability", stability_, "added to the root of the second moment (adam)", Range::positive())
      .add("average", average_,
           "publish an exponential average of the iterates with this decay (0: the last iterate)",
           {0, 1, false, true});
}

void Optimizer::validate(std::vector<std::string>& problems) const {
  if (kind_ == "adam" && momentum_ > 0)
    problems.emplace_back("method.momentum belongs to optimizer = sgd; adam has method.beta1");
  if (schedule_ != "constant" && final_rate_ > rate_)
    problems.emplace_back("method.final_rate must not exceed method.rate");
}

void Optimizer::start(std::size_t dim, std::uint64_t steps) {
  steps_ = std::max<std::uint64_t>(1, steps);
  const bool adam = kind_ == "adam";
  first_.assign(adam || momentum_ > 0 ? dim : 0, 0.0f);
  second_.assign(adam ? dim : 0, 0.0f);
  mean_.assign(average_ > 0 ? dim : 0, 0.0f);
  power1_ = power2_ = 1;
}

double Optimizer::rate_at(std::uint64_t t) const {
  const double progress = static_cast<double>(t) / static_cast<double>(steps_);
  if (schedule_ == "linear") return rate_ + (final_rate_ - rate_) * progress;
  if (schedule_ == "cosine") return final_rate_ + (rate_ - final_rate_) * 0.5 * (1 + portable_cos_pi(progress));
  return rate_;
}

void Optimizer::update(std::span<float> x, std::span<const float> gradient, float scale, std::uint64_t t) {
  const std::size_t dim = x.size();
  const auto rate = static_cast<float>(rate_at(t));
  if (kind_ == "adam") {
    power1_ *= beta1_, power2_ *= beta2_;
    const auto b1 = static_cast<float>(beta1_), b2 = static_cast<float>(beta2_),
               tiny = static_cast<float>(stability_);
    const auto unbias1 = static_cast<float>(1 / (1 - power1_)), unbias2 = static_cast<float>(1 / (1 - power2_));
    for (std::size_t j = 0; j < dim; ++j) {
      const float g = scale * gradient[j];
      first_[j] = b1 * first_[j] + (1 - b1) * g;
      second_[j] = b2 * second_[j] + (1 - b2) * g * g;
      x[j] -= rate * (unbias1 * first_[j]) / (std::sqrt(unbias2 * second_[j]) + tiny);
    }
  } else if (momentum_ > 0) {
    const auto m = static_cast<float>(momentum_);
    for (std::size_t j = 0; j < dim; ++j) {
      first_[j] = m * first_[j] + scale * gradient[j];
      x[j] -= rate * first_[j];
    }
  } else {
    for (std::size_t j = 0; j < dim; ++j) x[j] -= rate * (scale * gradient[j]);
  }
  if (average_ > 0) {
    // The decay grows with t, so that the start point does not linger in the average.
    const double warm = (1.0 + static_cast<double>(t)) / (10.0 + static_cast<double>(t));
    const auto keep = static_cast<float>(t == 0 ? 0.0 : std::min(average_, warm));
    for (std::size_t j = 0; j < dim; ++j) mean_[j] = keep * mean_[j] + (1 - keep) * x[j];
  }
}

void Optimizer::archive(Archive& archive) {
  archive.field("optimizer.first", first_);
  archive.field("optimizer.second", second_);
  archive.field("optimizer.mean", mean_);
  archive.field("optimizer.power1", power1_);
  archive.field("optimizer.power2", power2_);
}

}  // namespace dpmpi
