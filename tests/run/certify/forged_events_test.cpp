// Runs that promise more than they keep: events were rewritten in plan, ledger and certificate, or settings that
// take long to plan again.
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <sys/resource.h>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/files/digest.hpp"
#include "run/certify/certificate.hpp"
#include "run/certify/forged_run.hpp"
#include "run/certify/verify.hpp"
#include "run/directory/files.hpp"
#include "support/process.hpp"
#include "support/programs.hpp"

namespace dpmpi::forged_events_test {
namespace {

namespace fs = std::filesystem;
using test::ForgedRun;
using test::overwrite;

class ForgedEvents : public ForgedRun {
 protected:
  void SetUp() override {
    ForgedRun::SetUp();
    begin_with_dp_sgd();
  }

  // All that a reader would compare: epsilon and the rest follow from the events in plan, ledger and certificate.
  void write(Files forged, const std::string& event) {
    const RunConfig config(finished_ + "/config.ini", {});
    forged.plan["events"] = forged.certificate["events"] = Json::array({Json::parse(event)});
    const std::vector<Event> events{std::get<Event>(parse_event_line(event, "forged").content)};
    const Guarantee g = certified(events, true, config.privacy.which(), config.privacy.delta, "rdp");
    for (Json* part : {&forged.plan, &forged.certificate}) {
      (*part)["epsilon"] = g.epsilon;
      (*part)["interval"] = {g.least, g.epsilon};
      (*part)["by"] = Json::object();
      for (const auto& [name, bound] : g.by) (*part)["by"][name] = bound;
    }
    forged.certificate["statement"] = statement(config, 500, g.epsilon, g.delta);
    forged.settle(Files::plan_file);
    forged.write(damaged_);
    epsilon_ = g.epsilon;
  }
  // With one member of the event changed everywhere.
  void rewrite(const std::string& member, const Json& value) {
    Files forged = *files_;
    for (std::size_t i = 1; i < forged.ledger.size(); ++i) forged.ledger[i][member] = value;
    Json event = forged.plan["events"][0];
    event[member] = value;
    write(forged, event.dump());
  }

