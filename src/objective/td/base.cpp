#include "objective/td/base.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "data/records/text.hpp"
#include "data/synthetic/environments.hpp"
#include "objective/math/ball.hpp"
#include "objective/network/pass.hpp"

namespace dpmpi {
namespace {

constexpr double no_value = std::numeric_limits<double>::quiet_NaN();

MlpShape value_shape(const TdSettings& settings) {
  MlpShape shape{.units = {settings.state}, .input_bias = settings.bias, .activation = Activation::tanh};
  if (settings.hidden > 0) shape.units.push_back(settings.hidden);
  shape.units.push_back(1);
  return shape;
}

}  // namespace

std::vector<ParameterGroup> TdProblem::groups() const {
  std::vector<ParameterGroup> all;
  std::size_t offset = 0;
  for (const char* block : {"theta.", "omega."}) {
    for (ParameterGroup group : value_groups()) {
      group.name = block + group.name;
      group.offset += offset;
      all.push_back(std::move(group));
    }
    offset += primal_dim();
  }
  return all;
}

void TdProblem::initialise(const PublicStream& stream, std::span<float> w) const {
  verify(w.size() == dim(), "a point has dim() coordinates");
  initialise_value(stream, w.first(primal_dim()));
  std::ranges::fill(w.subspan(primal_dim()), 0.0F);
}

void TdProblem::check_records(const Shard& shard) const {
  if (settings_.episode_steps == 0) return;
  for (const Block& block : shard.blocks)
    for (std::size_t i = 0; i < block.records.count; ++i) {
      const float steps = block.records.label[i];
      if (!(steps > static_cast<float>(settings_.episode_steps))) continue;
      throw DataError(fmt::format(
          "objective.episode_steps = {}: record {} is an episode of {} transitions, by its label; {} features a record "
          "make states of {} then. Give the number that the file was made with",
          settings_.episode_steps, block.first_index + i + 1, show_field(fmt::format("{}", steps)),
          settings_.episode_steps * (2 * settings_.state + 2), settings_.state));
    }
}

std::vector<Measure> TdProblem::measures(const SetTotals& whole, const Shard& shard) {
  std::vector<Measure> all{{"projected_bellman_error", projected_error(shard)->value(whole, settings_.dual_l2)}};
  if (settings_.grid_world) all.push_back({"value_error", value_error()});
  return all;
}

double TdProblem::value_error() {
  const std::vector<double> values = GridWorld::values(settings_.discount);
  std::vector<double> state(GridWorld::cells);
  double square = 0;
  for (int cell = 0; cell < GridWorld::cells; ++cell) {
    if (GridWorld::terminal(cell)) continue;
    const auto c = static_cast<std::size_t>(cell);
    std::ranges::fill(state, 0.0);
    state[c] = 1;
    const double off = value_of(state) - values[c];
    square += off * off;
  }
  return std::sqrt(square / (GridWorld::cells - 1));
}

void TdProblem::add_public_dual(std::span<const float> w, std::uint64_t /*step*/,
                                std::span<double> gradient) const {
  for (std::size_t j = 0; j < gradient.size(); ++j)
    gradient[j] -= settings_.dual_l2 * static_cast<double>(w[primal_dim() + j]);
}

void TdProblem::project_dual(std::span<float> y) const { project_to_ball(y, settings_.dual_radius); }

TdBase::TdBase(const TdSettings& settings)
    : TdProblem(settings),
      shape_(value_shape(settings)),
      at_w_(shape_),
      at_v_(shape_),
      terms_(shape_),
      terms_v_(shape_) {}

std::vector<ParameterGroup> TdBase::value_groups() const { return network_groups(shape_); }

void TdBase::initialise_value(const PublicStream& stream, std::span<float> theta) const {
  initialise_network(shape_, stream, theta);
}

double TdBase::value_of(std::span<const double> state) {
  AlignedVector<double> row(shape_.width(0));
  std::ranges::copy(state, row.begin());
  if (shape_.has_bias(0)) row[settings_.state] = static_cast<double>(settings_.bias);
  at_w_.evaluate({row.data(), row.data(), 0, 0}, terms_);
  return terms_.value;
}

void TdBase::losses(const Rows& rows, std::span<double> out) {
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const std::size_t steps = unpack(rows.records, rows.index[r]);
    double sum = 0;
    for (std::size_t t = 0; t < steps; ++t) {
      at_w_.evaluate(transition(t), terms_);
      sum += terms_.error * terms_.error;
    }
    out[r] = steps > 0 ? sum / static_cast<double>(steps) : no_value;
  }
}

void TdBase::scores(const Rows& rows, std::span<float> out) {
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const bool there = unpack(rows.records, rows.index[r]) > 0;
    if (there) at_w_.evaluate(transition(0), terms_);
    out[r] = static_cast<float>(there ? terms_.value : no_value);
  }
}

std::unique_ptr<ProjectedError> TdBase::projected_error(const Shard& shard) {
  auto error = std::make_unique<ProjectedErrorOfPerceptron>(shape_);
  for (const Block& block : shard.blocks)
    for (std::uint32_t i = 0; i < block.records.count; ++i) {
      const std::size_t steps = unpack(block.records, i);
      for (std::size_t t = 0; t < steps; ++t) {
        const Transition step = transition(t);
        at_w_.evaluate(step, terms_);
        error->add(terms_, step.state);
      }
      if (steps > 0) error->end_record();
    }
  return error;
}

void TdBase::evaluate_difference(const Transition& t) {
  at_w_.evaluate(t, terms_);
  at_v_.evaluate(t, terms_v_);
  for (const auto part : {&TdTerms::next, &TdTerms::state, &TdTerms::output})
    for (std::size_t j = 0; j < shape_.width(1); ++j) (terms_.*part)[j] -= (terms_v_.*part)[j];
}

}  // namespace dpmpi
