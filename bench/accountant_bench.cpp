// One epsilon for DP-SGD runs of 10^3 to 10^6 steps: calibration asks for about ten, progress for one per
// checkpoint.

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>

#include <benchmark/benchmark.h>

#include "dpmpi/privacy/accountant.hpp"

namespace {

using namespace dpmpi;

// `steps` steps whose sampling rate falls with their number as it does at a fixed number of records, so that
// epsilon stays near 2.
void epsilon(benchmark::State& state, const char* name, Adjacency adjacency) {
  const auto steps = static_cast<std::uint64_t>(state.range(0));
  const double rate = 0.3 / std::sqrt(static_cast<double>(steps));
  double value = 0;
  for (auto _ : state) {
    const auto accountant = make_accountant(name, adjacency);
    accountant->compose(Event{PoissonGaussian{rate, adjacency == Adjacency::add_remove ? 1.0 : 0.5}, steps});
    benchmark::DoNotOptimize(value = accountant->epsilon(1e-6));
  }
  state.counters["epsilon"] = value;
}
BENCHMARK_CAPTURE(epsilon, rdp, "rdp", Adjacency::add_remove)->RangeMultiplier(10)->Range(1000, 1'000'000);
BENCHMARK_CAPTURE(epsilon, pld, "pld", Adjacency::add_remove)->RangeMultiplier(10)->Range(1000, 1'000'000);
BENCHMARK_CAPTURE(epsilon, pld_replace_one, "pld", Adjacency::replace_one)
    ->RangeMultiplier(10)
    ->Range(1000, 1'000'000);

// The same as one event per step, as a ledger has them.
void ledger_of_single_steps(benchmark::State& state) {
  for (auto _ : state) {
    const auto accountant = make_accountant("pld", Adjacency::add_remove);
    for (std::int64_t i = 0; i < state.range(0); ++i) accountant->compose(Event{PoissonGaussian{0.001, 1}, 1});
    benchmark::DoNotOptimize(accountant->epsilon(1e-6));
  }
}
BENCHMARK(ledger_of_single_steps)->Arg(1'000'000);

}  // namespace

BENCHMARK_MAIN();
