#pragma once
// Objectives whose loss of a record is phi(its one score, its label), whatever the score comes from. Linear ones
// say so by their form (ScalarForm).

#include "objective/math/losses.hpp"

namespace dpmpi {

class LossOfScore {
 public:
  virtual const ScalarLoss* loss_of_score() const = 0;  ///< null: it is another one

 protected:
  ~LossOfScore() = default;
};

}  // namespace dpmpi