  double epsilon_ = 0;
};

TEST_F(ForgedEvents, SamplingRate) {
  rewrite("sampling_rate", 0.0016);
  EXPECT_LT(epsilon_, 0.1);
  EXPECT_TRUE(bad(verify_run(damaged_)).starts_with("plan.json: by.")) << bad(verify_run(damaged_));
}

TEST_F(ForgedEvents, Noise) {
  rewrite("noise_multiplier", 100.0);
  EXPECT_LT(epsilon_, 0.1);
  EXPECT_TRUE(bad(verify_run(damaged_)).starts_with("plan.json: by.")) << bad(verify_run(damaged_));
}

TEST_F(ForgedEvents, Count) {
  Files forged = *files_;
  forged.ledger.resize(2);
  forged.ledger[1]["count"] = 1;
  Json event = forged.plan["events"][0];
  event["count"] = 1;
  write(forged, event.dump());
  EXPECT_LT(epsilon_, 2);
  EXPECT_TRUE(bad(verify_run(damaged_)).starts_with("plan.json: by.")) << bad(verify_run(damaged_));
}

// The plan as it was: the ledger and what follows from it.
TEST_F(ForgedEvents, InTheLedgerAlone) {
  Files forged = *files_;
  forged.ledger[2]["noise_multiplier"] = 100.0;
  forged.settle(Files::ledger_file, 2);
  forged.write(damaged_);
  EXPECT_EQ(bad(verify_run(damaged_)), "ledger.jsonl:3: noise_multiplier");
}

// Whoever writes the files chooses what it takes to plan them again.
class DearPlans : public ForgedEvents {
 protected:
  // The config with these values, and every digest that it is in settled.
  void settle_config(Files& forged, const std::map<std::string, std::string>& values) {
    std::string text = read_file(finished_ + "/config.ini");
    for (const auto& [from, to] : values) {
      ASSERT_NE(text.find(from), text.npos) << from;
      text.replace(text.find(from), from.size(), to);
    }
    fs::create_directories(folder_ + "/digest");
    overwrite(folder_ + "/digest/config.ini", text);
    const std::string digest = RunConfig(folder_ + "/digest/config.ini", {}).digest();
    for (Json* part : {&forged.plan, &forged.ledger[0], &forged.certificate})
      for (const char* name : {"config", "config_digest"})
        if (part->contains(name)) (*part)[name] = digest;
    forged.header["__metadata__"]["config"] = digest;
    forged.settle(Files::plan_file);
    forged.write(damaged_);
    overwrite(damaged_ + "/config.ini", text);
  }
  // By a process of its own, in little time and memory.
  void expect_answered(const std::string& place) const {
    rusage before{}, after{};
    ASSERT_EQ(::getrusage(RUSAGE_CHILDREN, &before), 0);
    const auto outcome = test::run_command(fmt::format("{} verify {}", test::program(), damaged_));
    ASSERT_EQ(::getrusage(RUSAGE_CHILDREN, &after), 0);
    EXPECT_EQ(outcome.code, 4);
    EXPECT_NE(outcome.output.find("\nBAD     " + place), std::string::npos) << outcome.output;
    EXPECT_LT(after.ru_utime.tv_sec - before.ru_utime.tv_sec, 4) << outcome.output;
    EXPECT_TRUE(after.ru_maxrss == before.ru_maxrss || after.ru_maxrss < 1200 * 1024) << after.ru_maxrss << " KiB";
  }
};

// As many steps as the config says, and no line for them.
TEST_F(DearPlans, OfMoreStepsThanTheLedgerPaysFor) {
  Files forged = *files_;
  forged.plan["steps"] = forged.certificate["steps"] = 1000000;
  forged.plan["events"][0]["count"] = forged.plan["noise"][0]["count"] = 1000000;
  forged.plan["accountant"] = forged.certificate["accountant"] = "best";
  ASSERT_NO_FATAL_FAILURE(
      settle_config(forged, {{"steps = 250", "steps = 1000000"}, {"accountant = rdp", "accountant = best"}}));
  expect_answered("ledger.jsonl         does not cover plan.json");
}
TEST_F(DearPlans, OfOtherSettingsThanThePlanStates) {
  Files forged = *files_;
  ASSERT_NO_FATAL_FAILURE(
      settle_config(forged, {{"steps = 250", "steps = 1000000"}, {"accountant = rdp", "accountant = best"}}));
  expect_answered("plan.json: accountant is");
}
TEST_F(DearPlans, OfMoreParametersThanTheModelHolds) {
  for (const char* objective : {"mean", "tune_gp"}) {
    Files forged = *files_;
    forged.plan["data"]["features"] = 300000000;
    forged.plan["objective"] = objective;
    ASSERT_NO_FATAL_FAILURE(settle_config(
        forged, {{"name = logistic", std::string("name = ") + objective}, {"class_weights = \n", ""}}));
    expect_answered("plan.json");
  }
}

// Two members of one name: readers differ in which of them they show.
TEST_F(ForgedEvents, MembersThatAreThereTwice) {
  Files forged = *files_;
  std::string text = forged.certificate.dump(2) + "\n";
  text.insert(2, "  \"epsilon\": 0.01,\n");
  forged.header["__metadata__"]["certificate"] = sha256(text);
  forged.write(damaged_);
  overwrite(damaged_ + "/certificate.json", text);
  EXPECT_EQ(bad(verify_run(damaged_)), "certificate.json");
}

// Facts that config.ini declares are not taken from anybody.
TEST_F(ForgedEvents, NumberOfRecordsThatTheConfigDeclares) {
  fs::remove_all(finished_);
  fs::remove_all(damaged_);
  run(folder_ + "/run.ini", {"data.records=500"});
  begin();
  EXPECT_FALSE(declared_->has("plan.json", "n"));
  Files forged = *files_;
  forged.plan["n"] = forged.ledger[0]["n"] = forged.certificate["n"] = 31250;
  forged.settle(Files::plan_file);
  forged.write(damaged_);
  EXPECT_EQ(bad(verify_run(damaged_)), "plan.json: n");
}

}  // namespace
}  // namespace dpmpi::forged_events_test
