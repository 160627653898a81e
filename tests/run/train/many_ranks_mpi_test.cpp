// More ranks than the other tests have: launched with 64, or 256, and skipped in a smaller launch.
#include <string>

#include "run/train/invariance.hpp"

namespace dpmpi::test::invariance {
namespace {

class ManyRanks : public Invariance {
 protected:
  void SetUp() override {
    if (test::world().size() < 64) GTEST_SKIP() << "needs a launch of 64 ranks";
  }
};

// A short run of every method leaves the bytes of one rank, although most ranks hold two or three records.
TEST_F(ManyRanks, EveryMethod) {
  const int all = test::world().size();
  for (const std::string& method : product_methods()) {
    const std::string objective = objective_of(method);
    Settings settings = needs(objective, Storage::dense_f32);
    const Settings short_run = options_of(method, objective);
    settings.insert(settings.end(), short_run.begin(), short_run.end());
    settings.insert(settings.end(), {fmt::format("data.blocks={}", all), "method.name=" + method,
                                     "objective.name=" + objective, "privacy.accountant=rdp"});
    expect_same({1, all}, settings, method);
  }
}

}  // namespace
}  // namespace dpmpi::test::invariance
