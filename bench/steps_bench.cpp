// Whole steps beside the kernels inside them, on one rank or several:
//
//   mpirun -n 2 steps_bench CASE BATCH [BLOCKS [RECORDS]]
//
// CASE: logistic, softmax, mlp, network, residual (dp-sgd); zo-block, zo-glm (zo-o2nc). With RECORDS the units are
// persons of 1 to RECORDS records, and BATCH is still the number of records in a step, on average.
//
// The data are random 60,000 x 784 records in memory. zo-block: d = 512, 512 directions in orthonormal groups of
// 32, losses one by one; zo-glm: d = 1024, the closed form. One line of JSON: samples per second of the whole step
// (sampling, kernels, lattice, reduce, noise, broadcast, ledger, update), the same of kernels only, their ratio,
// the processor time of a step on the rank that needs most, and the limits measured in the same process just
// before: FMA peak, Eigen's product rate and read bandwidth of all ranks together.

#include <algorithm>
#include <cstdlib>

#include <benchmark/benchmark.h>
#include <Eigen/Core>

#include "comm/session.hpp"
#include "steps_stand.hpp"

namespace {

using namespace dpmpi;
using namespace dpmpi::bench;

struct StepCase : Case {
  std::uint64_t features = 784;
  float bias = 1;
  std::uint64_t chunk = 0;  ///< steps between two looks at the clock; 0: 200,000 records
};

StepCase zeroth_order(std::uint64_t features, Settings directions, std::uint64_t chunk) {
  directions.merge(Settings{{"method.inner", {"512", ""}},
                            {"method.outer", {"1", ""}},
                            {"method.passes", {"100", ""}},
                            {"method.first_batch", {"1024", ""}}});
  return {{"phase_retrieval", {}, "zo-o2nc", std::move(directions)}, features, 0, chunk};
}

StepCase first_order(const char* objective, Settings options) {
  return {{objective, std::move(options), "dp-sgd", {{"method.steps", {std::to_string(Subject::most_steps), ""}}}}};
}

// The network of the usual MNIST example, and ten layers with weights.
constexpr const char* mnist_layers =
    "conv 16 8x8 stride 2 pad 3, tanh, maxpool 2 stride 1, conv 32 4x4 stride 2, tanh, maxpool 2 stride 1, flatten, "
    "dense 32, tanh, dense 10";
constexpr const char* residual_layers =
    "conv 16 3 stride 2 pad 1, relu, residual(conv 16 3 pad 1, groupnorm 4, relu, conv 16 3 pad 1), relu, "
    "residual(conv 16 3 pad 1, groupnorm 4, relu, conv 16 3 pad 1), relu, conv 32 3 stride 2 pad 1, relu, "
    "residual(conv 32 3 pad 1, groupnorm 4, relu, conv 32 3 pad 1), relu, avgpool 7, flatten, dense 32, relu, dense 10";

StepCase network(const char* layers) {
  return first_order("network", {{"objective.classes", {"10", ""}},
                                 {"objective.input", {"1x28x28", ""}},
                                 {"objective.layers", {layers, ""}}});
}

StepCase find_case(const std::string& name) {
  if (name == "logistic") return first_order("logistic", {});
  if (name == "softmax") return first_order("softmax", {{"objective.classes", {"10", ""}}});
  if (name == "mlp")
    return first_order("mlp", {{"objective.classes", {"10", ""}},
                               {"objective.hidden", {"256", ""}},
                               {"objective.activation", {"relu", ""}}});
  if (name == "network") return network(mnist_layers);
  if (name == "residual") return network(residual_layers);
  if (name == "zo-block")
    return zeroth_order(512, {{"method.directions", {"block", ""}}, {"method.fast", {"false", ""}}}, 3);
  if (name == "zo-glm") return zeroth_order(1024, {}, 100);
  throw ConfigError("CASE is logistic, softmax, mlp, network, residual, zo-block or zo-glm");
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

int measure(const Communicator& comm, const std::string& name, std::uint64_t batch, std::uint32_t blocks,
            std::size_t most_records) {
  const StepCase chosen = find_case(name);
  const std::uint64_t features = chosen.features;
  const auto objective = make_objective(chosen, features, chosen.bias);
  const Shard shard = random_shard(comm, features, chosen.bias, objective->label_kind(), blocks,
                                   root_burden(*objective, batch, blocks), 60000, most_records);
  const std::uint64_t units = most_records > 0 ? batch * 2 / (most_records + 1) : batch;
  Subject subject(comm, shard, chosen, chosen.bias, units);

  comm.barrier();
  const double peak = total(comm, fma_peak()), products = total(comm, eigen_rate()),
               bandwidth = total(comm, read_bandwidth(shard));
  const std::uint64_t chunk = chosen.chunk > 0 ? chosen.chunk : std::max<std::uint64_t>(10, 200000 / batch);
  while (subject.steps_done() < std::min<std::uint64_t>(20, chunk)) subject.step();
  std::vector<double> rates;
  Curator::Timing before = subject.timing();
  const auto all = Clock::now();
  const double cpu_before = processor_seconds();
  const std::uint64_t first = subject.steps_done();
  std::int64_t more = 1;
  while (more > 0 && subject.steps_done() + chunk < Subject::most_steps) {
    const auto start = Clock::now();
    for (std::uint64_t i = 0; i < chunk; ++i) subject.step();
    rates.push_back(static_cast<double>(chunk * batch) / seconds_since(start));
    more = comm.is_root() && seconds_since(all) < 3 ? 1 : 0;
    comm.sum(std::span(&more, 1));
  }
  const double steps = static_cast<double>(subject.steps_done() - first);
  const double cpu = most_of_ranks(comm, 1e6 * (processor_seconds() - cpu_before) / steps);
  const Curator::Timing& after = subject.timing();
  // Kernels alone, perfectly balanced: the sum over ranks, divided by the ranks.
  const double kernels = total(comm, (after.kernels - before.kernels) / steps * 1e6) / comm.size();
  std::sort(rates.begin(), rates.end());
  const double rate = rates[rates.size() / 2], step = 1e6 * static_cast<double>(batch) / rate;
  const auto us = [&](double Curator::Timing::*field) { return 1e6 * (after.*field - before.*field) / steps; };
  if (comm.is_root()) {
    fmt::print(
        R"({{"case":"{}","batch":{},"records":{},"blocks":{},"ranks":{},"samples_per_s":{:.0f},"step_us":{:.1f},"cpu_us":{:.1f},"kernels_us":{:.1f},"over_kernels":{:.3f},)"
        R"("root_us":{{"sampling":{:.1f},"kernels":{:.1f},"noise":{:.1f},"reduce":{:.1f},"broadcast":{:.1f},"ledger":{:.1f}}},)"
        R"("gflops":{:.0f},"fma_peak_gflops":{:.0f},"eigen_gflops":{:.0f},"read_gb_per_s":{:.1f},"rows_gb_per_s":{:.1f}}})"
        "\n",
        name, batch, most_records, blocks, comm.size(), rate, step, cpu, kernels, step / kernels,
        us(&Curator::Timing::sampling), us(&Curator::Timing::kernels), us(&Curator::Timing::noise),
        us(&Curator::Timing::reduce), us(&Curator::Timing::broadcast), us(&Curator::Timing::ledger),
        rate * objective->flops_per_record() * 1e-9, peak, products, bandwidth,
        rate * 4 * static_cast<double>(features) * 1e-9);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr,
               "usage: mpirun -n N steps_bench logistic|softmax|mlp|zo-block|zo-glm BATCH [BLOCKS [RECORDS]]\n");
    return 2;
  }
  dpmpi::Session session(argc, argv);
  const auto batch = std::strtoull(argv[2], nullptr, 10);
  const auto blocks =
      argc > 3 ? std::strtoul(argv[3], nullptr, 10) : std::clamp<unsigned long long>(batch / 64, 1, 16);
  const auto most_records = argc > 4 ? std::strtoul(argv[4], nullptr, 10) : 0UL;
  return session.run([&](const dpmpi::Communicator& world) {
    return measure(world, argv[1], batch, static_cast<std::uint32_t>(blocks), most_records);
  });
}
