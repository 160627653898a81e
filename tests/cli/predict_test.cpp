// A model is used by somebody who has the run directory, and neither its training file nor its config.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "run/directory/files.hpp"
#include "run/directory/safetensors.hpp"
#include "support/process.hpp"
#include "support/programs.hpp"

namespace dpmpi::predict_test {
namespace {

namespace fs = std::filesystem;

class Predict : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(folder_ + "/away");
    std::ofstream table(folder_ + "/away/train.csv");
    table << "size,who,colour,kind\n";
    for (int i = 0; i < 300; ++i)
      table << fmt::format("{},\"P, {}\",{},{}\n", i % 30, i % 90, i % 2 == 0 ? "red" : "\"blue, dark\"",
                           i % 30 < 10   ? "small"
                           : i % 30 < 20 ? "\"medium, so\""
                                         : "big");
  }
  void TearDown() override { fs::remove_all(folder_); }

  test::Outcome dpmpi(const std::string& words, int ranks = 1) const {
    const std::string launcher = ranks > 1 ? fmt::format("mpirun -n {} ", ranks) : "";
    return test::run_command(fmt::format("cd {} && {}{} {}", folder_, launcher, test::program(), words), 60);
  }
  /// A run of which nothing but its directory is left.
  void train(const std::string& label, const std::string& objective) const {
    std::ofstream(folder_ + "/away/columns.txt")
        << "size number range=0..30\ncolour category words=red,\"blue, dark\"\nwho person\nkind label " << label
        << "\n";
    std::ofstream(folder_ + "/away/a.ini")
        << "[data]\ntrain = train.csv\ncolumns = columns.txt\nheader = yes\n"
        << objective
        << "\n[method]\nbatch = 60\nsteps = 60\nrate = 1\n[privacy]\nnoise = none\n"
           "[run]\ndir = ../run\n";
    const test::Outcome outcome =
        test::run_command(fmt::format("cd {}/away && {} --config a.ini", folder_, test::program()), 60);
    ASSERT_EQ(outcome.code, 0) << outcome.output;
    fs::remove_all(folder_ + "/away");
  }
  std::vector<std::string> lines(const std::string& file) const {
    std::istringstream in(read_file(folder_ + "/" + file));
    std::vector<std::string> all;
    for (std::string line; std::getline(in, line);) all.push_back(line);
    return all;
  }

  const std::string folder_ = ::testing::TempDir() + "dpmpi_Predict";
};

// Columns by name in another order, one that is not needed, and no labels; classes by their words.
TEST_F(Predict, NeedsTheRunDirectoryAlone) {
  train("classes=small,\"medium, so\",big", "[objective]\nname = softmax\nclasses = 3");
  EXPECT_TRUE(fs::exists(folder_ + "/run/columns.txt"));
  std::ofstream(folder_ + "/new.csv")
      << "\"note, own\",colour,who,size\n\"x, y\",red,A,2\nz,\"blue, dark\",\"B, C\",28\n,red,D,28\n";
  for (const int ranks : {1, 3}) {
    const test::Outcome outcome =
        dpmpi("predict run --data new.csv --set data.label=none --keep \"who,\\\"note, own\\\"\" --output out.csv",
              ranks);
    ASSERT_EQ(outcome.code, 0) << outcome.output;
    const auto rows = lines("out.csv");
    ASSERT_EQ(rows.size(), 4u);
    EXPECT_EQ(rows[0],
              "record,who,\"note, own\",prediction,probability_small,\"probability_medium, so\",probability_big");
    EXPECT_TRUE(rows[1].starts_with("1,A,\"x, y\",small,0.")) << rows[1];
    EXPECT_TRUE(rows[2].starts_with("2,\"B, C\",z,big,0.")) << rows[2];
    EXPECT_TRUE(rows[3].starts_with("3,D,,big,0.")) << rows[3];
  }
  const test::Outcome verified = dpmpi("verify run");
  EXPECT_EQ(verified.code, 0) << verified.output;
  EXPECT_EQ(verified.output.find("columns.txt"), std::string::npos) << "it is read, for its digest";
  std::ofstream(folder_ + "/run/columns.txt", std::ios::app) << "# changed\n";
  for (const char* words : {"verify run", "predict run --data new.csv --set data.label=none --output out.csv"}) {
    const test::Outcome changed = dpmpi(words);
    EXPECT_NE(changed.code, 0);
    EXPECT_NE(changed.output.find("data.columns"), std::string::npos) << changed.output;
  }
}

