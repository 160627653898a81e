// Full passes of generalised linear models over records in memory, beside the read bandwidth of the same session:
// the limit of float rows. "share" is the bandwidth reached over that of the plain sum of the same bytes just
// before; for clamped steps by the least times of pieces of the pass, on machines that are not quiet.
//
//   glm_bench --benchmark_filter=dense     one process; for two cores run two at once, pinned: taskset -c 0 ... &
//   taskset -c 1 ...

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "objective/linear/glm.hpp"
#include "objective/linear/steps.hpp"

namespace {

using namespace dpmpi;

/// `count` records of unit scale; 60,000 x 784 floats are 188 MB, beyond every cache.
Records make_records(Storage storage, std::size_t count, std::size_t features, double density = 0.11) {
  std::mt19937 bits(1);
  Records r;
  r.storage = storage;
  r.count = count;
  r.features = features;
  r.bias = 1;
  r.stride = round_up(features, storage == Storage::dense_u8 ? 64 : 16);
  r.row_begin.push_back(0);
  if (storage == Storage::dense_f32) r.f32.assign(count * r.stride, 0.0F);
  if (storage == Storage::dense_u8) r.u8.assign(count * r.stride, 0);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < features; ++j) {
      const auto word = bits();
      if (storage == Storage::dense_f32) r.f32[i * r.stride + j] = static_cast<float>(word) * 0x1p-31F - 1;
      if (storage == Storage::dense_u8) r.u8[i * r.stride + j] = static_cast<std::uint8_t>(word);
      if (storage == Storage::sparse_f32 && static_cast<double>(word) < density * 0x1p32) {
        r.column.push_back(static_cast<std::uint32_t>(j));
        r.value.push_back(1);
      }
    }
    r.row_begin.push_back(r.column.size());
    r.label.push_back(i % 2 == 0 ? -1.0F : 1.0F);
    r.norm.push_back(static_cast<float>(std::sqrt(static_cast<double>(features) + 1)));
    if (storage == Storage::dense_u8) r.row_scale.push_back(1.0F / 255);
  }
  return r;
}

/// Row lists of micro-batches, all rows or every `step`-th.
std::vector<std::uint32_t> row_list(const Records& r, std::uint32_t step = 1) {
  std::vector<std::uint32_t> index(r.count / step);
  for (std::uint32_t i = 0; i < index.size(); ++i) index[i] = i * step;
  return index;
}

std::size_t bytes_per_row(const Records& r) {
  if (r.storage == Storage::dense_f32) return r.features * sizeof(float);
  if (r.storage == Storage::dense_u8) return r.features;
  return 8 * r.column.size() / r.count;
}

/// Sums float rows, with read-ahead by so many lines (0: none).
void sum_rows(const Records& r, std::size_t first, std::size_t last, std::size_t ahead) {
  using Lanes = float __attribute__((vector_size(64), aligned(64), may_alias));
  Lanes sum[8] = {};
  const auto* p = reinterpret_cast<const Lanes*>(r.f32.data() + first * r.stride);
  for (std::size_t i = 0; i + 8 <= (last - first) * r.stride / 16; i += 8) {
    if (ahead > 0)
      for (std::size_t l = 0; l < 8; ++l) __builtin_prefetch(p + i + l + ahead, 0, 2);
    for (std::size_t l = 0; l < 8; ++l) sum[l] += p[i + l];
  }
  for (std::size_t l = 1; l < 8; ++l) sum[0] += sum[l];
  benchmark::DoNotOptimize(sum[0]);
}

