#pragma once
// The settings of gibo.

#include <cstdint>
#include <string>
#include <vector>

#include "core/options.hpp"
#include "method/black_box/gradient_posterior.hpp"
#include "method/black_box/point_selection.hpp"
#include "objective/values/loss_table.hpp"

namespace dpmpi {

struct GiboOptions {
  std::int64_t steps = 25, b = 0, b_max = 0, refine_steps = 50, design_seed = 1, seed = 1;
  std::string kernel = "rbf", memory = "all", batch = "adaptive", design = "stencil", center = "none";
  std::string step = "gd", eval_noise = "none";
  std::vector<std::string> lengthscale{"1"}, theta0, box_lo, box_hi;
  double output_scale = 1, obs_noise_std = 0.05, trace_tol = 0.5, design_radius = 1, prior_mean = 0,
         eval_noise_std = 0;
  double clip = 1, eta = 0.1;

  void declare(Options& options);
  void validate(std::vector<std::string>& problems) const;

  std::uint64_t T() const { return static_cast<std::uint64_t>(steps); }
  /// Points of a step at most, in d dimensions.
  Eigen::Index most(std::size_t d) const;
  /// Points that are known at once, at most.
  double most_known(std::size_t d) const;
  /// Points that a step finds from earlier ones, at most.
  std::uint64_t window() const;

  /// What follows for d parameters. These throw ConfigError where a list has neither one number nor d.
  Covariance covariance(std::size_t d) const;
  double noise_variance() const { return obs_noise_std * obs_noise_std; }
  Box box(std::size_t d) const;
  SelectionRule selection(std::size_t d) const;
  LossRule losses() const;
  /// The start point that is given; empty: the objective's.
  Eigen::VectorXd start(std::size_t d) const;
  /// Throws ConfigError if the settings do not fit d parameters, or if not even the largest first batch comes
  /// within the tolerance.
  void check(std::size_t d) const;
};

}  // namespace dpmpi