// The model file alone says the same as the run directory, of any records; what it says of itself is bound to the
// run.
TEST_F(Predict, AModelFileIsEnough) {
  train("classes=small,\"medium, so\",big",
        "bias = 0.5\n[objective]\nname = mlp\nhead = softmax\nclasses = 3\nhidden = 4");
  std::ofstream(folder_ + "/new.csv")
      << "note,kind,colour,size\n\"x, y\",small,red,2\nz,big,\"blue, dark\",28\n,\"medium, so\",red,15\n";
  ASSERT_EQ(dpmpi("predict run --data new.csv --output of_run.csv").code, 0);
  const test::Outcome measured = dpmpi("evaluate run --data new.csv");
  ASSERT_EQ(measured.code, 0) << measured.output;
  ASSERT_EQ(dpmpi("verify run").code, 0);
  fs::copy(folder_ + "/run/model.safetensors", folder_ + "/m.safetensors");
  fs::remove_all(folder_ + "/run");
  for (const int ranks : {1, 3}) {
    const test::Outcome outcome = dpmpi("predict m.safetensors --data new.csv --output alone.csv", ranks);
    ASSERT_EQ(outcome.code, 0) << outcome.output;
    EXPECT_EQ(lines("alone.csv"), lines("of_run.csv"));
  }
  fs::create_symlink("m.safetensors", folder_ + "/link.safetensors");
  EXPECT_EQ(dpmpi("predict link.safetensors --data new.csv --output linked.csv").code, 0);
  EXPECT_EQ(lines("linked.csv"), lines("of_run.csv"));
  const test::Outcome alone = dpmpi("evaluate m.safetensors --data new.csv");
  EXPECT_EQ(alone.code, 0);
  EXPECT_EQ(alone.output.substr(alone.output.find(" on ")), measured.output.substr(measured.output.find(" on ")));
  for (const auto& [words, part] :
       {std::pair{"evaluate m.safetensors", "m.safetensors has no data.eval: name the records with --data FILE"},
        {"predict m.safetensors --data new.csv --output m.safetensors", "must end with .csv or .npy"},
        {"predict m.safetensors --data new.csv --set method.rate=2 --output o.csv", "--set method.rate"},
        {"predict m.safetensors --data new.csv --set data.bias=x --output o.csv", "data.bias"},
        {"predict new.csv --data new.csv --output o.csv", "new.csv is no model file"}}) {
    const test::Outcome outcome = dpmpi(words);
    EXPECT_NE(outcome.code, 0);
    EXPECT_NE(outcome.output.find(part), std::string::npos) << outcome.output;
  }
}

// A model file may come from anybody. `text` replaces `with` in its header, of the same length.
TEST_F(Predict, AModelFileMayNotNameFilesOrCode) {
  train("positive=big", "[objective]\nname = logistic\nl2 = 0.01");
  std::ofstream(folder_ + "/new.csv") << "size,colour\n2,red\n";
  const std::string model = read_file(folder_ + "/run/model.safetensors");
  const auto refused = [&](const std::string& text, const std::string& with, const std::string& part) {
    std::string forged = model;
    const auto at = forged.find(text);
    ASSERT_NE(at, std::string::npos) << text << " in " << forged.substr(0, 2000);
    ASSERT_EQ(text.size(), with.size());
    std::ofstream(folder_ + "/m.safetensors", std::ios::binary) << forged.replace(at, text.size(), with);
    const test::Outcome outcome =
        dpmpi("predict m.safetensors --data new.csv --set data.label=none --output o.csv");
    EXPECT_NE(outcome.code, 0) << with;
    EXPECT_NE(outcome.output.find(part), std::string::npos) << outcome.output;
    std::ofstream(folder_ + "/run/model.safetensors", std::ios::binary) << forged;
    const test::Outcome verified = dpmpi("verify run");
    EXPECT_NE(verified.code, 0) << with;
    EXPECT_NE(verified.output.find("says other things of itself"), std::string::npos) << verified.output;
  };
  refused("header = yes", "train  = yes", "data.train is not for a model file to say");
  refused("header = yes", "root   = yes", "data.root is not for a model file to say");
  refused("[objective]", "[privacy]  ", "privacy.");
  refused("range=0..30", "range=0..31", "is not the file of data.columns_digest");
  refused("\"features\":\"3\"", "\"features\":\"4\"", "has 3 features, the records of the run had 4");
  refused("\"features\":\"3\"", "\"features\":\"x\"", "does not say how many features");
  refused("\"recipe\":", "\"recepi\":", "does not say how records are read");
}

