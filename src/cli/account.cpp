#include "cli/account.hpp"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/events.hpp"
#include "core/errors.hpp"
#include "core/files/untrusted_json.hpp"
#include "privacy/accountants/accountant.hpp"
#include "privacy/accountants/rdp_accountant.hpp"
#include "privacy/curves/rdp_conversion.hpp"
#include "privacy/events/ledger.hpp"
#include "privacy/events/planned_events.hpp"
#include "privacy/promise/group_guarantee.hpp"

namespace dpmpi {
namespace {

void check_question(const AccountRequest& request) {
  if (request.delta.has_value() == request.epsilon.has_value())
    throw ConfigError("account: give exactly one of --delta D (asks for epsilon) and --epsilon E (asks for delta)");
  if (request.delta && !(*request.delta > 0 && *request.delta < 1))
    throw ConfigError(fmt::format("account: delta is {}, allowed: a number in (0, 1)", *request.delta));
  if (request.epsilon && !(std::isfinite(*request.epsilon) && *request.epsilon >= 0))
    throw ConfigError(fmt::format("account: epsilon is {}, allowed: a finite number >= 0", *request.epsilon));
  for (const double order : request.orders)
    if (!(order > 1 && order <= rdp_largest_order))
      throw ConfigError(fmt::format("account: order {}, allowed: numbers in (1, {}]", order, rdp_largest_order));
  for (auto order = request.orders.begin(); order != request.orders.end(); ++order)
    if (std::find(request.orders.begin(), order, *order) != order)
      throw ConfigError(fmt::format("account: order {} is given twice", *order));
}

// The composed Renyi curve at the orders that were asked for.
std::vector<std::pair<std::string, double>> curve_of(const std::vector<Event>& events, Adjacency adjacency,
                                                     const std::vector<double>& orders) {
  if (orders.empty()) return {};
  RdpAccountant accountant(adjacency, orders);
  try {
    accountant.compose(events);
  } catch (const PrivacyError& e) {
    throw PrivacyError(fmt::format("--orders: these events have no Renyi curve: {}", e.what()));
  }
  std::vector<std::pair<std::string, double>> curve;
  for (std::size_t i = 0; i < orders.size(); ++i)
    curve.emplace_back(fmt::format("{}", orders[i]), accountant.curve()[i]);
  return curve;
}

// What counts of a run that was stopped.
std::vector<Event> to_cover(const AccountRequest& request, const std::vector<Event>& spent) {
  if (request.plan.empty() == request.stopped.has_value())
    throw ConfigError("account: --stopped (why the run ended before its plan) and --plan PLAN.json go together");
  if (request.plan.empty()) return spent;
  const std::vector<Event> planned = planned_events(read_untrusted_json(request.plan), request.plan);
  return to_cover(*request.stopped, planned, spent);
}

// Of a line that was read as an event or a header; 0 if it has no such member.
std::uint64_t whole_member(const std::string& line, const char* member, const std::string& where) {
  const auto object = parse_untrusted_json(line, where);
  const auto found = object.find(member);
  if (found == object.end()) return 0;
  if (!found->is_number_unsigned()) throw PrivacyError(fmt::format("{}: {} is no whole number", where, member));
  return found->get<std::uint64_t>();
}

/// Of the ledger of a search's trainings: how many there were follows from what was released, so all that were
/// planned count. 0: another ledger.
std::uint64_t planned_trainings(const std::string& text, const std::optional<EventHeader>& header) {
  return header ? whole_member(text.substr(0, text.find('\n')), "trainings", "the header") : 0;
}
std::vector<Event> of_all_trainings(const std::string& text, std::uint64_t trainings) {
  std::vector<Event> events;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    const std::uint64_t number = whole_member(line, "training", "the training ledger");
    if (number >= trainings)
      throw PrivacyError(fmt::format("training {} is beyond the {} of the header", number, trainings));
    const EventLine parsed = parse_event_line(line, "training 0");
    const auto* event = std::get_if<Event>(&parsed.content);  // or the header
    if (number > 0 || !event) continue;
    if (event->count > (std::uint64_t{1} << 53) / trainings)
      throw PrivacyError(fmt::format("{} trainings of {} uses are too many to count", trainings, event->count));
    events.push_back({event->mechanism, event->count * trainings});
  }
  return events;
}

}  // namespace

