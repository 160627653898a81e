#include "objective/objective.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/errors.hpp"

namespace dpmpi {

void Objective::initialise(const PublicStream&, std::span<float> w) const { std::ranges::fill(w, 0.0F); }

void Objective::start_point(const PublicStream& stream, std::span<float> w) const {
  if (start_.empty()) return initialise(stream, w);
  verify(w.size() == start_.size(), "a start point has dim() coordinates");
  std::ranges::copy(start_, w.begin());
}

// What was there is gone even if the new point is refused: the number counts first.
AtPoint Objective::at(std::span<const float> w) {
  const AtPoint at(*this);
  prepare(w);
  return at;
}

PointParts Objective::at_parts() {
  offered(parts());
  return PointParts(*this);
}

AtPoints Objective::at_points(std::span<const double> points) {
  LossesAtPoints& own = offered(this->points());
  const AtPoints at(*this, own);
  own.prepare_points(points);
  return at;
}

AtProbes Objective::probes(std::span<const double> x, std::span<const double> y) {
  LossPairs& own = offered(pairs());
  const AtProbes at(*this, own);
  own.prepare_probes(x, y);
  return at;
}

void Objective::generate(std::span<const float> w, const PublicStream& stream, std::uint64_t first,
                         std::span<float> records) {
  Generator& own = offered(generator());
  ++preparations_;
  own.generate(w, stream, first, records);
}

void Objective::refuse_factors(RecordFactors heeded, std::string_view who) const {
  std::vector<std::string> problems;
  const auto refuse = [&](const std::string& column, std::string_view kind) {
    problems.push_back(
        fmt::format("{} is of kind {}, which {} do not heed: take a method that sums clipped gradients (dp-sgd, "
                    "dp-ftrl), or leave the column out (kind ignore)",
                    column, kind, who));
  };
  if (record_factors.weight && !heeded.weight) refuse(factor_columns.weight, "weight");
  if (record_factors.exposure && !heeded.exposure) refuse(factor_columns.exposure, "exposure");
  if (!problems.empty()) throw ConfigError(fmt::format("{}", fmt::join(problems, "\n  ")));
}

void Objective::refuse_copies(std::string_view who) const {
  if (!sees_copies()) return;
  throw ConfigError(fmt::format(
      "objective.augment makes random copies of records for gradients, which {} never ask for: leave it out, or take a method of gradients (dp-sgd, dp-ftrl)",
      who));
}

const ScalarLoss* Objective::scalar_loss() const {
  const LossForm of = form();
  const auto* scalar = std::get_if<ScalarForm>(&of);
  return scalar ? scalar->phi : nullptr;
}

void Objective::add_regularizer_gradient(std::span<const float> w, std::span<float> gradient) const {
  if (l2 == 0) return;
  for (const ParameterGroup& group : groups()) {
    if (!group.regularised()) continue;
    for (std::size_t j = group.offset; j < group.offset + group.size(); ++j)
      gradient[j] = static_cast<float>(gradient[j] + l2 * w[j]);
  }
}

double Objective::regularizer(std::span<const float> w) const {
  if (l2 == 0) return 0;
  double square = 0;
  for (const ParameterGroup& group : groups()) {
    if (!group.regularised()) continue;
    for (std::size_t j = group.offset; j < group.offset + group.size(); ++j)
      square += static_cast<double>(w[j]) * w[j];
  }
  return l2 / 2 * square;
}

}  // namespace dpmpi
