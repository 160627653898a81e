// Runs whose unit of privacy is a person: what they promise in words, and what they refuse.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "data/load/load.hpp"
#include "run/config/config.hpp"
#include "run/directory/files.hpp"
#include "run/plan/person_sampling.hpp"
#include "run/train/check.hpp"
#include "run/train/train.hpp"
#include "support/data_files.hpp"
#include "support/process.hpp"
#include "support/programs.hpp"

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

TEST_F(PersonsRun, WhoseRecordsAreDrawnOneByOneHaveThePromiseOfAGroup) {
  const std::vector<std::string> one_by_one{"data.person_sampling=records", "data.person_records=3",
                                            "privacy.noise_multiplier=8"};
  const auto certificate = certificate_of(one_by_one);
  EXPECT_EQ(certificate.at("n"), 100);
  EXPECT_MENTIONS(statement(certificate), "adding or removing one person, with all records, among 100 changes");
  EXPECT_EQ(certificate.at("events"),
            nlohmann::json::parse(R"([{"event":"poisson_gaussian_group","sampling_rate":0.1,"records":3,)"
                                  R"("noise_multiplier":8,"count":3}])"));
  const Outcome verified = run_command(program() + " verify " + folder_.file("run"));
  EXPECT_EQ(verified.code, 0) << verified.output;
  auto declared = one_by_one;
  for (const char* more : {"data.train=", "data.shards=a.csv,b.csv", "data.shard_records=120,130", "data.blocks=2"})
    declared.emplace_back(more);
  EXPECT_EQ(certificate_of(declared).at("n"), 250);
  EXPECT_EQ(run_command(program() + " verify " + folder_.file("run")).code, 0);
}

// The two ways of sampling are compared by plans of both, and agree.
TEST_F(PersonsRun, BothWaysOfSamplingAreCompared) {
  const auto compared = [&](const std::vector<std::string>& settings) {
    const RunConfig config = with(settings);
    const DatasetFacts data = inspect(alone_, config.find_files().training);
    const auto objective = make_objective(config, data);
    return compare_person_sampling(make_plan(config, public_facts(config, data, *objective)), config);
  };
  const auto persons = compared({"data.person_records=3"});
  ASSERT_TRUE(persons.has_value());
  EXPECT_EQ(persons->records, 3U);
  EXPECT_GT(persons->noise_ratio, 0.5);
  EXPECT_LT(persons->noise_ratio, 1.5);
  const auto records = compared({"data.person_records=3", "data.person_sampling=records", "method.batch=90",
                                 fmt::format("privacy.noise_multiplier={}", 2 * 3 * persons->noise_ratio)});
  ASSERT_TRUE(records.has_value());
  EXPECT_NEAR(records->noise_ratio, persons->noise_ratio, 1e-3);
  EXPECT_FALSE(compared({}).has_value()) << "how many records somebody has is not bounded";
  EXPECT_FALSE(compared({"data.person_records=3", "privacy.adjacency=replace_one"}).has_value());
}

TEST_F(PersonsRun, SettingsThatDoNotGoWithPersonsAreRefused) {
  const auto refusal = [&](const std::vector<std::string>& settings) {
    return message_of<ConfigError>([&] { with(settings); });
  };
  EXPECT_MENTIONS(refusal({"data.keep_one_in=1:2"}), "data.keep_one_in goes by a record's place in the file");
  EXPECT_MENTIONS(refusal({"data.person=", "data.person_records=3"}), "set data.person");
  for (const char* records : {"0", "1025"})
    EXPECT_MENTIONS(
        refusal({"data.person_sampling=records", fmt::format("data.person_records={}", records)}),
        fmt::format("data.person_records = {}: the noise has to hide all records of a person that are used",
                    records));
  EXPECT_MENTIONS(refusal({"data.person=", "data.person_sampling=records"}), "set data.person");
  EXPECT_MENTIONS(
      refusal({"data.person_sampling=records", "data.person_records=1024", "data.records=10000000000000000"}),
      "more than 2^53 slots");
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
