#include "run/plan/settings_table.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/console/print.hpp"
#include "data/columns/columns_file.hpp"
#include "data/load/transformed.hpp"
#include "data/records/text.hpp"
#include "run/plan/evaluation_plan.hpp"
#include "run/plan/trains_models.hpp"

namespace dpmpi {
namespace {

void print_row(std::FILE* out, const std::string& name, const std::string& value) {
  print_to(out, "| {:<20} | {:<73} |\n", name, value);
}
void print_rule(std::FILE* out) { print_to(out, "+{:-<22}+{:-<75}+\n", "", ""); }

std::string storage_text(const DatasetFacts& data) {
  switch (data.storage) {
    case Storage::dense_f32:
      return "dense float32";
    case Storage::dense_u8:
      return "dense 8-bit";
    case Storage::sparse_f32:
      return data.row_entries > 0 ? fmt::format("sparse float32, at most {} a record", data.row_entries)
                                  : "sparse float32";
  }
  return "?";
}

/// What records have beside features and label, and what becomes of it.
std::vector<std::string> factor_texts(const ReadingRules& rules) {
  std::vector<std::string> texts;
  if (!rules.columns_file) return texts;
  if (const ColumnRule* const weight = rules.columns_file->of_kind(ColumnKind::weight))
    texts.push_back(fmt::format("losses are multiplied by {} / {}", show(weight->name), *weight->high));
  if (const ColumnRule* const exposure = rules.columns_file->of_kind(ColumnKind::exposure))
    texts.push_back(fmt::format("rates are multiplied by {}", show(exposure->name)));
  return texts;
}

/// ", rate 0.5": the step size eta, whether the config or the method chose it.
std::string rate_text(const Plan& plan) {
  for (const auto& [symbol, value] : plan.method->report_quantities(plan.queries))
    if (const double* eta = std::get_if<double>(&value); eta && *eta > 0 && (symbol == "eta" || symbol == "eta_x"))
      return fmt::format(", rate {:.6g}", *eta);
  return {};
}

template <class Row>
void print_evaluation(const RunConfig& config, const EvaluationPlan& plan, const Row& row) {
  row("held out", fmt::format("{} {} on which the model is evaluated at the end", plan.data.units(),
                              plural(config.data.unit())));
  for (const Query& query : plan.queries)
    row("release: " + query.name,
        fmt::format("{} number{}, noise std {:.3g}", query.dim, query.dim == 1 ? "" : "s", query.noise_std));
  if (config.is_private())
    row("promise to these", fmt::format("epsilon {}, delta {}", rounded_up(plan.promise.guarantee.epsilon),
                                        rounded_up(plan.promise.guarantee.delta)));
}

}  // namespace

void print_settings(const RunConfig& config, const PublicFacts& facts, const Plan& plan, int ranks,
                    std::FILE* out) {
  const auto row = [out](const std::string& name, const std::string& value) { print_row(out, name, value); };
  print_rule(out);
  row("config", config.path());
  row("data",
      config.data.shards.empty() ? config.data.train : fmt::format("{}", fmt::join(config.data.shards, ", ")));
  row(std::string(plural(config.data.unit())),
      fmt::format("{} x {} features ({}), {} blocks on {} rank{}", facts.data.units(), facts.data.features,
                  storage_text(facts.data) + (config.data.mapped() ? " in their file" : ""), plan.layout.blocks,
                  ranks, ranks == 1 ? "" : "s"));
  if (const auto transform = transform_of(config.data)) row("of images", transform->text());
  if (config.data.samples_records())
    row("", fmt::format("with up to {} records each, in slots of their own", config.data.person_records));
  row("objective", fmt::format("{}, {} parameters{}", config.objective_name, facts.objective->dim(),
                               config.l2 > 0 ? fmt::format(", l2 {}", config.l2) : ""));
  for (const std::string& part : facts.objective->structure()) row("", part);
  if (config.start.given()) {
    row("start", fmt::format("{}, SHA-256 {}", config.start.model, config.start.digest.substr(0, 12)));
    row("", "PUBLIC: the promise does not cover those on whose records it was trained");
  }
  if (!facts.objective->class_weights().empty())
    row("", fmt::format("class weights {} (the largest counts as 1)", config.value("objective.class_weights")));
  for (const std::string& text : factor_texts(config.data)) row("", text);
  row("method", fmt::format("{}{}, {} steps{}", config.method_name, config.is_private() ? "" : " without noise",
                            plan.steps, rate_text(plan)));
  if (!plan.preparation.empty()) {
    const WordCells& words = plan.preparation.words;
    const std::string classes =
        words.classes.names.empty() ? "" : fmt::format(", {} classes", words.classes.names.size());
    const std::string categories =
        words.categories.empty() ? "" : fmt::format(", words of {} categories", words.categories.size());
    row("preparation",
        fmt::format("{} column{} of numbers{}{}, {:.3g} % of the budget", plan.preparation.columns,
                    plan.preparation.columns == 1 ? "" : "s", classes, categories, 100 * config.prepare.share));
  }
  for (const auto& query : plan.queries) {
    row("release: " + query.name, describe(query.sampling));
    for (const std::string& line : query.describe()) row("", line);
  }
  if (config.is_private()) {
    const bool exact = config.privacy.law() == Noise::discrete_gaussian;
    const bool of_each = std::ranges::all_of(
        plan.queries, [&](const Query& query) { return query.noise_multiplier == plan.promise.noise_multiplier; });
    row("noise multiplier",
        fmt::format("{:.6g}{}, {}", plan.promise.noise_multiplier, of_each ? "" : " of all releases together",
                    exact ? "exact discrete Gaussian" : "Gaussian in double precision"));
    row("promise", fmt::format("epsilon {}, delta {}, {}, trust = {}", rounded_up(plan.epsilon()),
                               rounded_up(plan.delta()), name(plan.adjacency), config.privacy.trust));
    if (config.data.by_person() && config.data.shards.size() > 1)
      row("", "for a person at one site: who is at two of them is two persons");
    row("accountant", fmt::format("{} ({})", plan.promise.guarantee.winner(), config.privacy.accountant));
  } else {
    row("promise", "none: THIS RUN IS NOT PRIVATE (privacy.noise = none)");
  }
  if (plan.training) {
    const RunConfig& trainer = *config.trainer();
    const Plan& trainings = plan.training->plan;
    row("trainer", trainer.path());
    row("models", fmt::format("{} at most, by {} on {} records of other people", trainings.runs,
                              trainer.method_name, trainings.queries.front().records));
    row("promise to these",
        fmt::format("epsilon {}, delta {}, {}, trust = {}", rounded_up(trainings.epsilon()),
                    rounded_up(trainings.delta()), name(trainings.adjacency), trainer.privacy.trust));
    const Guarantee& both = plan.training->both.guarantee;
    row("promise, in both", std::isinf(both.epsilon) ? "none"
                                                     : fmt::format("epsilon {}, delta {}", rounded_up(both.epsilon),
                                                                   rounded_up(both.delta)));
  }
  if (plan.evaluation) print_evaluation(config, *plan.evaluation, row);
  if (config.privacy.seeded())
    row("WARNING", "privacy.seed is set: the noise is predictable, the run is NOT PRIVATE");
  print_rule(out);
}

}  // namespace dpmpi
