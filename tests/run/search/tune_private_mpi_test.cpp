// A search on several ranks whose models are trained on a second private set: every rank reads that, so every rank
// must be trusted with it. (That all files have the same bytes on any number of ranks is Invariance's.)
#include <string>

#include "core/errors.hpp"
#include "data/load/load.hpp"
#include "run/search/tune_private.hpp"
#include "run/search/tuning_folder.hpp"
#include "support/mpi_harness.hpp"

namespace dpmpi::tune_private_mpi_test {
namespace {

TEST(TunePrivateRanks, TrainersMustTrustThem) {
  const test::TuningFolder here{::testing::TempDir() + "dpmpi_tune_private_ranks"};
  if (test::world().is_root()) {
    here.make();
    here.write_trainer("noise_multiplier = 2\n");
  }
  test::world().barrier();
  test::for_each_size({1, 2, 3}, [&](const Communicator& comm) {
    const RunConfig config(here.config(), {});
    PublicFacts facts;
    facts.data = inspect(comm, config.find_files().training);
    const auto objective = make_objective(config, facts.data);
    facts = public_facts(config, facts.data, *objective);
    std::string message;
    try {
      plan_on_all_ranks(comm, config, facts);
    } catch (const PrivacyError& e) {
      message = e.what();
    }
    if (comm.size() == 1)
      EXPECT_EQ(message, "");
    else
      EXPECT_NE(message.find("Set privacy.trust = cluster there"), message.npos) << message;
  });
}

}  // namespace
}  // namespace dpmpi::tune_private_mpi_test
