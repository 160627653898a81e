// Whole steps of min-max methods beside dp-sgd's, of the same network, batch and records, in turns:
//
//   mpirun -n 2 saddle_steps_bench BATCH [TURNS]
//
// The AUC network 784-256-128-1 on 60,000 random records in memory. A turn is one step each of dp-sgd (on the
// network's logistic loss), of dp-sgda, and of private-diff with one and with two dual steps, in a new order every
// time, restarts left out. What the second dual step adds is a dual step's time; a private-diff round without it is
// the primal step. One line of JSON: the median over turns of the ratio to the same turn's dp-sgd step, and, for
// machines that do other things as well, the ratios of the times that a tenth of the turns stay below. Goals:
// primal step 2.3, dp-sgda 1.2.

#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>

#include "comm/session.hpp"
#include "steps_stand.hpp"

namespace {

using namespace dpmpi;
using namespace dpmpi::bench;

enum Contender { sgd, sgda, one_dual_step, two_dual_steps, contenders };

Case contender(int which) {
  Case chosen{"auc", {{"objective.prior", {"0.5", ""}}, {"objective.scorer", {"mlp", ""}}}};
  const std::string all = std::to_string(Subject::most_steps);
  chosen.method_options = {{"method.steps", {all, ""}}};
  if (which == sgd) {
    chosen.objective = "mlp";
    chosen.options = {{"objective.head", {"logistic", ""}}, {"objective.activation", {"tanh", ""}}};
  } else if (which == sgda) {
    chosen.method = "dp-sgda";
  } else {
    chosen.method = "private-diff";
    chosen.method_options["method.restart"] = {all, ""};
    chosen.method_options["method.dual_steps"] = {which == one_dual_step ? "1" : "2", ""};
  }
  return chosen;
}

struct Turn {
  std::array<double, contenders> seconds;  ///< of a step
  double dual() const { return seconds[two_dual_steps] - seconds[one_dual_step]; }
};

/// The value below which `share` of the turns lie.
template <class Quantity>
double quantile(const std::vector<Turn>& turns, double share, Quantity quantity) {
  std::vector<double> values;
  for (const Turn& turn : turns) values.push_back(quantity(turn));
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

/// Median over turns of the ratio to the same turn's dp-sgd step.
std::string within_turns(const std::vector<Turn>& turns) {
  const auto of = [&](auto seconds) {
    return quantile(turns, 0.5, [&](const Turn& t) { return seconds(t) / t.seconds[sgd]; });
  };
  return fmt::format(R"({{"dp_sgda":{:.2f},"primal_step":{:.2f},"round":{:.2f}}})",
                     of([](const Turn& t) { return t.seconds[sgda]; }),
                     of([](const Turn& t) { return t.seconds[one_dual_step] - t.dual(); }),
                     of([](const Turn& t) { return t.seconds[one_dual_step]; }));
}

/// Ratios of the times that a tenth of the turns stay below.
std::string quiet(const std::vector<Turn>& turns) {
  Turn low{};
  for (std::size_t which = 0; which < contenders; ++which)
    low.seconds[which] = quantile(turns, 0.1, [&](const Turn& t) { return t.seconds[which]; });
  return within_turns({low});
}

int measure(const Communicator& comm, std::uint64_t batch, std::uint64_t turns) {
  constexpr std::uint64_t features = 784;
  constexpr std::uint32_t blocks = 16;
  const auto network = make_objective(contender(sgd), features, 1);
  const Shard shard =
      random_shard(comm, features, 1, LabelKind::sign, blocks, root_burden(*network, batch, blocks));
  std::vector<std::unique_ptr<Subject>> subjects;
  for (int which = 0; which < contenders; ++which)
    subjects.push_back(std::make_unique<Subject>(comm, shard, contender(which), 1.0F, batch));

  constexpr std::uint64_t warm_up = 3;  // the first of them is private-diff's restart
  std::vector<Turn> all;
  std::array<std::size_t, contenders> order;
  std::iota(order.begin(), order.end(), 0);
  std::mt19937 bits(1);
  for (std::uint64_t turn = 0; turn < warm_up + turns; ++turn) {
    Turn now{};
    std::shuffle(order.begin(), order.end(), bits);
    for (const std::size_t which : order) {
      comm.barrier();
      const auto start = Clock::now();
      subjects[which]->step();
      now.seconds[which] = seconds_since(start);
    }
    if (turn >= warm_up) all.push_back(now);
  }
  if (comm.is_root())
    fmt::print(R"({{"batch":{},"ranks":{},"turns":{},"dp_sgd_us":{:.0f},"within_turns":{},"quiet_turns":{}}})"
               "\n",
               batch, comm.size(), turns, 1e6 * quantile(all, 0.1, [](const Turn& t) { return t.seconds[sgd]; }),
               within_turns(all), quiet(all));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: mpirun -n N saddle_steps_bench BATCH [TURNS]\n");
    return 2;
  }
  dpmpi::Session session(argc, argv);
  const auto batch = std::strtoull(argv[1], nullptr, 10);
  const auto turns = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 100;
  return session.run([&](const dpmpi::Communicator& world) {
    dpmpi::verify(turns >= 1 && turns < dpmpi::bench::Subject::most_steps - 3, "too few or too many turns");
    return measure(world, batch, turns);
  });
}
