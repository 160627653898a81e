// Runs that prepare their columns: one promise for both, what a kill leaves, what verify finds, and how the model
// is used afterwards.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "core/files/digest.hpp"
#include "run/certify/verify.hpp"
#include "run/config/config.hpp"
#include "run/directory/files.hpp"
#include "run/evaluate/trained_model.hpp"
#include "run/train/train.hpp"
#include "support/run_folder.hpp"

namespace dpmpi::test::preparation_run_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class PreparationRun : public RunFolder {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    for (const char* name : {"/train.csv", "/eval.csv"}) {
      std::ofstream out(folder_ + name);
      out << "size,const,gone,outlier,y\n";
      for (int i = 0; i < 1200; ++i) {
        const double x = std::sin(i * 0.7) + (name[1] == 'e' ? 0.01 : 0);
        out << fmt::format("{},7,NA,{},{}\n", 5000 + 800 * x, i == 5 ? 1e300 : x, x > 0 ? 1 : -1);
      }
    }
    std::ofstream(folder_ + "/columns.txt") << "size number\nconst number\ngone number\noutlier number\ny label\n";
    std::ofstream(config_) << "[run]\ndir = " << run_
                           << "\ncheckpoint_every = 10\n[data]\nblocks = 8\ntrain = " << folder_
                           << "/train.csv\neval = " << folder_ << "/eval.csv\ncolumns = " << folder_
                           << "/columns.txt\nprepare = private\n[method]\nbatch = 100\nsteps = 40\n[privacy]\n"
                              "epsilon = 4\ndelta = 1e-4\nprepare_share = 0.2\n[report]\nprogress = none\n";
  }
  void train_here(const std::vector<std::string>& settings = {}) const {
    fs::remove_all(run_);
    ASSERT_EQ(train(Communicator::alone(), RunConfig(config_, settings), {.quiet = true}), ExitCode::done);
  }
  /// A run of these settings that is killed at the points of a preparation, and at `later`, ends as one that was
  /// not.
  void kill_and_compare(const std::string& seeded, const char* later) const {
    ASSERT_EQ(launch(2, "none", seeded).code, 0);
    const std::string whole = folder_ + "/whole";
    fs::rename(run_, whole);
    std::string what = seeded;
    int ranks = 1;
    for (const char* fault : {"reserved@0#1=kill", "release@0#1=kill", "release@0#2=kill", "release@0#3=kill",
                              "release@0#4=kill", "reduce@0#3=kill", "prepared@0#1=killall",
                              "write:preparation.json@0#1=kill", "rename:preparation.json@0#1=kill", later}) {
      EXPECT_NE(launch_when_free(ranks, fault, what).code, 0) << fault;
      ASSERT_FALSE(fs::exists(run_ + "/certificate.json")) << fault;
      ranks = ranks % 3 + 1;
      what = run_;
    }
    const Outcome resumed = launch_when_free(ranks, "none", run_);
    ASSERT_EQ(resumed.code, 0) << resumed.output;
    expect_same_bytes(whole, run_);
    EXPECT_EQ(dpmpi::read_file(whole + "/preparation.json"), dpmpi::read_file(run_ + "/preparation.json"));
    EXPECT_EQ(bad(), "");
  }
  json file(const std::string& name) const { return json::parse(dpmpi::read_file(run_ + "/" + name)); }
  std::string bad() const {
    for (const VerifiedItem& item : verify_run(run_))
      if (item.state == VerifiedItem::State::bad) return item.place + ": " + item.detail;
    return "";
  }
  std::string refusal(const std::vector<std::string>& settings) const {
    try {
      RunConfig(config_, settings);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  }
};

