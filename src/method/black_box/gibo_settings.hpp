#pragma once
// The settings of gibo, and what follows from them for a number of parameters.

#include <cstdint>
#include <string>
#include <vector>

#include "core/options.hpp"
#include "method/black_box/box_descent.hpp"
#include "method/black_box/gradient_posterior.hpp"
#include "method/black_box/point_selection.hpp"
#include "method/method.hpp"
#include "objective/values/loss_table.hpp"

namespace dpmpi {

/// For d parameters.
struct GiboSetup {
  Covariance covariance;
  double noise_variance = 0;
  bool centre = false;       ///< every record's loss has an unknown constant
  SelectionRule selection;   ///< selection.most: points of a step at most
  std::uint64_t window = 0;  ///< points that a step finds from earlier ones, at most
  double most_known = 0;     ///< points that are known at once, at most
  Eigen::VectorXd start;     ///< the start point that is given; empty: the objective's
  LossRule losses;
};

struct GiboSettings final : MethodSettings {
  std::int64_t steps = 25, b = 0, b_max = 0, refine_steps = 50, design_seed = 1, seed = 1;
  Covariance::Kind kernel = Covariance::Kind::rbf;
  std::string memory = "all";
  bool adaptive = true, centre = false;
  SelectionRule::Design design = SelectionRule::Design::stencil;
  BoxDescent::Rule step = BoxDescent::Rule::gd;
  LossRule::Noise eval_noise = LossRule::Noise::none;
  std::vector<std::string> lengthscale{"1"}, theta0, box_lo, box_hi;
  double output_scale = 1, obs_noise_std = 0.05, trace_tol = 0.5, design_radius = 1, prior_mean = 0,
         eval_noise_std = 0;
  double clip = 1;
  double eta = 0;  ///< 0: not set, the plan finds one

  void declare(Options& options) override;
  void validate(std::vector<std::string>& problems) const override;
  /// Throws ConfigError if the settings do not fit d parameters, for example where a list has neither one number
  /// nor d, or if not even the largest first batch comes within the tolerance.
  GiboSetup setup(std::size_t d) const;
  std::unique_ptr<const MethodPlan> plan(const PublicFacts& facts) const override;

 private:
  Box box(std::size_t d) const;
  Eigen::Index most(std::size_t d) const;
  void check_tolerance(const GiboSetup& setup) const;
};

}  // namespace dpmpi
