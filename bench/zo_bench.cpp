// Zeroth-order estimates of single records: linear models by the fast path and by generic directions, and networks.
// "evaluations" counts losses, "records" estimates of differences.

#include <benchmark/benchmark.h>

#include <cmath>

#include "objective/linear/glm.hpp"
#include "objective/network/mlp.hpp"
#include "objective/values/zeroth_order.hpp"

namespace {

using namespace dpmpi;

constexpr std::size_t batch = 8;

Records make_records(std::size_t features) {
  Records r;
  r.count = batch;
  r.features = features;
  r.stride = round_up(features, 16);
  r.f32.assign(batch * r.stride, 0.0F);
  for (std::size_t i = 0; i < batch; ++i) {
    const std::span<float> row(r.f32.data() + i * r.stride, features);
    PublicStream(1, "records", i).normals(0, row);
    const auto norm = std::sqrt(static_cast<float>(features));
    for (float& v : row) v /= norm;
  }
  r.label.assign(batch, 0.5F);
  r.norm.assign(batch, 2.0F);
  return r;
}

std::vector<double> point(std::size_t dim, double scale) {
  std::vector<double> x(dim);
  PublicStream(1, "point").normals(0, x);
  for (double& v : x) v *= scale;
  return x;
}

/// Steps of `rows` records each.
void run(benchmark::State& state, Objective& objective, const Records& records, const Probes& probes,
         std::size_t rows) {
  ZerothOrder zo(objective, probes);
  const std::size_t dim = objective.dim();
  const std::vector<double> x = point(dim, 1), y = point(dim, 1.001);
  LatticeAccumulator sum(dim, Lattice{24}, 1.1);
  std::uint32_t index[batch];
  for (std::uint32_t i = 0; i < batch; ++i) index[i] = i;
  std::uint64_t step = 0;
  for (auto _ : state) {
    sum.clear();
    zo.difference(x, y, step++, 1)({records, std::span(index).first(rows)}, {.clip = 1}, sum);
    benchmark::DoNotOptimize(sum.int32_scratch());
  }
  const auto done = static_cast<double>(state.iterations() * rows);
  state.counters["records"] = benchmark::Counter(done, benchmark::Counter::kIsRate);
  const double evaluations = 2 * static_cast<double>(zo.directions());
  state.counters["evaluations"] = benchmark::Counter(done * evaluations, benchmark::Counter::kIsRate);
}

void glm(benchmark::State& state, Probes probes, std::size_t rows) {
  const auto dim = static_cast<std::size_t>(state.range(0));
  const Records records = make_records(dim);
  Glm objective({dim, Storage::dense_f32, 0}, phase_retrieval_loss());
  run(state, objective, records, probes, rows);
}

void network(benchmark::State& state, Probes probes) {
  const auto features = static_cast<std::size_t>(state.range(0)), hidden = static_cast<std::size_t>(state.range(1));
  const Records records = make_records(features);
  const auto objective = make_mlp({.units = {features, hidden, 1}, .input_bias = 0, .head = Head::absolute});
  probes.count = probes.scheme == DirectionScheme::haar ? objective->dim() : round_up(objective->dim(), 32);
  run(state, *objective, records, probes, batch);
}

using enum DirectionScheme;
BENCHMARK_CAPTURE(glm, fast, Probes{.scheme = haar}, batch)->Arg(16)->Arg(128)->Arg(1024)->Arg(16384);
BENCHMARK_CAPTURE(glm, iid, Probes{.scheme = iid}, batch)
    ->Arg(16)
    ->Arg(128)
    ->Arg(1024)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(glm, block32, Probes{.scheme = block, .block = 32}, batch)->Arg(128)->Arg(1024);
BENCHMARK_CAPTURE(glm, haar, Probes{.scheme = haar, .fast = false}, 1)->Arg(16)->Arg(128)->Arg(256)->Arg(1024);
BENCHMARK_CAPTURE(network, iid, Probes{.scheme = iid})->Args({20, 24})->Args({60, 32});
BENCHMARK_CAPTURE(network, block32, Probes{.scheme = block, .block = 32})->Args({20, 24})->Args({60, 32});
BENCHMARK_CAPTURE(network, haar, Probes{.scheme = haar})->Args({20, 24});

}  // namespace

BENCHMARK_MAIN();
