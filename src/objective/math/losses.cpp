#include "objective/math/losses.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/errors.hpp"
#include "core/numbers/real.hpp"
#include "objective/math/bracketed_root.hpp"
#include "objective/math/loss_functions.hpp"

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

// root(): c = h phi'(m - c w, y) within +-limit; see ScalarLoss::proximal.

struct Squared {
  static constexpr LabelKind kind = LabelKind::real;
  static constexpr double curvature = 1, slope_bound = infinity;
  double root(double m, double w, double y, double h, double limit) const {
    return std::clamp((m - y) / (1 / h + w), -limit, limit);
  }
  double difference(double m, double s, double y) const { return 2 * s * (m - y); }
  std::optional<LossBounds> bounds(double m, double y) const { return LossBounds{m + y, 1, 1, 0.0}; }
  double value(double m, double y) const { return (m - y) * (m - y) / 2; }
  double slope(double m, double y) const { return m - y; }
};

struct Huber {
  static constexpr LabelKind kind = LabelKind::real;
  double delta;
  static constexpr double curvature = 1;
  double slope_bound = delta;
  double root(double m, double w, double y, double h, double limit) const {
    const double most = std::min(h * delta, limit);
    return std::clamp((m - y) / (1 / h + w), -most, most);
  }
  double difference(double m, double s, double y) const { return huber_difference(m - y, s, delta); }
  std::optional<LossBounds> bounds(double, double) const { return LossBounds{delta, 0, 1, {}}; }
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
  static constexpr double curvature = infinity, slope_bound = 1;
  double root(double m, double w, double y, double h, double limit) const {
    const double most = std::min(h, limit);
    return std::clamp((m - y) / w, -most, most);
  }
  double value(double m, double y) const { return std::abs(m - y); }
  double slope(double m, double y) const { return sign(m - y); }
};

struct Pinball {
  static constexpr LabelKind kind = LabelKind::real;
  double quantile;
  static constexpr double curvature = infinity;
  double slope_bound = std::max(quantile, 1 - quantile);
  double root(double m, double w, double y, double h, double limit) const {
    return std::clamp((m - y) / w, -std::min(h * quantile, limit), std::min(h * (1 - quantile), limit));
  }
  double value(double m, double y) const {
    const double r = m - y;
    return r > 0 ? (1 - quantile) * r : -quantile * r;
  }
  double slope(double m, double y) const { return m > y ? 1 - quantile : m < y ? -quantile : 0.0; }
};

struct CappedL1 {
  static constexpr LabelKind kind = LabelKind::real;
  static constexpr double curvature = infinity, slope_bound = 1;
  double cap;
  double value(double m, double y) const {
    const double r = std::abs(m - y);
    return r > cap ? cap : r;  // in this order NaN stays NaN
  }
  double slope(double m, double y) const { return std::abs(m - y) < cap ? sign(m - y) : 0.0; }
};

struct PhaseRetrieval {
  static constexpr LabelKind kind = LabelKind::real;
  static constexpr double curvature = infinity, slope_bound = 1;
  double value(double m, double y) const { return std::abs(std::abs(m) - y); }
  double slope(double m, double y) const { return sign(std::abs(m) - y) * sign(m); }
};

struct Poisson {
  static constexpr LabelKind kind = LabelKind::count;
  static constexpr double curvature = infinity, slope_bound = infinity;
  /// c + h y = h e^(m - c w). The exponential is positive: c >= -h y. Its exponent is below 0 for c > max(m, 0) /
  /// w: c <= max(m, 0) / w + h; and c <= h (e^m - y) where that is positive.
  double root(double m, double w, double y, double h, double limit) const {
    const auto f = [&](double c) {
      const double e = h * exp_bounded(m - c * w);
      return ValueAndSlope{c + h * y - e, 1 + w * e};
    };
    const double at_zero = h * (exp_bounded(m) - y);
    const double low = at_zero > 0 ? 0.0 : std::max({-h * y, at_zero, -limit});
    const double high = at_zero > 0 ? std::min({at_zero, std::max(m, 0.0) / w + h, limit}) : 0.0;
    if (low == -limit && f(low).value >= 0) return low;
    if (high == limit && f(high).value <= 0) return high;
    return bracketed_root(low, high, f);
  }
  /// The equation holds to 2^-50 (h y + |c|), and its slope is 1 + w e with e = h e^(m - c w) = h y + c. So c
  /// sqrt(w) is off by 2^-50 times h y sqrt(w) / (1 + w h y) <= sqrt(h y) / 2 at most, with y <= largest_count.
  static double root_error(double h) { return 0x1p-39 * std::sqrt(h); }
  double value(double m, double y) const { return exp_bounded(m) - y * m; }
  double slope(double m, double y) const { return exp_bounded(m) - y; }
  /// 2 (e^m sinh s - y s).
  double difference(double m, double s, double y) const {
    const double small = 2 * (exp_bounded(m) * hyperbolic(s).sinh - y * s);
    const double large = value(m + s, y) - value(m - s, y);
    return std::abs(s) <= small_step ? small : large;
  }
  std::optional<LossBounds> bounds(double m, double y) const {
    const double most = exp_bounded(m);
    return LossBounds{std::max(most, y), 1 / most, most, most};
  }
};

