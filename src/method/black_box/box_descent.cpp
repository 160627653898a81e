#include "method/black_box/box_descent.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/errors.hpp"

namespace dpmpi {

BoxDescent::BoxDescent(Rule rule, double rate, Box box, const Eigen::VectorXd& theta)
    : rule_(rule), rate_(rate), box_(std::move(box)), theta_(theta) {
  squares_.setZero(rule == Rule::adagrad ? theta.size() : 0);
  if (!box_.contains(theta_)) throw ConfigError("the start point is outside method.box_lo .. box_hi");
  publish();
}

void BoxDescent::update(std::span<const double> gradient) {
  verify(gradient.size() == static_cast<std::size_t>(theta_.size()), "a gradient of the point's dimension");
  for (Eigen::Index j = 0; j < theta_.size(); ++j) {
    const double g = gradient[static_cast<std::size_t>(j)];
    double step = rate_ * g;
    if (rule_ == Rule::adagrad) {
      squares_(j) += g * g;
      step /= std::sqrt(squares_(j)) + 1e-10;
    }
    theta_(j) -= step;
    if (box_.bounded()) theta_(j) = std::clamp(theta_(j), box_.low(j), box_.high(j));
  }
  publish();
}

void BoxDescent::publish() {
  published_.resize(static_cast<std::size_t>(theta_.size()));
  for (std::size_t j = 0; j < published_.size(); ++j)
    published_[j] = static_cast<float>(theta_(static_cast<Eigen::Index>(j)));
}

void BoxDescent::archive(Archive& archive) {
  std::vector<double> theta(theta_.begin(), theta_.end()), squares(squares_.begin(), squares_.end());
  archive.field("gibo.theta", theta);
  archive.field("gibo.squares", squares);
  verify(theta.size() == published_.size() && squares.size() == static_cast<std::size_t>(squares_.size()),
         "the state of a run of the same settings");
  std::ranges::copy(theta, theta_.begin());
  std::ranges::copy(squares, squares_.begin());
  publish();
}

}  // namespace dpmpi
