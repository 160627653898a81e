#pragma once
// Descent on a loss plus (lambda / 2) |x - x_0|^2 over a ball around x_0, from released mean gradients: all of it
// post-processing. Asi, Liu and Tian 2024, Algorithm 1, with steps that may also be short or constant.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/aligned.hpp"
#include "core/files/archive.hpp"
#include "core/options.hpp"
#include "method/ball.hpp"
#include "objective/objective.hpp"

namespace dpmpi {

struct ProximalSettings {
  enum class Average { weighted, suffix, none };
  double lambda = 0, rate = 1, radius = 0;
  Average average = Average::suffix;

  void declare(Options& options);
  void validate(std::vector<std::string>& problems) const;
};

/// Works on z = x - x_0 in double, with + - * / and sqrt only: the same bits on every rank.
class ProximalDescent {
 public:
  /// Begins at x_0, the centre of the ball and of the regulariser. `steps` >= 1: of the whole run.
  ProximalDescent(const ProximalSettings& settings, std::span<const float> center, std::uint64_t steps);
  /// The same within `domain` as well, a ball that holds x_0.
  ProximalDescent(const ProximalSettings& settings, std::span<const float> center, std::uint64_t steps,
                  const Ball& domain);
  /// z <- Pi((z - eta_t scale gradient) / (1 + eta_t lambda)) for t = 0, 1, ...
  /// `unit`: of length, by which the rate is divided (a clip that follows the norms).
  void update(std::span<const float> gradient, double scale, std::uint64_t t, double unit = 1);
  /// The same with the gradient of the objective's public regulariser added, which is neither clipped nor noised.
  void update(const Objective& objective, std::span<const float> gradient, double scale, std::uint64_t t,
              double unit = 1);

  std::span<const float> point() const { return x_; }  ///< where the next gradient is taken
  /// x_0 before the first step, then by the average: the mean of x_0 .. x_t with weights 4 .. t + 4 (`weighted`),
  /// that of the iterates of the second half (`suffix`), or the newest iterate (`none`).
  std::span<const float> published() const { return published_; }

  /// min(rate / unit, 4 / (lambda (t + 1))), where 0 means that there is no such bound.
  double step_size(std::uint64_t t, double unit = 1) const;
  void archive(Archive& archive);

 private:
  void project_displacement();
  bool averages(ProximalSettings::Average kind) const { return settings_.average == kind; }
  void average(double weight);
  void publish(std::span<const double> z);

  ProximalSettings settings_;
  std::uint64_t steps_;
  double total_weight_ = 0;
  AlignedVector<float> center_, x_, published_, regularised_;
  std::vector<double> z_, mean_;
  std::vector<double> domain_center_;  // less x_0; empty: no second ball
  double domain_radius_ = 0;
};

}  // namespace dpmpi