std::string with_recipe(const std::string& model, const std::string& recipe) {
  std::uint64_t size = 0;
  std::memcpy(&size, model.data(), sizeof size);
  auto header = nlohmann::ordered_json::parse(model.substr(sizeof size, size));
  header["__metadata__"]["recipe"] = recipe;
  const std::string text = header.dump();
  const std::uint64_t length = text.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof length) + text +
         model.substr(sizeof size + size);
}

// Nor may it ask for more memory than is in proportion to it.
TEST_F(Predict, AModelFileAsksForNoMoreThanItIs) {
  train("positive=big", "[objective]\nname = logistic");
  std::ofstream(folder_ + "/new.csv") << "size,colour\n2,red\n";
  const std::string model = read_file(folder_ + "/run/model.safetensors");
  for (const auto& [objective, part] :
       {std::pair{"name = plugin", "objective.name = plugin needs more than a model file: name its run directory"},
        {"name = mlp\nclasses = 2\nhidden = 1000000000", "does not fit in memory"},
        {"name = softmax\nclasses = 2", "tensor weight is "}}) {
    std::ofstream(folder_ + "/m.safetensors", std::ios::binary)
        << with_recipe(model, fmt::format("[data]\nheader = yes\n[objective]\n{}\n", objective));
    const test::Outcome outcome =
        dpmpi("predict m.safetensors --data new.csv --set data.label=none --output o.csv", 2);
    EXPECT_NE(outcome.code, 0);
    EXPECT_NE(outcome.output.find(part), std::string::npos) << outcome.output;
  }
}

TEST_F(Predict, AThresholdDecides) {
  train("positive=big", "[objective]\nname = logistic");
  std::ofstream(folder_ + "/new.csv") << "size,colour\n2,red\n17,red\n29,red\n";
  const auto signs = [&](const std::string& threshold) {
    const test::Outcome outcome =
        dpmpi("predict run --data new.csv --set data.label=none --output out.csv" + threshold);
    EXPECT_EQ(outcome.code, 0) << outcome.output;
    std::string text;
    for (const std::string& row : lines("out.csv")) {
      const auto first = row.find(',') + 1;
      text += row.substr(first, row.find(',', first) - first) + " ";
    }
    return text;
  };
  EXPECT_EQ(signs(""), "prediction -1 -1 1 ");
  EXPECT_EQ(signs(" --threshold 0.999999"), "prediction -1 -1 -1 ");
  EXPECT_EQ(signs(" --threshold 1e-9"), "prediction 1 1 1 ");
  for (const auto& [words, part] :
       {std::pair{"--threshold 1 --output out.csv", "--threshold is 1, allowed: numbers in (0, 1)"},
        {"--threshold 0.5 --output out.npy", "--threshold and --keep are for OUT.csv"},
        {"--keep sise --output out.csv", "--keep: there is no column 'sise'; columns are size, colour"},
        {"--keep \\\"size --output out.csv", "--keep \"size: a quoted field is not closed"},
        {"--keep size, --output out.csv", "--keep: there is no column ''; columns are size, colour"}}) {
    const test::Outcome outcome = dpmpi(fmt::format("predict run --data new.csv --set data.label=none {}", words));
    EXPECT_EQ(outcome.code, 2) << outcome.output;
    EXPECT_NE(outcome.output.find(part), std::string::npos) << outcome.output;
  }
}

// What is kept of a record stays in its row, whatever stands in it; further columns are ignored if names are looked
// for.
TEST_F(Predict, KeptFieldsDoNotBreakRows) {
  train("positive=big", "[objective]\nname = logistic");
  std::ofstream(folder_ + "/new.csv") << "note,colour,size\n\"a\rb\",red,2\n\"say \"\"x, y\"\"\",red,28\n";
  for (const char* header : {"auto", "yes"}) {
    const test::Outcome outcome = dpmpi(fmt::format(
        "predict run --data new.csv --set data.label=none --set data.header={} --keep note --output out.csv",
        header));
    ASSERT_EQ(outcome.code, 0) << outcome.output;
    const auto rows = lines("out.csv");
    ASSERT_EQ(rows.size(), 3u);
    EXPECT_TRUE(rows[1].starts_with("1,\"a\rb\",-1,")) << rows[1];
    EXPECT_TRUE(rows[2].starts_with("2,\"say \"\"x, y\"\"\",1,")) << rows[2];
  }
}

