#include "objective/td/base.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/errors.hpp"
#include "data/synthetic/environments.hpp"
#include "objective/math/ball.hpp"
#include "objective/network/pass.hpp"
#include "objective/td/projected_error.hpp"

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

TdBase::TdBase(const TdSettings& settings)
    : settings_(settings),
      shape_(value_shape(settings)),
      at_w_(shape_),
      at_v_(shape_),
      terms_(shape_),
      terms_v_(shape_) {}

std::vector<ParameterGroup> TdBase::groups() const {
  std::vector<ParameterGroup> all;
  std::size_t offset = 0;
  for (const char* block : {"theta.", "omega."}) {
    for (ParameterGroup group : network_groups(shape_)) {
      group.name = block + group.name;
      group.offset += offset;
      all.push_back(std::move(group));
    }
    offset += shape_.dim();
  }
  return all;
}

void TdBase::initialise(const PublicStream& stream, std::span<float> w) const {
  verify(w.size() == dim(), "a point has dim() coordinates");
  initialise_network(shape_, stream, w.first(shape_.dim()));
  std::fill(w.begin() + static_cast<std::ptrdiff_t>(shape_.dim()), w.end(), 0.0F);
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

std::vector<Measure> TdBase::measures(const SetTotals& whole, const Shard& shard) {
  ProjectedError error(shape_);
  for (const Block& block : shard.blocks)
    for (std::uint32_t i = 0; i < block.records.count; ++i) {
      const std::size_t steps = unpack(block.records, i);
      for (std::size_t t = 0; t < steps; ++t) {
        const Transition step = transition(t);
        at_w_.evaluate(step, terms_);
        error.add(terms_, step.state);
      }
      if (steps > 0) error.end_record();
    }
  std::vector<Measure> all{{"projected_bellman_error", error.value(whole, settings_.dual_l2)}};
  if (settings_.grid_world) all.push_back({"value_error", value_error()});
  return all;
}

double TdBase::value_error() const {
  const std::vector<double> values = GridWorld::values(settings_.discount);
  AlignedVector<double> state(shape_.width(0));
  TdTerms terms(shape_);
  double square = 0;
  for (int cell = 0; cell < GridWorld::cells; ++cell) {
    if (GridWorld::terminal(cell)) continue;
    const auto c = static_cast<std::size_t>(cell);
    std::fill(state.begin(), state.end(), 0.0);
    state[c] = 1;
    if (shape_.has_bias(0)) state[settings_.state] = static_cast<double>(settings_.bias);
    at_w_.evaluate({state.data(), state.data(), 0, 0}, terms);
    square += (terms.value - values[c]) * (terms.value - values[c]);
  }
  return std::sqrt(square / (GridWorld::cells - 1));
}

void TdBase::evaluate_difference(const Transition& t) {
  at_w_.evaluate(t, terms_);
  at_v_.evaluate(t, terms_v_);
  for (const auto part : {&TdTerms::next, &TdTerms::state, &TdTerms::output})
    for (std::size_t j = 0; j < shape_.width(1); ++j) (terms_.*part)[j] -= (terms_v_.*part)[j];
}

void TdBase::add_public_dual(std::span<const float> w, std::uint64_t /*step*/, std::span<double> gradient) const {
  for (std::size_t j = 0; j < gradient.size(); ++j)
    gradient[j] -= settings_.dual_l2 * static_cast<double>(w[primal_dim() + j]);
}

void TdBase::project_dual(std::span<float> y) const { project_to_ball(y, settings_.dual_radius); }

}  // namespace dpmpi
