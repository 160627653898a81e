// Steps of zeroth-order training with K shared directions: frames, and the clipped differences of a batch of
// records, by one product and, for comparison, by one pass over the records for each direction. `rss_per_parameter`
// is what a step of a generic model keeps in memory beside the model and its point, in float32 parameters.

#include <benchmark/benchmark.h>

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <numeric>
#include <vector>

#include "objective/linear/glm.hpp"
#include "objective/linear/softmax.hpp"
#include "objective/math/dot.hpp"
#include "objective/network/mlp.hpp"
#include "objective/values/projected_differences.hpp"

namespace {

using namespace dpmpi;

constexpr std::uint64_t key = 7;
std::size_t arg(const benchmark::State& state, std::size_t i) {
  return static_cast<std::size_t>(state.range(static_cast<int>(i)));
}

Records make_records(std::size_t count, std::size_t features, float bias) {
  Records r;
  r.count = count;
  r.features = features;
  r.bias = bias;
  r.stride = round_up(features, 16);
  r.f32.assign(count * r.stride, 0.0F);
  for (std::size_t i = 0; i < count; ++i) {
    const std::span<float> row(r.f32.data() + i * r.stride, features);
    PublicStream(1, "records", i).normals(0, row);
    for (float& v : row) v /= std::sqrt(static_cast<float>(features));
  }
  r.label.assign(count, 1.0F);
  r.norm.assign(count, 3.0F);
  return r;
}

/// About 14 ones a record, as in a9a.
Records make_sparse(std::size_t count, std::size_t features, std::size_t entries) {
  Records r;
  r.storage = Storage::sparse_f32;
  r.count = count;
  r.features = features;
  r.row_begin = {0};
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t e = 0; e < entries; ++e) {
      r.column.push_back(static_cast<std::uint32_t>(e * features / entries + i % (features / entries)));
      r.value.push_back(1);
    }
    r.row_begin.push_back(r.column.size());
  }
  r.label.assign(count, 1.0F);
  r.norm.assign(count, 4.0F);
  return r;
}

std::vector<double> point(std::size_t dim) {
  std::vector<double> w(dim);
  PublicStream(1, "point").normals(0, w);
  for (double& v : w) v /= std::sqrt(static_cast<double>(dim));
  return w;
}

void visit_all(const Records& records, std::span<const std::uint32_t> index, std::size_t rows,
               const std::function<void(const Rows&)>& visit) {
  for (std::size_t first = 0; first < index.size(); first += rows)
    visit({records, index.subspan(first, std::min(rows, index.size() - first))});
}

