#include "run/report/promise.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/errors.hpp"
#include "privacy/events/planned_events.hpp"
#include "privacy/promise/attacker_curve.hpp"
#include "run/report/html.hpp"
#include "run/report/numbers.hpp"
#include "run/report/plot.hpp"

namespace dpmpi {
namespace {

using Json = RunRecord::Json;

Adjacency adjacency_of(const RunRecord& run) {
  return parse_adjacency(run.plan.at("adjacency").get<std::string>()).value_or(Adjacency::add_remove);
}
bool replaces(const RunRecord& run) { return adjacency_of(run) == Adjacency::replace_one; }

/// To those on whose records one part of the run depends.
struct PartOfPromise {
  std::vector<Event> events;
  Guarantee guarantee;
};

/// Of what was planned: its events are in the file.
PartOfPromise part_of(const Json& planned, const Json& epsilon, const std::string& place) {
  PartOfPromise part{planned_events(planned, place),
                     {.epsilon = epsilon.get<double>(), .delta = planned.at("delta").get<double>(), .by = {}}};
  for (const auto& [accountant, bound] : planned.at("by").items())
    if (bound.is_number()) part.guarantee.by.emplace_back(accountant, bound.get<double>());
  return part;
}

/// Nobody is in two of them, so what is said of everybody is the largest of what is true of each.
std::vector<PartOfPromise> parts_of(const RunRecord& run) {
  const std::string place = run.directory + "/plan.json";
  std::vector<PartOfPromise> parts{part_of(run.plan, run.epsilon(), place)};
  if (run.plan.contains("evaluation")) {
    const Json& held_out = run.plan["evaluation"];
    parts.push_back(part_of(held_out, held_out.at("epsilon"), place + ": evaluation"));
  }
  return parts;
}

/// The larger one of two numbers in files, where a text stands for infinity.
const Json& larger(const Json& a, const Json& b) {
  if (!a.is_number() || !b.is_number()) return a.is_number() ? b : a;
  return a.get<double>() < b.get<double>() ? b : a;
}

/// A number of the promise that bounds those in every part.
const Json& of_everybody(const Json& promise, const char* member) {
  const Json& number = promise.at(Json::json_pointer(member));
  return promise.contains("evaluation") ? larger(number, promise["evaluation"].at(Json::json_pointer(member)))
                                        : number;
}

double guessed_rightly(const RunRecord& run) {
  double guesses = 0.5;
  for (const PartOfPromise& part : parts_of(run))
    guesses = std::max(guesses, right_guesses(part.events, adjacency_of(run), part.guarantee));
  return guesses;
}

std::vector<double> members_found_at(const RunRecord& run, const std::vector<double>& rates) {
  std::vector<double> found(rates.size(), 0);
  for (const PartOfPromise& part : parts_of(run)) {
    const std::vector<double> of_part = attacker_curve(part.events, adjacency_of(run), part.guarantee, rates);
    std::ranges::transform(found, of_part, found.begin(), [](double a, double b) { return std::max(a, b); });
  }
  return found;
}

std::string one_in(double chance) {
  constexpr double rounding = 1 + 1e-12;  // 1 / 1e-5 is a little less than 100000
  return chance > 0 && chance < 1 ? "1 in " + shown_count(std::stod(shown_below(rounding / chance)))
                                  : shown(chance);
}

/// Why nothing is promised, without the words that stand before it in a certificate.
std::string reason(const RunRecord& run) {
  if (!run.finished()) return "Its settings leave epsilon infinite.";
  std::string text = shown(run.certificate.value("statement", Json()));
  if (const std::size_t colon = text.find(": "); text.starts_with("NOT PRIVATE") && colon != text.npos) {
    text.erase(0, colon + 2);
    if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  }
  return text;
}

/// Of a search whose models were trained on private records of other people.
std::string second_set(const RunRecord& run) {
  const Json& source = run.promise();
  if (!source.contains("training") || !source.contains("both")) return "";
  std::string out = html::heading("To those on whose records models are trained");
  html::Rows rows;
  for (const auto& [part, who] : {std::pair{"training", "who is there"}, {"both", "who is in both sets"}}) {
    const Json& promise = source.at(part);
    rows.push_back({who, "epsilon " + shown_above(promise.value("epsilon", Json())) + ", delta " +
                             shown_above(promise.value("delta", Json()))});
    if (run.finished()) out += html::paragraph(shown(promise.value("statement", Json())));
  }
  return out + html::facts(rows);
}

/// The two sentences. Both hold for all accountants, since each of them bounds everything that can be told.
std::string meaning(const RunRecord& run) {
  const double guesses = guessed_rightly(run);
  const bool replace = replaces(run);
  std::string out = html::paragraph(fmt::format(
      "Somebody who knows all {} but one, sees everything that was released, and holds it for equally likely {}, "
      "is right in at most {} % of cases; a coin is right in 50 %.",
      plural(run.unit()),
      replace ? "that this one is A or that it is B" : "that this one took part or that it did not",
      shown_above(100 * guesses)));
  const Json& attacker = run.plan.at("attacker");
  const auto found = attacker.find("0.01");
  if (found == attacker.end() || !found->is_number()) return out;
  const char* const of_person = run.unit() == Unit::person ? "records" : "record";
  return out +
         html::paragraph(fmt::format(
             "Whatever the release may lead to for a person: if it happens with a chance of 1 % {}, it happens "
             "with a chance of at most {} % {}.",
             replace ? fmt::format("with any other {} in the person's place", of_person)
                     : fmt::format("without the person's {}", of_person),
             shown_above(100 * found->get<double>()),
             replace                      ? "with the person's own"
             : run.unit() == Unit::person ? "with them"
                                          : "with it"));
}

/// n, of all records or of a part; 0: it is not said.
double units_in(const Json& planned) {
  const Json n = planned.value("n", Json());
  return n.is_number() ? n.get<double>() : 0;
}

/// The promise to those that it was trained on, and with held-out ones the promise to everybody.
std::string certificate_words(const RunRecord& run) {
  std::string out = html::paragraph("In the certificate's words, with all digits:");
  for (const char* statement : {"/statement", "/whole/statement"})
    if (const Json::json_pointer at(statement); run.certificate.contains(at))
      out += "<blockquote>" + html::escape(with_short_exponents(shown(run.certificate.at(at)))) + "</blockquote>\n";
  return out;
}

std::string played_games(const RunRecord& run) {
  if (!run.finished() || !run.certificate.contains("audit")) return {};
  const Json& result = run.certificate["audit"];
  html::Rows rows;
  for (const Json& game : result.at("games"))
    if (game.contains("bound"))
      rows.push_back({shown(game.at("game")), shown_below(game.at("bound").get<double>()),
                      game.contains("by_curve") ? shown_below(game.at("by_curve").at("bound").get<double>()) : "",
                      shown(game.value("runs", Json())), shown(game.value("test", Json()))});
  return html::heading("What attackers did find out") +
         html::paragraph(
             "Attackers played against this config's mechanism (dpmpi audit). With confidence " +
             shown(result.at("confidence")) +
             ", epsilon is no smaller than these bounds; accounting says that it is no larger than " +
             shown_above(result.at("epsilon")) +
             ". The whole curve says more: with so much noise that the same training would promise less "
             "than this, the attackers would not have been right so often.") +
         html::table({"game", "epsilon at least", "by the whole curve", "runs", "test"}, rows);
}

html::Rows members_found(const RunRecord& run) {
  html::Rows rows;
  for (const auto& [rate, power] : run.plan.at("attacker").items()) {
    const double known = std::strtod(rate.c_str(), nullptr);
    if (!(known > 0 && known <= 1))
      throw DataError(fmt::format("{}/plan.json: {} is no rate of false alarms", run.directory, rate));
    rows.push_back({shown(100 * known) + " %", shown_above(100 * power.get<double>()) + " %"});
  }
  return rows;
}

Plot attacker_plot(const RunRecord& run) {
  Plot plot{
      "false alarms", "members found, at most", {{"this run", {}}, {"guessing", {}, false, Plot::reference}}, true};
  std::vector<double> rates;
  for (int i = 0; i < 60; ++i) rates.push_back(std::pow(10.0, -4 + i / 15.0));
  const std::vector<double> found = members_found_at(run, rates);
  for (std::size_t i = 0; i < rates.size(); ++i) {
    plot.lines[0].points.emplace_back(rates[i], found[i]);
    plot.lines[1].points.emplace_back(rates[i], rates[i]);
  }
  for (Plot::Line& line : plot.lines) line.points.emplace_back(1, 1);
  return plot;
}

}  // namespace

std::string neighbours(const RunRecord& run) {
  std::string change = change_between_neighbours(adjacency_of(run), run.unit());
  if (change.ends_with(',')) change.pop_back();
  return change;
}

std::string alarms(const std::vector<RunRecord>& runs) {
  std::vector<std::string> open, unfinished;
  for (const RunRecord& run : runs) {
    if (!run.is_private()) open.push_back(run.name);
    if (!run.finished()) unfinished.push_back(run.name);
  }
  std::string out;
  if (!open.empty())
    out += html::alarm("NOT PRIVATE.", runs.size() == 1
                                           ? reason(runs[0])
                                           : fmt::format("No promise is made by: {}.", fmt::join(open, ", ")));
  if (!unfinished.empty())
    out += html::alarm(
        "Not finished.",
        "This is what was planned for the whole run. There is no certificate yet; go on with: dpmpi resume " +
            fmt::format("{}", fmt::join(unfinished, ", ")));
  return out;
}

std::string promise_tiles(const RunRecord& run) {
  const double records = units_in(run.plan) + units_in(run.plan.value("evaluation", Json::object()));
  std::string out;
  if (run.is_private()) {
    out += html::tile(shown_above(run.epsilon()), "epsilon",
                      fmt::format("Bounds what the release tells of one {}, by {}. 0 is nothing at all.",
                                  name(run.unit()), neighbours(run)));
    const double delta = run.plan.at("delta").get<double>();
    out += html::tile(shown_above(delta), "delta",
                      fmt::format("The chance that is left out of this bound: {}.", one_in(delta)));
  }
  if (records > 0)
    out += html::tile(shown_count(records),
                      fmt::format("{}{}", plural(run.unit()), run.is_private() ? " protected" : ""),
                      !run.is_private() ? "Nothing is promised to any of them."
                      : run.unit() == Unit::person
                          ? "Each of them, with all records, by the same promise."
                          : "Each of them by the same promise. A person with several records has a weaker one.");
  return out;
}

std::string promise_section(const RunRecord& run) {
  if (!run.is_private()) return "";
  const Json& source = run.promise();
  std::string out = html::heading("What this promise means") + meaning(run);
  if (run.finished()) out += certificate_words(run);
  const Json& least = of_everybody(source, "/interval/0");
  const Json* const held_out = source.contains("evaluation") ? &source["evaluation"] : nullptr;
  html::Rows rows{
      {"promise",
       fmt::format("epsilon {} at delta {}", shown_above(run.epsilon()), shown_above(source.at("delta")))},
      {"neighbours", fmt::format("{} ({})", shown(source.at("adjacency")), neighbours(run))},
      {"epsilon is proven to lie",
       fmt::format("between {} and {}", least.is_number() ? shown_below(least.get<double>()) : shown(least),
                   shown_above(of_everybody(source, "/interval/1")))}};
  for (const auto& [accountant, bound] : source.at("by").items())
    if (!held_out || held_out->at("by").contains(accountant))
      rows.push_back({"at most, by " + accountant,
                      shown_above(held_out ? larger(bound, held_out->at("by")[accountant]) : bound)});
  return out + html::facts(rows) + second_set(run);
}

std::string attacker_section(const RunRecord& run) {
  if (!run.is_private()) return "";
  Gallery gallery;
  gallery.add(attacker_plot(run));
  return html::heading("What an attacker can find out") +
         html::beside(html::paragraph(fmt::format(
                          "Somebody who knows all {} but one, sees everything that was released, and wants to know "
                          "whether that one took part, finds at most this share of the members for this share of "
                          "false alarms, by all accountants.",
                          plural(run.unit()))) +
                          html::table({"false alarms", "members found"}, members_found(run)),
                      gallery.markup()) +
         played_games(run);
}

}  // namespace dpmpi
