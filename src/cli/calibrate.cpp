#include "cli/calibrate.hpp"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <sstream>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/commands.hpp"
#include "cli/events.hpp"
#include "core/errors.hpp"
#include "privacy/accountants/accountant.hpp"
#include "privacy/promise/calibrate.hpp"
#include "privacy/promise/guarantee.hpp"

namespace dpmpi {
namespace {

std::string names_of_unknowns() {
  std::vector<std::string_view> names;
  for (const Unknown& unknown : unknowns()) names.push_back(unknown.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

// Events of which some have an unknown member.
struct Template {
  std::optional<EventHeader> header;
  std::vector<Event> events;
  std::vector<std::size_t> open;  // positions of the events whose member is unknown
  const Unknown* unknown = nullptr;

  std::vector<Event> at(double value) const {
    std::vector<Event> result = events;
    for (const std::size_t i : open) assign(result[i], unknown->name, value);
    return result;
  }
};

// Reads one line, in which one member may be "?".
void take_line(const std::string& line, Template& into, const std::string& where) {
  std::string open;
  const auto note = [&](const std::string& member) {
    const auto all = unknowns();
    const auto found = std::find_if(all.begin(), all.end(), [&](const Unknown& u) { return u.name == member; });
    if (found == all.end())
      throw PrivacyError(
          fmt::format("{}: {} is \"?\", allowed as unknown: {}", where, member, names_of_unknowns()));
    if (!open.empty())
      throw PrivacyError(
          fmt::format("{}: {} is \"?\" beside {}: an event can have one unknown", where, open, member));
    if (into.unknown && into.unknown != &*found)
      throw PrivacyError(fmt::format("{}: {} is \"?\", but {} is unknown already: one name can be solved for",
                                     where, member, into.unknown->name));
    into.unknown = &*found;
    open = member;
  };
  const EventLine parsed = parse_event_line(line, where, note);
  if (const auto* header = std::get_if<EventHeader>(&parsed.content)) {
    if (into.header || !into.events.empty())
      throw PrivacyError(where + ": a header may stand on the first line only");
    if (!open.empty()) throw PrivacyError(fmt::format("{}: a header has no member {}", where, open));
    into.header = *header;
    return;
  }
  Event event = std::get<Event>(parsed.content);
  if (!open.empty()) {
    if (open == "count" && event.count != 1)
      throw PrivacyError(fmt::format(
          "{}: restarts is {} beside an unknown count, allowed: 1 (the count that is found is that of all runs)",
          where, event.count));
    if (!assign(event, open, 1))
      throw PrivacyError(fmt::format("{}: {} has no member {}", where, name(event.mechanism), open));
    into.open.push_back(into.events.size());
  }
  into.events.push_back(std::move(event));
}

Template read_template(const std::string& text, const std::string& file) {
  Template result;
  std::istringstream in(text);
  std::uint64_t number = 0;
  for (std::string line; std::getline(in, line);) {
    const std::string where = fmt::format("{}:{}", file, ++number);
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    take_line(line, result, where);
  }
  if (!result.unknown)
    throw PrivacyError(fmt::format(R"({}: no value is "?": write it for one of {})", file, names_of_unknowns()));
  if (result.header && result.header->seeded)
    throw PrivacyError(file + ":1: seeded noise has no guarantee: no value keeps a target");
  return result;
}

void check_request(const CalibrateRequest& request) {
  if (!request.epsilon || !request.delta)
    throw ConfigError("calibrate: give the target: --epsilon E and --delta D");
  if (!(std::isfinite(*request.epsilon) && *request.epsilon > 0))
    throw ConfigError(fmt::format("calibrate: epsilon is {}, allowed: a finite number > 0", *request.epsilon));
  if (!(*request.delta > 0 && *request.delta < 1))
    throw ConfigError(fmt::format("calibrate: delta is {}, allowed: a number in (0, 1)", *request.delta));
}

}  // namespace

int calibrate(const CalibrateRequest& request, std::ostream& out) {
  check_request(request);
  const Template events = read_template(read_text(request.path), shown_path(request.path));
  const Adjacency adjacency = adjacency_of(events.header, request.adjacency, request.path);
  const PrivacyTarget target{*request.epsilon, *request.delta, adjacency};
  const auto at = [&](double value) { return events.at(value); };
  const auto [value, answered] = calibrate(*events.unknown, at, target, request.accountant);
  const Guarantee g = epsilon_guarantee(at(value), adjacency, target.delta, request.accountant, answered.get());
  verify(g.epsilon <= target.epsilon, "the calibrated value keeps the target");

  const bool whole = events.unknown->whole;
  if (request.json) {
    OrderedJson answer;
    answer[std::string(events.unknown->name)] =
        whole ? OrderedJson(static_cast<std::uint64_t>(value)) : OrderedJson(value);
    put_answer(answer, g, adjacency, g.epsilon);
    out << answer.dump() << "\n";
    return static_cast<int>(ExitCode::done);
  }
  // Whole numbers without exponent, others with all the digits that were verified.
  out << fmt::format("{} = {}\n", events.unknown->name,
                     whole ? fmt::format("{:.0f}", value) : fmt::format("{}", value));
  out << fmt::format("({}, {})-differential privacy under {} (accountant {})\nepsilon by accountant\n{}", g.epsilon,
                     g.delta, name(adjacency), g.winner(), evidence(g));
  return static_cast<int>(ExitCode::done);
}

Command calibrate_command() {
  const auto request = std::make_shared<CalibrateRequest>();
  Options options("");
  options.add("file", request->path, "JSON lines in which every unknown value is \"?\"; - is standard input")
      .add("epsilon", request->epsilon, "the target, never overshot")
      .add("delta", request->delta, "the target, never overshot")
      .add("accountant", request->accountant, "whose bound; best is the smallest that applies", accountant_names())
      .add("json", request->json, "print JSON");
  add_adjacency(options, request->adjacency);
  return {
      .name = "calibrate",
      .forms = {{"dpmpi calibrate EVENTS.jsonl --epsilon E --delta D",
                 "the noise, rate or number of steps that a promise allows"}},
      .about =
          "Unknown may be one of noise_multiplier, scale, count, sampling_rate, mu and rho: every \"?\" gets the same value.",
      .options = options,
      .arguments = {"file"},
      .run = [request](const Communicator&) { return printed(calibrate(*request, std::cout)); }};
}

}  // namespace dpmpi
