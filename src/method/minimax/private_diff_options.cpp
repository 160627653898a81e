#include <algorithm>
#include <cmath>

#include "core/errors.hpp"
#include "method/minimax/private_diff.hpp"

namespace dpmpi {
namespace {

double distance(std::span<const float> a, std::span<const float> b) {
  double square = 0;
  for (std::size_t j = 0; j < a.size(); ++j) {
    const double d = static_cast<double>(a[j]) - static_cast<double>(b[j]);
    square += d * d;
  }
  return std::sqrt(square);
}

}  // namespace

double DifferenceRadius::between(std::span<const float> w, std::span<const float> v, std::size_t primal_dim) const {
  const double dx = distance(w.first(primal_dim), v.first(primal_dim));
  const double dy = distance(w.subspan(primal_dim), v.subspan(primal_dim));
  const double radius = slope * dx + dual_slope * dy + least;
  if (std::isnan(radius)) return most;
  return std::max(std::min(radius, most), 0.5e-9 * most);
}

void PrivateDiffOptions::declare(Options& options) {
  const Range shares = Range::closed(1e-9, 1e9);  // noise goes with their roots
  SaddleOptions::declare(options);
  options
      .add("restart", restart, "rounds T from one full gradient to the next (1: alternating dp-sgda)",
           Range::closed(1, 0x1p40))
      .add("dual_steps", dual_steps, "dual steps T_2 of a round, each with a batch of its own",
           Range::closed(1, 0x1p20))
      .add("restart_share", restart_share, "share of the noise budget of full gradients", shares)
      .add("difference_share", difference_share, "share of gradient differences", shares)
      .add("dual_share", dual_share, "share of dual steps", shares)
      .add(
          "difference_slope", slope,
          "C_2: differences are clipped at C_2 |x - x'| + C_2y |y - y'| + C_3 (if not set: the objective's l_xx, or method.clip)",
          Range::non_negative())
      .add("difference_dual_slope", dual_slope, "C_2y (if not set: the objective's l_xy, or C_2)",
           Range::non_negative())
      .add("difference_least", least, "C_3 (if not set: 0.01 method.clip)", Range::non_negative());
}

void PrivateDiffOptions::validate(std::vector<std::string>& problems) const {
  SaddleOptions::validate(problems);
  if (dual_schedule == "closed_form" && dual_steps > 1)
    problems.emplace_back("method.dual_schedule = closed_form is exact in one step: set method.dual_steps = 1");
}

DifferenceRadius PrivateDiffOptions::radius(const SaddleObjective& f) const {
  const auto known = f.smooth_constants();
  const double c2 = slope >= 0 ? slope : known ? known->l_xx : clip;
  return {.slope = c2,
          .dual_slope = dual_slope >= 0 ? dual_slope
                        : known         ? known->l_xy
                                        : c2,
          .least = least >= 0 ? least : 0.01 * clip,
          .most = 2 * clip};
}

PrivateDiffOptions::Counts PrivateDiffOptions::counts(std::uint64_t rounds) const {
  const auto T = static_cast<std::uint64_t>(restart);
  const std::uint64_t restarts = (rounds - 1) / T + 1;
  return {restarts, rounds - restarts, rounds * static_cast<std::uint64_t>(dual_steps)};
}

// For a plan's multiplier of 1.
double PrivateDiffOptions::multiplier(std::string_view family, const Counts& counts, bool primal) const {
  const auto real = [](std::uint64_t n) { return static_cast<double>(n); };
  const double N = real(family == "restart"      ? counts.restart
                        : family == "difference" ? counts.difference
                                                 : counts.dual);
  const double share = family == "restart" ? restart_share : family == "difference" ? difference_share : dual_share;
  double total = dual_share;
  if (primal) total += restart_share + (counts.difference > 0 ? difference_share : 0);
  return std::sqrt(N * total / share);
}

std::vector<QuerySpec> PrivateDiffOptions::families(const PublicFacts& facts, double noise_multiplier) const {
  const SaddleObjective& f = saddle(facts.objective, "private-diff");
  require_dual_rate(f);
  const std::uint64_t R = rounds(facts.data), T = static_cast<std::uint64_t>(restart);
  const Counts count = counts(R);
  const bool primal = f.primal_is_private();
  std::vector<QuerySpec> all;
  const auto add = [&](const char* name, double bound, std::size_t dim, NumericSlack slack, std::uint64_t releases,
                       Schedule schedule, double effort) {
    all.push_back({.name = name,
                   .dim = dim,
                   .sampling = rule(facts.data),
                   .bound = {bound},
                   .slack = slack,
                   .noise_multiplier = noise_multiplier * multiplier(name, count, primal),
                   .steps = releases,
                   .schedule = schedule,
                   .effort = effort});
  };
  if (primal) add("restart", clip, f.primal_dim(), f.primal_gradient_slack(), count.restart, {T, 0, 1}, 1);
  if (primal && count.difference > 0)
    add("difference", 2 * clip, f.primal_dim(), f.primal_difference_slack(), count.difference, {T, 1, T}, 2);
  // Only the loss's outputs are needed in most cases: a forward pass, a third of a gradient's work.
  add("dual", dual_bound(f), f.dual_dim(), f.dual_gradient_slack(), count.dual,
      {1, 0, 1, static_cast<std::uint64_t>(dual_steps)}, f.dual_dim() == 1 ? 1.0 / 3 : 1);
  return all;
}

}  // namespace dpmpi
