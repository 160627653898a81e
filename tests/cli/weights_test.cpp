// Tables with weights of records and with exposures: from a table to rates, counts and weighted metrics.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "run/directory/files.hpp"
#include "support/process.hpp"
#include "support/programs.hpp"
#include "support/text.hpp"

namespace dpmpi::weights_test {
namespace {

namespace fs = std::filesystem;
using test::contains;
using test::Outcome;

class Weights : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  void write(const std::string& name, const std::string& text) const { std::ofstream(path(name)) << text; }
  std::string dpmpi(const std::string& words) const {
    const Outcome outcome = test::run_command(fmt::format("cd {} && {} {}", folder_, test::program(), words));
    EXPECT_EQ(outcome.code, 0) << words << "\n" << outcome.output;
    return outcome.output;
  }
  /// Without noise, in `run`.
  void train(const std::string& table, const std::string& columns, const std::string& objective) const {
    fs::remove_all(path("run"));
    write("a.ini", fmt::format("[data]\ntrain = {}\ncolumns = {}\nheader = yes\n[objective]\nname = {}\n[method]\n"
                               "sampling = full\nsteps = 150\nrate = 1\nclip = 50\n[privacy]\nnoise = none\n[run]\n"
                               "dir = run\n",
                               table, columns, objective));
    dpmpi("--config a.ini --quiet");
  }
  /// The last column of predictions for `table`.
  std::vector<double> predicted(const std::string& table, const char* columns = "record,prediction") const {
    dpmpi(fmt::format("predict run/model.safetensors --data {} --output p.csv --set data.label=none", table));
    std::ifstream in(path("p.csv"));
    std::string line;
    std::getline(in, line);
    EXPECT_EQ(line, columns);
    std::vector<double> all;
    while (std::getline(in, line)) all.push_back(std::stod(line.substr(line.rfind(',') + 1)));
    return all;
  }
  nlohmann::json evaluated(const std::string& table) const {
    return nlohmann::json::parse(dpmpi(fmt::format("evaluate run --data {} --json --bootstrap 100", table)));
  }

