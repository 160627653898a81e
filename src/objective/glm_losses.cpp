#include "dpmpi/objective/glm_losses.hpp"

#include <cmath>
#include <limits>
#include <utility>

#include "loss_functions.hpp"

namespace dpmpi {
namespace {

inline double sign(double x) { return static_cast<double>((x > 0) - (x < 0)); }

/// The integral of min(delta, max(-delta, t)) over [r - s, r + s], by the parts of the interval above, below and
/// between: no two large numbers are subtracted.
inline double huber_difference(double r, double s, double delta) {
  const double half = std::abs(s), length = 2 * half;
  const auto part = [&](double x) { return x < 0 ? 0.0 : x > length ? length : x; };
  const double above = part(r + half - delta), below = part(half - r - delta);
  const double between = length - above - below;
  const double integral = delta * (above - below) + between * (r + (below - above) / 2);
  return s < 0 ? -integral : integral;
}

struct Squared {
  static constexpr LabelKind kind = LabelKind::real;
  double difference(double m, double s, double y) const { return 2 * s * (m - y); }
  std::optional<LossBounds> bounds(double m, double y) const { return LossBounds{m + y, 1, 1, 0.0}; }
  double slope_bound() const { return std::numeric_limits<double>::infinity(); }
  double value(double m, double y) const { return (m - y) * (m - y) / 2; }
  double slope(double m, double y) const { return m - y; }
};

struct Huber {
  static constexpr LabelKind kind = LabelKind::real;
  double delta;
  double difference(double m, double s, double y) const { return huber_difference(m - y, s, delta); }
  std::optional<LossBounds> bounds(double, double) const { return LossBounds{delta, 0, 1, {}}; }
  double slope_bound() const { return delta; }
  double value(double m, double y) const {
    const double r = std::abs(m - y);
    return r > delta ? delta * (r - delta / 2) : r * r / 2;
  }
  double slope(double m, double y) const {
    const double r = m - y;
    return r > delta ? delta : r < -delta ? -delta : r;
  }
};

struct Absolute {
  static constexpr LabelKind kind = LabelKind::real;
  double slope_bound() const { return 1; }
  double value(double m, double y) const { return std::abs(m - y); }
  double slope(double m, double y) const { return sign(m - y); }
};

struct CappedL1 {
  static constexpr LabelKind kind = LabelKind::real;
  double cap;
  double slope_bound() const { return 1; }
  double value(double m, double y) const {
    const double r = std::abs(m - y);
    return r > cap ? cap : r;  // in this order NaN stays NaN
  }
  double slope(double m, double y) const { return std::abs(m - y) < cap ? sign(m - y) : 0.0; }
};

struct PhaseRetrieval {
  static constexpr LabelKind kind = LabelKind::real;
  double slope_bound() const { return 1; }
  double value(double m, double y) const { return std::abs(std::abs(m) - y); }
  double slope(double m, double y) const { return sign(std::abs(m) - y) * sign(m); }
};

struct Logistic {
  static constexpr LabelKind kind = LabelKind::sign;
  /// log((1 + e^(-z-a)) / (1 + e^(-z+a))) = -2 artanh(sinh a / (e^z + cosh a)) with a = y s. Large steps need no
  /// care.
  double difference(double m, double s, double y) const {
    const double z = y * m, a = y * s, e = exp_nonpositive(-std::abs(z));
    const Hyperbolic h = hyperbolic(a);
    const double t = z > 0 ? h.sinh * e / std::fma(h.cosh, e, 1.0) : h.sinh / (e + h.cosh);
    const double small = -2 * artanh_third(t), large = value(m + s, y) - value(m - s, y);
    return std::abs(a) <= small_step ? small : large;
  }
  std::optional<LossBounds> bounds(double m, double) const {
    return LossBounds{1 / (1 + exp_nonpositive(-m)), 0, 0.25, 1 / (6 * std::sqrt(3.0))};
  }
  double slope_bound() const { return 1; }
  double value(double m, double y) const {
    const double z = y * m;
    return (z < 0 ? -z : 0.0) + log1p_unit(exp_nonpositive(-std::abs(z)));
  }
  double slope(double m, double y) const {
    const double z = y * m, e = exp_nonpositive(-std::abs(z));
    return -y * (z < 0 ? 1.0 : e) / (1 + e);
  }
};

struct SmoothedHinge {
  static constexpr LabelKind kind = LabelKind::sign;
  /// The slope is that of Huber's loss around z = 1/2, less 1/2.
  double difference(double m, double s, double y) const {
    return huber_difference(y * m - 0.5, y * s, 0.5) - y * s;
  }
  std::optional<LossBounds> bounds(double, double) const { return LossBounds{1, 0, 1, {}}; }
  double slope_bound() const { return 1; }
  double value(double m, double y) const {
    const double z = y * m;
    return z >= 1 ? 0.0 : z <= 0 ? 0.5 - z : (1 - z) * (1 - z) / 2;
  }
  double slope(double m, double y) const {
    const double z = y * m;
    return z >= 1 ? 0.0 : z <= 0 ? -y : -y * (1 - z);
  }
};

struct Ramp {
  static constexpr LabelKind kind = LabelKind::sign;
  double slope_bound() const { return 1; }
  double value(double m, double y) const {
    const double z = y * m;
    return z >= 1 ? 0.0 : z <= 0 ? 1.0 : 1 - z;
  }
  double slope(double m, double y) const {
    const double z = y * m;
    return z > 0 && z < 1 ? -y : 0.0;
  }
};

struct Sigmoid {
  static constexpr LabelKind kind = LabelKind::sign;
  double slope_bound() const { return 0.25; }
  double value(double m, double y) const {
    const double z = y * m, e = exp_nonpositive(-std::abs(z));
    return (z > 0 ? e : 1.0) / (1 + e);
  }
  double slope(double m, double y) const {
    const double e = exp_nonpositive(-std::abs(y * m));
    return -y * e / ((1 + e) * (1 + e));
  }
  /// -2 sinh a / (e^z + e^-z + 2 cosh a) with a = y s.
  double difference(double m, double s, double y) const {
    const double a = y * s, e = exp_nonpositive(-std::abs(y * m));
    const Hyperbolic h = hyperbolic(a);
    const double small = -2 * h.sinh * e / std::fma(2 * h.cosh + e, e, 1.0);
    const double large = value(m + s, y) - value(m - s, y);
    return std::abs(a) <= small_step ? small : large;
  }
  std::optional<LossBounds> bounds(double, double) const {
    const double curvature = 1 / (6 * std::sqrt(3.0));
    return LossBounds{0.25, -curvature, curvature, 0.125};
  }
};

template <class Phi>
class TileLoss final : public ScalarLoss {
 public:
  explicit TileLoss(Phi phi) : phi_(phi) {}
  void values(const double* __restrict margin, const double* __restrict label,
              double* __restrict value) const override {
    const Phi phi = phi_;
    for (std::size_t r = 0; r < tile_rows; ++r) value[r] = phi.value(margin[r], label[r]);
  }
  void slopes(const double* __restrict margin, const double* __restrict label,
              double* __restrict slope) const override {
    const Phi phi = phi_;
    for (std::size_t r = 0; r < tile_rows; ++r) slope[r] = phi.slope(margin[r], label[r]);
  }
  void differences(const double* __restrict margin, const double* __restrict step, const double* __restrict label,
                   double* __restrict difference) const override {
    const Phi phi = phi_;
    for (std::size_t r = 0; r < tile_rows; ++r) {
      if constexpr (requires { phi.difference(0.0, 0.0, 0.0); })
        difference[r] = phi.difference(margin[r], step[r], label[r]);
      else
        difference[r] = phi.value(margin[r] + step[r], label[r]) - phi.value(margin[r] - step[r], label[r]);
    }
  }
  std::optional<LossBounds> bounds(double largest_margin, double largest_label) const override {
    if constexpr (requires { phi_.bounds(0.0, 0.0); })
      return phi_.bounds(largest_margin, largest_label);
    else
      return {};
  }
  double slope_bound() const override { return phi_.slope_bound(); }
  LabelKind label_kind() const override { return Phi::kind; }

 private:
  Phi phi_;
};

template <class Phi>
std::unique_ptr<ScalarLoss> tiled(Phi phi) {
  return std::make_unique<TileLoss<Phi>>(phi);
}

}  // namespace

std::unique_ptr<ScalarLoss> squared_loss() { return tiled(Squared{}); }
std::unique_ptr<ScalarLoss> huber_loss(double delta) { return tiled(Huber{delta}); }
std::unique_ptr<ScalarLoss> absolute_loss() { return tiled(Absolute{}); }
std::unique_ptr<ScalarLoss> capped_l1_loss(double cap) { return tiled(CappedL1{cap}); }
std::unique_ptr<ScalarLoss> phase_retrieval_loss() { return tiled(PhaseRetrieval{}); }
std::unique_ptr<ScalarLoss> logistic_loss() { return tiled(Logistic{}); }
std::unique_ptr<ScalarLoss> smoothed_hinge_loss() { return tiled(SmoothedHinge{}); }
std::unique_ptr<ScalarLoss> ramp_loss() { return tiled(Ramp{}); }
std::unique_ptr<ScalarLoss> sigmoid_loss() { return tiled(Sigmoid{}); }

}  // namespace dpmpi
