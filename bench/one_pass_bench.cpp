// One pass of ht-glm over records in memory, as the curator runs it: records found, steps, sums, releases, ledger.
//
//   mpirun -n 2 one_pass_bench [RECORDS] [FEATURES] [BATCH] [MODE] [REPEATS]
//
// 10^6 x 100 random floats, logistic, BATCH 0 (that of the plan), MODE explicit unless given. One line of JSON: the
// pass by the clock, and the processor time of the rank that needs most, waiting included; the least of REPEATS
// (5) passes each.

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "comm/session.hpp"
#include "steps_stand.hpp"

namespace {

using namespace dpmpi;
using namespace dpmpi::bench;

struct PassCase {
  std::uint64_t records, features, batch;
  std::string mode;
  std::uint64_t repeats;
};

int time_passes(const Communicator& comm, const PassCase& s) {
  const Case chosen{"logistic", {}, "ht-glm", {{"method.mode", {s.mode, ""}}}, true};
  const Shard shard = random_shard(comm, s.features, 0, LabelKind::sign, 16, 0, s.records);
  double clock = std::numeric_limits<double>::infinity(), processor = clock;
  for (std::uint64_t repeat = 0; repeat < s.repeats; ++repeat) {
    Subject subject(comm, shard, chosen, 0, s.batch);
    comm.barrier();
    const auto start = Clock::now();
    const double used = processor_seconds();
    while (subject.steps_done() < subject.steps()) subject.step();
    comm.barrier();
    clock = std::min(clock, seconds_since(start));
    processor = std::min(processor, most_of_ranks(comm, processor_seconds() - used));
  }
  if (comm.is_root())
    fmt::print(
        R"({{"records":{},"features":{},"batch":{},"mode":"{}","ranks":{},"clock_s":{:.3f},"processor_s":{:.3f}}})"
        "\n",
        s.records, s.features, s.batch, s.mode, comm.size(), clock, processor);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const auto number = [&](int i, std::uint64_t otherwise) {
    return argc > i ? std::strtoull(argv[i], nullptr, 10) : otherwise;
  };
  const PassCase setting{number(1, 1000000), number(2, 100), number(3, 0), argc > 4 ? argv[4] : "explicit",
                         number(5, 5)};
  dpmpi::Session session(argc, argv);
  return session.run([&](const dpmpi::Communicator& world) { return time_passes(world, setting); });
}