double seconds_of(const auto& what) {
  const auto start = std::chrono::steady_clock::now();
  what();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

constexpr std::size_t lines_ahead = 512;

/// Bytes a second of summing the float rows once, best of three with and three without read-ahead: what memory can
/// deliver now.
double read_bandwidth(const Records& r) {
  double best = 0;
  for (int repeat = 0; repeat < 6; ++repeat) {
    const double seconds = seconds_of([&] { sum_rows(r, 0, r.count, repeat % 2 == 0 ? 0 : lines_ahead); });
    best = std::max(best, static_cast<double>(r.f32.size() * sizeof(float)) / seconds);
  }
  return best;
}

void read_baseline(benchmark::State& state) {
  const Records r = make_records(Storage::dense_f32, 60000, 784);
  double best = 0;
  for (auto _ : state) best = std::max(best, read_bandwidth(r));
  state.counters["best bytes/s"] = best;
}

/// Times passes over `rows` rows of the records.
template <class OnePass>
void measure(benchmark::State& state, const Records& r, std::size_t rows, OnePass one_pass) {
  const bool in_memory = r.f32.size() > std::size_t{1} << 25;
  const double limit = in_memory ? read_bandwidth(r) : 0;
  double best = std::numeric_limits<double>::infinity();
  for (auto _ : state) {
    const auto start = std::chrono::steady_clock::now();
    one_pass();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  const double rate = static_cast<double>(rows) / best, bandwidth = rate * static_cast<double>(bytes_per_row(r));
  state.counters["rows/s"] = rate;
  state.counters["bytes/s"] = bandwidth;
  if (in_memory) state.counters["share"] = bandwidth / std::max(limit, read_bandwidth(r));
}

enum class Pass { gradients, losses };

void pass(benchmark::State& state, Pass kind, Storage storage, std::size_t count, std::size_t features,
          std::uint32_t step) {
  const Records r = make_records(storage, count, features);
  const auto index = row_list(r, step);
  Glm objective({features, storage, 1}, logistic_loss());
  const std::vector<float> w(objective.dim(), 0.01F);
  const Lattice lattice = Lattice::choose(objective.dim(), 1.0, 0.0, count);
  LatticeAccumulator sum(objective.dim(), lattice, 1.01);
  std::vector<double> out(objective.micro_batch_rows());
  measure(state, r, index.size(), [&] {
    sum.clear();
    const AtPoint at = objective.at(w);
    for (std::size_t i = 0; i < index.size(); i += objective.micro_batch_rows()) {
      const Rows rows{r, std::span(index).subspan(i, std::min(objective.micro_batch_rows(), index.size() - i))};
      if (kind == Pass::gradients) at.add_clipped_gradients(rows, {.clip = 1}, sum);
      if (kind == Pass::losses) at.losses(rows, std::span(out).first(rows.size()));
    }
    benchmark::DoNotOptimize(sum.totals().data());
    benchmark::DoNotOptimize(out.data());
  });
}

/// Seconds of a pass whose pieces take a fraction of a millisecond: the least time of each piece over all passes,
/// which leaves out what other processes take.
class Pieces {
 public:
  explicit Pieces(std::size_t count) : least_(count, std::numeric_limits<double>::infinity()) {}
  void time(std::size_t piece, const auto& what) { least_[piece] = std::min(least_[piece], seconds_of(what)); }
  double total() const { return std::accumulate(least_.begin(), least_.end(), 0.0); }

 private:
  std::vector<double> least_;
};

/// Passes of clamped steps in double over all records: margins, coefficients, lattice sums of 64 bits. Before each,
/// a plain sum of the same rows.
void clamped(benchmark::State& state, StepMode mode, std::unique_ptr<ScalarLoss> (*loss)(), Storage storage,
             std::size_t count, std::size_t features) {
  constexpr std::size_t rows_at_once = 512;
  const Records r = make_records(storage, count, features);
  const auto index = row_list(r);
  const Glm objective({features, storage, 1}, loss());
  ClampedSteps steps(objective);
  const std::vector<double> x(objective.dim(), 0.01);
  const double cap = 0.5;
  LatticeAccumulator sum(objective.dim(), Lattice::finest(cap, 0, count), cap * 1.01, 0, Width::int64);
  const std::size_t pieces = (count + rows_at_once - 1) / rows_at_once;
  Pieces plain(pieces), ahead(pieces), pass(pieces);
  for (bool reads_ahead = false; auto _ : state) {
    state.PauseTiming();
    reads_ahead = !reads_ahead;
    for (std::size_t p = 0; storage == Storage::dense_f32 && p < pieces; ++p) {
      const std::size_t first = p * rows_at_once, last = std::min(first + rows_at_once, count);
      (reads_ahead ? ahead : plain).time(p, [&] { sum_rows(r, first, last, reads_ahead ? lines_ahead : 0); });
    }
    sum.clear();
    state.ResumeTiming();
    const Kernel kernel = steps.steps(x, {mode, 0.5});
    for (std::size_t p = 0; p < pieces; ++p) {
      const std::size_t first = p * rows_at_once, rows = std::min(rows_at_once, count - first);
      pass.time(p, [&] { kernel(Rows{r, std::span(index).subspan(first, rows)}, {.clip = cap}, sum); });
    }
    benchmark::DoNotOptimize(sum.totals().data());
  }
  const double rate = static_cast<double>(count) / pass.total();
  state.counters["rows/s"] = rate;
  state.counters["bytes/s"] = rate * static_cast<double>(bytes_per_row(r));
  if (storage == Storage::dense_f32)
    state.counters["share"] = std::min(plain.total(), ahead.total()) / pass.total();
}

constexpr Storage floats = Storage::dense_f32, bytes = Storage::dense_u8, sparse = Storage::sparse_f32;
constexpr auto unit = benchmark::kMillisecond;

BENCHMARK(read_baseline)->Unit(unit);
BENCHMARK_CAPTURE(pass, dense_f32_784_gradients, Pass::gradients, floats, 60000, 784, 1)->Unit(unit);
BENCHMARK_CAPTURE(pass, dense_f32_784_gradients_every_7th, Pass::gradients, floats, 60000, 784, 7)->Unit(unit);
BENCHMARK_CAPTURE(pass, dense_f32_784_losses, Pass::losses, floats, 60000, 784, 1)->Unit(unit);
BENCHMARK_CAPTURE(pass, dense_f32_123_gradients, Pass::gradients, floats, 32561, 123, 1)->Unit(unit);
BENCHMARK_CAPTURE(pass, dense_u8_784_gradients, Pass::gradients, bytes, 60000, 784, 1)->Unit(unit);
BENCHMARK_CAPTURE(pass, sparse_123_gradients, Pass::gradients, sparse, 32561, 123, 1)->Unit(unit);
BENCHMARK_CAPTURE(clamped, f32_1000_explicit, StepMode::explicit_, logistic_loss, floats, 60000, 1000)->Unit(unit);
BENCHMARK_CAPTURE(clamped, f32_1000_proximal, StepMode::proximal, logistic_loss, floats, 60000, 1000)->Unit(unit);
BENCHMARK_CAPTURE(clamped, f32_100_million_explicit, StepMode::explicit_, logistic_loss, floats, 1000000, 100)
    ->Unit(unit);
BENCHMARK_CAPTURE(clamped, f32_100_million_proximal, StepMode::proximal, logistic_loss, floats, 1000000, 100)
    ->Unit(unit);
BENCHMARK_CAPTURE(clamped, u8_784_explicit, StepMode::explicit_, logistic_loss, bytes, 60000, 784)->Unit(unit);
BENCHMARK_CAPTURE(clamped, sparse_123_explicit, StepMode::explicit_, logistic_loss, sparse, 32561, 123)->Unit(unit);

}  // namespace

BENCHMARK_MAIN();
