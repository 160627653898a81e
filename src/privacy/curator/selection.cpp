#include "privacy/curator/selection.hpp"

#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/console/heartbeat.hpp"
#include "core/console/hush.hpp"
#include "core/errors.hpp"
#include "core/fault.hpp"
#include "core/numbers/random.hpp"
#include "core/numbers/real.hpp"
#include "privacy/curator/query_state.hpp"
#include "privacy/curves/repetition_law.hpp"

namespace dpmpi {
namespace {

/// A run as the root compares it.
struct Run {
  double score = infinity, sum = 0;
  std::uint64_t number = 0;
  std::vector<double> uniforms;

  // A total order on what a run would release: its number must decide nothing.
  bool before(const Run& other) const {
    return score < other.score || (score == other.score && uniforms < other.uniforms);
  }
};

}  // namespace

void Curator::uniforms_of_run(const QueryState& s, std::uint64_t t, std::uint64_t run, std::span<double> out) {
  std::array<std::uint64_t, 8> words{};
  const std::uint64_t width = round_up(out.size(), words.size());
  for (std::size_t j = 0; j < out.size(); ++j) {
    if (j % words.size() == 0) runs_->words(t, s.query.query_index, run * width + j, words);
    out[j] = (static_cast<double>(words[j % words.size()] >> 11) + 0.5) * 0x1p-53;
  }
}

// The noisy sum of one run is left in s.sum on the root.
void Curator::add_run(QueryState& s, std::uint64_t t, std::uint64_t run, const Kernel& kernel) {
  s.sum.clear();
  {
    const InStage stage(Stage::kernels);
    s.add_contributions(kernel, s.query.bound, shard_);
  }
  if (comm_.is_root() && s.query.is_private()) {
    std::array<double, 8> normal{};
    noise_->normals(t, s.query.query_index, run * normal.size(), normal);
    s.sum.totals()[0] += nearest_point(s.query.noise_std * s.sum.lattice().scale() * normal[0]);
  }
  fault_point("reduce");
  comm_.sum_to_root(s.sum);
}

void Curator::train_in_run(const Query& query, std::size_t candidate,
                           const std::function<void(Curator&)>& training) {
  const QueryState& s = state(query.query_index);
  verify(s.run && s.query.trainings && candidate < s.query.trainings->size(), "a run of a query with candidates");
  const Hush hush;  // what is said of a run would be said as often as there are runs
  const std::vector<Query>& queries = (*s.query.trainings)[candidate];
  std::optional<SecretKey> key;
  std::optional<Ledger> ledger;
  if (comm_.is_root()) {
    key = training_key_->derive(fmt::format("query {} release {}", query.query_index, s.drawn - 1), *s.run);
    ledger.emplace(Ledger::in_memory({s.query.adjacency, s.query.records, true}));
  }
  Curator curator(comm_, shard_, queries, s.micro_batch_rows, key, !ranks_trusted_);
  if (ledger) curator.record_in(*ledger);
  training(curator);
  if (ledger && !same_events(ledger->events(), events_of_all(queries)))
    throw PrivacyError("a training in a run did not release what was planned");
}

Selection Curator::best_of_runs(const Query& query, std::uint64_t t, const RunProgram& program) {
  QueryState& s = state(query.query_index);
  const auto* kind = s.query.as<BestOfRuns>();
  verify(kind != nullptr, "a query of one run");
  refuse_untrusted_ranks(s.query);
  draw(query, t);
  refuse_second_sum(s, t);
  std::uint64_t count = 0;
  if (comm_.is_root()) count = repetitions(kind->law, SecretReader(*count_, t, query.query_index).next());
  comm_.broadcast(count);

  Run best, run;
  run.uniforms.resize(kind->draws);
  best.uniforms = run.uniforms;
  for (std::uint64_t i = 0; i < count; ++i) {
    uniforms_of_run(s, t, i, run.uniforms);
    s.run = i;
    const Repetition repetition = program(run.uniforms);
    add_run(s, t, i, repetition.kernel);
    std::uint64_t better = 0;
    if (comm_.is_root()) {
      run.sum = static_cast<double>(s.sum.totals()[0]) * s.sum.lattice().quantum();
      run.score = run.sum + repetition.offset;
      verify(!std::isnan(run.score), "a run has a score");  // or its place would decide
      run.number = i;
      better = i == 0 || run.before(best) ? 1 : 0;
      if (better != 0) std::swap(run, best);
    }
    if (!repetition.keep) continue;
    comm_.broadcast(better);
    if (better != 0) repetition.keep();
  }
  s.run.reset();

  fault_point("release");
  std::array<double, 2> released{best.sum, comm_.any(stop_requested_) ? 1.0 : 0.0};
  comm_.broadcast(std::span<double>(released));
  comm_.broadcast(best.number);
  if (count > 0) uniforms_of_run(s, t, best.number, best.uniforms);
  stop_agreed_ = released[1] > 0;
  s.summed = s.next = t + 1;
  s.selected_run = std::move(best.uniforms);
  if (listener_) listener_->released(s.query, t, std::span<const double>(released).first(1));
  return {count > 0, released[0], s.selected_run};
}

}  // namespace dpmpi
