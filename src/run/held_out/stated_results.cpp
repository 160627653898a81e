#include "run/held_out/stated_results.hpp"

#include <cmath>
#include <cstddef>
#include <limits>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "run/certify/findings.hpp"
#include "run/held_out/results.hpp"

namespace dpmpi {
namespace {

/// The cell of the grid, behind `before`, whose beginning is nearest to what a bin says of its own (`from` in
/// evaluation.json). Where probabilities of cells are one number, any of them gives the same metrics.
std::size_t nearest_cell(double from, std::size_t before, bool probability) {
  std::size_t nearest = before + 1;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t cell = before + 1; cell < 2 * CountedScores::cells_of_sign; ++cell) {
    const double edge = CountedScores::edge(cell);
    const double apart = std::abs((probability ? 1 / (1 + std::exp(-edge)) : edge) - from);
    if (apart < least) least = apart, nearest = cell;
  }
  return nearest;
}

/// The counts in a file of this plan. Throws DataError if they are not as many as were planned; JSON exceptions.
NoisyCounts stated_counts(const nlohmann::json& stated, const EvaluationPlan& plan) {
  const CountedScores& shape = plan.counted;
  const nlohmann::json& bins = stated.at("bins");
  const auto refuse_other_size = [](const nlohmann::json& list, std::size_t size, const char* what) {
    if (!list.is_array() || list.size() != size)
      throw DataError(fmt::format("{} are not the {} that were planned", what, size));
  };
  refuse_other_size(bins, shape.bins, "bins");
  NoisyCounts out{.shape = shape};
  auto query = plan.queries.begin() + 1;  // behind test_scores, from which the bins follow
  out.counts_std = query++->noise_std;
  out.counts.resize(2 * shape.bins);
  for (std::size_t i = 0; i < shape.bins; ++i) {
    out.begins.push_back(i == 0 ? 0
                                : nearest_cell(bins[i].at("from").get<double>(), out.begins.back(), shape.logits));
    refuse_other_size(bins[i].at("counts"), 2, "counts of a bin");
    for (std::size_t half = 0; half < 2; ++half)
      out.counts[half * shape.bins + i] = bins[i]["counts"][half].get<double>();
  }
  if (!shape.signs) {
    out.classes_std = query++->noise_std;
    const nlohmann::json& confusion = stated.at("confusion");
    refuse_other_size(confusion, shape.classes, "rows of confusion");
    for (const nlohmann::json& row : confusion) {
      refuse_other_size(row, shape.classes, "columns of confusion");
      for (const nlohmann::json& count : row) out.classes.push_back(count.get<double>());
    }
  }
  if (shape.logits) out.loss_std = query->noise_std, out.loss = stated.at("loss").get<double>();
  return out;
}

}  // namespace

ResultsAgain results_again(const nlohmann::json& stated, const EvaluationPlan& plan) {
  const EarlierRules rules(rules_of(stated));
  const auto results = results_json(stated_counts(stated, plan), plan);
  nlohmann::ordered_json line = nlohmann::ordered_json::object();
  add_results(results, line);
  return {nlohmann::json::parse(results.dump()), nlohmann::json::parse(line.dump())};
}

}  // namespace dpmpi
