#pragma once
// A scalar loss of signs, multiplied by a weight for each sign: a scalar loss again, with the bounds of its own.

#include <memory>

#include "objective/math/losses.hpp"

namespace dpmpi {

/// phi(m, y) times `of_minus` for y = -1 and `of_plus` for y = +1; weights > 0. Where phi is logistic, so
/// is_logistic() says of this, too: the best margins are then log-odds plus log(of_plus / of_minus).
std::unique_ptr<ScalarLoss> weighted_loss(std::unique_ptr<ScalarLoss> phi, double of_minus, double of_plus);

}  // namespace dpmpi
