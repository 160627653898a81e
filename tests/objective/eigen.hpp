#pragma once
// Eigen for tests. The first of these silences GCC.
#include "core/eigen.hpp"

#include <Eigen/Eigenvalues>
#include <Eigen/QR>
