#include "method/black_box/options.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "core/errors.hpp"

namespace dpmpi {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

constexpr std::size_t most_parameters = 4096;

std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return {};
  return value;
}

std::optional<std::uint64_t> window_of(std::string_view memory) {
  constexpr std::string_view prefix = "window:";
  if (!memory.starts_with(prefix)) return {};
  std::uint64_t points = 0;
  const auto [end, error] = std::from_chars(memory.data() + prefix.size(), memory.data() + memory.size(), points);
  if (error != std::errc() || end != memory.data() + memory.size()) return {};
  return points;
}

// One number for all coordinates, or one for each. Empty: none.
VectorXd numbers(const char* key, const std::vector<std::string>& texts, std::size_t d) {
  if (texts.empty()) return {};
  if (texts.size() != 1 && texts.size() != d)
    throw ConfigError(
        fmt::format("method.{} has {} numbers, allowed: one, or {} (one a parameter)", key, texts.size(), d));
  VectorXd values(static_cast<Index>(d));
  for (std::size_t j = 0; j < d; ++j)
    values(static_cast<Index>(j)) = number(texts[texts.size() == 1 ? 0 : j]).value();
  return values;
}

// Beyond these, distances over length-scales leave the range of double.
constexpr double largest = 1e6, shortest = 1e-6;
constexpr double most_points = 1 << 13;  // covariances of all pairs of points must fit

void check_numbers(const char* key, const std::vector<std::string>& texts, double low,
                   std::vector<std::string>& problems) {
  for (const auto& text : texts)
    if (const auto value = number(text); !value || !(*value >= low && *value <= largest))
      problems.push_back(fmt::format("method.{}: {}, allowed: numbers in [{}, {}]", key,
                                     text.empty() ? "\"\"" : text, low, largest));
}

}  // namespace

void GiboOptions::declare(Options& options) {
  options.add("steps", steps, "number of steps T", Range::closed(1, 0x1p31))
      .add("clip", clip, "bound B on the norm of a record's posterior gradient", Range::positive())
      .add("kernel", kernel, "covariance of the losses: rbf, matern52, or poly2 = (<x, z> + 1)^2",
           {"rbf", "matern52", "poly2"})
      .add("lengthscale", lengthscale, "length-scale of the kernel: one number, or one a parameter")
      .add("output_scale", output_scale, "variance of the kernel (not of poly2)", Range::positive())
      .add("obs_noise_std", obs_noise_std,
           "standard deviation sigma of the evaluation noise that the posterior assumes", Range::non_negative())
      .add("batch", batch,
           "adaptive: the fewest points whose posterior has a trace of at most trace_tol; fixed: b points a step",
           {"adaptive", "fixed"})
      .add("b", b, "points of a step with batch = fixed (0: parameters + 1)", Range::closed(0, most_points))
      .add("b_max", b_max, "points of a step at most with batch = adaptive (0: twice the parameters)",
           Range::closed(0, most_points))
      .add("trace_tol", trace_tol, "trace of the gradient's posterior covariance that is good enough",
           Range::positive())
      .add("design", design,
           "stencil: simplices and pairs along the most uncertain directions; refined: these, moved to where the "
           "trace is least; random: uniform around the iterate",
           {"stencil", "refined", "random"})
      .add("refine_steps", refine_steps, "steps of L-BFGS at most with design = refined", Range::closed(1, 10000))
      .add("design_radius", design_radius, "random points are within this of the iterate in every coordinate",
           Range::positive())
      .add("design_seed", design_seed, "public seed of random points and of evaluation noise", Range::at_least(0))
      .add("memory", memory, "points that later steps still use: all, or window:K, the K newest")
      .add("center", center, "per_sample: every record's loss has an unknown constant", {"none", "per_sample"})
      .add("prior_mean", prior_mean, "public constant that is subtracted from every loss", Range::any())
      .add("eval_noise", eval_noise,
           "simulated evaluation noise: the same for all records at a point, or for each by itself",
           {"none", "shared", "per_sample"})
      .add("eval_noise_std", eval_noise_std, "its standard deviation", Range::non_negative())
      .add("step", step, "update rule from the released gradient", {"gd", "adagrad"})
      .add("eta", eta, "step size", Range{.low = 0, .high = largest, .high_open = false})
      .add("theta0", theta0, "start point: one number, or one a parameter; empty: the objective's")
      .add("box_lo", box_lo, "lower bound of the parameters: one number, or one a parameter; empty: none")
      .add("box_hi", box_hi, "upper bound of the parameters, likewise")
      .add("seed", seed, "public seed of the objective's start point", Range::at_least(0));
}

