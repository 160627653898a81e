#include "privacy/curator/planned_lines.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "privacy/curator/curator.hpp"

namespace dpmpi {

std::uint64_t steps_of(const Query& query) {
  return query.steps > 0 ? query.schedule.step_of(query.steps - 1) + 1 : 0;
}

std::vector<LedgerEntry> planned_lines(const Query& query, std::uint64_t first, std::uint64_t last) {
  const std::uint64_t begin = query.releases_before(first), end = query.releases_before(last);
  // A run of which the last iterate is released is one line, which has the run's own steps; so are disjoint parts.
  const std::string steps = query.as<LastIterateRun>() ? ""
                                                       : fmt::format(R"("steps":[{},{}],)", begin,
                                                                     (query.parts.empty() ? end : query.steps) - 1);
  std::vector<LedgerEntry> lines;
  for (const auto& event : query.events(begin, end))
    lines.push_back({event, fmt::format(R"({}"site":"{}","clip":{},"slack":{:.6g})", steps, query.name,
                                        query.bound.clip, query.eta)});
  return lines;
}

bool each_planned_line(std::span<const Query> queries, const std::function<bool(const LedgerEntry&)>& take) {
  std::uint64_t steps = 0;
  for (const Query& query : queries) steps = std::max(steps, steps_of(query));
  for (std::uint64_t first = 0; first < steps; first += Curator::reserved_steps)
    for (const Query& query : queries)
      for (const LedgerEntry& line : planned_lines(query, first, std::min(steps, first + Curator::reserved_steps)))
        if (!take(line)) return false;
  return true;
}

}  // namespace dpmpi
