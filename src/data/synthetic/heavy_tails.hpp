#pragma once
// Synthetic records whose norms have few moments: a function of seed and record number only, the same bytes on
// every machine.

#include <cstdint>
#include <string_view>

#include "data/records/builder.hpp"
#include "data/synthetic/generate.hpp"

namespace dpmpi {

bool has_heavy_tails(std::string_view kind);
/// Adds records first .. first + count - 1 of one of the kinds pareto-linear, pareto-logistic, pareto-mean and
/// two-point (generate.hpp says what they are). Local.
void add_heavy_tails(const GenerateOptions& options, std::uint64_t first, std::uint64_t count, RecordsBuilder& out);

}  // namespace dpmpi
