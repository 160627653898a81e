// dpmpi with one fault: `fault_program PHASE RANK STEP CONFIG`. On that rank an exception is thrown while the data
// are loaded, in that step, or when the run saves its state. The tests look at how the whole job ends.

#include <cstdlib>
#include <stdexcept>
#include <string>

#include "dpmpi/comm/session.hpp"
#include "dpmpi/core/errors.hpp"
#include "dpmpi/run/trainer.hpp"

namespace dpmpi {
namespace {

std::string phase;
bool here = false;
std::uint64_t when = 0;

void fault(const std::string& now) {
  if (here && phase == now) throw std::runtime_error("injected fault in " + now);
}

// dp-sgd with the fault in front of its steps and around its state.
class Faulty final : public Method {
 public:
  Faulty() {
    for (const auto& entry : methods())
      if (entry.name == "dp-sgd") inner_ = entry.make();
  }
  void declare(Options& options) override { inner_->declare(options); }
  void validate(std::vector<std::string>& problems) const override { inner_->validate(problems); }
  std::uint64_t steps(const PublicFacts& facts) const override { return inner_->steps(facts); }
  std::vector<QuerySpec> queries(const PublicFacts& facts, double z) const override {
    return inner_->queries(facts, z);
  }
  void start(Objective& objective, const std::vector<Query>& queries, std::uint64_t steps) override {
    fault("load");
    inner_->start(objective, queries, steps);
  }
  void step(Curator& curator, std::uint64_t t) override {
    if (t == when) fault("step");
    inner_->step(curator, t);
    done_ = t + 1;
  }
  std::span<const float> iterate() const override {
    if (done_ > when) fault("save");
    return inner_->iterate();
  }
  void archive(Archive& archive) override { inner_->archive(archive); }

 private:
  std::unique_ptr<Method> inner_;
  std::uint64_t done_ = 0;
};

const MethodRegistration faulty{
    {"faulty", "dp-sgd with an injected fault", "tests", [] { return std::unique_ptr<Method>(new Faulty); }}};

}  // namespace
}  // namespace dpmpi

int main(int argc, char** argv) {
  using namespace dpmpi;
  if (argc != 5) return 99;
  phase = argv[1];
  when = std::strtoull(argv[3], nullptr, 10);
  const RunConfig config(argv[4], {"method.name=faulty", "report.progress=none"});
  Session session(argc, argv);
  here = session.world().rank() == std::atoi(argv[2]);
  return session.run(
      [&](const Communicator& world) { return static_cast<int>(train(world, config, {.quiet = true})); });
}
