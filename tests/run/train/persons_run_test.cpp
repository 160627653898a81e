// Runs whose unit of privacy is a person: what they promise in words, and what they refuse.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "run/config/config.hpp"
#include "run/directory/files.hpp"
#include "run/train/check.hpp"
#include "run/train/train.hpp"
#include "support/data_files.hpp"

namespace dpmpi::test::persons_run_test {
namespace {

class PersonsRun : public ::testing::Test {
 protected:
  PersonsRun() {
    write("a.csv", 0);
    write("b.csv", 50);
    folder_.write("p.ini",
                  "[data]\ntrain = a.csv\nheader = yes\nperson = who\n[method]\nbatch = 30\nsteps = 3\n[privacy]\n"
                  "noise_multiplier = 2\ndelta = 1e-5\n[report]\nprogress = none\n");
  }
  /// 300 records of 100 persons, from number `first` on.
  void write(const std::string& name, int first) const {
    std::string text = "who,x,z,label\n";
    for (int i = 0; i < 300; ++i)
      text += fmt::format("P{},{},{},{}\n", first + i % 100, i % 7, i % 3, i % 2 ? 1 : -1);
    folder_.write(name, text);
  }
  RunConfig with(const std::vector<std::string>& settings = {}) const {
    return RunConfig(folder_.file("p.ini"), settings);
  }
  nlohmann::json certificate_of(std::vector<std::string> settings) const {
    const std::string run = folder_.file("run");
    std::filesystem::remove_all(run);
    settings.push_back("run.dir=" + run);
    EXPECT_EQ(train(alone_, with(settings), {.quiet = true}), ExitCode::done);
    return nlohmann::json::parse(dpmpi::read_file(run + "/certificate.json"));
  }
  static std::string statement(const nlohmann::json& certificate) { return certificate.at("statement"); }

  const Communicator alone_ = Communicator::alone();
  const Folder folder_;
};

TEST_F(PersonsRun, CertificatesSayWhoIsProtected) {
  const auto whole = certificate_of({});
  EXPECT_EQ(whole.at("unit"), "person");
  EXPECT_EQ(whole.at("n"), 100);
  EXPECT_MENTIONS(statement(whole), "adding or removing one person, with all records, among 100 changes");
  EXPECT_EQ(statement(whole).find("two sites"), std::string::npos);
  EXPECT_MENTIONS(statement(certificate_of({"privacy.adjacency=replace_one"})),
                  "replacing one person, with all records, by another among 100 changes");
  const auto sites = certificate_of({"data.train=", "data.shards=a.csv,b.csv", "data.blocks=2"});
  EXPECT_EQ(sites.at("n"), 200) << "fifty persons are at both";
  EXPECT_MENTIONS(statement(sites), "Somebody who has records at two sites counts as two persons");
  const auto records = certificate_of({"data.person=", "data.drop=who"});
  EXPECT_FALSE(records.contains("unit"));
  EXPECT_EQ(records.at("n"), 300);
}

TEST_F(PersonsRun, SettingsThatDoNotGoWithPersonsAreRefused) {
  const auto refusal = [&](const std::vector<std::string>& settings) {
    return message_of<ConfigError>([&] { with(settings); });
  };
  EXPECT_MENTIONS(refusal({"data.keep_one_in=1:2"}), "data.keep_one_in goes by a record's place in the file");
  EXPECT_MENTIONS(refusal({"data.person=", "data.person_records=3"}), "set data.person");
  folder_.write("t.ini", "[data]\ntrain = b.csv\nheader = yes\ndrop = who\n[privacy]\nnoise_multiplier = 1\n");
  for (const auto& [outer, trainer] : {std::pair{"who", "drop = who"}, {"", "person = who"}}) {
    folder_.write("t.ini", fmt::format("[data]\ntrain = b.csv\nheader = yes\n{}\n[privacy]\nnoise_multiplier = 1\n"
                                       "delta = 1e-5\ntrust = cluster\n",
                                       trainer));
    EXPECT_MENTIONS(
        refusal({fmt::format("data.person={}", outer), "objective.name=tune_private", "objective.trainer=t.ini",
                 "objective.search=method.rate:0.1:1", "method.name=gibo", "method.batch=fixed", "method.b=2"}),
        "the promise is for a record of each set, and not for persons");
  }
}

// Words that name nobody are no features' names, declared or counted.
TEST_F(PersonsRun, WordsForNobodyAreOfAnyNumber) {
  folder_.write("p.ini",
                "[data]\ntrain = a.csv\neval = b.csv\nheader = yes\ncolumns = c.txt\n[method]\nbatch = 30\n"
                "steps = 3\n[privacy]\nnoise_multiplier = 2\ndelta = 1e-5\n");
  for (const char* words : {"X", "X,Y", "X,Y,Z,V,W"})
    for (const char* records : {"0", "150"}) {
      folder_.write("c.txt", fmt::format("x number\nwho person missing={}\nz number\nlabel label\n", words));
      const CheckedInputs inputs = check_inputs(alone_, with({fmt::format("data.records={}", records)}));
      EXPECT_EQ(inputs.training.features, 2u);
      EXPECT_EQ(inputs.training.feature_names, "x\nz\n");
    }
  folder_.write("c.txt", "x number\nwho person missing=P7,X\nz number\nlabel label\n");
  EXPECT_MENTIONS(message_of([&] { check_inputs(alone_, with()); }), "column 'who': missing value");
}

// What would be overwritten.
TEST_F(PersonsRun, AColumnsFileOfOnesOwnIsNotReplaced) {
  const std::string run = folder_.file("mine");
  std::filesystem::create_directories(run);
  folder_.write("mine/columns.txt", "mine\n");
  EXPECT_MENTIONS(message_of<ConfigError>([&] { train(alone_, with({"run.dir=" + run}), {.quiet = true}); }),
                  "has a file columns.txt that is no run's");
  EXPECT_EQ(dpmpi::read_file(run + "/columns.txt"), "mine\n");
}

// The place of a record that an objective does not take is its place in the file, whoever else is there.
TEST_F(PersonsRun, WrongRecordsAreNamedByTheirPlaceInTheFile) {
  std::string text = "who,x,g,label\n";
  for (int i = 0; i < 60; ++i)
    text += fmt::format("P{},{},{},{}\n", i % 47, i % 7, i == 41 ? 7 : i % 2, i % 2 ? 1 : -1);
  folder_.write("g.csv", text);
  for (const char* seed : {"1", "2", "3"}) {
    const std::string message = message_of([&] {
      check_inputs(alone_,
                   with({"data.train=g.csv", "objective.name=worst_group", "objective.group_feature=2",
                         "objective.group_sizes=30,30", "objective.head=logistic", "method.name=dp-sgda",
                         "method.dual_rate=0.5", "method.dual_clip=0.5", fmt::format("privacy.seed={}", seed)}));
    });
    EXPECT_MENTIONS(message, "of record 42 is");
  }
}

}  // namespace
}  // namespace dpmpi::test::persons_run_test
