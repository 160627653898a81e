#pragma once
// The law of a sum of losses, by Fourier transforms of exponentially tilted laws.

#include <span>
#include <vector>

#include "privacy/loss_distributions/grid.hpp"
#include "privacy/loss_distributions/transform.hpp"

namespace dpmpi {

/// Laws on grids of one step, and how often each is used.
struct CountedLaw {
  GridLaw law;
  double count = 1;
};

/// How to compose: which losses to tell apart and where to look closely. No choice makes a bound wrong.
struct Focus {
  double tilt = 1;            ///< lambda > 0: masses are weighted with e^(lambda loss)
  double low = 0;             ///< the transform tells losses in [low, low + size * step) apart
  std::size_t size = 0;       ///< a power of two
  double rise = 1, fall = 1;  ///< further tilts > 0, up and down, by which mass outside the window is bounded
};

/// delta(epsilon) = E (1 - e^(epsilon - L))_+ of composed losses L, bounded from one side.
class ComposedLoss {
 public:
  /// All laws must be of the kind `bound` says and have the same step. Takes O(size log size) per law.
  ComposedLoss(std::span<const CountedLaw> laws, const Focus& focus, Bound bound);

  /// upper: the smallest epsilon >= 0 that it shows to be enough for delta, infinity if none; lower: the largest
  /// that it shows not to be enough, 0 if none.
  double epsilon(double delta) const;
  /// A bound on delta(epsilon), in [0, 1].
  double delta(double epsilon) const;

 private:
  struct Walk;
  void charge(const CircularPowers::Product& product);
  double outside(double loss) const;
  double transform(double loss) const;
  double total(double within, double loss) const;

  Bound bound_;
  double step_ = 0, tilt_ = 0, low_ = 0;  // low_: loss of tilted_[0]
  double log_moment_ = 0;                 // log of the product of all E e^(tilt loss)
  double log_outside_ = 0;                // log of the tilted mass outside the window, at most
  double log_transform_ = 0;  // log of the transform's error in tilted masses, summed; -inf: see charge()
  double infinite_ = 0;
  double loss_error_ = 0, relative_error_ = 0;
  std::vector<double> tilted_;
};

/// log sum_i mass_i e^(tilt loss_i).
double log_moment(std::span<const SketchPoint> points, double tilt);

/// log of max_x e^(-tilt x) (1 - e^-x) over x >= 0: E (1 - e^(epsilon-L))_+ <= that e^(-tilt epsilon) E e^(tilt L).
double log_chernoff_factor(double tilt);

}  // namespace dpmpi
