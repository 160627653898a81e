#include "privacy/accountants/accountant.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/console/progress.hpp"
#include "core/errors.hpp"
#include "privacy/accountants/gdp.hpp"
#include "privacy/accountants/pld.hpp"
#include "privacy/accountants/pure.hpp"

namespace dpmpi {

void Accountant::compose(const std::vector<Event>& events) {
  Progress progress("accounting", events.size(), "events");
  for (const Event& event : events) {
    compose(event);
    progress.add();
  }
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

BestAccountant::BestAccountant(Adjacency adjacency) : Accountant(adjacency) {
  for (const Entry& entry : accountants) parts_.push_back(entry.make(adjacency));
}

void BestAccountant::compose(const Event& event) {
  std::map<std::string, std::string> refused;
  for (const auto& part : parts_) {
    try {
      part->compose(event);
    } catch (const PrivacyError& e) {
      refused.emplace(part->name(), e.what());
    }
  }
  if (refused.size() == parts_.size()) {  // each of them stays as it was, and so do the refusals
    std::string reasons = "no accountant has a bound for all of these events:";
    refused.insert(refusals_.begin(), refusals_.end());
    for (const auto& [part, reason] : refused) reasons += fmt::format("\n  {}: {}", part, reason);
    throw PrivacyError(reasons);
  }
  std::erase_if(parts_, [&](const auto& part) { return refused.count(std::string(part->name())) > 0; });
  refusals_.merge(refused);
}

namespace {

// An upper bound below another accountant's lower bound proves that one of the two is wrong.
double checked(double upper, double lower, const char* what, double at) {
  if (lower > upper)
    throw BugError(fmt::format("accountants contradict each other at {}: {} is at least {} and at most {}", at,
                               what, lower, upper));
  return upper;
}

}  // namespace

double BestAccountant::epsilon(double delta) const {
  double best = std::numeric_limits<double>::infinity();
  for (const auto& part : parts_) best = std::min(best, part->epsilon(delta));
  return checked(best, least_epsilon(delta), "epsilon", delta);
}

double BestAccountant::delta(double epsilon) const {
  double best = 1;
  for (const auto& part : parts_) best = std::min(best, part->delta(epsilon));
  return checked(best, least_delta(epsilon), "delta", epsilon);
}

double BestAccountant::least_epsilon(double delta) const {
  double best = 0;
  for (const auto& part : parts_) best = std::max(best, part->least_epsilon(delta));
  return best;
}

double BestAccountant::least_delta(double epsilon) const {
  double best = 0;
  for (const auto& part : parts_) best = std::max(best, part->least_delta(epsilon));
  return best;
}

void BestAccountant::recall(const Accountant& other) {
  for (const auto& part : parts_) part->recall(other);
}

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