TEST_F(PreparationRun, IsInOnePromiseWithItsTraining) {
  for (const char* adjacency : {"add_remove", "replace_one"}) {
    train_here({std::string("privacy.adjacency=") + adjacency});
    const json plan = file("plan.json"), certificate = file("certificate.json");
    EXPECT_LE(certificate["epsilon"].get<double>(), 4);
    EXPECT_GT(certificate["epsilon"].get<double>(), 3.99);
    EXPECT_EQ(plan["events"], certificate["events"]);
    EXPECT_EQ(plan["noise"].size(), 5U);
    EXPECT_EQ(plan["noise"][1]["site"], "col_octaves");
    EXPECT_EQ(plan["noise"][4]["site"], "col_words");
    EXPECT_EQ(certificate["preparation"]["columns"], 4);
    EXPECT_NE(certificate["statement"].get<std::string>().find("preparation.json"), std::string::npos);
    EXPECT_EQ(bad(), "");
  }
  const double with = file("plan.json")["noise"][0]["noise_multiplier"];
  train_here({"privacy.prepare_share=0.5", "privacy.adjacency=replace_one"});
  EXPECT_GT(file("plan.json")["noise"][0]["noise_multiplier"].get<double>(), with) << "it is paid for";
}

TEST_F(PreparationRun, FindsTheScaleAndTheModelKeepsIt) {
  train_here({"privacy.epsilon=50"});
  const json size = file("preparation.json")["columns"][0];
  EXPECT_NEAR(size["mean"].get<double>(), 5000, 100);
  EXPECT_NEAR(size["std"].get<double>(), 566, 80);
  const auto of_run = model_at(run_, "", {});
  const auto of_file = model_at(run_ + "/model.safetensors", "", {});
  const std::string text = file("preparation.json")["columns_file"];
  EXPECT_EQ(of_run.files.evaluation.rules.columns_file->text, text);
  EXPECT_EQ(of_file.config->data.columns_file->text, text);
  std::istringstream lines(dpmpi::read_file(run_ + "/metrics.jsonl"));
  std::string last;
  for (std::string line; std::getline(lines, line);) last = line;
  EXPECT_GT(json::parse(last)["eval.accuracy"].get<double>(), 0.9);
}

// Trained on, columns are what public statistics of the same values would have made of them, to the last bit.
TEST_F(PreparationRun, IsThatOfPublicStatistics) {
  train_here({"privacy.noise=none", "privacy.seed=3"});
  const std::string prepared = dpmpi::read_file(run_ + "/model.safetensors");
  const json digest = file("certificate.json")["model_digest"];
  std::ofstream(folder_ + "/public.txt") << file("preparation.json")["columns_file"].get<std::string>();
  train_here({"privacy.noise=none", "privacy.seed=3", "data.prepare=none", "privacy.prepare_share=0.1",
              "data.columns=" + folder_ + "/public.txt"});
  EXPECT_EQ(file("certificate.json")["model_digest"], digest);
}

TEST_F(PreparationRun, KilledInItsPreparationEndsWithTheSameBytes) {
  kill_and_compare(config_ + " privacy.seed=5", "step@0#25=kill");
}

// With a tree, whose noise is made again when it goes on, and without anything that is public.
TEST_F(PreparationRun, KilledInItsPreparationEndsWithTheSameBytesAsATree) {
  std::string text = dpmpi::read_file(config_);
  text.replace(text.find("batch = 100\nsteps = 40"), 22, "name = dp-ftrl\nbatch = 60\nclip_quantile = 0.5");
  std::ofstream(folder_ + "/tree.ini") << text;
  kill_and_compare(folder_ + "/tree.ini privacy.seed=5 data.eval=", "step@0#13=kill");
}

