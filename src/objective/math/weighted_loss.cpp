#include "objective/math/weighted_loss.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/errors.hpp"

namespace dpmpi {
namespace {

/// A product that is never below the exact one.
double product_up(double bound, double weight) {
  return std::nextafter(bound * weight, std::numeric_limits<double>::infinity());
}

class WeightedLoss final : public ScalarLoss {
 public:
  WeightedLoss(std::unique_ptr<ScalarLoss> phi, double of_minus, double of_plus)
      : phi_(std::move(phi)), of_minus_(of_minus), of_plus_(of_plus) {
    verify(phi_->label_kind() == LabelKind::sign, "weights by sign are for labels that are signs");
    verify(of_minus > 0 && of_plus > 0, "weights are positive");
  }

  void values(const double* margin, const double* label, double* value) const override {
    phi_->values(margin, label, value);
    weigh(label, value);
  }
  void slopes(const double* margin, const double* label, double* slope) const override {
    phi_->slopes(margin, label, slope);
    weigh(label, slope);
  }
  void differences(const double* margin, const double* step, const double* label,
                   double* difference) const override {
    phi_->differences(margin, step, label, difference);
    weigh(label, difference);
  }

  std::optional<LossBounds> bounds(double largest_margin, double largest_label) const override {
    std::optional<LossBounds> b = phi_->bounds(largest_margin, largest_label);
    if (!b) return b;
    b->slope = product_up(b->slope, largest());
    // A second derivative is within these of each sign.
    b->least = b->least < 0 ? -product_up(-b->least, largest()) : b->least * smallest() * (1 - 0x1p-52);
    b->most = b->most > 0 ? product_up(b->most, largest()) : 0;
    if (b->third) b->third = product_up(*b->third, largest());
    return b;
  }
  LabelKind label_kind() const override { return LabelKind::sign; }
  double curvature() const override { return product_up(phi_->curvature(), largest()); }
  double slope_bound() const override { return product_up(phi_->slope_bound(), largest()); }
  bool convex() const override { return phi_->convex(); }
  bool is_logistic() const override { return phi_->is_logistic(); }

  /// A step along w phi is a step of w times its length along phi.
  void proximal(const double* margin, const double* weight, const double* label, double step, const double* limit,
                double* c) const override {
    double plus[tile_rows];
    phi_->proximal(margin, weight, label, step * of_minus_, limit, c);
    phi_->proximal(margin, weight, label, step * of_plus_, limit, plus);
    for (std::size_t r = 0; r < tile_rows; ++r) c[r] = label[r] > 0 ? plus[r] : c[r];
  }
  double proximal_error(double step) const override {
    return std::max(phi_->proximal_error(step * of_minus_), phi_->proximal_error(step * of_plus_));
  }

 private:
  double largest() const { return std::max(of_minus_, of_plus_); }
  double smallest() const { return std::min(of_minus_, of_plus_); }
  void weigh(const double* label, double* value) const {
    for (std::size_t r = 0; r < tile_rows; ++r) value[r] *= label[r] > 0 ? of_plus_ : of_minus_;
  }

  std::unique_ptr<ScalarLoss> phi_;
  double of_minus_, of_plus_;
};

}  // namespace

std::unique_ptr<ScalarLoss> weighted_loss(std::unique_ptr<ScalarLoss> phi, double of_minus, double of_plus) {
  return std::make_unique<WeightedLoss>(std::move(phi), of_minus, of_plus);
}

}  // namespace dpmpi
