// Which lines the ledger gets, when the curator writes them, and how a resumed run finds its place in them.

#include "privacy/curator/planned_lines.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/console/heartbeat.hpp"
#include "core/console/log.hpp"
#include "core/errors.hpp"
#include "core/fault.hpp"
#include "privacy/curator/query_state.hpp"

namespace dpmpi {

std::uint64_t steps_of(const Query& query) {
  return query.steps > 0 ? query.schedule.step_of(query.steps - 1) + 1 : 0;
}

std::vector<LedgerEntry> planned_lines(const Query& query, std::uint64_t first, std::uint64_t last) {
  const std::uint64_t begin = query.releases_before(first), end = query.releases_before(last);
  // A run of which the last iterate is released, or whose samples go round groups, is one line, which has the run's
  // own steps; so are disjoint parts. Epochs of balls in bins have steps of their own, too.
  const bool own_steps = query.as<LastIterateRun>() || std::holds_alternative<CyclicPoisson>(query.sampling) ||
                         std::holds_alternative<BallsInBins>(query.sampling);
  const std::string steps =
      own_steps ? "" : fmt::format(R"("steps":[{},{}],)", begin, (query.parts.empty() ? end : query.steps) - 1);
  std::vector<LedgerEntry> lines;
  for (const auto& event : query.events(begin, end))
    lines.push_back({event, fmt::format(R"({}"site":"{}","clip":{},"slack":{:.6g})", steps, query.name,
                                        query.bound.clip, query.eta)});
  return lines;
}

LedgerEntry with_members(LedgerEntry line, const std::string& members) {
  if (!members.empty()) line.extra += "," + members;
  return line;
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

// The ledger was written window by window; of the last window an interrupted write may have left some lines only.
// No noise was drawn under those, and they are completed here, as they would have been.
void Curator::resume_at(std::uint64_t t) {
  for (auto& s : states_) s->next = s->query.releases_before(t);
  reserved_ = 0;
  if (curates_) {
    verify(ledger_ != nullptr, "a release needs a ledger");
    const std::vector<Event> events = ledger_->events();
    std::size_t at = 0;
    for (std::uint64_t last = 0; reserved_ < steps_; reserved_ = last) {
      last = window_end(reserved_);
      const auto lines = entries(reserved_, last);
      std::size_t found = 0;
      while (found < lines.size() && at < events.size() && lines[found].event == events[at]) ++found, ++at;
      if (found == lines.size()) continue;
      if (at == events.size() && found > 0) ledger_->append(std::span(lines).subspan(found)), reserved_ = last;
      break;
    }
    if (at < events.size() || reserved_ < std::min(t, steps_))
      throw PrivacyError(fmt::format(
          "the ledger does not follow the plan: line {} is not the one that this config's plan writes there. Put "
          "back the ledger and the config that belong together, or start a new run",
          at + 2));
  }
  comm_.broadcast(reserved_);
  for (auto& s : states_) {
    if (!s->running) continue;
    if (noise_by_slices_ && drawn_by_slices(s->query)) broadcast_from_root(s->running->leaf_scales());
    s->running->replay(*noise_, s->next);
  }
}

std::uint64_t Curator::window_end(std::uint64_t step) const {
  return std::min(steps_, (step / reserved_steps + 1) * reserved_steps);
}

// The ledger lines that pay for the steps of one window, of all queries.
std::vector<LedgerEntry> Curator::entries(std::uint64_t first, std::uint64_t last) const {
  std::vector<LedgerEntry> lines;
  for (const auto& s : states_)
    for (auto& line : planned_lines(s->query, first, last))
      lines.push_back(with_members(std::move(line), members_));
  return lines;
}

// Writes the ledger lines of the run's next steps, of all queries, in one go: before any noise of these steps is
// used.
void Curator::reserve(std::uint64_t step) {
  const Stopwatch watch(timing_.ledger);
  const InStage stage(Stage::ledger);
  std::vector<LedgerEntry> lines;
  while (reserved_ <= step) {  // window by window, also for a method that skips steps: so does resume_at read them
    const std::uint64_t first = std::exchange(reserved_, window_end(reserved_));
    for (auto& line : entries(first, reserved_)) lines.push_back(std::move(line));
  }
  if (!curates_) return;
  verify(ledger_ != nullptr, "a release needs a ledger");
  if (!lines.empty()) ledger_->append(lines);
  debug("step {}: ledger lines up to step {}: {} more", step, reserved_, lines.size());
  fault_point("reserved");
}

}  // namespace dpmpi
