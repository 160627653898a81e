#pragma once
// Batches of 2048 of MNIST's 60,000 records, and the delta that is published with them.

#include <cmath>

namespace dpmpi::test {

inline constexpr double mnist_rate = 2048.0 / 60000;
inline const double mnist_delta = std::pow(60000.0, -1.1);

}  // namespace dpmpi::test
