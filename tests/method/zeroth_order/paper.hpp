#pragma once
// What the paper of zo-o2nc prints: its noise, and its lengths of an epoch.

#include <algorithm>
#include <cmath>

#include "method/zeroth_order/planner.hpp"

namespace dpmpi::test {

/// 4 sqrt(2 ln T) d L / (B2 T rho). Too small for T <= 4 (with B1 = T B2 / 2), and 0 for T = 1.
inline double paper_sigma(const ZoProblem& p, double inner, double batch) {
  return 4 * std::sqrt(2 * std::log(inner)) * p.dim * p.lipschitz / (batch * inner * p.rho);
}

/// Its candidates for T: (sqrt(d) L delta M / A)^(2/3) and (d^(3/2) L delta M / (A rho))^(1/2), A = F* + L delta.
/// The proof needs their maximum; the paper prints the minimum, which leaves a term of the bound unbounded.
struct PaperLengths {
  double a, b;
  explicit PaperLengths(const ZoProblem& p) {
    const double A = p.gap + p.lipschitz * p.radius, ldm = p.lipschitz * p.radius * p.records;
    a = std::pow(std::sqrt(p.dim) * ldm / A, 2.0 / 3), b = std::sqrt(std::pow(p.dim, 1.5) * ldm / (A * p.rho));
  }
  double printed() const { return std::min(a, b); }
  double proven() const { return std::max(a, b); }
};

}  // namespace dpmpi::test
