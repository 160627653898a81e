// Losses of 256 records of a 784-256-10 network in Python, and the part of the time that is not the module's own: a
// call whose module does nothing. That part holds the copy of the records that a plugin in C pays for, too.

#include <benchmark/benchmark.h>

#include <random>
#include <string>
#include <vector>

#include "core/options.hpp"
#include "objective/objective.hpp"

namespace {

using namespace dpmpi;

constexpr std::size_t features = 784, count = 256;

Records random_records() {
  std::mt19937 bits(1);
  std::uniform_real_distribution<float> uniform(0, 1);
  Records records;
  records.count = count;
  records.features = features;
  records.stride = round_up(features, 16);
  records.bias = 1;
  records.f32.assign(count * records.stride, 0.0F);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < features; ++j) records.f32[i * records.stride + j] = uniform(bits);
    records.label.push_back(static_cast<float>(i % 10));
  }
  records.norm.assign(count, 28.1F);
  return records;
}

std::unique_ptr<Objective> module_of(const std::string& name) {
  for (const ObjectiveEntry& entry : objectives()) {
    if (entry.name != "python") continue;
    auto builder = entry.builder();
    Options options("objective");
    builder->declare(options);
    std::vector<std::string> problems;
    options.read({{"objective.module", {DPMPI_BENCH_FOLDER "/python/" + name, "bench"}}}, problems);
    return builder->make({features, Storage::dense_f32, 1});
  }
  return nullptr;
}

void losses(benchmark::State& state, const std::string& module) {
  const auto objective = module_of(module);
  const Records records = random_records();
  std::vector<std::uint32_t> index(count);
  for (std::uint32_t i = 0; i < count; ++i) index[i] = i;
  std::vector<float> w(objective->dim());
  std::mt19937 bits(2);
  std::normal_distribution<float> normal(0, 0.05F);
  for (float& v : w) v = normal(bits);
  std::vector<double> out(count);
  for (auto _ : state) {
    objective->at(w).losses({records, index}, out);
    benchmark::DoNotOptimize(out.data());
  }
}

BENCHMARK_CAPTURE(losses, network, "network.py")->Unit(benchmark::kMicrosecond)->MinTime(2);
BENCHMARK_CAPTURE(losses, nothing, "nothing.py")->Unit(benchmark::kMicrosecond)->MinTime(2);

}  // namespace

BENCHMARK_MAIN();
