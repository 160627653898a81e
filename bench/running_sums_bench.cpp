// What the root does to the sum of a leaf under each strategy: draws, decoder, lattice. Argument: coordinates.
//
//   running_sums_bench --benchmark_filter=1000000
//
// `identity` draws the same numbers and correlates none of them. Rows are what is kept from leaf to leaf.

#include <cstdint>
#include <functional>
#include <span>

#include <benchmark/benchmark.h>

#include "core/numbers/lattice.hpp"
#include "core/numbers/random.hpp"
#include "privacy/curator/prefix_noise.hpp"
#include "privacy/curator/running_release.hpp"
#include "privacy/curves/buffer_search.hpp"

namespace {

using namespace dpmpi;

constexpr std::uint64_t leaves = 1000;

Tree with_buffers(Buffers buffers) {
  return {.strategy = Strategy::blt, .leaves = leaves, .noise_multiplier = 1, .buffers = buffers};
}

Tree identity() { return with_buffers({}); }
Tree lambda() { return with_buffers(lambda_buffer(best_lambda(leaves, {1, leaves}))); }
Tree blt(std::size_t buffers) { return with_buffers(best_buffers(buffers, leaves, {1, leaves})); }
Tree banded(std::uint64_t band) {
  return {.strategy = Strategy::banded, .leaves = leaves, .noise_multiplier = 1, .band = band};
}
Tree fenwick() { return {.strategy = Strategy::fenwick, .leaves = leaves, .noise_multiplier = 1}; }

void leaf_noise(benchmark::State& state, const Tree& tree) {
  const auto dim = static_cast<std::size_t>(state.range(0));
  PrefixNoise prefix(tree, dim);
  SecretStream noise(SecretKey::from_seed(1));
  std::vector<std::int64_t> total(dim), before(dim);
  std::uint64_t step = 0;
  const auto draw = [&](std::uint32_t level, std::span<double> out) { noise.normals(step, 0, level * dim, out); };
  for (auto _ : state) {
    if (step++ % leaves == 0) prefix.restart();
    const std::span<const double> z = prefix.next(1, std::cref(draw));
    for (std::size_t j = 0; j < dim; ++j) {
      const std::int64_t n = nearest_point(0x1p20 * z[j]);
      total[j] += n - before[j];
      before[j] = n;
    }
    benchmark::DoNotOptimize(total.data());
  }
  state.counters["rows"] = static_cast<double>(rows_kept(tree));
}

#define STRATEGY(name, tree) BENCHMARK_CAPTURE(leaf_noise, name, tree)->Arg(203528)->Arg(1000000)
STRATEGY(identity, identity());
STRATEGY(lambda, lambda());
STRATEGY(blt_2, blt(2));
STRATEGY(blt_4, blt(4));
STRATEGY(banded_8, banded(8));
STRATEGY(tree, fenwick());

}  // namespace

BENCHMARK_MAIN();
