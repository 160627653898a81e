// Every member of every file of runs of many kinds, changed, removed or added: verify finds it, or has said
// beforehand that it checks no such member.
#include <filesystem>
#include <functional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "run/audit/audit.hpp"
#include "run/certify/changed_members.hpp"
#include "run/certify/forged_run.hpp"
#include "run/certify/verify.hpp"
#include "run/directory/files.hpp"
#include "run/search/tuning_folder.hpp"

namespace dpmpi::forgery_test {
namespace {

namespace fs = std::filesystem;
using test::dotted;
using test::each_place;
using test::flipped;
using test::ForgedRun;
using test::overwrite;

struct Kind {
  std::string name, config;
};
void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

constexpr const char* replaced =
    "[privacy]\nepsilon = 3\ndelta = 1e-4\naccountant = rdp\ntrust = cluster\nadjacency = replace_one\n";

const std::vector<Kind>& kinds() {
  const char* const budget = ForgedRun::budget;
  static const std::vector<Kind> all{
      {"dp_sgd", std::string(ForgedRun::dp_sgd) + budget},
      {"dp_sgd_discrete",
       std::string("[method]\nbatch = 50\nsteps = 120\n") + budget + "noise = discrete_gaussian\n"},
      {"dp_ftrl", std::string("[method]\nname = dp-ftrl\nbatch = 50\npasses = 2\n") + budget},
      {"following_clip", std::string("[method]\nbatch = 50\nsteps = 120\nclip_quantile = 0.5\n") + budget},
      {"following_tree",
       std::string("[method]\nname = dp-ftrl\nbatch = 50\npasses = 2\nrestarts = 2\nclip_quantile = 0.5\n") +
           budget},
      {"noiseless", "[method]\nbatch = 50\nsteps = 120\n[privacy]\nnoise = none\ndelta = 1e-4\n"},
      {"zo_hidden",
       "[method]\nname = zo-hidden\ndirections = 3\nsteps = 60\nwindow = 40\nshare = 0.5\nball = 0.3\n"
       "feature_bound = 1\n[privacy]\nnoise_multiplier = 40\ndelta = 1e-4\nadjacency = replace_one\n"
       "trust = cluster\n"},
      {"ht_glm",
       "[method]\nname = ht-glm\nbatch = 8\nphases = 3\n[privacy]\nnoise_multiplier = 1\ndelta = 1e-4\n"
       "trust = cluster\n"},
      {"ht_smooth",
       std::string("[objective]\nname = mean\n[method]\nname = ht-smooth\nmode = guarded\nrate = 1e-5\n"
                   "clip = 1\nhits = 20\nphases = 3\n") +
           replaced},
      {"random_stopping", std::string("[method]\nname = random-stopping\ngamma = 0.1\n") + replaced},
      {"tuned",
       std::string("[method]\nbatch = 50\nsteps = 9\n[tune]\ngamma = 0.3\nsearch = method.rate=0.1,1\n") + budget},
      {"auc",
       std::string("[objective]\nname = auc\nprior = 0.5\n[method]\nname = dp-sgda\nbatch = 50\nsteps = 90\n") +
           budget}};
  return all;
}

class EveryKind : public ForgedRun, public ::testing::WithParamInterface<Kind> {};

TEST_P(EveryKind, EveryMemberOfEveryFileIsCheckedOrNamed) {
  configure(GetParam().config);
  ASSERT_NO_FATAL_FAILURE(run(folder_ + "/run.ini"));
  ASSERT_NO_FATAL_FAILURE(begin());
  flip_everything();
  EXPECT_GT(flips_, 200);
  EXPECT_LT(unnoticed_, 100);
}

INSTANTIATE_TEST_SUITE_P(Runs, EveryKind, ::testing::ValuesIn(kinds()),
                         [](const auto& kind) { return kind.param.name; });

// What was chosen, and its score, may be anything that fits, but they must be there.
TEST_F(ForgedRun, ATunedRunSaysWhatItChose) {
  for (const Kind& kind : kinds())
    if (kind.name == "tuned") configure(kind.config);
  ASSERT_NO_FATAL_FAILURE(run(folder_ + "/run.ini"));
  ASSERT_NO_FATAL_FAILURE(begin());
  const auto bad_after = [&](const std::function<void(Json&)>& change) {
    Files forged = *files_;
    change(forged.metrics.back());
    forged.settle(Files::metrics_file, forged.metrics.size() - 1);
    forged.write(damaged_);
    return bad(verify_run(damaged_, *derived_));
  };
  EXPECT_EQ(bad_after([](Json&) {}), "");
  EXPECT_EQ(bad_after([](Json& line) { line["method.score"] = 0.25; }), "");
  EXPECT_EQ(bad_after([](Json& line) { line.erase("tuned"); }), "metrics.jsonl:2");
  EXPECT_EQ(bad_after([](Json& line) { line.erase("method.score"); }), "metrics.jsonl:2");
  EXPECT_EQ(bad_after([](Json& line) { line.erase("tuned"), line.erase("method.score"); }), "metrics.jsonl:2");
  EXPECT_EQ(bad_after([](Json& line) { line["method.score"] = nullptr; }), "metrics.jsonl:2");
}

// A clip that follows the norms is computed again from the share that was within the last one, where two lines are
// one step apart. Else it is no farther than it can have come.
TEST_F(ForgedRun, AClipThatDoesNotFollowFromTheLastOneIsFound) {
  for (const auto& [every, method] : {std::pair{"1", "steps = 21"},
                                      {"7", "steps = 21"},
                                      {"1", "name = dp-ftrl\nrestarts = 2"},
                                      {"7", "name = dp-ftrl\nrestarts = 2"},
                                      {"1", "name = clipped-gd\nclip_rule = fixed\nclip = 1\nsteps = 21"}}) {
    configure(
        fmt::format("[method]\nbatch = 50\n{}\nclip_quantile = 0.5\nclip_rate = 0.5\nclip_share = 0.25\n", method) +
        budget);
    ASSERT_NO_FATAL_FAILURE(run(folder_ + "/run.ini", {std::string("report.eval_every=") + every}));
    ASSERT_NO_FATAL_FAILURE(begin());
    const auto found = [&](const char* member, double factor) {
      Files forged = *files_;
      Json& value = forged.metrics.back()[member];
      value = factor * value.get<double>();
      forged.settle(Files::metrics_file, forged.metrics.size() - 1);
      forged.write(damaged_);
      return bad(verify_run(damaged_, *derived_)).starts_with("metrics.jsonl");
    };
    const bool each = every[0] == '1';
    EXPECT_FALSE(found("method.clip", 1));
    EXPECT_EQ(found("method.clip", 1.0001), each);
    EXPECT_EQ(found("method.clip_within", 1.0001), each);
    for (const double wrong : {1e6, 1e-6, -1.0, 0.0}) EXPECT_TRUE(found("method.clip", wrong)) << wrong;
    EXPECT_TRUE(found("method.clip_within", -1));
    fs::remove_all(finished_), fs::remove_all(damaged_);
  }
}

// ---- Runs with more files

TEST_F(ForgedRun, MembersOfASearchThatTrainsOnASecondSet) {
  const test::TuningFolder here{folder_ + "/search"};
  here.make();
  ASSERT_NO_FATAL_FAILURE(run(here.config()));
  ASSERT_NO_FATAL_FAILURE(begin());
  flip_everything();
  flip_settings("trainer.ini");
  EXPECT_GT(flips_, 300);
}

TEST_F(ForgedRun, MembersOfAnAuditThatTheCertificateQuotes) {
  configure(std::string(dp_sgd) + budget);
  const std::string config = folder_ + "/run.ini", result = folder_ + "/result.json";
  overwrite(result, audit(Communicator::alone(), config, {"audit.game=worst_case", "audit.runs=64"}, true).json());
  ASSERT_NO_FATAL_FAILURE(run(config, {"audit.result=" + result}));
  ASSERT_NO_FATAL_FAILURE(begin());
  ASSERT_TRUE(files_->certificate.contains("audit"));
  flip_all(Files::certificate_file, [](Files& f) -> Json& { return f.certificate; });
  files_->write(damaged_);
  Json report = Json::parse(read_file(finished_ + "/audit.json"));
  each_place(report, Pointer(), [&](const Pointer& at) {
    const auto other = flipped(report[at]);
    if (!other) return;
    Json forged = report;
    forged[at] = *other;
    overwrite(damaged_ + "/audit.json", forged.dump(2) + "\n");
    EXPECT_TRUE(!bad(verify_run(damaged_, *derived_)).empty() || declared_->has("audit.json", dotted(at)))
        << dotted(at);
  });
}

// A library that a run names is somebody else's code.
TEST_F(ForgedRun, PluginsAreNotLoaded) {
  const std::string library = folder_ + "/loss.so";
  fs::copy_file(DPMPI_PINBALL_PLUGIN, library);
  configure("[objective]\nname = plugin\nlibrary = " + library +
            "\n[method]\nname = random-stopping\ngamma = 0.3\n" + replaced);
  ASSERT_NO_FATAL_FAILURE(run(folder_ + "/run.ini"));
  fs::remove(library);
  ASSERT_NO_FATAL_FAILURE(begin());
  EXPECT_TRUE(declared_->has("plan.json", "dim"));
  flip_all(Files::plan_file, [](Files& f) -> Json& { return f.plan; });
  flip_all(Files::certificate_file, [](Files& f) -> Json& { return f.certificate; });
}

}  // namespace
}  // namespace dpmpi::forgery_test
