// Whole steps beside the kernels inside them, on one rank or several:
//
//   mpirun -n 2 steps_bench CASE BATCH [BLOCKS]      CASE: logistic, softmax, mlp (dp-sgd); zo-block, zo-glm
//   (zo-o2nc)
//
// The data are random 60,000 x 784 records in memory. zo-block: d = 512, 512 directions in orthonormal groups of
// 32, losses one by one; zo-glm: d = 1024, the closed form. One line of JSON: samples per second of the whole step
// (sampling, kernels, lattice, reduce, noise, broadcast, ledger, update), the same of kernels only, their ratio,
// the CPU time of a step on the rank that needs most,
// and the limits measured in the same process just before: FMA peak, Eigen's product rate and read bandwidth of all
// ranks together.

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <random>

#include <unistd.h>

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <Eigen/Core>

#include "dpmpi/comm/session.hpp"
#include "dpmpi/core/errors.hpp"
#include "dpmpi/method/method.hpp"
#include "dpmpi/privacy/ledger.hpp"

namespace {

using namespace dpmpi;
using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Case {
  std::string objective;
  Storage storage;
  Settings options;
  std::uint64_t features = 784;
  float bias = 1;
  std::string method = "dp-sgd";
  Settings method_options = {};
  std::uint64_t chunk = 0;  ///< steps between two looks at the clock; 0: 200,000 records
};

Case zeroth_order(std::uint64_t features, Settings directions, std::uint64_t chunk) {
  directions.merge(Settings{{"method.inner", {"512", ""}},
                            {"method.outer", {"1", ""}},
                            {"method.passes", {"100", ""}},
                            {"method.first_batch", {"1024", ""}}});
  return {"phase_retrieval", Storage::dense_f32, {}, features, 0, "zo-o2nc", std::move(directions), chunk};
}

Case find_case(const std::string& name) {
  if (name == "logistic") return {"logistic", Storage::dense_f32, {}};
  if (name == "softmax") return {"softmax", Storage::dense_f32, {{"objective.classes", {"10", ""}}}};
  if (name == "mlp")
    return {"mlp",
            Storage::dense_f32,
            {{"objective.classes", {"10", ""}},
             {"objective.hidden", {"256", ""}},
             {"objective.activation", {"relu", ""}}}};
  if (name == "zo-block")
    return zeroth_order(512, {{"method.directions", {"block", ""}}, {"method.fast", {"false", ""}}}, 3);
  if (name == "zo-glm") return zeroth_order(1024, {}, 100);
  throw ConfigError("CASE is logistic, softmax, mlp, zo-block or zo-glm");
}

Records random_block(Storage storage, std::size_t count, std::size_t features, float bias, LabelKind kind,
                     unsigned seed) {
  std::mt19937 bits(seed);
  Records r;
  r.storage = storage, r.count = count, r.features = features, r.stride = round_up(features, 16), r.bias = bias;
  r.f32.resize(count * r.stride);
  for (auto& x : r.f32) x = static_cast<float>(bits()) * 0x1p-32f;
  for (std::size_t i = 0; i < count; ++i) {
    r.label.push_back(kind == LabelKind::class_ ? static_cast<float>(bits() % 10) : bits() % 2 ? 1.0f : -1.0f);
    double square = 1;
    for (std::size_t j = 0; j < features; ++j) square += r.row_f32(i)[j] * r.row_f32(i)[j];
    r.norm.push_back(static_cast<float>(std::sqrt(square) * (1 + 1e-6)));
  }
  return r;
}

// GFLOP/s of this rank's core: independent fused multiply-adds in registers.
double fma_peak() {
  typedef float Lanes __attribute__((vector_size(64)));
  Lanes x = Lanes{} + 0.999f, y = Lanes{} + 1e-3f;
  benchmark::DoNotOptimize(x), benchmark::DoNotOptimize(y);
  Lanes a = y, b = y, c = y, d = y, e = y, f = y, g = y, h = y, i = y, j = y;
  const auto start = Clock::now();
  constexpr int rounds = 2'000'000;
  for (int r = 0; r < rounds; ++r) {
    a = a * x + y, b = b * x + y, c = c * x + y, d = d * x + y, e = e * x + y;
    f = f * x + y, g = g * x + y, h = h * x + y, i = i * x + y, j = j * x + y;
  }
  Lanes sum = a + b + c + d + e + f + g + h + i + j;
  benchmark::DoNotOptimize(sum);
  return rounds * 10.0 * 32 / seconds_since(start) * 1e-9;
}

double eigen_rate() {
  using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const Matrix a = Matrix::Random(128, 784), w = Matrix::Random(256, 784);
  Matrix out(128, 256);
  out.noalias() = a * w.transpose();
  const auto start = Clock::now();
  for (int i = 0; i < 100; ++i) out.noalias() = a * w.transpose();
  return 100 * 2.0 * 128 * 784 * 256 / seconds_since(start) * 1e-9;
}

double read_bandwidth(const Shard& shard) {
  const auto start = Clock::now();
  double bytes = 0;
  float sum = 0;
  for (const auto& block : shard.blocks) {
    sum += Eigen::Map<const Eigen::VectorXf, Eigen::Aligned64>(block.records.f32.data(),
                                                               static_cast<Eigen::Index>(block.records.f32.size()))
               .sum();
    bytes += 4.0 * static_cast<double>(block.records.f32.size());
  }
  volatile float keep = sum;
  (void)keep;
  return bytes / seconds_since(start) * 1e-9;
}

// A rate that every rank measured, summed over ranks (rounded to 10^-3: the communicator sums integers).
double total(const Communicator& comm, double rate) {
  std::int64_t value = std::llrint(1e3 * rate);
  comm.sum(std::span(&value, 1));
  return 1e-3 * static_cast<double>(value);
}

// The largest of a number that every rank has. Root only.
double largest(const Communicator& comm, double value) {
  double most = value;
  for (const std::string& other : comm.gather(fmt::format("{}", value))) most = std::max(most, std::stod(other));
  return most;
}

/// Of this process. Waiting for a message spins, and counts.
double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

int bench(const Communicator& comm, const std::string& name, std::uint64_t batch, std::uint32_t blocks) {
  constexpr std::uint64_t records = 60000;
  const Case chosen = find_case(name);
  const std::uint64_t features = chosen.features;
  std::unique_ptr<Objective> objective;
  std::vector<std::string> problems;
  for (const auto& entry : objectives())
    if (entry.name == chosen.objective) {
      const auto builder = entry.builder();
      Options options("objective");
      builder->declare(options);
      options.read(chosen.options, problems);
      objective = builder->make({features, chosen.storage, chosen.bias});
    }
  Shard shard;
  shard.facts = {records, features, chosen.storage};
  shard.layout = BlockLayout::of(shard.facts, blocks);
  const double burden =
      4e-9 * static_cast<double>(objective->dim()) /
      (static_cast<double>(batch) / blocks * std::max(0.7e-6, objective->flops_per_record() / 1.3e11));
  const Ownership ownership = Ownership::balanced(blocks, comm.size(), burden);
  for (std::uint32_t b = ownership.begin(comm.rank()); b < ownership.end(comm.rank()); ++b)
    shard.blocks.push_back(
        {b, shard.layout.begin(b),
         random_block(chosen.storage, shard.layout.size(b), features, chosen.bias, objective->label_kind(), b)});

  std::unique_ptr<Method> method;
  for (const auto& entry : methods())
    if (entry.name == chosen.method) method = entry.make();
  Options options("method");
  method->declare(options);
  constexpr std::uint64_t most_steps = 4000;
  Settings settings = chosen.method_options;
  settings["method.batch"] = {std::to_string(batch), ""};
  if (chosen.method == "dp-sgd") settings["method.steps"] = {std::to_string(most_steps), ""};
  options.read(settings, problems);
  verify(problems.empty(), "bad benchmark options");
  const PublicFacts facts{shard.facts, objective.get(), Adjacency::add_remove};
  const Query query = Query::declare(method->queries(facts, 1.0)[0], 0, facts.adjacency, records);
  Curator curator(comm, shard, {query}, objective->micro_batch_rows(), SecretKey::from_seed(1));
  const std::string path = fmt::format("steps_bench_{}.jsonl", getpid());
  std::optional<Ledger> ledger;
  if (comm.is_root()) ledger.emplace(Ledger::create(path, {facts.adjacency, records}));
  if (ledger) curator.record_in(*ledger);
  method->start(*objective, {query}, most_steps);

  comm.barrier();
  const double peak = total(comm, fma_peak()), products = total(comm, eigen_rate()),
               bandwidth = total(comm, read_bandwidth(shard));
  std::uint64_t t = 0;
  const std::uint64_t chunk = chosen.chunk > 0 ? chosen.chunk : std::max<std::uint64_t>(10, 200000 / batch);
  for (; t < std::min<std::uint64_t>(20, chunk); ++t) method->step(curator, t);
  std::vector<double> rates;
  Curator::Timing before = curator.timing();
  const auto all = Clock::now();
  const double cpu_before = cpu_seconds();
  const std::uint64_t first = t;
  std::int64_t more = 1;
  while (more > 0 && t + chunk < most_steps) {
    const auto start = Clock::now();
    for (std::uint64_t i = 0; i < chunk; ++i) method->step(curator, t++);
    rates.push_back(static_cast<double>(chunk * batch) / seconds_since(start));
    more = comm.is_root() && seconds_since(all) < 3 ? 1 : 0;
    comm.sum(std::span(&more, 1));
  }
  const double steps = static_cast<double>(t - first);
  const double cpu = largest(comm, 1e6 * (cpu_seconds() - cpu_before) / steps);
  const Curator::Timing& after = curator.timing();
  // Kernels alone, perfectly balanced: the sum over ranks, divided by the ranks.
  const double kernels = total(comm, (after.kernels - before.kernels) / steps * 1e6) / comm.size();
  std::sort(rates.begin(), rates.end());
  const double rate = rates[rates.size() / 2], step = 1e6 * static_cast<double>(batch) / rate;
  const auto us = [&](double Curator::Timing::*field) { return 1e6 * (after.*field - before.*field) / steps; };
  if (comm.is_root()) {
    fmt::print(
        R"({{"case":"{}","batch":{},"blocks":{},"ranks":{},"samples_per_s":{:.0f},"step_us":{:.1f},"cpu_us":{:.1f},"kernels_us":{:.1f},"over_kernels":{:.3f},)"
        R"("root_us":{{"sampling":{:.1f},"kernels":{:.1f},"noise":{:.1f},"reduce":{:.1f},"broadcast":{:.1f},"ledger":{:.1f}}},)"
        R"("gflops":{:.0f},"fma_peak_gflops":{:.0f},"eigen_gflops":{:.0f},"read_gb_per_s":{:.1f},"rows_gb_per_s":{:.1f}}})"
        "\n",
        name, batch, blocks, comm.size(), rate, step, cpu, kernels, step / kernels, us(&Curator::Timing::sampling),
        us(&Curator::Timing::kernels), us(&Curator::Timing::noise), us(&Curator::Timing::reduce),
        us(&Curator::Timing::broadcast), us(&Curator::Timing::ledger), rate * objective->flops_per_record() * 1e-9,
        peak, products, bandwidth, rate * 4 * static_cast<double>(features) * 1e-9);
    std::filesystem::remove(path);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "usage: mpirun -n N steps_bench logistic|softmax|mlp BATCH [BLOCKS]\n");
    return 2;
  }
  dpmpi::Session session(argc, argv);
  const auto batch = std::strtoull(argv[2], nullptr, 10);
  const auto blocks =
      argc > 3 ? std::strtoul(argv[3], nullptr, 10) : std::clamp<unsigned long long>(batch / 64, 1, 16);
  return session.run([&](const dpmpi::Communicator& world) {
    return bench(world, argv[1], batch, static_cast<std::uint32_t>(blocks));
  });
}
