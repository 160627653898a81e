#pragma once
// Eigen for tests. The first of these silences GCC.
#include "dpmpi/core/eigen.hpp"

#include <Eigen/Eigenvalues>
#include <Eigen/QR>
