// What a zo-hidden step sends, takes and holds as the model grows:
//
//   mpirun -n 2 hidden_bench D K [SHARE]
//
// Logistic regression on 64 sparse records of 16 features out of D, K orthonormal directions, noise multiplier 1 by
// composition; SHARE = f, the part of the noise along the directions (1; below it every rank draws D normals a
// step). One line of JSON: bytes of a step to the root and back, counted below MPI's interface on the last rank;
// median times of a step and, beside it, of what a first-order step sends for as many parameters (an integer sum of
// D words to the root, D floats back: no gradient, no noise); the peak resident memory of the rank that needs most,
// in bytes a parameter.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "../tests/comm/traffic.hpp"
#include "comm/session.hpp"
#include "core/errors.hpp"
#include "method/method.hpp"
#include "privacy/events/ledger.hpp"

namespace {

using namespace dpmpi;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t records = 64, nonzeros = 16, most_steps = 1000;
constexpr std::uint32_t blocks = 4;

struct Model {
  std::uint64_t features, directions;
  double share;
};

Records sparse_block(std::size_t count, std::uint64_t features, unsigned seed) {
  std::mt19937 bits(seed);
  Records r;
  r.storage = Storage::sparse_f32, r.count = count, r.features = features;
  r.row_begin.push_back(0);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::uint64_t j = 0; j < nonzeros; ++j) {  // one column in each of 16 ranges: ascending
      r.column.push_back(static_cast<std::uint32_t>(j * (features / nonzeros) + bits() % (features / nonzeros)));
      r.value.push_back(0.25f);
    }
    r.row_begin.push_back(r.column.size());
    r.label.push_back(bits() % 2 ? 1.0f : -1.0f);
    r.norm.push_back(1.0f + 0x1p-20f);
  }
  return r;
}

Shard shard_of(const Communicator& comm, const DatasetFacts& facts) {
  Shard shard;
  shard.facts = facts;
  shard.layout = BlockLayout::of(facts, blocks);
  const Ownership owners = Ownership::balanced(blocks, comm.size(), 0);
  for (std::uint32_t b = owners.begin(comm.rank()); b < owners.end(comm.rank()); ++b)
    shard.blocks.push_back({b, shard.layout.begin(b), sparse_block(shard.layout.size(b), facts.features, b)});
  return shard;
}

std::unique_ptr<Objective> logistic(std::uint64_t features) {
  for (const auto& entry : objectives())
    if (entry.name == "logistic") return entry.builder()->make({features, Storage::sparse_f32, 0});
  throw ConfigError("no logistic objective");
}

std::unique_ptr<const MethodPlan> plan_of(const Model& model, const PublicFacts& facts) {
  const Settings given{{"method.accounting", {"composition", ""}},
                       {"method.release", {"all", ""}},
                       {"method.directions", {std::to_string(model.directions), ""}},
                       {"method.steps", {std::to_string(most_steps), ""}},
                       {"method.share", {fmt::format("{}", model.share), ""}},
                       {"method.rate", {"1", ""}},
                       {"method.ball", {"10", ""}}};
  for (const auto& entry : methods()) {
    if (entry.name != "zo-hidden") continue;
    const auto settings = entry.make();
    Options options("method");
    settings->declare(options);
    std::vector<std::string> problems;
    options.read(given, problems);
    verify(problems.empty(), "bad benchmark options");
    return settings->plan(facts);
  }
  throw ConfigError("no method zo-hidden");
}

/// Of this process so far, in bytes.
double peak_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return 1024 * std::stod(line.substr(6));
  return NAN;
}

/// Median seconds of `action`, called for about a second on the root's clock, 3 times at least. Collective.
template <class Action>
double median_seconds(const Communicator& comm, std::uint64_t most, Action&& action) {
  std::vector<double> times;
  const auto begin = Clock::now();
  for (std::int64_t more = 1; more > 0 && times.size() < most;) {
    comm.barrier();
    const auto start = Clock::now();
    action();
    times.push_back(std::chrono::duration<double>(Clock::now() - start).count());
    const bool enough = times.size() >= 3 && Clock::now() - begin > std::chrono::seconds(1);
    more = comm.is_root() && !enough ? 1 : 0;
    comm.sum(std::span(&more, 1));
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

/// The sum of D words to the root and D floats back.
double first_order_messages(const Communicator& comm, std::uint64_t dim) {
  std::vector<std::int64_t> sum(dim, 1);
  std::vector<float> back(dim, 1);
  return median_seconds(comm, most_steps, [&] {
    comm.sum_to_root(sum);
    comm.broadcast(std::span(back));
  });
}

int bench(const Communicator& comm, const Model& model) {
  const double start_memory = peak_memory();
  const auto objective = logistic(model.features);
  const PublicFacts facts{.data = {records, model.features, Storage::sparse_f32},
                          .objective = objective.get(),
                          .adjacency = Adjacency::replace_one};
  const Shard shard = shard_of(comm, facts.data);
  const auto plan = plan_of(model, facts);
  const Query query = Query::declare(plan->queries(1).at(0), 0, facts.adjacency, records);
  const std::string path = fmt::format("hidden_bench_{}.jsonl", getpid());
  std::optional<Ledger> ledger;
  if (comm.is_root()) ledger.emplace(Ledger::create(path, {facts.adjacency, records}));
  Curator curator(comm, shard, {query}, objective->micro_batch_rows(), SecretKey::from_seed(1));
  if (ledger) curator.record_in(*ledger);
  const auto algorithm = plan->start(*objective, {query});

  std::uint64_t t = 0;
  algorithm->step(curator, t++);  // the first one shares keys and allocates
  test::traffic = {};
  algorithm->step(curator, t++);
  const test::Traffic sent = test::traffic;
  const double step = median_seconds(comm, most_steps - t, [&] { algorithm->step(curator, t++); });
  const auto memory = comm.gather(fmt::format("{} {}", peak_memory() - start_memory, sent.up));
  const double messages = first_order_messages(comm, model.features);
  if (!comm.is_root()) return 0;
  double most = 0;
  for (const std::string& rank : memory) most = std::max(most, std::stod(rank));
  const std::string& last = memory.back();
  fmt::print(
      R"({{"d":{},"K":{},"share":{},"ranks":{},"up_bytes":{},"down_bytes":{},"step_ms":{:.4g},"first_order_messages_ms":{:.4g},"bytes_per_parameter":{:.2f}}})"
      "\n",
      model.features, model.directions, model.share, comm.size(), last.substr(last.find(' ') + 1), sent.down,
      1e3 * step, 1e3 * messages, most / static_cast<double>(model.features));
  std::filesystem::remove(path);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "usage: mpirun -n N hidden_bench D K [SHARE]\n");
    return 2;
  }
  dpmpi::Session session(argc, argv);
  const Model model{std::strtoull(argv[1], nullptr, 10), std::strtoull(argv[2], nullptr, 10),
                    argc > 3 ? std::strtod(argv[3], nullptr) : 1};
  return session.run([&](const dpmpi::Communicator& world) { return bench(world, model); });
}