TEST_F(PreparationRun, AForgedPreparationIsFound) {
  train_here();
  const std::string path = run_ + "/preparation.json", text = dpmpi::read_file(path);
  const std::string certificate = dpmpi::read_file(run_ + "/certificate.json");
  const auto write = [](const std::string& file, const std::string& bytes) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
  };
  // With the certificate's digest settled, so that what the file says is looked at; the model's of the certificate
  // comes later.
  const auto forged = [&](const std::function<void(nlohmann::ordered_json&)>& change) {
    auto other = nlohmann::ordered_json::parse(text);
    change(other);
    const std::string bytes = other.dump(2) + "\n";
    write(path, bytes);
    const std::string unsettled = bad();
    auto settled = nlohmann::ordered_json::parse(certificate);
    settled["preparation"]["results_digest"] = sha256(bytes);
    write(run_ + "/certificate.json", settled.dump(2) + "\n");
    const std::string found = bad();
    write(path, text), write(run_ + "/certificate.json", certificate);
    EXPECT_TRUE(unsettled.starts_with("preparation.json")) << unsettled;
    return found;
  };
  for (const char* member : {"mean", "std", "missing"})
    EXPECT_TRUE(forged([&](auto& other) { other["columns"][0][member] = 12.5; }).starts_with("preparation.json"))
        << member;
  EXPECT_TRUE(forged([](auto& other) { other["noise_std"] = 0.5; }).starts_with("preparation.json"));
  EXPECT_TRUE(forged([](auto& other) { other["columns_file"] = "size number\n"; }).starts_with("preparation.json"));
  EXPECT_TRUE(
      forged([](auto& other) { other["columns"][0]["octaves"][46] = 1e6; }).starts_with("preparation.json"));
  EXPECT_TRUE(forged([](auto& other) { other["class_balance"]["counts"][0] = 9; }).starts_with("preparation.json"));
  EXPECT_TRUE(forged([](auto& other) { other["class_balance"]["shares"][0] = 9; }).starts_with("preparation.json"));
  EXPECT_TRUE(forged([](auto& other) { other.erase("class_balance"); }).starts_with("preparation.json"));
  EXPECT_EQ(bad(), "");
}

TEST_F(PreparationRun, AForgedEventOfItIsFound) {
  train_here();
  const std::string path = run_ + "/ledger.jsonl", text = dpmpi::read_file(path);
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  ASSERT_EQ(lines.size(), 6U) << "a header, and a line for every query";
  const auto found = [&](std::vector<std::string> forged) {
    std::string chained = forged[0] + "\n";
    for (std::size_t i = 1; i < forged.size(); ++i) {
      auto event = nlohmann::ordered_json::parse(forged[i]);
      event["prev"] = sha256(forged[i - 1]);
      forged[i] = event.dump();
      chained += forged[i] + "\n";
    }
    std::ofstream(path, std::ios::trunc) << chained;
    return bad();
  };
  EXPECT_EQ(found(lines), "");
  auto weaker = lines;
  auto event = nlohmann::ordered_json::parse(weaker[3]);
  event["noise_multiplier"] = 100.0;
  weaker[3] = event.dump();
  EXPECT_NE(found(weaker), "");
  auto fewer = lines;
  fewer.erase(fewer.begin() + 3);
  EXPECT_NE(found(fewer), "");
}

// Ten records are less than the noise: whoever reads the metrics, of which the report shows all warnings, or
// preparation.json is told. So is it
// with public records and without.
TEST_F(PreparationRun, SaysWhichScalesAreGuesses) {
  std::ifstream all(folder_ + "/train.csv");
  std::ofstream few(folder_ + "/few.csv");
  std::string line;
  for (int i = 0; i <= 10 && std::getline(all, line); ++i) few << line << '\n';
  few.close();
  const std::vector<std::string> ten{"data.train=" + folder_ + "/few.csv", "data.blocks=1", "method.batch=5",
                                     "privacy.epsilon=1"};
  for (const char* eval : {"", "data.eval="}) {
    auto settings = ten;
    if (*eval != 0) settings.emplace_back(eval);
    train_here(settings);
    const json prepared = file("preparation.json");
    for (const json& column : prepared["columns"]) EXPECT_EQ(column.value("guessed", false), true);
    std::istringstream metrics(dpmpi::read_file(run_ + "/metrics.jsonl"));
    std::getline(metrics, line);
    const json found = json::parse(line)["warnings"][0];
    EXPECT_EQ(json::parse(line)["step"], 0);
    EXPECT_EQ(found["about"], "preparation");
    EXPECT_EQ(found["guessed"], (json{"size", "const", "gone", "outlier"}));
    EXPECT_TRUE(found["text"].get<std::string>().starts_with("the scale of 4 columns is a guess (")) << found;
    EXPECT_EQ(bad(), "");
  }
  auto other = nlohmann::ordered_json::parse(dpmpi::read_file(run_ + "/preparation.json"));
  other["columns"][0].erase("guessed");
  std::ofstream(run_ + "/preparation.json", std::ios::trunc) << other.dump(2) << '\n';
  EXPECT_TRUE(bad().starts_with("preparation.json"));
  train_here({"privacy.epsilon=50"});
  const json columns = file("preparation.json")["columns"];
  for (std::size_t c = 0; c < 4; ++c) EXPECT_EQ(columns[c].contains("guessed"), c == 2) << "all are missing";
}

