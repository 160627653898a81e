// When the releases of a query are due, and the events that pay for them.

#include <algorithm>
#include <vector>

#include "privacy/curator/query_pass.hpp"

namespace dpmpi {

std::uint64_t Schedule::releases_before(std::uint64_t step) const {
  const std::uint64_t place = std::clamp(step % period, begin, end);
  return (step / period * (end - begin) + place - begin) * times;
}

std::uint64_t Schedule::step_of(std::uint64_t release) const {
  const std::uint64_t visit = release / times;
  return visit / (end - begin) * period + begin + visit % (end - begin);
}

std::uint64_t steps_per_pass(const QuerySpec& spec) {
  if (const auto* shuffled = std::get_if<Shuffled>(&spec.sampling))
    return shuffled->leaves == spec.running->leaves ? shuffled->steps_per_pass() : 0;
  if (const auto* cyclic = std::get_if<Cyclic>(&spec.sampling))
    return cyclic->parts % spec.running->leaves == 0 ? cyclic->parts : 0;
  return 0;
}

namespace {

constexpr std::uint64_t rounds_begun(std::uint64_t step, std::uint64_t parts) { return (step + parts - 1) / parts; }

// A release of a query of all records, or of a round in which every record takes part once.
Mechanism whole(const Query& q) {
  if (q.noise == Noise::discrete_gaussian) return DiscreteGaussian{q.noise_multiplier};
  return Gaussian{q.noise_multiplier};
}

// All phases, whichever of them a record is in.
Mechanism phases(const Query& q) {
  if (!q.relay || !q.relay->own_noise) return whole(q);
  const Relay::OwnNoise& own = *q.relay->own_noise;
  return Zcdp{1 / (2 * q.noise_multiplier * q.noise_multiplier * own.output_share), own.total_variation};
}

Mechanism sampled(const Query& q, const Poisson& poisson) {
  if (poisson.rate == 1) return whole(q);
  if (q.noise == Noise::discrete_gaussian) return PoissonDiscreteGaussian{poisson.rate, q.noise_multiplier};
  return PoissonGaussian{poisson.rate, q.noise_multiplier};
}

// Of the block with the largest share: a record's chances are those of its block, whose number of selected records
// is public.
Mechanism sampled(const Query& q, const WithoutReplacement& wor) {
  const std::uint64_t among = wor.among > 0 ? wor.among : q.records, most = wor.among > 0 ? wor.most : wor.batch;
  if (q.noise == Noise::discrete_gaussian) return WorDiscreteGaussian{among, most, q.noise_multiplier};
  return WorGaussian{among, most, q.noise_multiplier};
}

}  // namespace

std::uint64_t Query::releases_before(std::uint64_t step) const {
  return std::min(steps, schedule.releases_before(step));
}

std::vector<Event> Query::events(std::uint64_t first, std::uint64_t last) const {
  if (first >= last) return {};
  if (!is_private()) return {{NonPrivate{}, last - first}};
  if (hidden) return first == 0 ? std::vector<Event>{{hidden_state(), 1}} : std::vector<Event>{};
  if (repeated) return {{RepeatAndSelect{repeated->law, noise_multiplier}, last - first}};
  if (running) {
    const std::uint64_t pass = steps_per_pass(*this), begun = rounds_begun(last, pass) - rounds_begun(first, pass);
    return begun > 0 ? std::vector<Event>{{tree(), begun}} : std::vector<Event>{};
  }
  const auto rounds = [&](std::uint64_t begun) -> std::vector<Event> {
    return begun > 0 ? std::vector<Event>{{whole(*this), begun}} : std::vector<Event>{};
  };
  if (const auto* poisson = std::get_if<Poisson>(&sampling)) return {{sampled(*this, *poisson), last - first}};
  if (const auto* wor = std::get_if<WithoutReplacement>(&sampling)) return {{sampled(*this, *wor), last - first}};
  if (const auto* cyclic = std::get_if<Cyclic>(&sampling))
    return rounds(rounds_begun(last, cyclic->parts) - rounds_begun(first, cyclic->parts));
  if (const auto* order = std::get_if<Shuffled>(&sampling)) {  // of a pass a record is in one step at most
    const std::uint64_t pass = order->steps_per_pass();
    return rounds(rounds_begun(last, pass) - rounds_begun(first, pass));
  }
  if (std::holds_alternative<Disjoint>(sampling))
    return first == 0 ? std::vector<Event>{{phases(*this), 1}} : std::vector<Event>{};
  return {{whole(*this), last - first}};
}

Tree Query::tree() const {
  const double first = running->adaptive ? 1 : running->first_clip;
  const std::uint64_t band = running->strategy == Strategy::banded ? running->band : 0;
  return {running->strategy, running->leaves, noise_multiplier, band, first};
}

HiddenState Query::hidden_state() const {
  HiddenState state = *hidden;
  if (const auto* wor = std::get_if<WithoutReplacement>(&sampling); wor && wor->among > 0)
    state.population = wor->among, state.batch = wor->most;
  state.noise_multiplier *= noise_multiplier;
  state.error += hidden_rounding * noise_multiplier;
  state.drift += hidden_rounding * noise_multiplier;
  return state;
}

}  // namespace dpmpi
