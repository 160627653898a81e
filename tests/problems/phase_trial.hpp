#pragma once
// Trials of methods whose state within a phase is secret: what a phase releases, phases that are killed, and runs
// that are repeated with other noise.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "problems/trial.hpp"

namespace dpmpi::test {

/// The point in double that all ranks share after a phase.
inline std::vector<double> released(const Trial& t) {
  const auto bytes = t.algorithm->replicated();
  std::vector<double> x(bytes.size() / sizeof(double));
  std::memcpy(x.data(), bytes.data(), bytes.size());
  return x;
}

inline double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double square = 0;
  for (std::size_t j = 0; j < a.size(); ++j) square += (a[j] - b[j]) * (a[j] - b[j]);
  return std::sqrt(square);
}

/// What each phase releases until the end of the run. (Trials of one method share a ledger's name, so neighbours
/// run one after the other.)
inline std::vector<std::vector<double>> outcome(Trial& t) {
  std::vector<std::vector<double>> x;
  for (std::uint64_t i = 0; i < t.steps; ++i) t.run(1), x.push_back(released(t));
  return x;
}
inline std::vector<std::vector<double>> outcome(Trial&& t) { return outcome(t); }

/// Multiplies the features of each dense record by the next of `scale`.
inline Shard scaled(Shard shard, const std::function<double()>& scale) {
  for (auto& block : shard.blocks)
    for (std::size_t i = 0; i < block.records.count; ++i) {
      const auto s = static_cast<float>(scale());
      for (std::size_t j = 0; j < block.records.stride; ++j) block.records.f32[i * block.records.stride + j] *= s;
      test::update_norm(block.records, i);
    }
  return shard;
}

/// Record `index` of all: its features, and its label if there is one.
inline void set_record(Shard& shard, std::uint64_t index, const std::vector<float>& x,
                       std::optional<float> label = std::nullopt) {
  for (auto& block : shard.blocks) {
    if (index < block.first_index || index >= block.first_index + block.records.count) continue;
    const std::size_t i = index - block.first_index;
    std::ranges::copy(x, block.records.f32.begin() + static_cast<std::ptrdiff_t>(i * block.records.stride));
    if (label) block.records.label[i] = *label;
    test::update_norm(block.records, i);
  }
}

/// A curator as a new process has it, with the lines that are in the trial's ledger.
inline void begin_at(Trial& t, std::uint64_t step, std::uint64_t key) {
  t.curator = std::make_unique<Curator>(t.comm, t.shard, t.queries, t.objective->micro_batch_rows(),
                                        SecretKey::from_seed(key));
  t.curator->record_in(*t.ledger);
  t.curator->resume_at(step);
  t.next = step;
}

/// The whole run once more with other noise, and with no other line in the ledger: for laws of what is released.
inline void repeat(Trial& t, std::uint64_t key) {
  begin_at(t, 0, key);
  t.algorithm = t.plan->start(*t.objective, t.queries);
  t.run();
}

/// Kills a run in its second phase, with the bytes that were saved before it; goes on, and expects the end of one
/// that was not killed. `start` makes the run.
inline void expect_that_a_killed_phase_runs_again(const std::function<Trial()>& start) {
  std::string saved;
  std::vector<double> end;
  std::vector<Event> events;
  {
    Trial whole = start();
    whole.run(1);
    Archive state;
    whole.algorithm->archive(state);
    saved = state.bytes();
    whole.run();
    end = released(whole), events = whole.ledger->events();
  }
  Trial killed = start();
  killed.run(1);
  killed.curator->run_phase(killed.queries[0], 1, [](PhaseView&, std::span<double>) {});  // ends without a release
  begin_at(killed, 1, 1);
  killed.start_from(saved);
  killed.run();
  EXPECT_EQ(released(killed), end);
  EXPECT_EQ(killed.ledger->events(), events);
}

}  // namespace dpmpi::test
