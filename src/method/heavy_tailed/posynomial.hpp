#pragma once
// Sums of monomials c x^p y^q with c > 0, which are convex in (log x, log y).

#include <array>
#include <span>

namespace dpmpi {

struct Monomial {
  double log_coefficient;
  std::array<double, 2> powers;
};
using LogPoint = std::array<double, 2>;  ///< (log x, log y)

double posynomial(std::span<const Monomial> terms, const LogPoint& at);
/// Where it is smallest, by damped Newton steps on its logarithm. The powers must span the plane positively, or
/// there is no minimum.
LogPoint least_posynomial(std::span<const Monomial> terms, LogPoint start);

}  // namespace dpmpi
