#pragma once
// What a guarantee means for an attacker who tests whether one record took part.

#include "privacy/accountants/accountant.hpp"

namespace dpmpi {

/// Upper bound, rounded up, on the true positive rate of any test of one record's presence (add_remove) or of which
/// of two values it had (replace_one), for an attacker who knows all other records and sees all releases, at a
/// false positive rate in [0, 1].
///
/// Each (epsilon, delta) that holds bounds it by delta + e^epsilon FPR and by 1 - e^-epsilon (1 - delta - FPR)
/// (Wasserman and Zhou 2010; Kairouz, Oh and Viswanath 2015); the smallest of these on the accountant's
/// curve, from about 50 evaluations of delta. Gaussian differential privacy knows it exactly: Phi(Phi^-1(FPR) + mu)
/// (Dong, Roth and Su 2022), used when the accountant is, or still contains, that one.
double attacker_power(const Accountant& accountant, double false_positive_rate);

}  // namespace dpmpi
