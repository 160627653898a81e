// The kernels of min-max methods on the AUC network 784-256-128-1, beside the clipped gradient of dp-sgd for the
// same network and records: "x gradient" is their ratio, timed in turns. Goals: a difference of gradients 2.3, a
// joint gradient by both blocks 1.2.

#include <benchmark/benchmark.h>

#include <chrono>
#include <numeric>
#include <random>

#include "objective/minimax/auc.hpp"
#include "objective/network/mlp.hpp"

namespace {

using namespace dpmpi;

constexpr std::size_t features = 784, records_in_memory = 8192, rows = 128;

/// Images of which every fifth pixel is lit, roughly as in MNIST.
Records random_images() {
  std::mt19937 bits(1);
  Records r;
  r.storage = Storage::dense_u8;
  r.count = records_in_memory;
  r.features = features;
  r.stride = round_up(features, 64);
  r.bias = 1;
  r.u8.assign(r.count * r.stride, 0);
  r.row_scale.assign(r.count, 1.0F / 255);
  for (std::size_t i = 0; i < r.count; ++i) {
    for (std::size_t j = 0; j < features; ++j)
      if (bits() % 5 == 0) r.u8[i * r.stride + j] = static_cast<std::uint8_t>(bits());
    r.label.push_back(bits() % 2 == 0 ? 1.0F : -1.0F);
  }
  r.norm.assign(r.count, 28.1F);
  return r;
}

template <class Work>
double seconds(Work&& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

const MlpShape network{.units = {features, 256, 128, 1}, .activation = Activation::tanh, .head = Head::logistic};

using Point = std::span<const float>;
AtSaddlePoint at_point(SaddleObjective& problem, Point w, Point) { return problem.at(w); }
AtPair at_pair(SaddleObjective& problem, Point w, Point v) { return problem.at_pair(w, v); }

/// Times add(take(problem, w, v), rows, sum) in turns with dp-sgd's gradient.
template <class Take, class Add>
void beside_gradient(benchmark::State& state, Take take, Add add) {
  const Records records = random_images();
  const auto plain = make_mlp(network);
  const auto saddle = make_auc({.scorer = network, .prior = 0.5});
  std::vector<float> w(saddle->dim(), 0.1F);
  saddle->initialise(PublicStream(1, "initialise"), w);
  std::vector<float> v = w;
  for (float& x : v) x *= 1.001F;
  const AtPoint at = plain->at(std::span<const float>(w).first(plain->dim()));
  const auto taken = take(*saddle, w, v);
  LatticeAccumulator sum(plain->dim(), {20}, 1.01), saddle_sum(saddle->dim(), {20}, 1.01);
  std::vector<std::uint32_t> index(rows);
  std::uint32_t first = 0;
  double kernel = 0, gradient = 0;
  for (auto _ : state) {
    std::iota(index.begin(), index.end(), first);
    first = (first + rows) % records_in_memory;
    const Rows batch{records, index};
    gradient += seconds([&] { at.add_clipped_gradients(batch, {.clip = 1}, sum); });
    const double own = seconds([&] { add(taken, batch, saddle_sum); });
    kernel += own;
    state.SetIterationTime(own);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(rows));
  state.counters["x gradient"] = kernel / gradient;
}

void primal_gradient(benchmark::State& state) {
  beside_gradient(state, at_point, [](const AtSaddlePoint& at, const Rows& batch, LatticeAccumulator& sum) {
    at.add_clipped_primal_gradients(batch, {.clip = 1}, sum);
  });
}
BENCHMARK(primal_gradient)->UseManualTime();

void saddle_gradient(benchmark::State& state) {
  beside_gradient(state, at_point, [](const AtSaddlePoint& at, const Rows& batch, LatticeAccumulator& sum) {
    at.add_clipped_saddle_gradients(batch, {.primal = 0.7, .dual = 0.7, .weight = 1}, 1, sum);
  });
}
BENCHMARK(saddle_gradient)->UseManualTime();

void dual_gradient(benchmark::State& state) {
  beside_gradient(state, at_point, [](const AtSaddlePoint& at, const Rows& batch, LatticeAccumulator& sum) {
    at.add_clipped_dual_gradients(batch, {.clip = 1}, sum);
  });
}
BENCHMARK(dual_gradient)->UseManualTime();

void primal_difference(benchmark::State& state) {
  beside_gradient(state, at_pair, [](const AtPair& at, const Rows& batch, LatticeAccumulator& sum) {
    at.add_clipped_primal_differences(batch, {.clip = 1}, sum);
  });
}
BENCHMARK(primal_difference)->UseManualTime();

}  // namespace

BENCHMARK_MAIN();
