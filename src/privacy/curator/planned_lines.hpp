#pragma once
// The lines that the ledger of a run gets: they follow from what the plan declares and from nothing else.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "privacy/curator/query.hpp"
#include "privacy/events/ledger.hpp"

namespace dpmpi {

/// Steps of the run after which all releases of a query are made.
std::uint64_t steps_of(const Query& query);
/// The lines that pay for a query's releases in the steps first .. last - 1.
std::vector<LedgerEntry> planned_lines(const Query& query, std::uint64_t first, std::uint64_t last);
/// A line with further members (JSON text without braces; empty: none) behind its own.
LedgerEntry with_members(LedgerEntry line, const std::string& members);
/// Hands those of a whole run to `take`, in the order in which a curator writes them: window by window of
/// Curator::reserved_steps, in each of them query by query. False once `take` says so: it wants no more.
bool each_planned_line(std::span<const Query> queries, const std::function<bool(const LedgerEntry&)>& take);

}  // namespace dpmpi