// The number of one class is the word of another: then all have their numbers.
TEST_F(Predict, NoTwoClassesHaveOneName) {
  std::ofstream table(folder_ + "/away/train.csv");
  table << "size,who,colour,kind\n";
  for (int i = 0; i < 300; ++i)
    table << fmt::format("{},{},red,{}\n", i % 30, i, i % 30 < 10 ? "a" : i % 30 < 20 ? "b" : "0");
  table.close();
  train("", "label_map = a:0,b:0,0:1\n[objective]\nname = softmax\nclasses = 2");
  std::ofstream(folder_ + "/new.csv") << "size,colour\n2,red\n28,red\n";
  const test::Outcome outcome = dpmpi("predict run --data new.csv --set data.label=none --output out.csv");
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  const auto rows = lines("out.csv");
  EXPECT_EQ(rows.at(0), "record,prediction,probability_0,probability_1");
  EXPECT_TRUE(rows.at(1).starts_with("1,0,")) << rows[1];
  EXPECT_TRUE(rows.at(2).starts_with("2,1,")) << rows[2];
}

// A count is predicted by its rate.
TEST_F(Predict, QuantitiesHaveTheirOwnScale) {
  std::ofstream table(folder_ + "/away/train.csv");
  table << "size,who,colour,kind\n";
  for (int i = 0; i < 300; ++i) table << fmt::format("{},{},red,{}\n", i % 30, i, 5 + i % 3);
  table.close();
  train("", "[objective]\nname = poisson");
  std::ofstream(folder_ + "/new.csv") << "size,colour\n15,red\n";
  ASSERT_EQ(dpmpi("predict run --data new.csv --set data.label=none --output out.csv").code, 0);
  const auto rows = lines("out.csv");
  EXPECT_EQ(rows.at(0), "record,prediction");
  ASSERT_EQ(dpmpi("predict run --data new.csv --set data.label=none --output out.npy").code, 0);
  const std::string array = read_file(folder_ + "/out.npy");
  float score = 0;
  std::memcpy(&score, array.data() + array.size() - sizeof score, sizeof score);
  EXPECT_NEAR(std::stod(rows.at(1).substr(2)), std::exp(score), 1e-4);
  const test::Outcome refused =
      dpmpi("predict run --data new.csv --set data.label=none --threshold 0.5 --output out.csv");
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.output.find("--threshold is for probabilities of +1"), std::string::npos) << refused.output;
}

// Trained as if "big" came six times as often; what is said of records is what they are. By hand from the
// parameters.
TEST_F(Predict, SaysOfModelsWithClassWeightsWhatHoldsWithoutThem) {
  train("positive=big", "[objective]\nname = logistic\nclass_weights = rest:0.5, big:3");
  fs::create_directories(folder_ + "/alone");
  fs::copy_file(folder_ + "/run/model.safetensors", folder_ + "/alone/m.safetensors");
  const std::vector<ParameterGroup> groups{{"weight", 0, 1, 3}, {"bias", 3, 1, 1}};
  const std::vector<float> w = read_safetensors(folder_ + "/run/model.safetensors", groups);
  const std::pair<double, int> people[] = {{2, 0}, {28, 1}, {23, 0}};  // size, and which colour
  std::ofstream table(folder_ + "/new.csv");
  table << "size,who,colour,kind\n";
  std::vector<double> probability;
  double loss = 0;
  for (const auto& [size, colour] : people) {
    const bool big = size >= 20;
    table << fmt::format("{},A,{},{}\n", size, colour == 0 ? "red" : "\"blue, dark\"", big ? "big" : "small");
    const double weighted = w[0] * size / 30 + w[1 + static_cast<std::size_t>(colour)] + w[3];
    probability.push_back(1 / (1 + std::exp(std::log(6.0) - weighted)));
    loss -= std::log(big ? probability.back() : 1 - probability.back()) / std::size(people);
  }
  table.close();
  for (const std::string model : {"run", "alone/m.safetensors"}) {
    const test::Outcome outcome = dpmpi("predict " + model + " --data new.csv --output out.csv");
    ASSERT_EQ(outcome.code, 0) << outcome.output;
    const auto rows = lines("out.csv");
    ASSERT_EQ(rows.size(), 4u);
    for (std::size_t i = 0; i < 3; ++i) {
      const auto comma = rows[i + 1].rfind(',');
      EXPECT_NEAR(std::stod(rows[i + 1].substr(comma + 1)), probability[i], 2e-6) << model;
      EXPECT_EQ(rows[i + 1].substr(0, comma), fmt::format("{},{}", i + 1, probability[i] > 0.5 ? "1" : "-1"));
    }
    const test::Outcome measured = dpmpi("evaluate " + model + " --data new.csv --json --bootstrap 0");
    ASSERT_EQ(measured.code, 0) << measured.output;
    EXPECT_NEAR(nlohmann::json::parse(measured.output)["metrics"]["loss"].get<double>(), loss, 2e-6) << model;
  }
}

}  // namespace
}  // namespace dpmpi::predict_test
