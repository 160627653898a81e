#include "method/black_box/gibo_settings.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/numbers/real.hpp"

namespace dpmpi {
namespace {

using Eigen::Index;
using Eigen::VectorXd;
using Kind = Covariance::Kind;
using Design = SelectionRule::Design;

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

void GiboSettings::declare(Options& options) {
  options.add("steps", steps, "number of steps T", Range::closed(1, 0x1p31))
      .add("clip", clip, "bound B on the norm of a record's posterior gradient", Range::positive())
      .add_words("kernel", kernel, "covariance of the losses: rbf, matern52, or poly2 = (<x, z> + 1)^2",
                 {{"rbf", Kind::rbf}, {"matern52", Kind::matern52}, {"poly2", Kind::poly2}})
      .add("lengthscale", lengthscale, "length-scale of the kernel: one number, or one a parameter")
      .add("output_scale", output_scale, "variance of the kernel (not of poly2)", Range::positive())
      .add("obs_noise_std", obs_noise_std,
           "standard deviation sigma of the evaluation noise that the posterior assumes", Range::non_negative())
      .add_words(
          "batch", adaptive,
          "adaptive: the fewest points whose posterior has a trace of at most trace_tol; fixed: b points a step",
          {{"adaptive", true}, {"fixed", false}})
      .add("b", b, "points of a step with batch = fixed (0: parameters + 1)", Range::closed(0, most_points))
      .add("b_max", b_max, "points of a step at most with batch = adaptive (0: twice the parameters)",
           Range::closed(0, most_points))
      .add("trace_tol", trace_tol, "trace of the gradient's posterior covariance that is good enough",
           Range::positive())
      .add_words(
          "design", design,
          "stencil: simplices and pairs along the most uncertain directions; refined: these, moved to where the "
          "trace is least; random: uniform around the iterate",
          {{"stencil", Design::stencil}, {"refined", Design::refined}, {"random", Design::random}})
      .add("refine_steps", refine_steps, "steps of L-BFGS at most with design = refined", Range::closed(1, 10000))
      .add("design_radius", design_radius, "random points are within this of the iterate in every coordinate",
           Range::positive())
      .add("design_seed", design_seed, "public seed of random points and of evaluation noise", Range::at_least(0))
      .add("memory", memory, "points that later steps still use: all, or window:K, the K newest")
      .add_words("center", centre, "per_sample: every record's loss has an unknown constant",
                 {{"none", false}, {"per_sample", true}})
      .add("prior_mean", prior_mean, "public constant that is subtracted from every loss", Range::any())
      .add_words("eval_noise", eval_noise,
                 "simulated evaluation noise: the same for all records at a point, or for each by itself",
                 {{"none", LossRule::Noise::none},
                  {"shared", LossRule::Noise::shared},
                  {"per_sample", LossRule::Noise::per_record}})
      .add("eval_noise_std", eval_noise_std, "its standard deviation", Range::non_negative())
      .add_words("step", step, "update rule from the released gradient",
                 {{"gd", BoxDescent::Rule::gd}, {"adagrad", BoxDescent::Rule::adagrad}})
      .add("eta", eta, "step size (if not set: one that follows from length-scale, clip and noise)",
           Range{.low = 0, .high = largest, .high_open = false})
      .add("theta0", theta0, "start point: one number, or one a parameter; empty: the objective's")
      .add("box_lo", box_lo, "lower bound of the parameters: one number, or one a parameter; empty: none")
      .add("box_hi", box_hi, "upper bound of the parameters, likewise")
      .add("seed", seed, "public seed of the objective's start point", Range::at_least(0));
}

void GiboSettings::validate(std::vector<std::string>& problems) const {
  if (memory != "all" && !window_of(memory))
    problems.push_back(
        fmt::format("method.memory = {}, allowed: all, or window:K with a number K of points", memory));
  if (lengthscale.empty()) problems.emplace_back("method.lengthscale is empty");
  check_numbers("lengthscale", lengthscale, shortest, problems);
  check_numbers("theta0", theta0, -largest, problems);
  check_numbers("box_lo", box_lo, -largest, problems);
  check_numbers("box_hi", box_hi, -largest, problems);
  if (box_lo.empty() != box_hi.empty()) problems.emplace_back("method.box_lo and method.box_hi are given together");
  if (kernel == Kind::poly2 && design != Design::random)
    problems.emplace_back("method.kernel = poly2 is not stationary: set method.design = random");
  if (kernel == Kind::poly2 && output_scale != 1)
    problems.emplace_back("method.kernel = poly2 has no output_scale");
  if (adaptive && b > 0) problems.emplace_back("method.b belongs to batch = fixed; adaptive has b_max");
  if ((eval_noise == LossRule::Noise::none) != (eval_noise_std == 0))
    problems.emplace_back("method.eval_noise and eval_noise_std > 0 are given together");
}

Index GiboSettings::most(std::size_t d) const {
  const auto dim = static_cast<Index>(d);
  const Index points = adaptive ? (b_max > 0 ? b_max : 2 * dim) : (b > 0 ? b : dim + 1);
  if (design != Design::random && !adaptive && !PointSelection::possible(dim, points))
    throw ConfigError(fmt::format(
        "method.b = {}, allowed: up to {} points around an iterate of {} parameters, or a multiple of that", points,
        2 * d, d));
  return points;
}

Box GiboSettings::box(std::size_t d) const {
  Box box{numbers("box_lo", box_lo, d), numbers("box_hi", box_hi, d)};
  if (box.bounded() && !(box.low.array() <= box.high.array()).all())
    throw ConfigError("method.box_lo must not be above method.box_hi");
  return box;
}

GiboSetup GiboSettings::setup(std::size_t d) const {
  if (d > most_parameters)
    throw ConfigError(fmt::format(
        "gibo with {} parameters, allowed: up to {}, because it works with covariances of all their pairs", d,
        most_parameters));
  const VectorXd start = numbers("theta0", theta0, d);
  const Box within = box(d);
  if (start.size() > 0 && !within.contains(start))
    throw ConfigError("method.theta0 is outside method.box_lo .. box_hi");
  GiboSetup setup{.covariance = {kernel, numbers("lengthscale", lengthscale, d), output_scale},
                  .noise_variance = obs_noise_std * obs_noise_std,
                  .centre = centre,
                  .selection = {.design = design,
                                .adaptive = adaptive,
                                .most = most(d),
                                .tolerance = trace_tol,
                                .radius = design_radius,
                                .refinement = static_cast<int>(refine_steps),
                                .seed = whole(design_seed),
                                .box = within},
                  .window = window_of(memory).value_or(~std::uint64_t{0}),
                  .start = start,
                  .losses = {prior_mean, eval_noise, eval_noise_std, whole(design_seed)}};
  const auto batch = static_cast<double>(setup.selection.most);
  setup.most_known = std::min(real(setup.window) + batch, static_cast<double>(steps) * batch);
  if (adaptive && design != Design::random) check_tolerance(setup);
  return setup;
}

// Around a point far from all others, without a box, because later steps have more to go by.
void GiboSettings::check_tolerance(const GiboSetup& setup) const {
  const Index d = setup.covariance.dim();
  GradientPosterior posterior(setup.covariance, setup.noise_variance);
  posterior.move_to(VectorXd::Zero(d));
  SelectionRule rule = setup.selection;
  rule.box = {};
  Index points = rule.most;
  while (!PointSelection::possible(d, points)) --points;
  const double least = posterior.trace_with(PointSelection(rule).points(posterior, 0, points));
  if (least > trace_tol)
    throw ConfigError(
        fmt::format("method.trace_tol = {} cannot be met: {} points leave a trace of {:.3g} (raise it "
                    "or method.b_max, or lower method.obs_noise_std)",
                    trace_tol, points, least));
}

}  // namespace dpmpi
