// Central differences from losses at the points w + xi u_k and w - xi u_k, of which a call takes several: all
// 2 K in one reading of the batch, or as many as 64 MiB hold.

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/errors.hpp"
#include "objective/values/difference_probe.hpp"
#include "objective/values/points_of_a_call.hpp"

namespace dpmpi {
namespace {

class DifferencesTogether final : public ProjectedDifferences::Probe {
 public:
  DifferencesTogether(LossesTogether& losses, Frames& frames, const DifferenceRule& rule)
      : of_losses_(losses),
        frames_(frames),
        radius_(rule.radius),
        l2_(rule.l2),
        pairs_((points_of_a_call(2 * frames.count(), frames.dim()) + 1) / 2),
        points_(2 * pairs_ * frames.dim()),
        along_(frames.count()) {}

  bool linear() const override { return false; }
  std::size_t readings() const override { return (along_.size() + pairs_ - 1) / pairs_; }
  void prepare(std::span<const double> w) override { w_ = w; }

  void begin(std::size_t reading) override {
    first_ = reading * pairs_;
    count_ = std::min(pairs_, along_.size() - first_);
    next_ = 0;
    form_points();
  }
  void read(const Rows& rows) override { evaluate(rows); }
  const double* differences(const Rows& rows) override { return evaluate(rows); }

 private:
  /// Those of direction k stand one behind the other. As in EvaluatedDifferences, the step is rounded to float32.
  void form_points() {
    const std::size_t dim = w_.size();
    std::fill_n(along_.begin() + static_cast<std::ptrdiff_t>(first_), count_, 0.0);
    for (std::size_t begin = 0; begin < dim; begin += frames_.tile_rows()) {
      const std::size_t rows = std::min(frames_.tile_rows(), dim - begin);
      const double* u = frames_.tile(begin, rows) + first_;
      for (std::size_t j = begin; j < begin + rows; ++j, u += frames_.count())
        for (std::size_t k = 0; k < count_; ++k) {
          const auto step = static_cast<double>(static_cast<float>(radius_ * u[k]));
          points_[2 * k * dim + j] = static_cast<float>(w_[j] + step);
          points_[(2 * k + 1) * dim + j] = static_cast<float>(w_[j] - step);
          along_[first_ + k] = std::fma(w_[j], u[k], along_[first_ + k]);
        }
    }
  }

  /// The next rows' differences, of which this reading fills some columns.
  double* evaluate(const Rows& rows) {
    const std::size_t K = along_.size(), n = rows.size();
    losses_.resize(std::max(losses_.size(), 2 * count_ * n));
    differences_.resize(std::max(differences_.size(), (next_ + n) * K));
    of_losses_.losses_together(std::span<const float>(points_).first(2 * count_ * w_.size()), rows,
                               std::span(losses_).first(2 * count_ * n));
    double* const first = differences_.data() + next_ * K;
    for (std::size_t r = 0; r < n; ++r)
      for (std::size_t k = 0; k < count_; ++k) {
        const double up = losses_[2 * k * n + r], down = losses_[(2 * k + 1) * n + r];
        // The ridge's difference is exactly l2 <w, u_k>.
        first[r * K + first_ + k] = (up - down) / (2 * radius_) + l2_ * along_[first_ + k];
      }
    next_ += n;
    return first;
  }

  LossesTogether& of_losses_;
  Frames& frames_;
  double radius_, l2_;
  std::span<const double> w_;
  std::size_t pairs_;           // of a reading, at most
  std::vector<float> points_;   // of this reading
  std::vector<double> along_;   // <w, u_k>
  std::vector<double> losses_;  // of the rows at hand, point after point
  std::vector<double> differences_;
  std::size_t first_ = 0, count_ = 0, next_ = 0;  // directions of this reading; rows of it so far
};

}  // namespace

std::unique_ptr<ProjectedDifferences::Probe> differences_together(Objective& objective, Frames& frames,
                                                                  const DifferenceRule& rule) {
  LossesTogether* const losses = objective.together();
  if (losses == nullptr) return nullptr;
  return std::make_unique<DifferencesTogether>(*losses, frames, rule);
}

}  // namespace dpmpi