// Words of which hardly anybody has one share a feature afterwards, in the run, in its model and for verify.
TEST_F(PreparationRun, MergesRareWordsAndCountsTheClasses) {
  for (const char* name : {"/train.csv", "/eval.csv"}) {
    std::ofstream out(folder_ + name);
    out << "size,pet,y\n";
    for (int i = 0; i < 1200; ++i)
      out << fmt::format("{},{},{}\n", std::sin(i * 0.7) + (name[1] == 'e' ? 0.01 : 0),
                         i % 2 == 0 ? "cat"
                         : i < 20   ? "\"yak, old\""
                                    : "dog",
                         i % 4 == 0 ? 1 : -1);
  }
  std::ofstream(folder_ + "/columns.txt") << "size number\npet category words=cat,\"yak, old\",dog,newt\ny label\n";
  train_here({"privacy.epsilon=20", "data.prepare_rare=0.05"});
  const json found = file("preparation.json");
  EXPECT_EQ(found["categories"][0]["rare"], (json{"yak, old", "newt"}));
  EXPECT_NE(found["columns_file"].get<std::string>().find("pet category rare=\"yak, old\",newt words=cat"),
            std::string::npos);
  EXPECT_NEAR(found["class_balance"]["shares"][0].get<double>(), 0.75, 0.05);
  std::istringstream metrics(dpmpi::read_file(run_ + "/metrics.jsonl"));
  std::string line;
  std::getline(metrics, line);
  EXPECT_NEAR(json::parse(line)["constant.prepared_accuracy"].get<double>(), 0.75, 0.05);
  EXPECT_EQ(bad(), "");
  const auto of_file = model_at(run_ + "/model.safetensors", "", {});
  EXPECT_EQ(of_file.config->data.columns_file->columns[1].rare, (std::vector<std::string>{"yak, old", "newt"}));
}

TEST_F(PreparationRun, RefusesWhatItDoesNotGoWith) {
  EXPECT_NE(refusal({"data.prepare_rare=0.1"}).find("has no column of kind category"), std::string::npos);
  EXPECT_NE(refusal({"data.prepare=none", "data.prepare_rare=0.1"}).find("data.prepare_rare"), std::string::npos);
  EXPECT_NE(refusal({"method.name=dptd", "objective.name=td"}).find("of two states"), std::string::npos);
  EXPECT_NE(refusal({"data.columns="}).find("set data.columns"), std::string::npos);
  EXPECT_NE(refusal({"data.prepare=none"}).find("privacy.prepare_share"), std::string::npos);
  EXPECT_NE(refusal({"data.prepare=maybe"}), "");
  std::ofstream(folder_ + "/scaled.txt") << "size number mean=0 std=1\ny label\n";
  EXPECT_NE(refusal({"data.columns=" + folder_ + "/scaled.txt"}).find("nothing to find out"), std::string::npos);
  // Found out after the preparation, it would have cost its part of the budget.
  std::ofstream(folder_ + "/group.txt") << "size category words=a,b\ngroup number\ny label\n";
  const auto grouped = [&](int feature) {
    return refusal({"data.columns=" + folder_ + "/group.txt", "objective.name=worst_group", "method.name=dp-sgda",
                    fmt::format("objective.group_feature={}", feature), "objective.group_sizes=200,300"});
  };
  EXPECT_NE(grouped(3).find("would scale its column 'group'"), std::string::npos) << grouped(3);
  EXPECT_EQ(grouped(1).find("would scale"), std::string::npos);
}

}  // namespace
}  // namespace dpmpi::test::preparation_run_test
