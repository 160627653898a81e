#include "privacy/accountants/best.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/numbers/real.hpp"

namespace dpmpi {

BestAccountant::BestAccountant(Adjacency adjacency) : Accountant(adjacency) {
  for (const std::string& other : accountant_names())
    if (other != name()) parts_.push_back(make_accountant(other, adjacency));
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
  double best = infinity;
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

void BestAccountant::recall(const PldAccountant& other) {
  for (const auto& part : parts_) part->recall(other);
}

std::vector<const Accountant*> BestAccountant::parts() const {
  std::vector<const Accountant*> left;
  for (const auto& part : parts_) left.push_back(part.get());
  return left;
}

std::optional<double> BestAccountant::gaussian() const {
  for (const auto& part : parts_)
    if (const auto mu = part->gaussian()) return mu;
  return {};
}

}  // namespace dpmpi
