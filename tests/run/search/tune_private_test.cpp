// Searches whose models are trained on a second private set: what is promised to its people is what is spent on
// their records, once, whatever kills the run; and other files do not verify, nor go on.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/account.hpp"
#include "core/errors.hpp"
#include "core/files/digest.hpp"
#include "data/load/load.hpp"
#include "privacy/promise/guarantee.hpp"
#include "run/certify/verify.hpp"
#include "run/directory/files.hpp"
#include "run/search/tune_private_run.hpp"
#include "run/train/train.hpp"

namespace dpmpi::tune_private_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using State = VerifiedItem::State;
using test::TunePrivateRun;

/// Epsilon of so many runs of a config by itself, at 1e-4.
double epsilon_of_runs(const std::string& path, std::uint64_t runs, const std::vector<std::string>& settings = {}) {
  const RunConfig config(path, settings);
  const DatasetFacts data = inspect(Communicator::alone(), config.find_files().training);
  const auto objective = make_objective(config, data);
  std::vector<Event> events = make_plan(config, public_facts(config, data, *objective)).events();
  for (Event& event : events) event.count *= runs;
  return epsilon_guarantee(events, Adjacency::add_remove, 1e-4, "rdp").epsilon;
}

// Fixed batches: what the plan says is what the ledger says, and the promise is that of as many ordinary runs.
TEST_F(TunePrivateRun, PlanIsLedgerForFixedBatches) {
  ASSERT_EQ(run(whole()), ExitCode::done);
  const json plan = read("whole/plan.json"), certificate = read("whole/certificate.json");
  const Ledger ledger = Ledger::open(whole() + "/training_ledger.jsonl");
  EXPECT_EQ(ledger.lines().size(), 1u + 12);
  const auto spent = uses(ledger.events());
  ASSERT_EQ(spent.size(), 1u);
  EXPECT_EQ(json::parse(to_json({spent.begin()->first, spent.begin()->second})), plan["training"]["events"][0]);
  EXPECT_EQ(plan["training"]["events"].size(), 1u);
  EXPECT_EQ(plan["training"]["runs"], 12);
  EXPECT_EQ(certificate["training"]["trained"], 12);
  EXPECT_EQ(plan["training"]["epsilon"], epsilon_of_runs(here_.trainer(), 12));
  EXPECT_EQ(certificate["training"]["epsilon"], plan["training"]["epsilon"]);
  EXPECT_EQ(certificate["training"]["n"], 240);
  EXPECT_EQ(certificate["n"], 300);

  // Who is in both sets: the events of both ledgers, once each, at one delta.
  std::vector<Event> all = ledger.events();
  const Ledger other = Ledger::open(whole() + "/ledger.jsonl");
  all.insert(all.end(), other.events().begin(), other.events().end());
  EXPECT_EQ(certificate["both"]["epsilon"], epsilon_guarantee(all, Adjacency::add_remove, 1e-4, "rdp").epsilon);
  EXPECT_GT(certificate["both"]["epsilon"], certificate["training"]["epsilon"]);
  EXPECT_GT(certificate["both"]["epsilon"], certificate["epsilon"]);
  for (const auto& item : verify_run(whole()))
    EXPECT_TRUE(item.state == State::good || item.state == State::unchecked) << item.place << item.detail;
  const std::string statement = certificate["training"]["statement"];
  for (const char* part : {"12 at most", "among 240", "Every rank of the job is trusted with these records"})
    EXPECT_NE(statement.find(part), statement.npos) << statement;
}

// The budget is that of all models together: one has far more noise than the same config by itself.
TEST_F(TunePrivateRun, BudgetIsForAllModelsTogether) {
  here_.write_trainer("epsilon = 3\ntrust = cluster\n");
  const Search search(here_, {});
  const Plan& trainings = search.plan.training->plan;
  EXPECT_LE(trainings.epsilon(), 3);
  EXPECT_GT(trainings.epsilon(), 3 * (1 - 1e-3));
  const double multiplier = trainings.promise.noise_multiplier;
  here_.write_trainer(fmt::format("noise_multiplier = {}\ntrust = cluster\n", multiplier));
  EXPECT_EQ(epsilon_of_runs(here_.trainer(), 12), trainings.epsilon());
  EXPECT_LT(epsilon_of_runs(here_.trainer(), 1), 1.5);
}

