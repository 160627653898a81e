// One epsilon for DP-SGD runs of 10^3 to 10^6 steps: progress asks for one per checkpoint. And searches for the
// noise that keeps a target, where they take longest: tiny sampling rates. And what a plan of an ordinary run asks
// for.

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "privacy/accountants/accountant.hpp"
#include "privacy/loss_distributions/transform.hpp"
#include "privacy/promise/calibrate.hpp"
#include "privacy/promise/guarantee.hpp"

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

void noise_for(benchmark::State& state, double rate, std::uint64_t steps, const PrivacyTarget& target) {
  double noise = 0;
  for (auto _ : state) {
    const auto events = [&](double z) { return std::vector<Event>{{PoissonGaussian{rate, z}, steps}}; };
    benchmark::DoNotOptimize(noise = calibrate_noise(events, target, "best").value);
  }
  state.counters["noise"] = noise;
}
constexpr auto add_remove = Adjacency::add_remove, replace_one = Adjacency::replace_one;
BENCHMARK_CAPTURE(noise_for, usual, 2048.0 / 60000, 2344, {1, 5.5e-6, add_remove});
BENCHMARK_CAPTURE(noise_for, six_uses, 9.25e-6, 6, {.189, 8.84e-10, replace_one});
BENCHMARK_CAPTURE(noise_for, hundred_uses, 1e-6, 100, {.1, 1e-7, replace_one});
BENCHMARK_CAPTURE(noise_for, tiny_delta, 3.14e-5, 258, {.0357, 6.12e-11, add_remove});
BENCHMARK_CAPTURE(noise_for, tinier_delta, 1.772e-6, 5519, {.0984, 2.04e-11, add_remove});
BENCHMARK_CAPTURE(noise_for, million_uses, 5.149e-6, 981923, {.3, 5.14e-7, replace_one});
BENCHMARK_CAPTURE(noise_for, ten_million_uses, 1e-6, 10'000'000, {.1, 1e-7, add_remove});

// What a plan asks for: the noise, its guarantee, and what attackers find.
void plan_for(benchmark::State& state, double rate, std::uint64_t steps, const PrivacyTarget& target) {
  const auto events = [&](double z) { return std::vector<Event>{{PoissonGaussian{rate, z}, steps}}; };
  for (auto _ : state) {
    const KeptTransforms kept;
    const Calibration noise = calibrate_noise(events, target, "best");
    const std::vector<Event> found = events(noise.value);
    const Guarantee g = epsilon_guarantee(found, target.adjacency, target.delta, "best", noise.answered.get());
    benchmark::DoNotOptimize(attacker_table(found, target.adjacency, g));
  }
}
BENCHMARK_CAPTURE(plan_for, batches_of_2048, 2048.0 / 60000, 2344, {1, 5.5e-6, add_remove});
BENCHMARK_CAPTURE(plan_for, replace_one, 1024.0 / 60000, 1200, {1, 5.5e-6, replace_one});
BENCHMARK_CAPTURE(plan_for, weak_promise, 1024.0 / 60000, 5000, {8, 1e-5, add_remove});
BENCHMARK_CAPTURE(plan_for, small_batches, 64.0 / 60000, 20000, {8, 1e-5, add_remove});
BENCHMARK_CAPTURE(plan_for, hundred_thousand_steps, 1e-3, 100'000, {2, 1e-7, add_remove});

}  // namespace

BENCHMARK_MAIN();
