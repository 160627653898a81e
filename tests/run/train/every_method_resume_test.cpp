// Whole runs of every registered method, so also of a new one: stopped or killed, killed again, and gone on with on
// other numbers of ranks, they end with the bytes of a run that was left alone.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "run/short_runs.hpp"
#include "support/run_folder.hpp"

namespace dpmpi::test::every_method_resume_test {
namespace {

namespace fs = std::filesystem;

/// Where the first process, on 3 ranks, and the second, on 2, meet their end: see fault_program.cpp.
struct Interruptions {
  std::string first = "step@2#3=usr1", second = "step@1#2=kill";
};

/// Of methods whose steps are few, or are long and begun again. The root dies first, in a release: a worker's death
/// in the first step may come before the root has left anything to go on with.
Interruptions interruptions_of(const std::string& method) {
  static const std::map<std::string, Interruptions> own{
      {"random-search", {"step@2#2=usr1", "release@0#1=kill"}},
      {"random-stopping", {"release@0#1=kill", "reduce@1#1=kill"}},
      {"ht-glm", {"release@0#2=kill", "phase@1#1=kill"}},
      {"ht-smooth", {"release@0#1=kill", "phase@1#1=kill"}},
      {"ht-known-lipschitz", {"release@0#1=kill", "phase@1#1=kill"}},
  };
  const auto found = own.find(method);
  return found == own.end() ? Interruptions() : found->second;
}

/// A short run: a method with the settings of options_of(), or with others.
struct Case {
  std::string method;
  Settings settings;
  Interruptions interruptions = {};
};

Case short_run(const std::string& method) {
  const std::string objective = objective_of(method);
  Case made{method, options_of(method, objective), interruptions_of(method)};
  made.settings.emplace_back("objective.name=" + objective);
  if (objective == "auc") made.settings.emplace_back("objective.prior=0.5");
  return made;
}

void PrintTo(const Case& c, std::ostream* out) {
  *out << fmt::format("{} {}", c.method, fmt::join(c.settings, " "));
}

/// The same with more settings.
Case with(Case made, const Settings& more) {
  made.settings.insert(made.settings.end(), more.begin(), more.end());
  return made;
}

/// Every method, and the ways of those that keep something else between steps.
std::vector<Case> cases() {
  std::vector<Case> all;
  for (const std::string& method : product_methods()) all.push_back(short_run(method));
  for (const char* name : {"private-diff", "dp-sgda"})
    all.push_back(with(short_run(name), {"method.prior=private", "method.average=0.9"}));
  all.push_back(with(short_run("zo-o2nc"), {"method.strategy=sqrt_toeplitz", "method.adaptive_clip=true"}));
  all.push_back(with(short_run("zo-o2nc"), {"method.restart=4", "method.passes=2", "method.directions=iid"}));
  all.push_back(with(short_run("zo-naive"), {"method.passes=2", "method.output=stationarity"}));
  all.push_back(with(short_run("dp-ftrl"), {"method.momentum=0.9"}));
  all.push_back({"private-diff", options_of("private-diff", "td")});
  for (const char* more :
       {"objective.name=td", "objective.value=network", "\"objective.layers=dense 4, tanh, dense 1\""})
    all.back().settings.emplace_back(more);
  for (const char* strategy : {"sqrt_toeplitz", "blt", "lambda", "identity"})
    all.push_back(with(short_run("dp-ftrl"), {"method.passes=3", "method.participation=continue",
                                              fmt::format("method.strategy={}", strategy)}));
  all.push_back(with(short_run("dp-ftrl"), {"method.passes=3", "method.strategy=normalized_blt"}));
  all.push_back(with(short_run("dp-sgd"), {"method.sampling=balls_in_bins"}));
  all.push_back(with(short_run("dp-ftrl"), {"method.sampling=cyclic_poisson", "method.strategy=banded_blt",
                                            "method.groups=3", "method.passes=3"}));
  for (const char* name : {"dp-sgd", "dp-ftrl"})
    all.push_back(with(short_run(name), {"method.clip_quantile=0.5", "method.clip_rate=1"}));
  all.push_back(with(short_run("gibo"), {"method.step=adagrad", "method.center=per_sample"}));
  all.push_back({"ht-glm", {"method.batch=1", "privacy.trust=cluster"}, interruptions_of("ht-glm")});
  all.push_back({"ht-smooth",
                 {"method.mode=guarded", "method.rate=1e-4", "method.clip=1", "method.hits=20", "method.phases=3",
                  "privacy.trust=cluster", "objective.name=mean"},
                 interruptions_of("ht-smooth")});
  all.push_back({"dp-sgd",
                 {"method.batch=50", "method.steps=3", "method.clip=0.5", "tune.search=method.rate=0.1,0.5,2",
                  "tune.gamma=0.1", "privacy.trust=cluster"},
                 {"reduce@1#3=kill", "release@0#6=kill"}});
  const Settings hidden{"method.directions=3",   "method.steps=60",
                        "method.window=40",      "method.share=0.5",
                        "method.ball=0.3",       "method.feature_bound=1",
                        "method.batch=60",       "privacy.noise_multiplier=40",
                        "privacy.trust=cluster", "privacy.adjacency=replace_one"};
  all.push_back(with({"zo-hidden", hidden}, {"method.sampling=wor"}));
  all.push_back(with({"zo-hidden", hidden}, {"method.sampling=reshuffle", "method.release=25"}));
  return all;
}

class EveryMethodsRun : public RunFolder, public ::testing::WithParamInterface<Case> {
 protected:
  static Outcome alone_when_free(const std::string& what) {
    Outcome outcome;
    for (int attempt = 0; attempt < 100; ++attempt) {
      outcome = alone("none", what);
      if (!contains(outcome, "is in use by")) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
    return outcome;
  }

  /// The exit code that belongs to a fault.
  static int code_of(const std::string& fault) { return fault.ends_with("=kill") ? 137 : 6; }

  static void expect_private(const std::string& folder) {
    using enum fs::perms;
    for (const auto& file : fs::directory_iterator(folder))
      EXPECT_EQ(file.status().permissions(), owner_read | owner_write) << file.path();
  }

  void check(const Case& c) const {
    SCOPED_TRACE(fmt::format("{}: {}", c.method, fmt::join(c.settings, " ")));
    const std::string whole = folder_ + "/whole";
    fs::remove_all(whole);
    fs::remove_all(run_);
    const std::string settings = fmt::format("method.name={} {}", c.method, fmt::join(c.settings, " "));
    const Outcome left_alone = alone("none", fmt::format("{} {} run.dir={}", config_, settings, whole));
    ASSERT_EQ(left_alone.code, 0) << left_alone.output;

    const Outcome first =
        launch(3, c.interruptions.first, fmt::format("{} {} run.dir={}", config_, settings, run_));
    ASSERT_EQ(first.code, code_of(c.interruptions.first)) << c.interruptions.first << "\n" << first.output;
    if (fs::exists(run_ + "/checkpoint")) expect_private(run_ + "/checkpoint");
    const Outcome second = launch_when_free(2, c.interruptions.second, run_);
    ASSERT_EQ(second.code, code_of(c.interruptions.second)) << c.interruptions.second << "\n" << second.output;
    EXPECT_FALSE(fs::exists(run_ + "/certificate.json"));
    const Outcome last = alone_when_free(run_);
    ASSERT_EQ(last.code, 0) << last.output;
    expect_same_bytes(whole, run_);
  }
};

TEST_P(EveryMethodsRun, EndsWithTheSameBytesWhateverInterruptsIt) {
  std::ofstream(config_) << fmt::format(
      "[run]\ndir = {0}/run\ncheckpoint_every = 2\n[data]\nblocks = 4\ntrain = {0}/train.csv\neval = "
      "{0}/train-eval.csv\n[privacy]\nnoise_multiplier = 1\ndelta = 1e-4\nseed = 9\n[report]\neval_every = 3\n",
      folder_);
  check(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Registered, EveryMethodsRun, ::testing::ValuesIn(cases()), [](const auto& c) {
  std::string word = fmt::format("{}_{}", c.param.method, c.index);
  std::ranges::replace(word, '-', '_');
  return word;
});

}  // namespace
}  // namespace dpmpi::test::every_method_resume_test
