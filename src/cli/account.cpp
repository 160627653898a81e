#include "dpmpi/cli/account.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iostream>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dpmpi/core/errors.hpp"
#include "dpmpi/privacy/accountant.hpp"
#include "dpmpi/privacy/ledger.hpp"
#include "dpmpi/privacy/rdp.hpp"

namespace dpmpi {

namespace {

EventList read(const std::string& path) {
  if (path == "-") return read_events(std::cin, "standard input");
  std::ifstream in(path, std::ios::binary);
  if (!in) throw DataError(fmt::format("{}: cannot read: {}", path, std::strerror(errno)));
  return read_events(in, path);
}

void check_request(const AccountRequest& request) {
  if (request.delta.has_value() == request.epsilon.has_value())
    throw ConfigError("account: give exactly one of --delta D (asks for epsilon) and --epsilon E (asks for delta)");
  if (request.delta && !(*request.delta > 0 && *request.delta < 1))
    throw ConfigError(fmt::format("account: delta is {}, allowed: a number in (0, 1)", *request.delta));
  if (request.epsilon && !(std::isfinite(*request.epsilon) && *request.epsilon >= 0))
    throw ConfigError(fmt::format("account: epsilon is {}, allowed: a finite number >= 0", *request.epsilon));
  for (const double order : request.orders)
    if (!(order > 1 && order <= rdp_largest_order))
      throw ConfigError(fmt::format("account: order {}, allowed: numbers in (1, {}]", order, rdp_largest_order));
}

Adjacency adjacency_of(const EventList& list, const AccountRequest& request) {
  if (!list.header) return request.adjacency.value_or(Adjacency::add_remove);
  if (request.adjacency && *request.adjacency != list.header->adjacency)
    throw PrivacyError(fmt::format("{} is a ledger under {}; its noise multipliers mean something else under {}",
                                   request.path, name(list.header->adjacency), name(*request.adjacency)));
  return list.header->adjacency;
}

// JSON has no infinity; "infinity" reads as one in every language that has a conversion from text.
std::string json_number(double x) { return std::isfinite(x) ? fmt::format("{}", x) : "\"infinity\""; }

using NamedValue = std::pair<std::string, double>;

std::string json_object(const std::vector<NamedValue>& values) {
  std::vector<std::string> members;
  for (const auto& [key, value] : values) members.push_back(fmt::format("\"{}\": {}", key, json_number(value)));
  return fmt::format("{{{}}}", fmt::join(members, ", "));
}

}  // namespace

int account(const AccountRequest& request, std::ostream& out) {
  check_request(request);
  const EventList list = read(request.path);
  const Adjacency adjacency = adjacency_of(list, request);
  if (list.events.empty() && !list.header)
    throw PrivacyError(
        fmt::format("{} holds no events: there is nothing to account for (is it a ledger?)", request.path));

  std::vector<NamedValue> by;
  for (const std::string& accountant_name :
       request.accountant == "best" ? std::vector<std::string>{"rdp"} : std::vector{request.accountant}) {
    const auto accountant = make_accountant(accountant_name, adjacency);
    accountant->compose(list.events);
    if (list.header && list.header->seeded) accountant->compose(Event{NonPrivate{}, 1});
    by.emplace_back(accountant_name,
                    request.delta ? accountant->epsilon(*request.delta) : accountant->delta(*request.epsilon));
  }
  const auto best =
      *std::min_element(by.begin(), by.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  const double epsilon = request.epsilon.value_or(best.second), delta = request.delta.value_or(best.second);

  std::vector<NamedValue> curve;
  if (!request.orders.empty()) {
    RdpAccountant accountant(adjacency, request.orders);
    accountant.compose(list.events);
    for (std::size_t i = 0; i < request.orders.size(); ++i)
      curve.emplace_back(fmt::format("{}", request.orders[i]), accountant.curve()[i]);
  }

  if (request.json) {
    out << fmt::format("{{\"epsilon\": {}, \"delta\": {}, \"by\": {}, \"adjacency\": \"{}\"", json_number(epsilon),
                       json_number(delta), json_object(by), name(adjacency));
    if (!curve.empty()) out << ", \"rdp\": " << json_object(curve);
    out << "}\n";
  } else {
    out << fmt::format("({}, {})-differential privacy under {} (accountant {})\n", epsilon, delta, name(adjacency),
                       best.first);
    if (list.header && list.header->seeded) out << "the noise came from privacy.seed: NOT PRIVATE\n";
    for (const auto& [order, value] : curve) out << fmt::format("  Renyi order {:>6}: {}\n", order, value);
  }
  return static_cast<int>(ExitCode::done);
}

}  // namespace dpmpi
