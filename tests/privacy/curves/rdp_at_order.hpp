#pragma once
// One point of the Renyi curve of a mechanism.

#include <cstdint>
#include <span>

#include "privacy/accountants/rdp.hpp"

namespace dpmpi::test {

inline double rdp_at(const Mechanism& mechanism, Adjacency adjacency, double order) {
  return rdp_curve(mechanism, adjacency, std::span(&order, 1)).front();
}
inline double gaussian_rdp(double noise_multiplier, double order) {
  return rdp_at(Gaussian{noise_multiplier}, Adjacency::add_remove, order);
}
inline double poisson_gaussian_rdp(double rate, double noise_multiplier, double order, Adjacency adjacency) {
  return rdp_at(PoissonGaussian{rate, noise_multiplier}, adjacency, order);
}
/// By Theorem 9 of Wang, Balle and Kasiviswanathan (2019): all that the discrete Gaussian has.
inline double wor_gaussian_rdp(std::uint64_t population, std::uint64_t batch, double noise_multiplier,
                               double order) {
  return rdp_at(WorDiscreteGaussian{population, batch, noise_multiplier}, Adjacency::replace_one, order);
}

}  // namespace dpmpi::test
