// Clipped gradients of an MLP 784-256-10 in one rank, beside the rates that bound it: fused multiply-adds in
// registers, and Eigen's products of the same shapes. Compare only numbers of one session.

#include <benchmark/benchmark.h>

#include <numeric>
#include <random>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // GCC bug 105593
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <Eigen/Core>

#include "objective/copy_rows.hpp"
#include "objective/network/gradient.hpp"
#include "objective/network/mlp.hpp"
#include "objective/network/network.hpp"

namespace {

using namespace dpmpi;

constexpr std::size_t features = 784, hidden = 256, classes = 10, records_in_memory = 8192;

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

void set_flops(benchmark::State& state, double flops_per_iteration) {
  state.counters["GFLOP/s"] = benchmark::Counter(
      flops_per_iteration * static_cast<double>(state.iterations()) * 1e-9, benchmark::Counter::kIsRate);
}

/// Images of which every fifth pixel is lit, roughly as in MNIST.
Records random_images(Storage storage) {
  std::mt19937 bits(1);
  Records r;
  r.storage = storage;
  r.count = records_in_memory;
  r.features = features;
  r.stride = round_up(features, storage == Storage::dense_u8 ? 64 : 16);
  r.bias = 1;
  r.f32.assign(storage == Storage::dense_f32 ? r.count * r.stride : 0, 0.0F);
  r.u8.assign(storage == Storage::dense_u8 ? r.count * r.stride : 0, 0);
  r.row_scale.assign(r.count, 1.0F / 255);
  for (std::size_t i = 0; i < r.count; ++i) {
    for (std::size_t j = 0; j < features; ++j) {
      const auto pixel = static_cast<std::uint8_t>(bits() % 5 == 0 ? bits() : 0);
      if (storage == Storage::dense_u8) r.u8[i * r.stride + j] = pixel;
      if (storage == Storage::dense_f32) r.f32[i * r.stride + j] = static_cast<float>(pixel) / 255;
    }
    r.label.push_back(static_cast<float>(bits() % classes));
  }
  r.norm.assign(r.count, 28.1F);
  return r;
}

void fma_peak(benchmark::State& state) {
  using namespace Eigen::internal;
  using Packet = packet_traits<float>::type;
  constexpr int lanes = packet_traits<float>::size, chains = 12, rounds = 1000;
  Packet sum[chains], a = pset1<Packet>(0.999F), b = pset1<Packet>(0.001F);
  for (Packet& s : sum) s = pset1<Packet>(1.0F);
  for (auto _ : state) {
    for (int i = 0; i < rounds; ++i)
#pragma GCC unroll 16
      for (int c = 0; c < chains; ++c) sum[c] = pmadd(sum[c], a, b);
    benchmark::DoNotOptimize(sum);
  }
  set_flops(state, 2.0 * lanes * chains * rounds);
}
BENCHMARK(fma_peak);

void eigen_forward(benchmark::State& state) {
  const Matrix x = Matrix::Random(state.range(0), features), w = Matrix::Random(hidden, features);
  Matrix z(state.range(0), hidden);
  for (auto _ : state) {
    z.noalias() = x * w.transpose();
    benchmark::DoNotOptimize(z.data());
  }
  set_flops(state, 2.0 * static_cast<double>(z.size()) * features);
}
BENCHMARK(eigen_forward)->Arg(64)->Arg(128);

void eigen_weight_gradient(benchmark::State& state) {
  const Matrix x = Matrix::Random(state.range(0), features), delta = Matrix::Random(state.range(0), hidden);
  Matrix g(hidden, features);
  for (auto _ : state) {
    g.noalias() = delta.transpose() * x;
    benchmark::DoNotOptimize(g.data());
  }
  set_flops(state, 2.0 * static_cast<double>(g.size()) * static_cast<double>(state.range(0)));
}
BENCHMARK(eigen_weight_gradient)->Arg(64)->Arg(128);

/// Everything that a rank does for the records of a step: gather, forward, backward, clip, sum, round.
void clipped_gradients(benchmark::State& state, Storage storage) {
  const auto rows = static_cast<std::size_t>(state.range(0));
  const Records records = random_images(storage);
  const auto objective = make_mlp({.units = {features, hidden, classes}});
  std::vector<float> w(objective->dim());
  objective->initialise(PublicStream(1, "initialise"), w);
  const AtPoint at = objective->at(w);
  LatticeAccumulator sum(objective->dim(), {20}, 1.01);
  sum.clear();
  std::vector<std::uint32_t> index(rows);
  std::size_t first = 0;
  for (auto _ : state) {
    std::iota(index.begin(), index.end(), static_cast<std::uint32_t>(first));
    at.add_clipped_gradients({records, index}, {.clip = 1}, sum);
    first = (first + rows) % records.count;
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  set_flops(state, objective->flops_per_record() * static_cast<double>(rows));
}
BENCHMARK_CAPTURE(clipped_gradients, f32, Storage::dense_f32)->Arg(16)->Arg(64)->Arg(128);
BENCHMARK_CAPTURE(clipped_gradients, u8, Storage::dense_u8)->Arg(64)->Arg(128);

/// The products inside clipped_gradients alone: a forward and a backward pass.
void products(benchmark::State& state) {
  const auto rows = static_cast<std::size_t>(state.range(0));
  const MlpShape shape{.units = {features, hidden, classes}};
  MlpNetwork<float> network(shape, rows);
  Scratch<float> input(rows, shape.width(0));
  const Records records = random_images(Storage::dense_f32);
  std::vector<std::uint32_t> index(rows);
  std::iota(index.begin(), index.end(), 0U);
  copy_rows<float>({records, index}, input.width, input.row(0));
  std::vector<float> w(shape.dim(), 0.01F);
  network.load(w);
  for (auto _ : state) {
    network.forward(input, rows);
    network.backward(rows);
    benchmark::DoNotOptimize(network.delta(1).row(0));
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(products)->Arg(64)->Arg(128);

/// Weight gradients of both layers, rounded to the lattice.
void weight_gradients(benchmark::State& state) {
  const auto rows = static_cast<std::size_t>(state.range(0));
  const MlpShape shape{.units = {features, hidden, classes}};
  Scratch<float> input(rows, shape.width(0)), delta(rows, shape.width(1));
  std::fill(input.values.begin(), input.values.end(), 0.1F);
  std::fill(delta.values.begin(), delta.values.end(), 0.001F);
  LayerGradient<float> gradient(shape, rows);
  LatticeAccumulator sum(shape.dim(), {20}, 1.01);
  const OuterProducts<float> term{delta, input};
  for (auto _ : state) {
    sum.begin(rows);
    gradient.add(0, {&term, 1}, rows, sum);
  }
  set_flops(state, 2.0 * static_cast<double>(shape.parameters(0)) * static_cast<double>(rows));
}
BENCHMARK(weight_gradients)->Arg(64)->Arg(128);

}  // namespace

BENCHMARK_MAIN();