// T22: with adaptive batches the promise is that of the largest number of models, whatever it came to.
TEST_F(TunePrivateRun, AdaptiveBatchesPromiseTheWorstCase) {
  ASSERT_EQ(run(whole(), {"method.batch=adaptive", "method.b=0", "method.b_max=4", "method.trace_tol=1"}),
            ExitCode::done);
  const json certificate = read("whole/certificate.json")["training"];
  EXPECT_EQ(certificate["runs"], 16);
  EXPECT_LT(certificate["trained"], 16);
  EXPECT_EQ(read_file(whole() + "/training_ledger.jsonl").find("\"training\":16"), std::string::npos);
  EXPECT_EQ(certificate["epsilon"], epsilon_of_runs(here_.trainer(), 16));
  std::ostringstream said;  // the ledger alone must not promise more than the certificate either
  AccountRequest request;
  request.path = whole() + "/training_ledger.jsonl", request.delta = 1e-4, request.accountant = "rdp";
  account(request, said);
  EXPECT_NE(said.str().find(fmt::format("({}, 0.0001)-", certificate["epsilon"].get<double>())), std::string::npos)
      << said.str();
  EXPECT_NE(said.str().find("of all 16 trainings"), std::string::npos) << said.str();
  for (const auto& item : verify_run(whole()))
    EXPECT_TRUE(item.state == State::good || item.state == State::unchecked) << item.place << item.detail;
}

TEST_F(TunePrivateRun, SeededNoiseIsNotPrivateForAnybody) {
  ASSERT_EQ(run(whole(), {"privacy.seed=5"}), ExitCode::done);
  const json certificate = read("whole/certificate.json");
  for (const json& part : {certificate, certificate["training"], certificate["both"]}) {
    EXPECT_EQ(part["epsilon"], "infinity");
    EXPECT_TRUE(part["statement"].get<std::string>().starts_with("NOT PRIVATE"));
  }
  for (const auto& item : verify_run(whole()))
    EXPECT_TRUE(item.state == State::good || item.state == State::unchecked) << item.place << item.detail;
}

// ---- Kills

constexpr const char* same_files[] = {"model.safetensors", "ledger.jsonl", "training_ledger.jsonl",
                                      "metrics.jsonl",     "plan.json",    "certificate.json"};

// Killed between paying and training, in a training, and between steps; gone on with by more ranks.
TEST_F(TunePrivateRun, KilledRunsEndWithTheSameBytesAndPayOnce) {
  const std::string seeded = " privacy.seed=5 objective.search=method.rate:0.1:10,method.batch:20\\|60 run.dir=";
  ASSERT_EQ(faulty("none", here_.config() + seeded + whole()).code, 0);
  const std::string killed = here_.path + "/killed";
  EXPECT_NE(faulty("release@0#2=kill", here_.config() + seeded + killed).code, 0);
  EXPECT_EQ(trainings_paid(killed), 3u) << "in the first training all of its step are on disk";
  EXPECT_NE(faulty("write:training_ledger@0#1=kill", killed).code, 0);
  EXPECT_EQ(trainings_paid(killed), 3u) << "the first step's cost nothing again";
  EXPECT_NE(faulty("release@0#9=kill", killed).code, 0);
  EXPECT_NE(faulty("step@0#4=kill", killed).code, 0);
  EXPECT_FALSE(fs::exists(killed + "/certificate.json"));
  EXPECT_EQ(faulty("none", killed, 3).code, 0);
  for (const char* name : same_files)
    EXPECT_EQ(read_file(whole() + "/" + name), read_file(killed + "/" + name)) << name;
}

// ---- Other files

