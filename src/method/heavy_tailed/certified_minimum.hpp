#pragma once
// Minimises strongly convex functions until a bound of the gradient's norm says that the point is near enough. For
// methods whose privacy rests on that distance: there is no other way out of the loop.

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace dpmpi {

/// Limited-memory BFGS with a line search that looks at gradients only. For a convex function with an L-Lipschitz
/// gradient it converges whatever L is: on its way to an accepted point the function falls all along, and the slope
/// there is at most half of what it was, which are the Wolfe conditions (Liu and Nocedal 1989, Theorem 7.1).
class CertifiedMinimum {
 public:
  /// Writes the gradient at z, and returns how far from exact it may be (L2).
  using Gradient = std::function<double(std::span<const double> z, std::span<double> gradient)>;

  explicit CertifiedMinimum(std::size_t dim, std::size_t memory = 10);

  /// Moves z, where it begins, until |exact gradient| <= tolerance surely; a tolerance that rounding forbids is
  /// never met. `smoothness`: an upper bound of L, for steps where the search gets lost in rounding. Same bits
  /// wherever `gradient` gives the same bits. Returns how often it was asked.
  std::size_t run(const Gradient& gradient, double smoothness, double tolerance, std::span<double> z);

  /// What |g| >= |exact g| is at most, of a computed gradient that is `error` from exact.
  static double norm_bound(std::span<const double> gradient, double error);

 private:
  struct Pair {
    std::vector<double> step, change;
    double product = 0;  // <step, change>
  };
  void set_direction();
  void remember(std::span<const double> step_from, std::span<const double> z);
  double advance(const Gradient& gradient, double smoothness, std::span<double> z);

  std::vector<Pair> pairs_;  // a ring
  std::size_t first_ = 0, used_ = 0;
  std::vector<double> gradient_, trial_gradient_, direction_, trial_, weight_;
  std::size_t asked_ = 0;
};

}  // namespace dpmpi
