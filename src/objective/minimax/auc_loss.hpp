#pragma once
// The square surrogate of the area under the ROC curve in its min-max form (Ying, Wen and Lyu, "Stochastic online
// AUC maximization", 2016), for one record of score h and label y:
//
//   F = (1-p) (h - a)^2 [y > 0] + p (h - b)^2 [y < 0] + 2 alpha (p (1-p) + p h [y < 0] - (1-p) h [y > 0])
//       - p (1-p) alpha^2.
//
// At the saddle a and b are the mean scores of positive and negative records, alpha = 1 + b - a, and the mean of F
// over p (1-p) is the mean of (1 - h(x+) + h(x-))^2 over all pairs, if p is the share of positive records. p
// multiplies every record's part, so it must be public: a p counted from the data would make every gradient depend
// on every record.

#include <algorithm>
#include <cmath>

#include "objective/network/activation.hpp"
#include "objective/output_loss.hpp"

namespace dpmpi {

struct AucPoint {
  double a = 0, b = 0, alpha = 0;
};

struct AucGradient {
  double by_score = 0, by_a = 0, by_b = 0, by_alpha = 0;
};

/// F and its derivatives, in double. Labels: > 0 is positive, else negative; NaN gives NaN.
struct AucSurrogate {
  double p = 0.5;

  double value(double h, double label, const AucPoint& at) const;
  AucGradient gradient(double h, double label, const AucPoint& at) const;

  /// The part of dF/dalpha that depends on the record, c = -2 (1-p) h for positive and 2 p h for negative ones; the
  /// rest is 2 p (1-p) (1 - alpha), public.
  double private_dual(double h, double label) const {
    if (std::isnan(label)) return label;
    return label > 0 ? -2 * (1 - p) * h : 2 * p * h;
  }
  double public_dual(double alpha) const { return curvature() * (1 - alpha); }
  /// mu of the concave quadratic in alpha: the step 1/mu leads to its maximum.
  double curvature() const { return 2 * p * (1 - p); }
  /// Largest |c| for h in [0, 1].
  double dual_bound() const { return 2 * std::max(p, 1 - p); }
};

/// What turns the network's output s into a score h.
enum class ScoreMap { sigmoid, identity };

inline double score(ScoreMap map, double s) { return map == ScoreMap::sigmoid ? elementary::sigmoid(s) : s; }
/// d h / d s.
inline double score_slope(ScoreMap map, double s) {
  return map == ScoreMap::sigmoid ? elementary::sigmoid(s) * elementary::sigmoid(-s) : 1;
}

/// F of a network's single output. Tail: a, b, alpha; differentiated by a and b.
class AucLoss final : public OutputLoss {
 public:
  AucLoss(double p, ScoreMap map) : surrogate_{p}, map_(map) {}
  std::size_t slopes() const override { return 2; }
  void gradient(const double* outputs, float label, std::span<const float> tail, double* delta,
                double* slope) override;

  static AucPoint point(std::span<const float> tail) { return {tail[0], tail[1], tail[2]}; }
  const AucSurrogate& surrogate() const { return surrogate_; }
  void set_prior(double p) { surrogate_.p = p; }
  double score(double s) const { return dpmpi::score(map_, s); }
  ScoreMap map() const { return map_; }

 private:
  AucSurrogate surrogate_;
  ScoreMap map_;
};

}  // namespace dpmpi