void GiboOptions::validate(std::vector<std::string>& problems) const {
  if (memory != "all" && !window_of(memory))
    problems.push_back(
        fmt::format("method.memory = {}, allowed: all, or window:K with a number K of points", memory));
  if (lengthscale.empty()) problems.emplace_back("method.lengthscale is empty");
  check_numbers("lengthscale", lengthscale, shortest, problems);
  check_numbers("theta0", theta0, -largest, problems);
  check_numbers("box_lo", box_lo, -largest, problems);
  check_numbers("box_hi", box_hi, -largest, problems);
  if (box_lo.empty() != box_hi.empty()) problems.emplace_back("method.box_lo and method.box_hi are given together");
  if (kernel == "poly2" && design != "random")
    problems.emplace_back("method.kernel = poly2 is not stationary: set method.design = random");
  if (kernel == "poly2" && output_scale != 1) problems.emplace_back("method.kernel = poly2 has no output_scale");
  if (batch == "adaptive" && b > 0) problems.emplace_back("method.b belongs to batch = fixed; adaptive has b_max");
  if ((eval_noise == "none") != (eval_noise_std == 0))
    problems.emplace_back("method.eval_noise and eval_noise_std > 0 are given together");
}

Index GiboOptions::most(std::size_t d) const {
  const auto dim = static_cast<Index>(d);
  const Index points = batch == "fixed" ? (b > 0 ? b : dim + 1) : (b_max > 0 ? b_max : 2 * dim);
  if (design != "random" && batch == "fixed" && !PointSelection::possible(dim, points))
    throw ConfigError(fmt::format(
        "method.b = {}, allowed: up to {} points around an iterate of {} parameters, or a multiple of that", points,
        2 * d, d));
  return points;
}

double GiboOptions::most_known(std::size_t d) const {
  const auto batch_size = static_cast<double>(most(d));
  return std::min(static_cast<double>(window()) + batch_size, static_cast<double>(steps) * batch_size);
}

std::uint64_t GiboOptions::window() const { return window_of(memory).value_or(~std::uint64_t{0}); }

Covariance GiboOptions::covariance(std::size_t d) const {
  return {Covariance::parse(kernel), numbers("lengthscale", lengthscale, d), output_scale};
}

Box GiboOptions::box(std::size_t d) const {
  Box box{numbers("box_lo", box_lo, d), numbers("box_hi", box_hi, d)};
  if (box.bounded() && !(box.low.array() <= box.high.array()).all())
    throw ConfigError("method.box_lo must not be above method.box_hi");
  return box;
}

SelectionRule GiboOptions::selection(std::size_t d) const {
  using Design = SelectionRule::Design;
  return {.design = design == "random"    ? Design::random
                    : design == "refined" ? Design::refined
                                          : Design::stencil,
          .adaptive = batch == "adaptive",
          .most = most(d),
          .tolerance = trace_tol,
          .radius = design_radius,
          .refinement = static_cast<int>(refine_steps),
          .seed = static_cast<std::uint64_t>(design_seed),
          .box = box(d)};
}

LossRule GiboOptions::losses() const {
  using Noise = LossRule::Noise;
  const Noise noise = eval_noise == "none"     ? Noise::none
                      : eval_noise == "shared" ? Noise::shared
                                               : Noise::per_record;
  return {prior_mean, noise, eval_noise_std, static_cast<std::uint64_t>(design_seed)};
}

VectorXd GiboOptions::start(std::size_t d) const {
  const VectorXd theta = numbers("theta0", theta0, d);
  if (theta.size() > 0 && !box(d).contains(theta))
    throw ConfigError("method.theta0 is outside method.box_lo .. box_hi");
  return theta;
}

// The tolerance: around a point far from all others, without a box, because later steps have more to go by.
void GiboOptions::check(std::size_t d) const {
  if (d > most_parameters)
    throw ConfigError(fmt::format(
        "gibo with {} parameters, allowed: up to {}, because it works with covariances of all their pairs", d,
        most_parameters));
  start(d), box(d), covariance(d);
  if (batch == "fixed" || design == "random") return;
  GradientPosterior posterior(covariance(d), noise_variance());
  posterior.move_to(VectorXd::Zero(static_cast<Index>(d)));
  SelectionRule rule = selection(d);
  rule.box = {};
  Index largest = rule.most;
  while (!PointSelection::possible(static_cast<Index>(d), largest)) --largest;
  const double least = posterior.trace_with(PointSelection(rule).points(posterior, 0, largest));
  if (least > trace_tol)
    throw ConfigError(
        fmt::format("method.trace_tol = {} cannot be met: {} points leave a trace of {:.3g} (raise it "
                    "or method.b_max, or lower method.obs_noise_std)",
                    trace_tol, largest, least));
}

}  // namespace dpmpi
