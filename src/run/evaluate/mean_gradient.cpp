#include "run/evaluate/mean_gradient.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/numbers/lattice.hpp"
#include "objective/minimax/saddle.hpp"
#include "run/evaluate/evaluate.hpp"

namespace dpmpi {
namespace {

// 256 such gradients fill an int32. A coordinate of a mean over 10^4 records is rounded by less than a millionth.
constexpr double longest = 128;
constexpr Lattice lattice{16};

/// The exact sum of the gradients of a share's records.
LatticeAccumulator sum_of_gradients(Objective& objective, std::span<const float> w, const Shard& shard) {
  SaddleObjective* const saddle = objective.saddle();
  const L2Bound bound{longest, Clipping::flat};
  const auto slack = saddle ? saddle->primal()->primal_gradient_slack() : objective.gradients()->gradient_slack();
  LatticeAccumulator sum(saddle ? saddle->primal_dim() : objective.dim(), lattice, longest * (1 + slack.clip));
  const AtPoint at = saddle ? AtPoint() : objective.at(w);
  const AtSaddlePoint at_saddle = saddle ? saddle->at(w) : AtSaddlePoint();
  sum.clear();
  for_each_micro_batch(objective, shard, "measuring gradients", [&](const Block&, const Rows& rows) {
    for (std::size_t first = 0; first < rows.size(); first += sum.rows_at_once()) {
      const Rows some{rows.records, rows.index.subspan(first, std::min(sum.rows_at_once(), rows.size() - first))};
      sum.begin(some.size());
      if (saddle)
        at_saddle.add_clipped_primal_gradients(some, bound, sum);
      else
        at.add_clipped_gradients(some, bound, sum);
    }
  });
  return sum;
}

/// The part of the gradient that no record decides on.
std::vector<double> public_part(const Objective& objective, std::span<const float> w, std::size_t dim) {
  std::vector<float> regularizer(objective.dim());
  objective.add_regularizer_gradient(w, regularizer);
  std::vector<double> gradient(regularizer.begin(), regularizer.begin() + static_cast<std::ptrdiff_t>(dim));
  if (const SaddleObjective* const saddle = objective.saddle()) saddle->add_public_primal(w, 0, gradient);
  return gradient;
}

}  // namespace

void check_mean_gradient(const std::string& name, const Objective& objective, bool has_eval) {
  const SaddleObjective* const saddle = objective.saddle();
  if (saddle ? saddle->primal() == nullptr : objective.gradients() == nullptr)
    throw ConfigError(fmt::format(
        "report.gradient_norm = true, and objective.name = {} offers no gradient of a record to measure", name));
  if (!has_eval) throw ConfigError("report.gradient_norm = true needs public records to measure on: set data.eval");
}

double mean_gradient_norm(const Communicator& comm, Objective& objective, std::span<const float> w,
                          const Shard& shard) {
  LatticeAccumulator sum = sum_of_gradients(objective, w, shard);
  std::vector<std::int64_t> totals(sum.totals().begin(), sum.totals().end());
  std::int64_t records = 0;
  for (const Block& block : shard.blocks)
    records += std::ranges::count_if(block.records.label, [](float label) { return !std::isnan(label); });
  totals.push_back(records);
  comm.sum(totals);
  const std::vector<double> fixed = public_part(objective, w, sum.dim());
  double square = 0;
  for (std::size_t j = 0; j < sum.dim(); ++j) {
    const double mean = static_cast<double>(totals[j]) * lattice.quantum() / static_cast<double>(totals.back());
    square += (mean + fixed[j]) * (mean + fixed[j]);
  }
  return std::sqrt(square);
}

}  // namespace dpmpi
