// Runs that keep records out of training: what they promise and to whom, what a kill leaves, and what verify finds.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/files/digest.hpp"
#include "data/load/held_out.hpp"
#include "data/synthetic/generate.hpp"
#include "run/certify/verify.hpp"
#include "run/config/config.hpp"
#include "run/directory/files.hpp"
#include "run/held_out/stated_results.hpp"
#include "run/plan/evaluation_plan.hpp"
#include "run/report/numbers.hpp"
#include "run/report/report.hpp"
#include "run/train/check.hpp"
#include "run/train/train.hpp"
#include "support/data_files.hpp"
#include "support/run_folder.hpp"

namespace dpmpi::test::held_out_run_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using State = VerifiedItem::State;

class HeldOutRun : public RunFolder {
 protected:
  void SetUp() override {
    RunFolder::SetUp();
    GenerateOptions options;
    options.records = 1000, options.eval_records = 0, options.features = 5;
    options.output = folder_ + "/train.csv";
    generate(options);
    overwrite_config("");
  }
  void overwrite_config(const std::string& data) const {
    std::ofstream(config_) << "[run]\ndir = " << run_
                           << "\ncheckpoint_every = 10\n[data]\nblocks = 8\ntrain = " << folder_
                           << "/train.csv\nheader = yes\ntest_share = 0.3\n"
                           << data
                           << "[method]\nbatch = 50\nsteps = 40\n[privacy]\nepsilon = 2\ndelta = 1e-4\n"
                              "[report]\nprogress = none\n";
  }
  std::string without_noise() const {
    std::string text = dpmpi::read_file(config_);
    text.replace(text.find("epsilon = 2"), std::string("epsilon = 2").size(), "noise = none");
    return text;
  }
  void train_here(std::vector<std::string> settings = {}) const {
    fs::remove_all(run_);
    ASSERT_EQ(train(Communicator::alone(), RunConfig(config_, settings), {.quiet = true}), ExitCode::done);
  }
  json file(const std::string& name) const { return json::parse(dpmpi::read_file(run_ + "/" + name)); }
  std::string refusal(const std::vector<std::string>& settings) const {
    try {
      check_inputs(Communicator::alone(), RunConfig(config_, settings));
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
  /// Where verify finds fault; empty: nowhere.
  std::string bad() const {
    for (const VerifiedItem& item : verify_run(run_, results_again))
      if (item.state == State::bad) return item.place + ": " + item.detail;
    return "";
  }
};

TEST_F(HeldOutRun, KeepsThePromiseToBothParts) {
  for (const char* adjacency : {"add_remove", "replace_one"}) {
    train_here({std::string("privacy.adjacency=") + adjacency});
    const json certificate = file("certificate.json"), plan = file("plan.json"), found = file("evaluation.json");
    EXPECT_EQ(certificate["n"], 700);
    EXPECT_EQ(certificate["evaluation"]["n"], 300);
    EXPECT_EQ(certificate["whole"]["n"], 1000);
    const double training = certificate["epsilon"], evaluation = certificate["evaluation"]["epsilon"];
    EXPECT_LE(training, 2);
    EXPECT_LE(evaluation, training) << "so the certificate's first number is true of everybody";
    EXPECT_GT(evaluation, 0.999 * training);
    EXPECT_EQ(certificate["whole"]["epsilon"], training);
    EXPECT_EQ(certificate["evaluation"]["delta"], certificate["delta"]);
    EXPECT_EQ(plan["evaluation"]["events"], certificate["evaluation"]["events"]);
    EXPECT_EQ(found["held_out"], 300);
    EXPECT_TRUE(found["metrics"].contains("auc"));
    EXPECT_EQ(bad(), "");
  }
}

// With one epsilon for both parts an attacker may still find more of those who are counted.
TEST_F(HeldOutRun, WhatAnAttackerFindsIsTrueOfBothParts) {
  train_here();
  const json plan = file("plan.json"), held_out = plan["evaluation"]["attacker"];
  const RunConfig config(config_, {});
  DatasetFacts facts{1000, 5, Storage::dense_f32};
  parts_of(0.3, facts);
  const auto objective = make_objective(config, facts);
  const Plan training = make_plan(config, public_facts(config, facts, *objective));
  bool more = false;
  for (const auto& [rate, power] : training.promise.attacker) {
    const std::string key = fmt::format("{}", rate);
    EXPECT_DOUBLE_EQ(plan["attacker"][key].get<double>(), std::max(power, held_out[key].get<double>())) << key;
    more = more || held_out[key].get<double>() > power;
  }
  EXPECT_TRUE(more) << "else this tests nothing";
  const std::string page = report_html({run_}, false);
  for (const auto& [rate, power] : plan["attacker"].items())
    EXPECT_NE(page.find(">" + shown_above(100 * power.get<double>()) + " %</td>"), std::string::npos) << rate;
  EXPECT_NE(page.find("slot is in both parts"), std::string::npos) << "the statement to everybody";
}

TEST_F(HeldOutRun, EndsWithMetricsWithoutAnyPublicFile) {
  train_here({"privacy.epsilon=10"});
  const std::string lines = dpmpi::read_file(run_ + "/metrics.jsonl");
  EXPECT_NE(lines.find("test.accuracy"), std::string::npos);
  const json metrics = file("evaluation.json")["metrics"];
  EXPECT_GT(metrics["auc"]["value"].get<double>(), 0.5);
  EXPECT_LT(metrics["auc"]["low"], metrics["auc"]["value"]);
  EXPECT_LT(metrics["auc"]["value"], metrics["auc"]["high"]);
  const std::string page = report_html({run_}, false);
  EXPECT_NE(page.find("How good the model is on those whom it has not seen"), std::string::npos);
  EXPECT_EQ(page.find("Not measured"), std::string::npos);
}

TEST_F(HeldOutRun, OfClassesHasANoisyConfusionMatrix) {
  GenerateOptions options;
  options.kind = "blobs", options.records = 1000, options.eval_records = 0, options.features = 5;
  options.output = folder_ + "/blobs.csv";
  generate(options);
  train_here({"data.train=" + folder_ + "/blobs.csv", "objective.name=softmax", "objective.classes=5"});
  const json found = file("evaluation.json");
  EXPECT_EQ(found["confusion"].size(), 5U);
  EXPECT_TRUE(found["metrics"].contains("recall.4"));
  EXPECT_NE(report_html({run_}, false).find("95 % interval"), std::string::npos);
  EXPECT_EQ(bad(), "");
}

TEST_F(HeldOutRun, WithoutNoiseHasExactCounts) {
  const std::string text = without_noise();
  std::ofstream(config_) << text;
  train_here();
  double all = 0;
  const json found = file("evaluation.json");
  for (const json& bin : found["bins"])
    for (const double count : bin["counts"]) {
      EXPECT_EQ(count, std::round(count));
      all += count;
    }
  EXPECT_EQ(all, 300);
  EXPECT_EQ(file("certificate.json")["evaluation"]["epsilon"], "infinity");
  EXPECT_EQ(bad(), "");
}

TEST_F(HeldOutRun, DeclaredAndCountedNumbersArePlannedAlike) {
  train_here();
  const json counted = file("plan.json")["evaluation"];
  train_here({"data.records=1000"});
  EXPECT_EQ(file("plan.json")["evaluation"], counted);
  EXPECT_EQ(bad(), "");
  train_here({"data.records=1100"});
  EXPECT_EQ(file("certificate.json")["n"], 770);
  EXPECT_EQ(file("certificate.json")["evaluation"]["n"], 330);
  EXPECT_EQ(bad(), "");
}

TEST_F(HeldOutRun, OfSitesHasAPartOfEach) {
  fs::copy(folder_ + "/train.csv", folder_ + "/other.csv");
  std::ofstream(folder_ + "/other.csv", std::ios::app)
      << dpmpi::read_file(folder_ + "/train.csv").substr(dpmpi::read_file(folder_ + "/train.csv").find('\n') + 1);
  const std::string files = folder_ + "/train.csv," + folder_ + "/other.csv";
  train_here({"data.train=", "data.shards=" + files});
  EXPECT_EQ(file("plan.json")["evaluation"]["shards"], json::parse("[300,600]"));
  EXPECT_EQ(file("certificate.json")["n"], 2100);
  EXPECT_EQ(bad(), "");
  train_here({"data.train=", "data.shards=" + files, "data.shard_records=1000,2000"});
  EXPECT_EQ(file("certificate.json")["n"], 2100);
  EXPECT_EQ(bad(), "");
}

TEST_F(HeldOutRun, OfPersonsHoldsOutPersons) {
  std::ofstream out(folder_ + "/persons.csv");
  std::ifstream in(folder_ + "/train.csv");
  std::string line;
  for (int i = -1; std::getline(in, line); ++i)
    out << (i < 0 ? "who" : fmt::format("P{}", i % 400)) << ',' << line << '\n';
  out.close();
  train_here({"data.train=" + folder_ + "/persons.csv", "data.person=who"});
  const json certificate = file("certificate.json");
  EXPECT_EQ(certificate["n"], 280);
  EXPECT_EQ(certificate["evaluation"]["n"], 120);
  EXPECT_NE(
      certificate["whole"]["statement"].get<std::string>().find("one person, with all records, among all 400"),
      std::string::npos);
  EXPECT_EQ(bad(), "");
}

// The counts of a run that was killed in its evaluation are those that would have been: no second noise.
TEST_F(HeldOutRun, KilledInItsEvaluationEndsWithTheSameBytes) {
  const std::string seeded = config_ + " privacy.seed=5";
  ASSERT_EQ(launch(2, "none", seeded).code, 0);
  const std::string whole = folder_ + "/whole";
  fs::rename(run_, whole);
  int ranks = 1;
  const std::vector<std::vector<const char*>> kills{
      {"reserved@0#2=kill"},
      {"write:evaluation_ledger@0#2=kill", "fsync:evaluation_ledger@0#1=kill", "tested@0#1=killall",
       "release@0#1=kill", "release@0#2=kill", "release@0#3=kill", "reduce@0#2=kill",
       "write:evaluation.json@0#1=kill", "rename:evaluation.json@0#1=kill", "write:certificate@0#1=kill"}};
  for (const auto& of_one_run : kills) {
    fs::remove_all(run_);
    std::string what = seeded;
    for (const char* fault : of_one_run) {
      EXPECT_NE(launch_when_free(ranks, fault, what).code, 0) << fault;
      ASSERT_FALSE(fs::exists(run_ + "/certificate.json")) << fault;
      ranks = ranks % 3 + 1;
      what = run_;
    }
    const Outcome resumed = launch_when_free(ranks, "none", run_);
    ASSERT_EQ(resumed.code, 0) << resumed.output;
    expect_same_bytes(whole, run_);
    for (const char* name : {"evaluation.json", "evaluation_ledger.jsonl"})
      EXPECT_EQ(dpmpi::read_file(whole + "/" + name), dpmpi::read_file(run_ + "/" + name)) << name;
    EXPECT_EQ(bad(), "");
  }
}

TEST_F(HeldOutRun, GoesOnWithTheSameHeldOutRecordsOnly) {
  ASSERT_NE(launch(1, "tested@0#1=kill", config_).code, 0);
  // A held-out record is another one.
  std::string text = dpmpi::read_file(folder_ + "/train.csv");
  const HeldOut parts(0.3, {1000, 5, Storage::dense_f32});
  std::size_t row = text.find('\n') + 1;
  for (std::uint64_t slot = 0; !parts.holds(slot); ++slot) row = text.find('\n', row) + 1;
  const std::size_t feature = text.find(',', row) + 1;
  text.replace(feature, text.find_first_of(",\n", feature) - feature, "0.125");
  std::ofstream(folder_ + "/train.csv", std::ios::binary) << text;
  const Outcome resumed = launch_when_free(1, "none", run_);
  EXPECT_NE(resumed.code, 0);
  EXPECT_TRUE(contains(resumed, "the held-out records are not those")) << resumed.output;
}

// No checkpoint has seen the ledger of an evaluation that has not begun: its header has to be the run's.
TEST_F(HeldOutRun, GoesOnWithTheHeaderThatItBeganWithOnly) {
  ASSERT_NE(launch(1, "tested@0#1=kill", config_).code, 0);
  const std::string ledger = run_ + "/evaluation_ledger.jsonl", text = dpmpi::read_file(ledger);
  const auto header = nlohmann::ordered_json::parse(text.substr(0, text.find('\n')));
  for (const auto& [member, value] :
       std::vector<std::pair<std::string, nlohmann::ordered_json>>{{"n", 200},
                                                                   {"adjacency", "replace_one"},
                                                                   {"seeded", true},
                                                                   {"config", std::string(64, 'a')},
                                                                   {"plan", std::string(64, 'b')},
                                                                   {"part", "training"}}) {
    auto other = header;
    other[member] = value;
    std::ofstream(ledger, std::ios::trunc) << other.dump() << "\n";
    const Outcome resumed = launch_when_free(1, "none", run_);
    EXPECT_NE(resumed.code, 0) << member;
    EXPECT_TRUE(contains(resumed, "evaluation_ledger.jsonl:1 is not the header")) << member << resumed.output;
  }
  std::ofstream(ledger, std::ios::trunc) << text;
  EXPECT_EQ(launch_when_free(1, "none", run_).code, 0);
  EXPECT_EQ(bad(), "");
}

/// Lines of a ledger with their chain made new.
void write_chained(const std::string& path, std::vector<std::string> lines) {
  std::string text = lines[0] + "\n";
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::size_t link = lines[i].find(R"("prev":")");
    lines[i].replace(link, lines[i].size() - link, fmt::format(R"("prev":"{}"}})", sha256(lines[i - 1])));
    text += lines[i] + "\n";
  }
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}
std::vector<std::string> lines_in(const std::string& path) {
  std::istringstream in(dpmpi::read_file(path));
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST_F(HeldOutRun, ReportAndCertificateSpeakOfBothParts) {
  train_here({"privacy.trust=cluster"});
  const std::string page = report_html({run_}, false);
  for (const char* site : {"test_scores", "test_counts", "test_loss"})
    EXPECT_NE(page.find(std::string("<td>") + site + "</td>"), std::string::npos) << site;
  EXPECT_NE(page.find("<b>1,000</b> <span>records protected</span>"), std::string::npos);
  const json certificate = file("certificate.json");
  for (const char* of : {"/statement", "/evaluation/statement", "/whole/statement"})
    EXPECT_NE(certificate.at(json::json_pointer(of)).get<std::string>().find("Every rank of the job is trusted"),
              std::string::npos)
        << of;
  train_here();
  EXPECT_EQ(file("certificate.json").dump().find("is trusted"), std::string::npos);
}

// An event of one part that is said to be of the other would make the promise to the first look better.
TEST_F(HeldOutRun, AnEventInTheOtherPartsLedgerIsFound) {
  train_here();
  const std::string training = run_ + "/ledger.jsonl", evaluation = run_ + "/evaluation_ledger.jsonl";
  const auto trained = lines_in(training), tested = lines_in(evaluation);
  EXPECT_EQ(bad(), "");

  auto moved = tested;
  moved.push_back(trained[1]);
  write_chained(evaluation, moved);
  EXPECT_NE(bad().find("evaluation_ledger.jsonl"), std::string::npos) << bad();

  moved = tested;
  moved[1] = trained[1];
  write_chained(evaluation, moved);
  EXPECT_NE(bad().find("evaluation_ledger.jsonl"), std::string::npos) << bad();

  write_chained(evaluation, {tested[0], tested[1]});
  EXPECT_NE(bad(), "");

  write_chained(evaluation, trained);
  EXPECT_NE(bad(), "") << "the ledger of the other part";
  write_chained(evaluation, tested);
  EXPECT_EQ(bad(), "");

  moved = trained;
  moved.push_back(tested[1]);
  write_chained(training, moved);
  EXPECT_NE(bad(), "");
  write_chained(training, trained);

  std::ofstream(run_ + "/evaluation.json", std::ios::app) << " ";
  EXPECT_NE(bad().find("evaluation.json"), std::string::npos) << bad();
}

/// The text of a file with the numbers at these members changed, in the writing of dpmpi.
std::string changed(const std::string& text, const std::string& at, const nlohmann::ordered_json& value) {
  auto document = nlohmann::ordered_json::parse(text);
  document.at(nlohmann::ordered_json::json_pointer(at)) = value;
  return document.dump(2) + "\n";
}

TEST_F(HeldOutRun, IsVerifiedByTheRulesOfItsTime) {
  const std::vector<std::string> settings{"privacy.epsilon=10", "data.test_share=0.5"};
  {
    const EarlierRules earlier(EarlierRules::of_other_bins);
    train_here(settings);
  }
  EXPECT_EQ(file("evaluation.json")["rules"], 2);
  EXPECT_EQ(file("evaluation.json")["bins"].size(), 16U);
  EXPECT_EQ(bad(), "");
  const std::string certificate = run_ + "/certificate.json", certified = dpmpi::read_file(certificate),
                    forged = changed(dpmpi::read_file(run_ + "/evaluation.json"), "/metrics/auc/low", 0.99);
  std::ofstream(run_ + "/evaluation.json") << forged;
  std::ofstream(certificate) << changed(certified, "/evaluation/results_digest", sha256(forged));
  EXPECT_TRUE(bad().starts_with("evaluation.json")) << bad();
  train_here(settings);
  EXPECT_EQ(file("evaluation.json")["bins"].size(), 14U);
}

// Better numbers over true counts, with all digests made new.
TEST_F(HeldOutRun, NumbersThatTheCountsDoNotGiveAreFound) {
  for (const bool classes : {false, true}) {
    if (classes) {
      GenerateOptions options;
      options.kind = "blobs", options.records = 5000, options.eval_records = 0, options.features = 5;
      options.output = folder_ + "/blobs.csv";
      generate(options);
      train_here({"data.train=" + folder_ + "/blobs.csv", "objective.name=softmax", "objective.classes=5",
                  "privacy.epsilon=8"});
    } else {
      train_here({"privacy.epsilon=8"});
    }
    // Each count is far above its noise: one that a metric does not follow could be changed without a trace in it.
    EXPECT_EQ(bad(), "");
    const std::string results = run_ + "/evaluation.json", lines = run_ + "/metrics.jsonl",
                      certificate = run_ + "/certificate.json";
    const std::string counted = dpmpi::read_file(results), measured = dpmpi::read_file(lines),
                      certified = dpmpi::read_file(certificate);
    std::vector<std::string> members{"/held_out",
                                     "/noise_std/counts",
                                     "/noise_std/loss",
                                     "/loss",
                                     "/metrics/accuracy/value",
                                     "/metrics/accuracy/low",
                                     "/metrics/log_loss/high",
                                     "/bins/2/counts/1",
                                     "/bins/3/share/value",
                                     "/bins/1/from"};
    const std::vector<std::string> others =
        classes ? std::vector<std::string>{"/confusion/1/1", "/noise_std/confusion", "/metrics/recall.4/value"}
                : std::vector<std::string>{"/metrics/auc/value", "/metrics/auc/low", "/roc/2/true_positives/value"};
    members.insert(members.end(), others.begin(), others.end());
    for (const std::string& member : members) {
      const auto was = nlohmann::ordered_json::parse(counted).at(nlohmann::ordered_json::json_pointer(member));
      const auto value = was.is_number_integer() ? nlohmann::ordered_json(was.get<int>() + 1)
                         : was.is_number()       ? nlohmann::ordered_json(was.get<double>() + 0.001)
                                                 : nlohmann::ordered_json(0.5);
      const std::string forged = changed(counted, member, value);
      std::ofstream(results) << forged;
      std::ofstream(certificate) << changed(certified, "/evaluation/results_digest", sha256(forged));
      EXPECT_TRUE(bad().starts_with("evaluation.json")) << member << " " << bad();
    }
    std::ofstream(results) << counted;
    const std::size_t at = measured.find("\"test.accuracy\":0.") + std::string("\"test.accuracy\":0.").size();
    std::string better = measured;
    better[at] = better[at] == '9' ? '8' : '9';
    std::ofstream(lines) << better;
    std::ofstream(certificate) << changed(certified, "/metrics_digest", sha256(better));
    EXPECT_TRUE(bad().starts_with("metrics.jsonl")) << bad();
    std::ofstream(lines) << measured;
    std::ofstream(certificate) << certified;
    EXPECT_EQ(bad(), "");
  }
}

TEST_F(HeldOutRun, WhatCannotBeEvaluatedIsRefused) {
  EXPECT_MENTIONS(refusal({"objective.name=squared"}),
                  "data.test_share: the evaluation on held-out records counts classes");
  EXPECT_MENTIONS(refusal({"objective.name=mean"}), "data.test_share");
  EXPECT_MENTIONS(refusal({"data.test_share=0.0001"}), "both parts need at least one");
  EXPECT_MENTIONS(refusal({"data.test_share=0.7"}), "data.test_share");
  EXPECT_MENTIONS(refusal({"data.keep_one_in=1:2"}), "data.test_share with data.keep_one_in");
  EXPECT_MENTIONS(refusal({"data.person=x1", "data.person_sampling=records", "data.person_records=2"}),
                  "data.test_share with data.person_sampling = records");
  EXPECT_EQ(refusal({}), "");
}

}  // namespace
}  // namespace dpmpi::test::held_out_run_test
