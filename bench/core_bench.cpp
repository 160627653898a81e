// Secret normals, keystream words and lattice rounding: the serial work of the root.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include <benchmark/benchmark.h>

#include "core/numbers/discrete_gaussian.hpp"
#include "core/numbers/lattice.hpp"
#include "core/numbers/random.hpp"

namespace {

using namespace dpmpi;
constexpr std::size_t count = 203530;

void secret_words(benchmark::State& state) {
  SecretStream stream(SecretKey::from_seed(1));
  std::vector<std::uint64_t> words(count);
  std::uint64_t step = 0;
  for (auto _ : state) stream.words(step++, 0, 0, words), benchmark::DoNotOptimize(words.data());
  state.SetBytesProcessed(static_cast<std::int64_t>(8 * count) * state.iterations());
}
BENCHMARK(secret_words);

void normals_from_words(benchmark::State& state) {
  std::vector<std::uint64_t> words(count);
  PublicStream(1, "bench").words(0, words);
  std::vector<double> out(count);
  for (auto _ : state) box_muller(words, out), benchmark::DoNotOptimize(out.data());
  state.SetItemsProcessed(static_cast<std::int64_t>(count) * state.iterations());
}
BENCHMARK(normals_from_words);

void secret_normals(benchmark::State& state) {
  SecretStream stream(SecretKey::from_seed(1));
  std::vector<double> out(count);
  std::uint64_t step = 0;
  for (auto _ : state) stream.normals(step++, 0, 0, out), benchmark::DoNotOptimize(out.data());
  state.SetItemsProcessed(static_cast<std::int64_t>(count) * state.iterations());
}
BENCHMARK(secret_normals);

// Argument: log2 of the deviation in quanta.
void discrete_gaussians(benchmark::State& state) {
  SecretStream stream(SecretKey::from_seed(1));
  const DiscreteGaussianSampler sampler((std::uint64_t{1} << state.range(0)) - 1);
  std::vector<std::int64_t> out(count);
  std::uint64_t step = 0;
  for (auto _ : state) {
    SecretReader bits(stream, step++, 0);
    for (auto& y : out) y = sampler(bits);
    benchmark::DoNotOptimize(out.data());
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(count) * state.iterations());
}
BENCHMARK(discrete_gaussians)->Arg(4)->Arg(20)->Arg(36);

void lattice_add(benchmark::State& state) {
  LatticeAccumulator sum(count, Lattice{20}, 1.0);
  const AlignedVector<float> values(count, 0.25f);
  for (auto _ : state) {
    sum.clear();
    for (int i = 0; i < 8; ++i) sum.begin(64), sum.add(0, std::span<const float>(values));
    benchmark::DoNotOptimize(sum.totals().data());
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(8 * count) * state.iterations());
}
BENCHMARK(lattice_add);

// What the root adds to a sum in a step: Gaussian noise, on the lattice.
void noise_of_a_sum(benchmark::State& state) {
  SecretStream stream(SecretKey::from_seed(1));
  LatticeAccumulator sum(count, Lattice{20}, 1.0);
  std::vector<double> normal(1024);
  std::uint64_t step = 0;
  const auto add = [&](std::size_t first, std::span<std::int64_t> total) {
    const std::span<double> draws = std::span(normal).first(total.size());
    stream.normals(step, 0, first, draws);
    for (std::size_t i = 0; i < total.size(); ++i) total[i] += nearest_point(1e5 * draws[i]);
  };
  for (auto _ : state) {
    sum.clear(), sum.begin(1), sum.finish(0, sum.dim(), std::cref(add)), ++step;
    benchmark::DoNotOptimize(sum.totals().data());
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(count) * state.iterations());
}
BENCHMARK(noise_of_a_sum);

}  // namespace

BENCHMARK_MAIN();
