#include "dpmpi/privacy/event.hpp"

#include <cmath>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "dpmpi/core/errors.hpp"

namespace dpmpi {

namespace {

using Json = nlohmann::json;

// Whole numbers above 2^53 do not survive programs that read JSON numbers as doubles.
constexpr std::uint64_t largest_whole = 1ULL << 53;

template <class... Cases>
struct Overload : Cases... {
  using Cases::operator()...;
};

[[noreturn]] void refuse(std::string_view where, std::string_view member, std::string_view value,
                         std::string_view allowed) {
  throw PrivacyError(fmt::format("{}: {} is {}, allowed: {}", where, member, value, allowed));
}

void check_multiplier(double z, std::string_view where) {
  if (!(std::isfinite(z) && z > 0)) refuse(where, "noise_multiplier", fmt::format("{}", z), "a finite number > 0");
}

// Members of one line's object, read with errors that name the line, the member, its value and what is allowed.
class Members {
 public:
  Members(std::string_view line, std::string_view where) : where_(where) {
    std::set<std::string> seen;
    const Json::parser_callback_t no_member_twice = [&](int depth, Json::parse_event_t event, Json& parsed) {
      if (depth == 1 && event == Json::parse_event_t::key && !seen.insert(parsed.get<std::string>()).second)
        throw PrivacyError(fmt::format("{}: member {} is given twice", where, parsed.dump()));
      return true;
    };
    try {
      object_ = Json::parse(line, no_member_twice);
    } catch (const Json::exception& e) {
      throw PrivacyError(fmt::format("{}: not a JSON object with finite numbers: {}", where, e.what()));
    }
    if (!object_.is_object()) throw PrivacyError(fmt::format("{}: not a JSON object: {}", where, shown(object_)));
  }

  bool has(const char* member) const { return object_.contains(member); }

  double number(const char* member, std::string_view allowed) const {
    const Json& value = at(member, allowed);
    if (!value.is_number()) refuse(where_, member, shown(value), allowed);
    return value.get<double>();
  }

  std::uint64_t whole(const char* member) const {
    constexpr std::string_view allowed = "a whole number from 1 to 2^53";
    const Json& value = at(member, allowed);
    if (value.is_number_unsigned() && value.get<std::uint64_t>() > largest_whole)  // a double may round it down
      refuse(where_, member, shown(value), allowed);
    const double x = value.is_number() ? value.get<double>() : 0;
    if (!(x >= 1 && x <= static_cast<double>(largest_whole) && x == std::floor(x)))
      refuse(where_, member, shown(value), allowed);
    return static_cast<std::uint64_t>(x);
  }

  bool flag(const char* member) const {
    const Json& value = at(member, "true or false");
    if (!value.is_boolean()) refuse(where_, member, shown(value), "true or false");
    return value.get<bool>();
  }

  std::string text(const char* member, std::string_view allowed) const {
    const Json& value = at(member, allowed);
    if (!value.is_string()) refuse(where_, member, shown(value), allowed);
    return value.get<std::string>();
  }

 private:
  const Json& at(const char* member, std::string_view allowed) const {
    const auto found = object_.find(member);
    if (found == object_.end()) refuse(where_, member, "missing", allowed);
    return *found;
  }

  static std::string shown(const Json& value) {
    const std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
    return text.size() <= 60 ? text : text.substr(0, 60) + "...";
  }

