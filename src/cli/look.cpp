#include "cli/look.hpp"

#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/evaluation_text.hpp"
#include "core/errors.hpp"

namespace dpmpi {
namespace {

using Json = nlohmann::ordered_json;

std::string cost_text(const LookTerms& terms, const Guarantee& cost) {
  return terms.seeded ? "NOT PRIVATE: noise of --seed" : fmt::format("epsilon {}", rounded_up(cost.epsilon));
}

/// What a look will cost, before it is taken.
std::string ahead_text(const LookAhead& next, const std::string& run) {
  const LookTerms& terms = next.terms;
  const std::string rest =
      fmt::format("delta {}, {}, {} {}, trust = {}", rounded_up(terms.delta), name(terms.adjacency), terms.n,
                  plural(terms.noise.slot_unit), terms.ranks_trusted ? "cluster" : "root");
  std::vector<std::vector<std::string>> rows{
      {"model", run},
      {"ledger", next.ledger + (next.begins ? " (begins with this look: keep it as long as the records)" : "")},
      {"look", fmt::format("{}: {}, {}", terms.look, cost_text(terms, next.own), rest)}};
  std::string all = cost_text(terms, next.all);
  if (terms.budget) all += fmt::format(", of a budget of {}", *terms.budget);
  if (terms.look > 1 || terms.budget) rows.push_back({"all looks", all});
  std::string text;
  for (const auto& row : rows) text += fmt::format("{:<10} {}\n", row[0], row[1]);
  return text;
}

std::string metrics_text(const Json& results) {
  std::vector<std::vector<std::string>> rows{{"metric", "value", "95 % interval"}};
  for (const auto& [name, estimate] : results.at("metrics").items()) {
    const bool known = !estimate.at("value").is_null();
    rows.push_back({name, known ? fmt::format("{:.4f}", estimate["value"].get<double>()) : "unknown",
                    known ? fmt::format("{:.4f} to {:.4f}", estimate.at("low").get<double>(),
                                        estimate.at("high").get<double>())
                          : "too few records, or too much noise"});
  }
  return aligned(rows);
}

}  // namespace

Options options_of_looks(Options options, LookTyped& typed) {
  LookRequest& request = typed.request;
  options
      .add("private", typed.people,
           "labelled records that are private, in place of --data: they are counted with noise")
      .add("epsilon", typed.epsilon, "with --private: what this look may cost whose records they are",
           Range::positive())
      .add("delta", request.delta, "with --private: the delta of all looks at these people (default: n^-1.1)",
           Range::open(0, 1))
      .add(
          "budget", request.budget,
          "with --private: a look is refused that would take all looks beyond this epsilon; given with the first look "
          "it stands in the ledger, for all of them",
          Range::positive())
      .add_words(
          "adjacency", request.adjacency,
          "with --private: what makes neighbours (default: as the looks before, or as the run)",
          {{"", std::nullopt}, {"add_remove", Adjacency::add_remove}, {"replace_one", Adjacency::replace_one}})
      .add("records", request.records,
           "with --private: the public number of records, or of persons with data.person; 0: they are counted",
           Range::at_least(0))
      .add("ledger", request.ledger, "with --private: the ledger of these people (default: FILE.looks.jsonl)")
      .add("output", request.output,
           "with --private: a new folder for what was found (default: RUN/looks/1, 2, ...)")
      .add("seed", request.seed, "with --private: noise of this seed, for tests; nothing is private then",
           Range::at_least(-1));
  return options;
}

void check_look(LookTyped& typed) {
  LookRequest& request = typed.request;
  if (typed.asked()) {
    if (!typed.epsilon)
      throw ConfigError(
          "--private: say with --epsilon what the look may cost whose records they are (1 is strong)");
    request.epsilon = *typed.epsilon;
    return;
  }
  std::vector<std::string> given;
  const auto note = [&](bool is_given, const char* option) {
    if (is_given) given.emplace_back(option);
  };
  note(typed.epsilon.has_value(), "--epsilon");
  note(request.delta.has_value(), "--delta");
  note(request.budget.has_value(), "--budget");
  note(request.adjacency.has_value(), "--adjacency");
  note(request.records > 0, "--records");
  note(!request.ledger.empty(), "--ledger");
  note(!request.output.empty(), "--output");
  note(request.seed >= 0, "--seed");
  if (!given.empty())
    throw ConfigError(fmt::format("{}: these are for a look at private records: name them with --private",
                                  fmt::join(given, ", ")));
}

int show_look(const Communicator& comm, const ModelToScore& model, const LookRequest& request, bool json) {
  const std::string& run = model.run.empty() ? model.file : model.run;
  std::string ledger;
  const Look look = take_look(comm, model, request, [&](const LookAhead& next) {
    ledger = next.ledger;
    if (json) return;
    fmt::print("{}", ahead_text(next, run));
    printed();
  });
  if (!comm.is_root()) return printed();
  if (json) {
    const Json out{{"run", run},
                   {"private", model.files.scored().first().names},
                   {"ledger", ledger},
                   {"folder", look.folder},
                   {"look", look.document},
                   {"evaluation", look.results}};
    fmt::print("{}\n", out.dump(2, ' ', false, Json::error_handler_t::replace));
  } else {
    fmt::print("\n{}\n{}\n", metrics_text(look.results), look.folder);
  }
  return printed();
}

}  // namespace dpmpi