  const std::string folder_ = ::testing::TempDir() + "dpmpi_Weights";
};

/// Claims at a rate of exp(-1 + x) a year, x = -1, 0 or 1; who has the larger x was insured for a shorter time.
std::string claims(unsigned seed) {
  std::mt19937 bits(seed);
  std::string text = "x,years,claims\n";
  for (int i = 0; i < 6000; ++i) {
    const int x = i % 3 - 1;
    const double years = (x < 0 ? 0.9 : x == 0 ? 0.5 : 0.2) + 0.01 * (i % 11);
    text += fmt::format("{},{:.2f},{}\n", x, years, std::poisson_distribution<int>(years * std::exp(-1 + x))(bits));
  }
  return text;
}
constexpr const char* with_years = "x number\nyears exposure range=0.05..1\nclaims label\n";

TEST_F(Weights, RatesAreThoseOfAYear) {
  write("t.csv", claims(1));
  write("columns.txt", with_years);
  write("ignored.txt", "x number\nyears ignore\nclaims label\n");
  write("rates.csv", "x\n-1\n0\n1\n");
  write("years.csv", "x,years\n-1,1\n0,1\n1,1\n");
  write("counts.csv", "x,years\n1,0.5\n1,0.25\n1,0.01\n1,7\n");
  train("t.csv", "columns.txt", "poisson");
  const std::vector<double> rates = predicted("rates.csv");
  ASSERT_EQ(rates.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(std::log(rates[i]), -2.0 + static_cast<double>(i), 0.1);
  const std::vector<double> counts = predicted("counts.csv");
  ASSERT_EQ(counts.size(), 4U);
  const std::vector<double> years{0.5, 0.25, 0.05, 1};  // brought into their range
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(counts[i], years[i] * rates[2], 1e-5 * rates[2]);
  // What is expected of each record is what is evaluated: no bias, where the constant has much.
  const auto evaluation = evaluated("t.csv");
  EXPECT_GT(evaluation.at("metrics").at("r2"), 0.0);
  train("t.csv", "ignored.txt", "poisson");
  const std::vector<double> wrong = predicted("years.csv");
  EXPECT_LT(wrong[2], 0.6 * rates[2]) << "a rate of who was there for a third of a year";
}

/// Records of some weight, or so often with the same weight.
std::string weighted_table(bool repeated) {
  std::mt19937 bits(5);
  std::normal_distribution<double> normal;
  std::string text = "a,b,w,group,y\n";
  for (int i = 0; i < 300; ++i) {
    const double a = normal(bits), b = normal(bits);
    const int weight = i % 4;
    const bool positive = a + 0.5 * b + normal(bits) > (i % 4 == 3 ? 1 : 0);
    const std::string line = fmt::format("{:.3f},{:.3f}", a, b);
    for (int k = 0; k < (repeated ? weight : 1); ++k)
      text += fmt::format("{},{},{},{}\n", line, repeated ? 3 : weight, i % 2, positive ? "yes" : "no");
  }
  return text;
}
constexpr const char* with_w =
    "a number\nb number\nw weight range=0..3\ngroup category words=0,1\ny label positive=yes\n";

TEST_F(Weights, MetricsAreThoseOfRepeatedRecords) {
  write("t.csv", weighted_table(false));
  write("repeated.csv", weighted_table(true));
  write("columns.txt", with_w);
  for (const char* const objective : {"logistic", "mlp\nhead = logistic\nhidden = 3"}) {
    train("t.csv", "columns.txt", objective);
    const auto weighted = evaluated("t.csv"), repeated = evaluated("repeated.csv");
    EXPECT_EQ(weighted.at("weighted_by"), "w");
    EXPECT_EQ(weighted.at("records"), 300);
    for (const auto& [name, value] : repeated.at("metrics").items()) {
      ASSERT_TRUE(value.is_number()) << name;
      EXPECT_NEAR(weighted.at("metrics").at(name), value, 1e-6) << name;
    }
    for (const auto& [name, value] : repeated.at("constants").items())
      EXPECT_NEAR(weighted.at("constants").at(name), value, 1e-6) << name;
    for (std::size_t k = 0; k < 2; ++k)
      for (const char* const name : {"precision", "recall", "f1"})
        EXPECT_NEAR(weighted.at("by_class")[k].at("metrics").at(name),
                    repeated.at("by_class")[k].at("metrics").at(name), 1e-6);
  }
  EXPECT_TRUE(contains(dpmpi("evaluate run --data repeated.csv --bootstrap 0"), ", weighted by 'w'\n"));
}

// The whole gradient of weighted records is that of the repeated ones, but for the largest weight: models agree.
TEST_F(Weights, ModelsAreThoseOfRepeatedRecords) {
  write("t.csv", weighted_table(false));
  write("repeated.csv", weighted_table(true));
  write("columns.txt", with_w);
  train("t.csv", "columns.txt", "logistic");
  const auto of_weighted = evaluated("repeated.csv");
  train("repeated.csv", "columns.txt", "logistic");
  const auto of_repeated = evaluated("t.csv");
  EXPECT_NEAR(of_weighted.at("metrics").at("loss"), of_repeated.at("metrics").at("loss"), 2e-3);
  EXPECT_TRUE(contains(dpmpi("plan --config a.ini"), "losses are multiplied by 'w' / 3"));
}

// The AUC by pairs, each of which counts the product of its weights, is that of repeated records, in training too:
// a step on weighted records is omega times one on the repeated ones, public part and all.
TEST_F(Weights, TheAucOfWeightedRecordsIsThatOfRepeatedOnes) {
  write("t.csv", weighted_table(false));
  write("repeated.csv", weighted_table(true));
  write("columns.txt", with_w);
  write("all.txt", "a number\nb number\nw ignore\ngroup category words=0,1\ny label positive=yes\n");
  const auto train_auc = [&](const char* table, const char* columns, double omega) {
    fs::remove_all(path("run"));
    const std::string of_weights = omega < 1 ? fmt::format("mean_weight = {}\n", omega) : "";
    write("a.ini",
          fmt::format("[data]\ntrain = {}\ncolumns = {}\nheader = yes\n[objective]\nname = auc\nprior = "
                      "0.4\n{}[method]\nname = dp-sgda\nsampling = full\nsteps = 60\nrate = {}\nclip = 50\n"
                      "dual_clip = 50\n[privacy]\nnoise = none\n[run]\ndir = run\n",
                      table, columns, of_weights, 1 / omega));
    dpmpi("--config a.ini --quiet");
  };
  train_auc("t.csv", "columns.txt", 0.5);  // weights are 0, 1, 2, 3 of 3
  const std::vector<double> of_weighted = predicted("t.csv", "record,prediction,score");
  const auto weighted = evaluated("t.csv"), as_if_repeated = evaluated("repeated.csv");
  for (const char* const name : {"auc", "loss"})
    EXPECT_NEAR(weighted.at("metrics").at(name), as_if_repeated.at("metrics").at(name), 1e-6);
  train_auc("repeated.csv", "all.txt", 1);
  const std::vector<double> of_repeated = predicted("t.csv", "record,prediction,score");
  ASSERT_EQ(of_weighted.size(), of_repeated.size());
  for (std::size_t i = 0; i < of_weighted.size(); ++i) EXPECT_NEAR(of_weighted[i], of_repeated[i], 1e-4);
  EXPECT_NEAR(evaluated("repeated.csv").at("metrics").at("loss"), as_if_repeated.at("metrics").at("loss"), 1e-4);
}

// Not a loss of 0, which would look like a perfect model.
TEST_F(Weights, NothingIsSaidOfRecordsThatDoNotCount) {
  write("c.txt", "x number\nw weight range=0..4\ny label\n");
  write("t.csv", "x,w,y\n1,1,1\n0,2,0\n1,4,1\n0,1,0\n");
  write("none.csv", "x,w,y\n1,0,1\n0,0,0\n1,-3,1\n");
  train("t.csv", "c.txt", "logistic");
  const Outcome outcome =
      test::run_command(fmt::format("cd {} && {} evaluate run --data none.csv", folder_, test::program()));
  EXPECT_EQ(outcome.code, 3) << outcome.output;
  EXPECT_TRUE(contains(outcome.output, "column 'w' is of kind weight, and it is 0 in every record to evaluate on"))
      << outcome.output;
}

TEST_F(Weights, AreProposedByTheirNamesAsAHintOnly) {
  write("t.csv", "sample_weight,exposure,size,y\n1,0.5,3,0\n2,0.7,4,1\n1.5,0.2,9,0\n1,0.1,2,1\n");
  const std::string proposal = dpmpi("inspect t.csv");
  EXPECT_TRUE(
      contains(proposal, "# sample_weight: if it says how much a record counts: sample_weight weight range="));
  EXPECT_TRUE(contains(proposal, "# exposure: if counts grow with it: exposure exposure range="));
  EXPECT_TRUE(contains(proposal, "\nsample_weight number range=1..2"));
  write("names.csv", "name,kind,values\nw,weight,0..20\ne,exposure,\nsize,integer,\ny,label,\n");
  const std::string names = dpmpi("inspect names.csv --from-names");
  EXPECT_TRUE(contains(names, "\nw weight range=0..20\n")) << names;
  EXPECT_TRUE(contains(names, "# fill in: e exposure range=LOW..HIGH\n")) << names;
}

// Weights far below the end of their range are not rounded away, and only their ratios count.
TEST_F(Weights, TheEndOfTheRangeChangesNoMetric) {
  std::string table = "y,x,w\n";
  for (int i = 0; i < 200; ++i) table += fmt::format("{},{},{}\n", i % 7 < 3 ? 1 : 0, i % 7 - 3 + i % 3, 1 + i % 3);
  write("t.csv", table);
  write("e.csv", table.substr(0, table.find('\n', 500) + 1));
  for (const char* high : {"3", "1e9"})
    write(fmt::format("{}.txt", high), fmt::format("y label positive=1\nx number\nw weight range=0..{}\n", high));
  write("a.ini",
        "[data]\ntrain = t.csv\neval = e.csv\nheader = yes\ncolumns = 3.txt\nblocks = 4\n[method]\nbatch = 50\n"
        "steps = 20\n[privacy]\nepsilon = 2\ndelta = 1e-3\n[run]\ndir = run\n");
  dpmpi("--config a.ini");
  const auto loss = [&](const char* high) {
    const std::string words = fmt::format("evaluate run/model.safetensors --json --data {} --set data.columns={}",
                                          path("e.csv"), path(fmt::format("{}.txt", high)));
    return nlohmann::json::parse(dpmpi(words)).at("metrics").at("loss").get<double>();
  };
  EXPECT_GT(loss("3"), 0.01);
  EXPECT_NEAR(loss("1e9"), loss("3"), 1e-5);
}

}  // namespace
}  // namespace dpmpi::weights_test
