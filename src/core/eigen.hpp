#pragma once
// Eigen's dense matrices, with GCC's false warnings about its intrinsics silenced.

// GCC 12 takes its own _mm512_undefined_pd() for an uninitialised variable (GCC bug 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <Eigen/Core>
