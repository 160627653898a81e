#pragma once
// How hard two unit normals at distance mu are to tell apart: the privacy curve of Gaussian noise.

namespace dpmpi {

/// delta(epsilon) = Phi(-epsilon/mu + mu/2) - e^epsilon Phi(-epsilon/mu - mu/2), for mu >= 0 and epsilon >= 0
/// (Balle and Wang 2018, Thm. 8). In logarithms: small values keep their relative precision down to the smallest
/// double.
double gdp_delta(double mu, double epsilon);
/// Smallest epsilon >= 0 with gdp_delta(mu, epsilon) <= delta. delta in (0, 1).
double gdp_epsilon(double mu, double delta);
/// Largest mu with gdp_delta(mu, epsilon) <= delta.
double gdp_mu(double epsilon, double delta);

/// The first two from below: at most the true value.
double least_gdp_delta(double mu, double epsilon);
double least_gdp_epsilon(double mu, double delta);

}  // namespace dpmpi
