#pragma once
// What tests use of Eigen.

#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include "dpmpi/core/eigen.hpp"
