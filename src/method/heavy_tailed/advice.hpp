#pragma once
// What plans say about tasks with heavy tails and about phases, from public numbers: lines for MethodPlan::notes.

#include <string>

#include "method/method.hpp"

namespace dpmpi {

/// "n mu / sqrt(d) = 55: below 10 ...": whether a budget mu leaves a signal at all.
std::string signal_line(const PublicFacts& facts, double mu);

/// For full-batch descent: the same, and how many steps pay.
std::string descent_advice(const PublicFacts& facts, double mu);

/// For methods that see every record once, or part of the records at a time: the same, and where descent on all
/// records is the better choice.
std::string pass_advice(const PublicFacts& facts, double mu);

/// "phase 1: m = 100, C = 2" and so on, from quantities like {"m_1", 100}: what plans say about phases.
std::string phase_lines(const Derived& quantities);

}  // namespace dpmpi
