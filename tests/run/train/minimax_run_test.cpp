// Whole runs of the min-max methods: killed and gone on with, on shards that no label touches, and what they say of
// themselves.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "privacy/events/ledger.hpp"
#include "run/directory/files.hpp"
#include "run/plan/plan.hpp"
#include "support/programs.hpp"
#include "support/run_folder.hpp"

namespace dpmpi::minimax_run_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class MinMaxRun : public test::RunFolder {
 protected:
  std::string with(const std::string& method, const std::string& dir, const std::string& more = "") const {
    return fmt::format("{} objective.name=auc objective.prior=0.5 method.name={} method.steps=90 run.dir={} {}",
                       config_, method, dir, more);
  }
  static void expect_same_bytes(const std::string& a, const std::string& b, const std::string& how) {
    for (const char* name : {"model.safetensors", "ledger.jsonl", "metrics.jsonl", "certificate.json", "plan.json"})
      EXPECT_EQ(read_file(a + "/" + name), read_file(b + "/" + name)) << name << " " << how;
  }
  static std::vector<Event> events(const std::string& run) {
    std::istringstream in(read_file(run + "/ledger.jsonl"));
    return read_events(in, "ledger").events;
  }
};

// A28. Killed at round 37, between two checkpoints (30 and 60), in whatever part of the round.
TEST_F(MinMaxRun, AKilledRunEndsWithTheSameBytesAndTheSameLedger) {
  for (const char* method : {"private-diff", "dp-sgda"}) {
    const std::string own = std::string(method) == "private-diff" ? "method.dual_steps=2 " : "";
    const std::string more = own + "privacy.seed=5 method.prior=private method.average=0.9";
    const std::string whole = folder_ + "/whole-" + method;
    ASSERT_EQ(alone("none", with(method, whole, more)).code, 0);
    const json plan = json::parse(read_file(whole + "/plan.json"));
    std::vector<Event> planned;
    for (const json& event : plan["events"])
      planned.push_back(std::get<Event>(parse_event_line(event.dump(), "plan").content));
    EXPECT_TRUE(same_events(events(whole), planned)) << "not short, nothing twice";
    EXPECT_EQ(json::parse(read_file(whole + "/certificate.json"))["plan_digest"], file_digest(whole + "/plan.json"))
        << "a plan does not change with the prior that is released";
    for (const char* fault : {"step@0#38=kill", "reduce@0#112=kill", "release@0#112=kill"}) {
      const std::string killed = folder_ + "/killed";
      fs::remove_all(killed);
      ASSERT_EQ(alone(fault, with(method, killed, more)).code, 137) << fault;
      const auto outcome = alone("none", killed);
      ASSERT_EQ(outcome.code, 0) << outcome.output;
      expect_same_bytes(whole, killed, fault);
      if (std::string(method) == "dp-sgda") break;  // has fewer reductions
    }
  }
}

// A27. One rank holds no positive record, and with an expected batch of 2 a rank's sample is mostly empty.
TEST_F(MinMaxRun, RanksWithoutPositivesOrWithoutASampleChangeNothing) {
  std::istringstream in(read_file(folder_ + "/train.csv"));
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  const bool header = lines.front().find_first_of("abcdfghijklmnopqrstuvwxyz") != std::string::npos;
  std::sort(lines.begin() + (header ? 1 : 0), lines.end(), [](const std::string& a, const std::string& b) {
    return (a.rfind(",-1") + 3 == a.size() || a.starts_with("-1,")) <
           (b.rfind(",-1") + 3 == b.size() || b.starts_with("-1,"));
  });
  std::ofstream out(folder_ + "/train.csv", std::ios::trunc);
  for (const auto& line : lines) out << line << "\n";
  out.close();
  const std::string more = "privacy.seed=5 method.batch=2";
  ASSERT_EQ(alone("none", with("private-diff", folder_ + "/one", more)).code, 0);
  const auto outcome = launch(4, "none", with("private-diff", folder_ + "/four", more));
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  expect_same_bytes(folder_ + "/one", folder_ + "/four", "on four ranks");
}

