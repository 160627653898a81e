#include "privacy/accountants/accountant.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/console/progress.hpp"
#include "core/errors.hpp"
#include "privacy/accountants/best.hpp"
#include "privacy/accountants/gdp.hpp"
#include "privacy/accountants/pld.hpp"
#include "privacy/accountants/pure.hpp"
#include "privacy/accountants/rdp_accountant.hpp"

namespace dpmpi {

void Accountant::compose(const std::vector<Event>& events) {
  Progress progress("accounting", events.size(), "events");
  for (const Event& event : events) {
    compose(event);
    progress.add();
  }
}

std::vector<double> Accountant::epsilons(const std::vector<double>& deltas) const {
  std::vector<double> all;
  for (const double delta : deltas) all.push_back(epsilon(delta));
  return all;
}

namespace {

template <class A>
std::unique_ptr<Accountant> make(Adjacency adjacency) {
  return std::make_unique<A>(adjacency);
}

// Every accountant there is, in the order in which results are shown.
struct Entry {
  const char* name;
  std::unique_ptr<Accountant> (*make)(Adjacency);
};
constexpr Entry accountants[] = {{"rdp", make<RdpAccountant>},
                                 {"pld", make<PldAccountant>},
                                 {"gdp", make<GdpAccountant>},
                                 {"optimal", make<OptimalCompositionAccountant>}};

}  // namespace

const std::vector<std::string>& accountant_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    list.emplace_back("best");
    for (const Entry& entry : accountants) list.emplace_back(entry.name);
    return list;
  }();
  return names;
}

std::unique_ptr<Accountant> make_accountant(std::string_view name, Adjacency adjacency) {
  if (name == "best") return std::make_unique<BestAccountant>(adjacency);
  for (const Entry& entry : accountants)
    if (name == entry.name) return entry.make(adjacency);
  throw ConfigError(
      fmt::format("accountant \"{}\" is unknown, allowed: {}", name, fmt::join(accountant_names(), ", ")));
}

}  // namespace dpmpi