void step(benchmark::State& state, Objective& objective, const Records& records, Frames& frames) {
  ProjectedDifferences probe(objective, frames, {});
  const std::vector<double> w = point(objective.dim());
  LatticeAccumulator sum(frames.count(), Lattice{20}, 4);
  std::vector<std::uint32_t> index(records.count);
  std::iota(index.begin(), index.end(), 0U);
  frames.begin(0);
  for (auto _ : state) {
    sum.clear();
    probe.kernel(w).run({.clip = 1}, sum,
                        [&](const auto& visit) { visit_all(records, index, objective.micro_batch_rows(), visit); });
    benchmark::DoNotOptimize(sum.totals().data());
  }
  const double flops = 2.0 * static_cast<double>(records.count * objective.dim() * (frames.count() + 1));
  state.counters["flops"] =
      benchmark::Counter(flops * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

/// Arguments: d, K.
void frames(benchmark::State& state) {
  Frames all(DirectionLaw::stiefel, arg(state, 0), arg(state, 1), key);
  std::uint64_t t = 0;
  for (auto _ : state) {
    all.begin(t++);
    for (std::size_t first = 0; first < all.dim(); first += all.tile_rows())
      benchmark::DoNotOptimize(all.tile(first, std::min(all.tile_rows(), all.dim() - first)));
  }
  state.SetItemsProcessed(
      static_cast<std::int64_t>(static_cast<std::size_t>(state.iterations()) * all.dim() * all.count()));
}

/// Arguments: d, K, records.
void linear_product(benchmark::State& state) {
  const Records records = make_records(arg(state, 2), arg(state, 0), 0);
  Glm objective({arg(state, 0), Storage::dense_f32, 0}, logistic_loss());
  Frames all(DirectionLaw::stiefel, arg(state, 0), arg(state, 1), key);
  step(state, objective, records, all);
}

/// One margin of every record for each direction, K times over the records.
void linear_separate(benchmark::State& state) {
  const std::size_t d = arg(state, 0), K = arg(state, 1), n = arg(state, 2);
  const Records records = make_records(n, d, 0);
  Frames all(DirectionLaw::stiefel, d, K, key);
  all.begin(0);
  std::vector<float> direction(d);
  std::vector<double> margins(n * K);
  for (auto _ : state)
    for (std::size_t k = 0; k < K; ++k) {
      const double* u = all.tile(0, d);
      for (std::size_t j = 0; j < d; ++j) direction[j] = static_cast<float>(u[j * K + k]);
      for (std::size_t i = 0; i < n; ++i) margins[i * K + k] = dot(records.row_f32(i), direction.data(), d);
      benchmark::DoNotOptimize(margins.data());
    }
  state.counters["flops"] = benchmark::Counter(
      2.0 * static_cast<double>(n * d * K) * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

/// Arguments: d, K, records.
void linear_sparse(benchmark::State& state) {
  const Records records = make_sparse(arg(state, 2), arg(state, 0), 14);
  Glm objective({arg(state, 0), Storage::sparse_f32, 0}, logistic_loss());
  Frames all(DirectionLaw::stiefel, arg(state, 0), arg(state, 1), key);
  step(state, objective, records, all);
}

/// Softmax regression. Arguments: features, K, records.
void softmax(benchmark::State& state) {
  const Records records = make_records(arg(state, 2), arg(state, 0), 1);
  const auto objective = make_mlp({.units = {arg(state, 0), 10}, .input_bias = 1, .head = Head::softmax});
  Frames all(DirectionLaw::stiefel, objective->dim(), arg(state, 1), key);
  step(state, *objective, records, all);
}

/// Resident memory in bytes.
double resident() {
  std::size_t all = 0, pages = 0;
  std::ifstream("/proc/self/statm") >> all >> pages;
  return static_cast<double>(pages) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

/// A loss of many parameters that costs little, so that what remains is the estimator.
class Sum final : public Objective, public PointValues {
 public:
  explicit Sum(std::size_t dim) : dim_(dim) {}
  std::size_t dim() const override { return dim_; }
  LabelKind label_kind() const override { return LabelKind::real; }
  std::size_t outputs() const override { return 1; }
  std::vector<ParameterGroup> groups() const override { return {{"parameters", 0, dim_, 1}}; }
  double flops_per_record() const override { return static_cast<double>(dim_); }
  void prepare(std::span<const float> w) override {
    sum_ = 0;
    for (const float v : w) sum_ += v;
  }
  void losses(const Rows&, std::span<double> out) override { std::fill(out.begin(), out.end(), sum_); }
  void scores(const Rows&, std::span<float>) override {}
  Capabilities capabilities() override { return {.values = this}; }

 private:
  std::size_t dim_;
  double sum_ = 0;
};

/// Arguments: d, K, records.
void generic(benchmark::State& state) {
  const std::size_t d = arg(state, 0);
  const Records records = make_records(arg(state, 2), 4, 0);
  const std::vector<double> w = point(d);
  std::vector<std::uint32_t> index(records.count);
  std::iota(index.begin(), index.end(), 0U);
  const double before = resident();
  Sum objective(d);
  Frames all(DirectionLaw::stiefel, d, arg(state, 1), key);
  ProjectedDifferences probe(objective, all, {});
  LatticeAccumulator sum(all.count(), Lattice{20}, 4);
  std::uint64_t t = 0;
  for (auto _ : state) {
    all.begin(t++);
    sum.clear();
    probe.kernel(w).run({.clip = 1}, sum,
                        [&](const auto& visit) { visit_all(records, index, objective.micro_batch_rows(), visit); });
    benchmark::DoNotOptimize(sum.totals().data());
  }
  state.counters["rss_per_parameter"] = (resident() - before) / static_cast<double>(4 * d);
}

constexpr auto ms = benchmark::kMillisecond;
BENCHMARK(frames)->Args({10000, 64})->Args({100000, 200})->Args({10000000, 1})->Args({1000000, 16})->Unit(ms);
BENCHMARK(linear_product)->Args({10000, 64, 2000})->Args({10000, 1, 2000})->Args({100000, 64, 500})->Unit(ms);
BENCHMARK(linear_separate)->Args({10000, 64, 2000})->Args({10000, 1, 2000})->Unit(ms);
BENCHMARK(linear_sparse)->Args({124, 16, 32000})->Args({100000, 16, 20000})->Unit(ms);
BENCHMARK(softmax)->Args({784, 32, 5000})->Unit(ms);
BENCHMARK(generic)->Args({10000000, 1, 100})->Args({10000000, 4, 100})->Unit(ms)->Iterations(1);

}  // namespace

BENCHMARK_MAIN();
