#include "run/plan/plan_timing.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "core/numbers/random.hpp"
#include "objective/minimax/saddle.hpp"

namespace dpmpi {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Seconds of one call, repeated for a fifth of a second after one call that warms up.
template <class Work>
double seconds_per_call(Work&& work) {
  work();
  const double start = now();
  int calls = 0;
  do work(), ++calls;
  while (now() - start < 0.2);
  return (now() - start) / calls;
}

// Records without meaning, in the storage and width of the data.
Records synthetic_records(const DatasetFacts& facts, const Objective& objective, float bias, std::size_t count) {
  constexpr std::uint64_t entries_of_libsvm = 32;  // a row; the real number is not public
  const std::uint64_t sparse_entries = facts.row_entries > 0 ? facts.row_entries : entries_of_libsvm;
  const PublicStream random(1, "measure");
  Records r;
  r.storage = facts.storage, r.count = count, r.features = facts.features, r.bias = bias;
  const std::size_t features = facts.features;
  double square = static_cast<double>(bias) * static_cast<double>(bias);
  if (r.storage == Storage::sparse_f32) {
    const std::uint64_t entries = std::min<std::uint64_t>(sparse_entries, features);
    for (std::size_t i = 0; i < count; ++i) {
      r.row_begin.push_back(i * entries);
      for (std::uint64_t e = 0; e < entries; ++e)
        r.column.push_back(static_cast<std::uint32_t>((e * features + random.below(i, features)) / entries));
    }
    r.row_begin.push_back(count * entries);
    r.value.assign(r.column.size(), 0.5f);
    square += 0.25 * static_cast<double>(entries);
  } else if (r.storage == Storage::dense_u8) {
    r.stride = round_up(features, 64);
    r.u8.assign(count * r.stride, 0);
    r.row_scale.assign(count, 1 / 255.0f);
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t j = 0; j < features; ++j)
        r.u8[i * r.stride + j] = static_cast<std::uint8_t>(random.word(i * features + j));
    square += static_cast<double>(features);
  } else {
    r.stride = round_up(features, 16);
    r.f32.assign(count * r.stride, 0.0f);
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t j = 0; j < features; ++j)
        r.f32[i * r.stride + j] = static_cast<float>(random.uniform(i * features + j));
    square += static_cast<double>(features);
  }
  for (std::size_t i = 0; i < count; ++i)
    r.label.push_back(objective.label_kind() == LabelKind::class_
                          ? static_cast<float>(i % std::max<std::size_t>(1, objective.classes()))
                          : (i % 2 ? 1.0f : -1.0f));
  r.norm.assign(count, static_cast<float>(std::sqrt(square) * (1 + 1e-6)));
  return r;
}

double record_seconds(const PublicFacts& facts, Objective& objective, float bias) {
  const std::size_t rows = objective.micro_batch_rows();
  const Records records = synthetic_records(facts.data, objective, bias, rows);
  std::vector<std::uint32_t> index(rows);
  std::iota(index.begin(), index.end(), 0u);
  AlignedVector<float> w(objective.dim());
  objective.start_point(PublicStream(1, "measure"), w);
  SaddleObjective* const saddle = objective.saddle();
  const bool dual_only = saddle && !saddle->primal();
  const std::size_t dim = dual_only ? saddle->dual_dim() : objective.dim();
  LatticeAccumulator sum(dim, Lattice::choose(dim, 2, 1, facts.data.records), 2);
  const std::size_t at_once = std::min(rows, sum.rows_at_once());
  const double seconds = seconds_per_call([&] {
    sum.clear();
    const Rows some{records, std::span(index).first(at_once)};
    if (dual_only)
      saddle->at(w).add_clipped_dual_gradients(some, L2Bound{}, sum);
    else if (saddle)
      saddle->at(w).add_clipped_saddle_gradients(some, {}, 1, sum);
    else
      objective.at(w).add_clipped_gradients(some, L2Bound{}, sum);
  });
  return seconds / static_cast<double>(at_once);
}

double noise_seconds() {
  SecretStream stream(SecretKey::from_system());
  alignas(64) double normals[1024];
  std::uint64_t first = 0;
  return seconds_per_call([&] { stream.normals(0, 0, first, normals), first += std::size(normals); }) /
         static_cast<double>(std::size(normals));
}

// A reduction and a broadcast of `words` 8-byte words each: the median of several, on the root.
double exchange_seconds(const Communicator& comm, std::size_t words) {
  std::vector<std::int64_t> message(words);
  std::vector<double> seconds;
  comm.barrier();
  for (int i = 0; i < 31; ++i) {
    const double start = now();
    comm.sum_to_root(message);
    comm.broadcast(std::span(message));
    seconds.push_back(now() - start);
  }
  std::nth_element(seconds.begin(), seconds.begin() + 15, seconds.end());
  return seconds[15];
}

// The mean over ranks, the same on all of them (in femtoseconds: the communicator sums integers).
double mean(const Communicator& comm, double seconds) {
  std::int64_t sum = std::llrint(1e15 * seconds);
  comm.sum(std::span(&sum, 1));
  return 1e-15 * static_cast<double>(sum) / comm.size();
}

}  // namespace

Machine measure_machine(const Communicator& comm, const PublicFacts& facts, Objective& objective, float bias) {
  Machine machine;
  std::string kept;
  if (objective.gradients() || objective.saddle()) {
    machine.record_seconds = mean(comm, record_seconds(facts, objective, bias));
    machine.flops = objective.flops_per_record() / machine.record_seconds;
  } else {
    kept += ", default kernel rate";
  }
  machine.noise_seconds = mean(comm, noise_seconds());
  if (comm.size() > 1) {
    constexpr std::size_t small = 1, large = 1 << 17;
    const double levels = std::ceil(std::log2(comm.size()));
    double t_small = exchange_seconds(comm, small), t_large = exchange_seconds(comm, large);
    comm.broadcast(t_small);
    comm.broadcast(t_large);
    machine.inverse_bandwidth =
        std::max(0.0, t_large - t_small) / (levels * 2 * 8 * static_cast<double>(large - small));
    machine.latency = std::max(0.0, t_small / (2 * levels) - 8 * machine.inverse_bandwidth);
  } else {
    kept += ", default network (run --measure under mpirun)";
  }
  machine.source = fmt::format("measured on {} rank{}{}", comm.size(), comm.size() == 1 ? "" : "s", kept);
  return machine;
}

}  // namespace dpmpi
