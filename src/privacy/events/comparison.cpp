// Lists of events beside one another: the same ones, or those of a run that is dominated by another.
#include <algorithm>
#include <cstdint>
#include <map>
#include <variant>
#include <vector>

#include "privacy/events/event.hpp"

namespace dpmpi {

std::map<Mechanism, std::uint64_t> uses(const std::vector<Event>& events) {
  std::map<Mechanism, std::uint64_t> total;
  for (const auto& event : events) total[event.mechanism] += event.count;
  return total;
}

bool same_events(const std::vector<Event>& a, const std::vector<Event>& b) { return uses(a) == uses(b); }

namespace {

/// The mechanism on samples as large as those of `other`, where both are the same one on Poisson samples.
Mechanism sampled_as(const Mechanism& mechanism, const Mechanism& other) {
  return std::visit(
      [&](auto m) -> Mechanism {
        if constexpr (requires { m.sampling_rate; })
          if (const auto* const same = std::get_if<decltype(m)>(&other)) m.sampling_rate = same->sampling_rate;
        return m;
      },
      mechanism);
}

double sampling_rate(const Mechanism& mechanism) {
  return std::visit(
      [](const auto& m) {
        if constexpr (requires { m.sampling_rate; }) return m.sampling_rate;
        return 1.0;
      },
      mechanism);
}

}  // namespace

bool dominated(const std::vector<Event>& smaller, const std::vector<Event>& larger) {
  const auto a = uses(smaller), b = uses(larger);
  return std::ranges::equal(a, b, [](const auto& x, const auto& y) {
    return x.second <= y.second && sampled_as(x.first, y.first) == y.first &&
           sampling_rate(x.first) <= sampling_rate(y.first);
  });
}

}  // namespace dpmpi