int account(const AccountRequest& request, std::ostream& out) {
  check_question(request);
  const std::string text = read_text(request.path);
  std::istringstream lines(text);
  const EventList list = read_events(lines, shown_path(request.path));
  const Adjacency adjacency = adjacency_of(list.header, request.adjacency, request.path);
  if (list.events.empty() && !list.header)
    throw PrivacyError(fmt::format("{} holds no events: there is nothing to account for (is it a ledger?)",
                                   shown_path(request.path)));
  const bool seeded = list.header && list.header->seeded;
  const std::uint64_t trainings = planned_trainings(text, list.header);
  std::vector<Event> events = trainings > 0 ? of_all_trainings(text, trainings) : to_cover(request, list.events);
  if (seeded) events.push_back({NonPrivate{}, 1});

  const auto group = static_cast<std::uint64_t>(request.group);
  const Guarantee g = request.delta
                          ? group_epsilon_guarantee(events, group, adjacency, *request.delta, request.accountant)
                          : group_delta_guarantee(events, group, adjacency, *request.epsilon, request.accountant);
  if (group > 1 && !request.orders.empty()) throw ConfigError("account: --orders and --group do not go together");
  const auto curve = curve_of(events, adjacency, request.orders);
  const double asked = request.delta ? g.epsilon : g.delta;
  if (request.json) {
    OrderedJson answer;
    put_answer(answer, g, adjacency, asked);
    if (group > 1) answer["group"] = group;
    for (const auto& [order, value] : curve) answer["rdp"][order] = json_number(value);
    out << answer.dump() << "\n";
    return static_cast<int>(ExitCode::done);
  }
  out << fmt::format("({}, {})-differential privacy under {} (accountant {})\n", g.epsilon, g.delta,
                     name(adjacency), g.winner());
  if (request.group > 1)
    out << fmt::format("for groups of {} {}s\n", request.group,
                       name(list.header ? list.header->unit : Unit::record));
  if (trainings > 0)
    out << fmt::format("of all {} trainings that were planned: how many there were follows from results\n",
                       trainings);
  if (request.stopped == StopReason::results)
    out << "of the whole plan: a run that was stopped on account of its results spends all of it\n";
  if (seeded) out << "the noise came from privacy.seed: NOT PRIVATE\n";
  out << (request.delta ? "epsilon by accountant\n" : "delta by accountant\n") << evidence(g);
  for (const auto& [order, value] : curve) out << fmt::format("  Renyi order {:>6}: {}\n", order, value);
  return static_cast<int>(ExitCode::done);
}

Command account_command() {
  const auto request = std::make_shared<AccountRequest>();
  Options options("");
  options.add("file", request->path, "JSON lines, a ledger or any list of events; - is standard input")
      .add("delta", request->delta, "asks for epsilon at this delta")
      .add("epsilon", request->epsilon, "asks for delta at this epsilon")
      .add("accountant", request->accountant, "which bound; best is the smallest that applies", accountant_names())
      .add("orders", request->orders, "also print the composed Renyi curve at these orders",
           Range{.low = 1, .high = rdp_largest_order, .high_open = false})
      .add("group", request->group, "asks for somebody who has so many records, or for so many persons",
           Range::closed(1, 1e6))
      .add("plan", request->plan, "plan.json of a run that was stopped; with --stopped")
      .add_words("stopped", request->stopped,
                 "why it was: outside, by what nothing released had a part in; results, because somebody looked at "
                 "iterates, metrics or data: then all of the plan counts",
                 {{"", std::nullopt}, {"outside", StopReason::outside}, {"results", StopReason::results}})
      .add("json", request->json, "print JSON");
  add_adjacency(options, request->adjacency);
  return {.name = "account",
          .forms = {{"dpmpi account FILE.jsonl (--delta D | --epsilon E)",
                     "epsilon, or delta, of a ledger or of any list of events"}},
          .options = options,
          .arguments = {"file"},
          .run = [request](const Communicator&) { return printed(account(*request, std::cout)); }};
}

}  // namespace dpmpi