struct Logistic {
  static constexpr LabelKind kind = LabelKind::sign;
  static constexpr double curvature = 0.25, slope_bound = 1;
  static double sigma(double z) {  // 1 / (1 + e^z)
    const double e = exp_nonpositive(-std::abs(z));
    return (z > 0 ? e : 1.0) / (1 + e);
  }
  /// With z = y m and c = -y g: g = h sigma(z + g w), so h sigma(z + w high) <= g <= high if g <= high. That holds
  /// for h sigma(z), and for (max(-z, 0) + log(1 + h w)) / w: beyond z + g w = 0, t = g w - max(-z, 0) has
  /// t e^t <= h w.
  double root(double m, double w, double y, double h, double limit) const {
    const double z = y * m;
    const auto f = [&](double g) {
      const double s = sigma(z + g * w);
      return ValueAndSlope{g - h * s, 1 + h * w * s * (1 - s)};
    };
    const double logarithm = 0.7 * (std::ilogb(1 + h * w) + 1);
    const double most = std::min(h * sigma(z), (std::max(-z, 0.0) + logarithm) / w), high = std::min(most, limit);
    if (high == limit && f(high).value <= 0) return -y * high;
    return -y * bracketed_root(std::min(h * sigma(z + w * high), high), high, f);
  }
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
  double value(double m, double y) const {
    const double z = y * m;
    return (z < 0 ? -z : 0.0) + log1p_unit(exp_nonpositive(-std::abs(z)));
  }
  double slope(double m, double y) const {
    const double z = y * m, e = exp_nonpositive(-std::abs(z));
    return -y * (z < 0 ? 1.0 : e) / (1 + e);
  }
};

struct Hinge {
  static constexpr LabelKind kind = LabelKind::sign;
  static constexpr double curvature = infinity, slope_bound = 1;
  double root(double m, double w, double y, double h, double limit) const {
    return -y * std::clamp((1 - y * m) / w, 0.0, std::min(h, limit));
  }
  double value(double m, double y) const {
    const double z = y * m;
    return z >= 1 ? 0.0 : 1 - z;
  }
  double slope(double m, double y) const { return y * m < 1 ? -y : 0.0; }
};

struct SmoothedHinge {
  static constexpr LabelKind kind = LabelKind::sign;
  static constexpr double curvature = 1, slope_bound = 1;
  double root(double m, double w, double y, double h, double limit) const {
    return -y * std::clamp((1 - y * m) / (1 / h + w), 0.0, std::min(h, limit));
  }
  /// The slope is that of Huber's loss around z = 1/2, less 1/2.
  double difference(double m, double s, double y) const {
    return huber_difference(y * m - 0.5, y * s, 0.5) - y * s;
  }
  std::optional<LossBounds> bounds(double, double) const { return LossBounds{1, 0, 1, {}}; }
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
  static constexpr double curvature = infinity, slope_bound = 1;
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
  static constexpr double curvature = 0.0962250448649377, slope_bound = 0.25;  // 1 / (6 sqrt 3), rounded up
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
    const double largest = 1 / (6 * std::sqrt(3.0));
    return LossBounds{0.25, -largest, largest, 0.125};
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
  LabelKind label_kind() const override { return Phi::kind; }

  double curvature() const override { return phi_.curvature; }
  double slope_bound() const override { return phi_.slope_bound; }
  bool convex() const override { return has_root; }
  bool is_logistic() const override { return std::is_same_v<Phi, Logistic>; }
  void proximal(const double* __restrict margin, const double* __restrict weight, const double* __restrict label,
                double step, const double* __restrict limit, double* __restrict c) const override {
    verify(has_root, "proximal steps are for convex losses");
    if constexpr (has_root) {
      const Phi phi = phi_;
      for (std::size_t r = 0; r < tile_rows; ++r) c[r] = phi.root(margin[r], weight[r], label[r], step, limit[r]);
    }
  }
  double proximal_error(double step) const override {
    if constexpr (requires { Phi::root_error(step); })
      return Phi::root_error(step);
    else
      return 0;
  }

 private:
  static constexpr bool has_root = requires(const Phi& phi) { phi.root(0.0, 1.0, 0.0, 1.0, 1.0); };
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
std::unique_ptr<ScalarLoss> pinball_loss(double quantile) { return tiled(Pinball{quantile}); }
std::unique_ptr<ScalarLoss> poisson_loss() { return tiled(Poisson{}); }
std::unique_ptr<ScalarLoss> hinge_loss() { return tiled(Hinge{}); }
std::unique_ptr<ScalarLoss> capped_l1_loss(double cap) { return tiled(CappedL1{cap}); }
std::unique_ptr<ScalarLoss> phase_retrieval_loss() { return tiled(PhaseRetrieval{}); }
std::unique_ptr<ScalarLoss> logistic_loss() { return tiled(Logistic{}); }
std::unique_ptr<ScalarLoss> smoothed_hinge_loss() { return tiled(SmoothedHinge{}); }
std::unique_ptr<ScalarLoss> ramp_loss() { return tiled(Ramp{}); }
std::unique_ptr<ScalarLoss> sigmoid_loss() { return tiled(Sigmoid{}); }

}  // namespace dpmpi