  std::string_view where_;
  Json object_;
};

constexpr std::string_view multiplier_allowed = "a finite number > 0";

Event parse_event(const Members& members, std::string_view where) {
  const std::string kind = members.text("event", "the name of an event");
  Event event;
  if (kind == "gaussian") {
    event.mechanism = Gaussian{members.number("noise_multiplier", multiplier_allowed)};
  } else if (kind == "poisson_gaussian") {
    event.mechanism = PoissonGaussian{members.number("sampling_rate", "a number in (0, 1]"),
                                      members.number("noise_multiplier", multiplier_allowed)};
  } else if (kind == "wor_gaussian") {
    event.mechanism = WorGaussian{members.whole("population"), members.whole("batch"),
                                  members.number("noise_multiplier", multiplier_allowed)};
  } else if (kind == "non_private") {
    event.mechanism = NonPrivate{};
  } else {
    refuse(where, "event", fmt::format("\"{}\"", kind),
           "gaussian, poisson_gaussian, wor_gaussian, non_private (others are unknown to this version)");
  }
  if (kind != "non_private" || members.has("count")) event.count = members.whole("count");
  check(event, where);
  return event;
}

EventHeader parse_header(const Members& members, std::string_view where) {
  if (const auto version = members.whole("ledger"); version != 1)
    refuse(where, "ledger", fmt::format("{}", version), "1 (the version that this program reads)");
  constexpr std::string_view allowed = "add_remove or replace_one";
  const std::string text = members.text("adjacency", allowed);
  EventHeader header;
  if (const auto adjacency = parse_adjacency(text))
    header.adjacency = *adjacency;
  else
    refuse(where, "adjacency", fmt::format("\"{}\"", text), allowed);
  if (members.has("n")) header.n = members.whole("n");
  header.seeded = members.has("seeded") && members.flag("seeded");
  return header;
}

}  // namespace

std::string_view name(Adjacency adjacency) {
  return adjacency == Adjacency::add_remove ? "add_remove" : "replace_one";
}

std::optional<Adjacency> parse_adjacency(std::string_view text) {
  for (const auto adjacency : {Adjacency::add_remove, Adjacency::replace_one})
    if (text == name(adjacency)) return adjacency;
  return std::nullopt;
}

void check(const Event& event, std::string_view where) {
  std::visit(Overload{[&](const Gaussian& g) { check_multiplier(g.noise_multiplier, where); },
                      [&](const PoissonGaussian& g) {
                        if (!(g.sampling_rate > 0 && g.sampling_rate <= 1))
                          refuse(where, "sampling_rate", fmt::format("{}", g.sampling_rate), "a number in (0, 1]");
                        check_multiplier(g.noise_multiplier, where);
                      },
                      [&](const WorGaussian& g) {
                        if (!(g.batch >= 1 && g.batch <= g.population))
                          refuse(where, "batch", fmt::format("{}", g.batch),
                                 fmt::format("a whole number from 1 to the population, {}", g.population));
                        check_multiplier(g.noise_multiplier, where);
                      },
                      [](const NonPrivate&) {}},
             event.mechanism);
  if (!(event.count >= 1 && event.count <= largest_whole))
    refuse(where, "count", fmt::format("{}", event.count), "a whole number from 1 to 2^53");
}

std::string to_json(const Event& event, std::string_view extra) {
  const std::string parameters = std::visit(
      Overload{[](const Gaussian& g) {
                 return fmt::format("\"event\":\"gaussian\",\"noise_multiplier\":{}", g.noise_multiplier);
               },
               [](const PoissonGaussian& g) {
                 return fmt::format("\"event\":\"poisson_gaussian\",\"sampling_rate\":{},\"noise_multiplier\":{}",
                                    g.sampling_rate, g.noise_multiplier);
               },
               [](const WorGaussian& g) {
                 return fmt::format(
                     "\"event\":\"wor_gaussian\",\"population\":{},\"batch\":{},\"noise_multiplier\":{}",
                     g.population, g.batch, g.noise_multiplier);
               },
               [](const NonPrivate&) { return std::string("\"event\":\"non_private\""); }},
      event.mechanism);
  return fmt::format("{{{},\"count\":{}{}{}}}", parameters, event.count, extra.empty() ? "" : ",", extra);
}

EventLine parse_event_line(std::string_view line, std::string_view where) {
  const Members members(line, where);
  EventLine result;
  if (members.has("ledger"))
    result.content = parse_header(members, where);
  else
    result.content = parse_event(members, where);
  if (members.has("prev")) result.prev = members.text("prev", "the SHA-256 of the line above");
  return result;
}

}  // namespace dpmpi
