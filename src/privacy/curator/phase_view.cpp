#include "privacy/curator/phase_view.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string>

#include <fmt/format.h>

#include "core/console/heartbeat.hpp"
#include "core/errors.hpp"
#include "core/fault.hpp"
#include "core/numbers/laplace.hpp"
#include "privacy/curator/query_state.hpp"

namespace dpmpi {
namespace {

constexpr std::uint64_t beat_every = 256;  // records of a sequential pass

// Room for contributions whose norm exceeds their bound by their kernel's slack.
constexpr double largest_excess = 1.01;

Lattice lattice_for(const L2Bound& bound, std::uint64_t places) {
  return Lattice::roomiest(bound.clip * largest_excess, places);
}

}  // namespace

PhaseView::PhaseView(const Communicator& comm, const Shard& shard, PartIndex& places, const Disjoint& rule,
                     std::size_t part, std::size_t rows_at_once, PhaseWorkspace& work, const PhaseNoise* own_noise)
    : comm_(comm),
      shard_(shard),
      places_(places),
      part_(part),
      records_(rule.parts[part].size),
      by_block_(rule.places == Disjoint::Places::by_block),
      rows_at_once_(rows_at_once),
      work_(work),
      own_noise_(own_noise) {
  work_.sums_.clear();
  std::ranges::fill(work_.result, 0.0);
}

double PhaseView::quantum(const L2Bound& bound, std::uint64_t places) {
  return lattice_for(bound, places).quantum();
}

PhaseWorkspace::Sum& PhaseView::sum_on(Lattice lattice, std::size_t dim, double bound) {
  for (auto& sum : work_.sums_)
    if (sum.values.size() == dim && sum.total.lattice().k == lattice.k) return sum;
  return work_.sums_.emplace_back(
      PhaseWorkspace::Sum{LatticeAccumulator(dim, lattice, bound, 0, Width::int64), std::vector<double>(dim)});
}

std::span<const double> PhaseView::sum(std::uint64_t begin, std::uint64_t end, const L2Bound& bound,
                                       const Kernel& kernel, std::size_t dim) {
  verify(begin < end && end <= records_, "places of a part");
  auto& sum = sum_on(lattice_for(bound, end - begin), dim > 0 ? dim : work_.result.size(), bound.clip);
  sum.total.clear();
  // A part may be summed in small pieces, which its own micro-batches would cut into single rows.
  const double share = static_cast<double>(end - begin) / static_cast<double>(shard_.layout.records);
  const auto batching =
      MicroBatching::plan(std::min(rows_at_once_, sum.total.rows_at_once()), shard_.layout.largest(), share);
  {
    const InStage kernels(Stage::kernels);
    kernel.run(bound, sum.total, [&](const auto& visit) {
      for (std::size_t i = 0; i < shard_.blocks.size(); ++i, heartbeat().beat()) {
        visited_ = i;
        places_.select(i, part_, begin, end, work_.rows_, work_.places_);
        batching.for_each(shard_.blocks[i].records, work_.rows_, work_.places_, visit);
      }
    });
  }
  shard_.check_unchanged();
  fault_point("phase");
  const auto total = sum.total.message();
  comm_.sum(total);
  const double quantum = sum.total.lattice().quantum();
  for (std::size_t j = 0; j < total.size(); ++j) sum.values[j] = static_cast<double>(total[j]) * quantum;
  return sum.values;
}

void PhaseView::sequential_pass(std::span<double> state, const Visit& visit) {
  verify(by_block_, "a sequential pass goes block after block");
  const auto text = [&] {
    return std::string_view(reinterpret_cast<const char*>(state.data()), state.size_bytes());
  };
  const auto take_from = [&](int rank) {
    const std::string bytes = comm_.receive(rank);
    verify(bytes.size() == state.size_bytes(), "a sequential pass has one state");
    std::memcpy(state.data(), bytes.data(), bytes.size());
  };
  const int last = comm_.size() - 1;
  if (comm_.rank() > 0) take_from(comm_.rank() - 1);
  {
    const InStage kernels(Stage::kernels);
    for (std::size_t i = 0; i < shard_.blocks.size(); ++i) {
      visited_ = i;
      auto place = static_cast<std::uint32_t>(places_.first_place(i, part_));
      for (const std::uint32_t& row : places_.in_order(i, part_)) {
        visit(Rows{shard_.blocks[i].records, std::span(&row, 1), std::span(&place, 1)}, state);
        if (++place % beat_every == 0) heartbeat().beat();
      }
    }
  }
  shard_.check_unchanged();
  fault_point("phase");
  if (last == 0) return;
  comm_.send(text(), comm_.rank() < last ? comm_.rank() + 1 : 0);
  if (comm_.is_root()) take_from(last);
  comm_.broadcast(state);
}

void Curator::refuse_untrusted_ranks(const Query& query) const {
  if (query.needs_trusted_ranks() && !ranks_trusted_ && comm_.size() > 1)
    throw PrivacyError(fmt::format(
        "query {}: every rank sees what its noise does not protect, {}: set privacy.trust = cluster, or use one rank",
        query.name, query.seen_by_ranks));
}

double PhaseView::normal() const {
  verify(own_noise_ != nullptr, "noise that no query declared");
  return own_noise_->normal;
}

double PhaseView::laplace(std::uint32_t row) const {
  verify(own_noise_ != nullptr, "noise that no query declared");
  std::array<std::uint64_t, 4> words;
  own_noise_->of_blocks[visited_].words(own_noise_->step, own_noise_->query_index, 8 * std::uint64_t{row}, words);
  return standard_laplace(words);
}

// The root draws what all ranks share.
PhaseNoise Curator::phase_noise(const QueryState& s, std::uint64_t t) {
  PhaseNoise noise{.of_blocks = phase_noise_, .step = t, .query_index = s.query.query_index};
  if (comm_.is_root()) shared_phase_noise_->normals(t, s.query.query_index, 0, std::span(&noise.normal, 1));
  comm_.broadcast(noise.normal);
  return noise;
}

Secret<LatticeSum> Curator::run_phase(const Query& query, std::uint64_t t, const PhaseProgram& program) {
  QueryState& s = state(query.query_index);
  const auto* phases = s.query.as<Phases>();
  verify(phases != nullptr, "a query without phases");
  refuse_untrusted_ranks(s.query);
  begin_step(s, t);
  refuse_second_sum(s, t);
  s.take_part(shard_, t);
  std::optional<PhaseNoise> own_noise;
  if (phases->own_noise) own_noise = phase_noise(s, t);
  PhaseView phase(comm_, shard_, *s.places, std::get<Disjoint>(s.query.sampling), s.part, s.micro_batch_rows,
                  *s.phase, own_noise ? &*own_noise : nullptr);
  std::vector<double>& result = s.phase->result;
  program(phase, result);
  verify(std::ranges::all_of(result, [](double v) { return std::isfinite(v); }),
         "a phase hands over finite numbers");
  // Cutting is no expansion; rounding is part of the sensitivity.
  for (double& v : result) v = std::clamp(v, -phases->range, phases->range);
  s.sum.clear();
  s.sum.begin(1);
  s.sum.add(0, std::span<const double>(result));
  if (comm_.is_root()) add_noise(s, t, 1, noise_slice(s.query));
  s.sum.extra().front() = comm_.any(stop_requested_) ? 1 : 0;
  s.drawn = s.summed = t + 1;
  return Secret<LatticeSum>(LatticeSum{query.query_index, t});
}

}  // namespace dpmpi
