// Central differences from losses at the points w + xi u_k and w - xi u_k: reading 2 k and reading 2 k + 1 of the
// batch. Memory beside the frame's tile: what the objective holds of a point, and K numbers a record.

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/errors.hpp"
#include "objective/values/difference_probe.hpp"

namespace dpmpi {
namespace {

class EvaluatedDifferences final : public ProjectedDifferences::Probe {
 public:
  EvaluatedDifferences(Objective& objective, Frames& frames, const DifferenceRule& rule)
      : objective_(objective),
        frames_(frames),
        radius_(rule.radius),
        l2_(rule.l2),
        takes_parts_(objective.parts() != nullptr),
        point_(takes_parts_ ? 0 : objective.dim()),
        part_(std::min<std::size_t>(objective.dim(), 4096)),
        along_(frames.count()) {}

  bool linear() const override { return false; }
  std::size_t readings() const override { return 2 * along_.size(); }
  void prepare(std::span<const double> w) override { w_ = w; }

  void begin(std::size_t reading) override {
    direction_ = reading / 2;
    forward_ = reading % 2 == 0;
    next_ = 0;
    move_to_point();
  }

  void read(const Rows& rows) override { evaluate(rows); }
  const double* differences(const Rows& rows) override { return evaluate(rows); }

 private:
  /// To w + xi u_k or w - xi u_k, with the step in float32, as the points are: both points of a pair move by the
  /// same one. Part by part where the objective
  /// takes it so: the whole point would take half as much memory as w.
  void move_to_point() {
    double along = 0;
    PointParts parts;
    if (takes_parts_) parts = objective_.at_parts();
    for (std::size_t first = 0; first < w_.size(); first += frames_.tile_rows()) {
      const std::size_t rows = std::min(frames_.tile_rows(), w_.size() - first);
      const double* u = frames_.tile(first, rows) + direction_;
      for (std::size_t done = 0; done < rows; done += part_.size()) {
        const std::span<float> part(part_.data(), std::min(part_.size(), rows - done));
        u = form_part(first + done, u, part, along);
        if (takes_parts_)
          parts.add(part);
        else
          std::ranges::copy(part, point_.begin() + static_cast<std::ptrdiff_t>(first + done));
      }
    }
    along_[direction_] = along;
    at_ = takes_parts_ ? parts.complete() : objective_.at(point_);
  }

  /// The coordinates from `first` on; along += their part of <w, u_k>. `u`: theirs in the tile; returns the next.
  const double* form_part(std::size_t first, const double* u, std::span<float> part, double& along) const {
    const double sign = forward_ ? 1 : -1;
    for (std::size_t j = 0; j < part.size(); ++j, u += frames_.count()) {
      const double w = w_[first + j];
      part[j] = static_cast<float>(w + sign * static_cast<double>(static_cast<float>(radius_ * *u)));
      along = std::fma(w, *u, along);
    }
    return u;
  }

  /// Takes the losses of the next rows of this reading. Of the last point: the rows' differences.
  double* evaluate(const Rows& rows) {
    const std::size_t K = along_.size(), n = rows.size();
    if (losses_.size() < n) losses_.resize(n);
    if (differences_.size() < (next_ + n) * K) differences_.resize((next_ + n) * K);
    at_.losses(rows, std::span(losses_).first(n));
    double* const first = differences_.data() + next_ * K;
    double* q = first + direction_;
    // The ridge's difference is exactly l2 <w, u_k>.
    for (std::size_t r = 0; r < n; ++r, q += K)
      *q = forward_ ? losses_[r] : (*q - losses_[r]) / (2 * radius_) + l2_ * along_[direction_];
    next_ += n;
    return first;
  }

  Objective& objective_;
  Frames& frames_;
  double radius_, l2_;
  std::span<const double> w_;
  bool takes_parts_;
  ValuesAtPoint at_;          // the point of this reading
  std::vector<float> point_;  // of objectives that take it whole
  std::vector<float> part_;
  std::vector<double> along_;  // <w, u_k>
  std::vector<double> losses_, differences_;
  std::size_t direction_ = 0, next_ = 0;
  bool forward_ = true;
};

}  // namespace

std::unique_ptr<ProjectedDifferences::Probe> evaluated_differences(Objective& objective, Frames& frames,
                                                                   const DifferenceRule& rule) {
  return std::make_unique<EvaluatedDifferences>(objective, frames, rule);
}

}  // namespace dpmpi
