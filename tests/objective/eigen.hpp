#pragma once
// Eigen for tests. GCC 12 takes its own _mm512_undefined_pd() for an uninitialised variable (GCC bug 105593).

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <Eigen/QR>
