#pragma once
// Descent in a box by released gradients, in double: post-processing.

#include <span>
#include <string>
#include <vector>

#include "core/eigen.hpp"
#include "core/files/archive.hpp"
#include "method/black_box/point_selection.hpp"

namespace dpmpi {

/// theta <- the nearest point of the box to theta - eta g, or with AdaGrad theta - eta g / (sqrt(sum of g^2) +
/// 1e-10) in each coordinate. + - * / and sqrt only: the same bits on every rank.
class BoxDescent {
 public:
  enum class Rule { gd, adagrad };
  /// Throws ConfigError if `theta` is outside the box.
  BoxDescent(Rule rule, double rate, Box box, const Eigen::VectorXd& theta);
  void update(std::span<const double> gradient);

  const Eigen::VectorXd& point() const { return theta_; }
  /// AdaGrad's sums of squares: of what was released, never of anything else.
  const Eigen::VectorXd& squares() const { return squares_; }
  std::span<const float> published() const { return published_; }
  void archive(Archive& archive);

 private:
  void publish();

  Rule rule_;
  double rate_;
  Box box_;
  Eigen::VectorXd theta_, squares_;
  std::vector<float> published_;
};

}  // namespace dpmpi
