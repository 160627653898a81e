#pragma once
#include <cstdio>

#include "run/plan/plan.hpp"

namespace dpmpi {

/// The table that opens a run: what will be done, with which numbers. Root only.
void print_settings(const RunConfig& config, const PublicFacts& facts, const Plan& plan, int ranks,
                    std::FILE* out = stderr);

}  // namespace dpmpi