class TunePrivateStopped : public TunePrivateRun {
 protected:
  void SetUp() override {
    TunePrivateRun::SetUp();
    ASSERT_EQ(run(stopped(), {"run.max_hours=1e-12"}), ExitCode::stopped);
  }
  std::string stopped() const { return here_.path + "/stopped"; }
  void edit(const std::string& file, const std::string& from, const std::string& to) const {
    std::string text = read_file(file);
    ASSERT_NE(text.find(from), text.npos) << from;
    std::ofstream(file) << text.replace(text.find(from), from.size(), to);
  }
  std::string end() const {
    try {
      resume(stopped());
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  }
  bool ends_with(const std::string& part) const {
    const std::string message = end();
    EXPECT_NE(message.find(part), message.npos) << message;
    return true;
  }
};

TEST_F(TunePrivateStopped, GoesOn) {
  edit(here_.trainer(), "steps = 4", "steps = 5");  // the run has a copy
  EXPECT_EQ(end(), "");
  EXPECT_TRUE(fs::exists(stopped() + "/certificate.json"));
}
TEST_F(TunePrivateStopped, IsNotResumedWithAnotherTrainer) {
  edit(stopped() + "/trainer.ini", "steps = 4", "steps = 5");
  ends_with("trainer.method.steps: it was 4, now 5");
}
TEST_F(TunePrivateStopped, IsNotResumedWithOtherRecordsToTrainOn) {
  const std::string file = here_.path + "/search-eval.csv";
  std::string text = read_file(file);
  const std::size_t label = text.rfind('\n', text.size() - 2) + 1;  // of the last record
  text[label] == '-' ? text.erase(label, 1) : text.insert(label, "-");
  std::ofstream(file) << text;
  ends_with("the trainer's data are not those that the run");
}
TEST_F(TunePrivateStopped, IsNotResumedWithACutLedger) {
  const std::string file = stopped() + "/training_ledger.jsonl";
  std::string text = read_file(file);
  text.erase(text.rfind('\n', text.size() - 2) + 1);
  std::ofstream(file) << text;
  ends_with("training_ledger.jsonl is not the ledger of the checkpoint");
}
TEST_F(TunePrivateStopped, IsNotResumedWithoutItsLedger) {
  fs::remove(stopped() + "/training_ledger.jsonl");
  ends_with("training_ledger.jsonl");
}

// ---- Verification

// The place of the first bad item; empty if all are good.
std::string bad(const std::string& run) {
  const auto items = verify_run(run);
  return items.back().state == State::bad ? items.back().place : "";
}

TEST_F(TunePrivateStopped, VerifyFindsEveryEditOfTheSecondLedger) {
  const std::string finished = here_.path + "/finished", damaged = here_.path + "/damaged";
  ASSERT_EQ(run(finished), ExitCode::done);
  const auto after = [&](const std::string& run, const std::function<void(std::string&)>& change) {
    fs::remove_all(damaged);
    fs::copy(run, damaged, fs::copy_options::recursive);
    std::string text = read_file(damaged + "/training_ledger.jsonl");
    change(text);
    std::ofstream(damaged + "/training_ledger.jsonl") << text;
    return bad(damaged);
  };
  const auto cut_last = [](std::string& text) { text.erase(text.rfind('\n', text.size() - 2) + 1); };
  const auto change = [](std::string& text) { text[text.find("\"settings\":\"") + 15] ^= 1; };
  EXPECT_EQ(bad(finished), "");
  EXPECT_EQ(bad(stopped()), "");
  EXPECT_EQ(after(finished, [](std::string&) {}), "");
  EXPECT_NE(after(finished, change), "");
  EXPECT_NE(after(finished, cut_last), "");
  EXPECT_NE(after(stopped(), change), "");
  EXPECT_EQ(after(stopped(), cut_last), "training_ledger.jsonl:4");
  EXPECT_EQ(after(finished, [](std::string& text) { text.clear(); }), "training_ledger.jsonl:1");
  for (const std::string& run : {finished, stopped()}) {
    after(run, [](std::string&) {});
    fs::remove(damaged + "/training_ledger.jsonl");
    EXPECT_EQ(bad(damaged), "training_ledger.jsonl");
  }

  // One more than planned, with a good chain and a number of its own.
  after(finished, [](std::string&) {});
  {
    Ledger ledger = Ledger::open(damaged + "/training_ledger.jsonl");
    ledger.append(std::vector<LedgerEntry>{
        {ledger.events().back(), fmt::format(R"("training":12,"settings":"{}")", sha256("more"))}});
  }
  EXPECT_EQ(bad(damaged), "training_ledger.jsonl:14");
}

TEST_F(TunePrivateRun, VerifyRecomputesWhatIsPromisedToTheSecondSet) {
  ASSERT_EQ(run(whole()), ExitCode::done);
  const std::string damaged = here_.path + "/damaged";
  fs::copy(whole(), damaged, fs::copy_options::recursive);
  for (const auto& part : {"training", "both"}) {
    const json certificate = read("whole/certificate.json");
    ASSERT_GE(certificate[part].size(), 5u);
    for (const auto& [key, value] : certificate[part].items()) {
      json changed = certificate;
      changed[part].erase(key);
      std::ofstream(damaged + "/certificate.json") << changed.dump(2) << "\n";
      EXPECT_TRUE(bad(damaged).starts_with("certificate.json")) << part << " " << key << ": " << bad(damaged);
      changed[part][key] = value.is_number() ? json(value.get<double>() * 0.9) : json("x");
      std::ofstream(damaged + "/certificate.json") << changed.dump(2) << "\n";
      EXPECT_TRUE(bad(damaged).starts_with("certificate.json")) << part << " " << key << ": " << bad(damaged);
    }
  }
  // A smaller promise in plan and ledgers, whose digests are made to fit: the events give it away.
  json plan = read("whole/plan.json");
  plan["training"]["epsilon"] = plan["training"]["epsilon"].get<double>() / 2;
  std::ofstream(damaged + "/plan.json") << plan.dump(2) << "\n";
  EXPECT_EQ(bad(damaged), "plan.json");
}

}  // namespace
}  // namespace dpmpi::tune_private_test