// T16 and T21: public metrics only, and a guarantee that names adjacency, sampling, n, rate, delta and ledger.
TEST_F(MinMaxRun, TrapReportsHoldPublicNumbersAndAWholeGuarantee) {
  const std::string run = folder_ + "/said";
  ASSERT_EQ(alone("none", with("private-diff", run)).code, 0);
  std::istringstream metrics(read_file(run + "/metrics.jsonl"));
  const std::set<std::string> allowed{"step",         "epsilon",       "eval.loss",         "eval.accuracy",
                                      "eval.auc",     "clip.cut",      "clip.size_10",      "clip.size_50",
                                      "clip.size_90", "constant.loss", "constant.accuracy", "warnings"};
  int count = 0;
  for (std::string line; std::getline(metrics, line); ++count) {
    const json metric = json::parse(line);
    for (const auto& [key, value] : metric.items()) EXPECT_TRUE(allowed.contains(key)) << key;
  }
  EXPECT_GT(count, 0);

  const json certificate = json::parse(read_file(run + "/certificate.json"));
  EXPECT_EQ(certificate["adjacency"], "add_remove");
  EXPECT_EQ(certificate["n"], 400);
  EXPECT_EQ(certificate["delta"], 1e-4);
  EXPECT_EQ(certificate["events"].size(), 3u) << "restart, difference and dual";
  for (const json& event : certificate["events"]) EXPECT_EQ(event["sampling_rate"], 50.0 / 400);
  EXPECT_TRUE(certificate["ledger_head"].is_string());
  EXPECT_LT(certificate["epsilon"].get<double>(), 10);
  const json plan = json::parse(read_file(run + "/plan.json"));
  for (const json& query : plan["noise"])
    EXPECT_NE(query["sampling"].get<std::string>().find("oisson"), std::string::npos);
}

TEST_F(MinMaxRun, WhatIsNotPrivateSaysSo) {
  for (const char* method : {"dp-sgda", "private-diff"}) {
    const std::string run = folder_ + "/open-" + method;
    const auto outcome = test::run_command(
        fmt::format("{} --config {} --set objective.name=auc --set objective.prior=0.5 --set method.name={} "
                    "--set privacy.noise=none --set method.steps=9 --set run.dir={}",
                    test::program(), config_, method, run));
    ASSERT_EQ(outcome.code, 0) << outcome.output;
    EXPECT_TRUE(contains(outcome, "NOT PRIVATE")) << outcome.output;
    const json certificate = json::parse(read_file(run + "/certificate.json"));
    EXPECT_EQ(certificate["epsilon"], "infinity");
    EXPECT_TRUE(certificate["statement"].get<std::string>().starts_with("NOT PRIVATE"));
  }
}

// A30. A target is kept by the plan, before the first round: what would exceed it is not begun.
TEST_F(MinMaxRun, ATargetIsKeptFromTheStart) {
  const std::string run = folder_ + "/target";
  std::ofstream(config_, std::ios::trunc) << "[data]\ntrain = train.csv\nheader = yes\nblocks = 4\n[method]\nbatch "
                                             "= 50\n[privacy]\nepsilon = 2\ndelta = 1e-4\n";
  ASSERT_EQ(alone("none", with("private-diff", run)).code, 0);
  const json certificate = json::parse(read_file(run + "/certificate.json"));
  EXPECT_LE(certificate["epsilon"].get<double>(), 2);
  EXPECT_GT(certificate["epsilon"].get<double>(), 1.99);
  // Noise of a private prior that alone costs more than the target cannot be made up for.
  const auto outcome =
      alone("none", with("private-diff", run + "2", "method.prior=private method.prior_noise=0.2"));
  EXPECT_EQ(outcome.code, 4) << outcome.output;
  EXPECT_FALSE(fs::exists(run + "2/ledger.jsonl"));
}

}  // namespace
}  // namespace dpmpi::minimax_run_test
