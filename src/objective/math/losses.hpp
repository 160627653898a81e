#pragma once
// Scalar losses phi(m, y) of a margin m = <w, x> and a label y, and their slopes d phi / d m (a subgradient at
// kinks).
//
// They work on tiles of margins in double: the loop over a tile vectorises, exponentials included, so that a loss
// costs nanoseconds beside a row that is read from memory. A NaN margin or label gives a NaN value.

#include <memory>
#include <optional>

#include "data/records/records.hpp"

namespace dpmpi {

/// Margins that are handled together: the rows of one tile of the kernels.
inline constexpr std::size_t tile_rows = 8;

/// Bounds of phi as a function of the margin, over all margins and labels within given bounds.
struct LossBounds {
  double slope = 0;             ///< of the first derivative's size
  double least = 0, most = 0;   ///< of the second derivative
  std::optional<double> third;  ///< of the third derivative's size, where there is one everywhere
};

class ScalarLoss {
 public:
  virtual ~ScalarLoss() = default;
  /// Arrays of tile_rows entries. A slope may be finite where margin or label are not: callers check those.
  virtual void values(const double* margin, const double* label, double* value) const = 0;
  virtual void slopes(const double* margin, const double* label, double* slope) const = 0;
  /// phi(m + s) - phi(m - s) for margins m and steps s. Losses with bounds() lose no digits where s is small beside
  /// m: the error is a few units of rounding of the result, or of a slope of phi times s.
  virtual void differences(const double* margin, const double* step, const double* label,
                           double* difference) const = 0;
  /// For |margin| and |label| (real labels) up to these; nothing where phi is not smooth.
  virtual std::optional<LossBounds> bounds(double largest_margin, double largest_label) const = 0;
  virtual LabelKind label_kind() const = 0;

  // Facts of the form of phi, over all margins and labels: sensitivities may rest on them.
  virtual double curvature() const = 0;    ///< sup |phi''|; infinite where phi has kinks or no bound exists
  virtual double slope_bound() const = 0;  ///< sup |phi'|; infinite where there is none
  virtual bool convex() const = 0;
  /// log(1 + exp(-y m)), perhaps weighted by class: margins are log-odds, which such weights shift.
  virtual bool is_logistic() const = 0;

  /// c[r] = the root of c = step phi'(margin[r] - c weight[r], label[r]), moved into [-limit[r], limit[r]]: the
  /// coefficient of a proximal step of length `step` along a record of squared norm weight[r] > 0. At kinks phi' is
  /// the interval of subgradients. Finite margins and labels, 0 < step <= 1e100, limit[r] > 0 (may be infinite).
  /// Closed forms err by a few units of rounding; roots that are found by iteration are enclosed to 2^-50 of their
  /// size. Convex losses only.
  virtual void proximal(const double* margin, const double* weight, const double* label, double step,
                        const double* limit, double* c) const = 0;
  /// What c sqrt(weight) may be off by beyond 48 2^-53 of its size and the change that rounding of the margin
  /// makes.
  virtual double proximal_error(double step) const = 0;
};

// Regression, y real; r = m - y.
std::unique_ptr<ScalarLoss> squared_loss();                 ///< r^2 / 2
std::unique_ptr<ScalarLoss> huber_loss(double delta);       ///< r^2 / 2 up to |r| = delta, linear beyond
std::unique_ptr<ScalarLoss> absolute_loss();                ///< |r|
std::unique_ptr<ScalarLoss> pinball_loss(double quantile);  ///< (1 - quantile) r for r >= 0, -quantile r below
std::unique_ptr<ScalarLoss> capped_l1_loss(double cap);     ///< min(|r|, cap): not convex
std::unique_ptr<ScalarLoss> phase_retrieval_loss();         ///< ||m| - y|, amplitude phase retrieval: not convex

// Counts y.
std::unique_ptr<ScalarLoss> poisson_loss();  ///< exp(m) - y m

// Classification, y = -1 or +1; z = y m.
std::unique_ptr<ScalarLoss> logistic_loss();        ///< log(1 + exp(-z))
std::unique_ptr<ScalarLoss> hinge_loss();           ///< max(0, 1 - z)
std::unique_ptr<ScalarLoss> smoothed_hinge_loss();  ///< 0 from z = 1 on, (1 - z)^2 / 2 on [0, 1], 1/2 - z below 0
std::unique_ptr<ScalarLoss> ramp_loss();            ///< min(1, max(0, 1 - z)), the clipped hinge: not convex
std::unique_ptr<ScalarLoss> sigmoid_loss();         ///< 1 / (1 + exp(z)), a smooth error rate: not convex

}  // namespace dpmpi
