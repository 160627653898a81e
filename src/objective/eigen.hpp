#pragma once
// Eigen without the warnings that GCC 12 has for its own _mm512_undefined_pd(), which it takes for an uninitialised
// variable (GCC bug 105593).

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <Eigen/Cholesky>
#include <Eigen/Core>
