// Records that a trained generator makes, as files.
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "data/formats/arrays.hpp"
#include "run/directory/files.hpp"
#include "support/png_reader.hpp"
#include "support/process.hpp"
#include "support/programs.hpp"

namespace dpmpi::sample_test {
namespace {

namespace fs = std::filesystem;

class Sample : public ::testing::Test {
 protected:
  static std::string folder() { return ::testing::TempDir() + "dpmpi_sample"; }
  static test::Outcome dpmpi(const std::string& words) {
    return test::run_command(fmt::format("cd {} && {} {}", folder(), test::program(), words));
  }
  static std::string file(const std::string& name) { return read_file(folder() + "/" + name); }

  /// A generator, into this folder.
  static test::Outcome train(const std::string& run, const std::string& more = "") {
    return dpmpi(
        fmt::format("-q --config c.ini --set run.dir={} --set objective.name=wgan --set objective.image_rows=2 "
                    "--set objective.image_columns=3 --set objective.generator=5 --set objective.critic=4 "
                    "--set objective.latent=2 --set objective.fakes=8 --set method.name=private-diff "
                    "--set method.steps=10 --set method.batch=50 --set method.rate=0.5 --set method.momentum=0 "
                    "--set method.dual_clip=1 --set method.dual_rate=0.1 {}",
                    run, more));
  }

  static void SetUpTestSuite() {
    fs::remove_all(folder());
    fs::create_directories(folder());
    ASSERT_EQ(dpmpi("generate --output t.csv --records 200 --eval-records 50 --features 6").code, 0);
    std::ofstream(folder() + "/c.ini") << "[data]\ntrain = t.csv\neval = t-eval.csv\nblocks = 4\n[privacy]\n"
                                          "epsilon = 3\ndelta = 1e-4\n[report]\nprogress = none\n";
    ASSERT_EQ(train("generator").code, 0);
    ASSERT_EQ(dpmpi("-q --config c.ini --set run.dir=classifier --set method.steps=2 --set method.batch=50").code,
              0);
  }

  static std::vector<std::vector<double>> csv(const std::string& name) {
    std::istringstream lines(file(name));
    std::vector<std::vector<double>> rows;
    std::string line;
    std::getline(lines, line);
    EXPECT_EQ(line, "x1,x2,x3,x4,x5,x6");
    while (std::getline(lines, line)) {
      rows.emplace_back();
      std::istringstream fields(line);
      for (std::string field; std::getline(fields, field, ',');) rows.back().push_back(std::stod(field));
    }
    return rows;
  }
};

TEST_F(Sample, WritesTheSameRecordsInEachFormat) {
  for (const char* name : {"a.csv", "a.npy", "a.png"}) {
    const auto outcome = dpmpi(fmt::format("sample generator --records 1500 --output {}", name));
    ASSERT_EQ(outcome.code, 0) << outcome.output;
    EXPECT_EQ(outcome.output, fmt::format("wrote 1500 records to {}\n", name));
  }
  const auto rows = csv("a.csv");
  ASSERT_EQ(rows.size(), 1500U);
  const std::string npy = file("a.npy"), header = npy_header(1500, 6);
  ASSERT_EQ(npy.size(), header.size() + 1500 * 6 * sizeof(float));
  EXPECT_TRUE(npy.starts_with(header));
  std::vector<float> values(1500 * 6);
  npy.copy(reinterpret_cast<char*>(values.data()), values.size() * sizeof(float), header.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(static_cast<float>(rows[i / 6].at(i % 6)), values[i]);
    EXPECT_LE(std::abs(values[i]), 1.0F);
  }
  const GreyImage sheet = test::read_png(file("a.png"));  // 39 across, of 3 x 2 pixels with a line between them
  EXPECT_EQ(sheet.width, 39 * 4 - 1U);
  EXPECT_EQ(sheet.height, 39 * 3 - 1U);
  EXPECT_NEAR(sheet.pixels[4], (values[6] + 1) * 127.5F, 0.51);
}

TEST_F(Sample, SaysTheClassOfEachRecord) {
  ASSERT_EQ(train("classes", "--set objective.classes=2 --set data.label_map=-1:0,1:1").code, 0);
  ASSERT_EQ(dpmpi("sample classes --records 1027 --output c.csv").code, 0);
  std::istringstream lines(file("c.csv"));
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "label,x1,x2,x3,x4,x5,x6");
  int count = 0;
  for (; std::getline(lines, line); ++count)
    ASSERT_EQ(line.substr(0, 2), fmt::format("{},", count % 2)) << "record " << count;
  EXPECT_EQ(count, 1027);
  const auto trained = dpmpi(
      "-q --config c.ini --set run.dir=on-samples --set data.train=c.csv --set data.eval= "
      "--set data.header=yes --set data.label=label --set method.steps=2 --set method.batch=50");
  EXPECT_EQ(trained.code, 0) << "a classifier can be trained on them:\n" << trained.output;
}

TEST_F(Sample, FollowsFromTheSeedAlone) {
  const auto made = [](const std::string& options) {
    EXPECT_EQ(dpmpi("sample generator --output b.csv " + options).code, 0);
    return csv("b.csv");
  };
  const auto all = made("--records 1100"), some = made("--records 1030"), others = made("--records 1100 --seed 2");
  EXPECT_EQ(made("--records 1100"), all);
  EXPECT_EQ(std::vector(all.begin(), all.begin() + 1030), some) << "fewer records are the first of more";
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_NE(all[i], others[i]);
  EXPECT_EQ(made("").size(), 1000U);
}

TEST_F(Sample, NeedsNoDataOfTheRun) {
  ASSERT_EQ(dpmpi("sample generator --output here.csv").code, 0);
  for (const char* name : {"t.csv", "t-eval.csv"}) fs::rename(folder() + "/" + name, folder() + "/away-" + name);
  const auto outcome = dpmpi("sample generator --output gone.csv");
  for (const char* name : {"t.csv", "t-eval.csv"}) fs::rename(folder() + "/away-" + name, folder() + "/" + name);
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_EQ(file("gone.csv"), file("here.csv"));
}

// Under whatever name: links are followed, and a file is first written beside its name.
TEST_F(Sample, LeavesFilesOfRunsAndInputsAlone) {
  const std::string ledger = file("generator/ledger.jsonl"), data = file("t.csv");
  fs::create_directories(folder() + "/generator/checkpoint");
  std::ofstream(folder() + "/generator/checkpoint/key") << "secret";
  fs::copy_file(folder() + "/t.csv", folder() + "/odd.csv.new", fs::copy_options::overwrite_existing);
  ASSERT_EQ(train("odd", "--set data.train=odd.csv.new --set data.format=csv").code, 0);
  for (const auto& [link, to] :
       {std::pair{"l.csv", "generator/ledger.jsonl"}, std::pair{"k.csv", "generator/checkpoint/key"}}) {
    fs::remove(folder() + "/" + link);
    fs::create_symlink(to, folder() + "/" + link);
    const auto outcome = dpmpi(fmt::format("sample generator --output {}", link));
    EXPECT_EQ(outcome.code, 2) << outcome.output;
    EXPECT_NE(outcome.output.find("belongs to a run"), std::string::npos) << outcome.output;
  }
  const auto outcome = dpmpi("sample odd --output odd.csv");
  EXPECT_EQ(outcome.code, 2) << outcome.output;
  EXPECT_NE(outcome.output.find("would replace its input"), std::string::npos) << outcome.output;
  EXPECT_EQ(file("generator/ledger.jsonl"), ledger);
  EXPECT_EQ(file("generator/checkpoint/key"), "secret");
  EXPECT_EQ(file("odd.csv.new"), data);
  fs::remove_all(folder() + "/generator/checkpoint");
}

// An output that somebody closed to others stays closed, and none is opened wider than a new one.
TEST_F(Sample, PermitsNoMoreThanWhatItReplaces) {
  const std::string output = folder() + "/kept.csv";
  const mode_t mask = ::umask(022);
  for (const auto& [before, after] : {std::pair{0600U, 0600U}, {0640U, 0640U}, {0666U, 0644U}}) {
    std::ofstream(output) << "old";
    fs::permissions(output, fs::perms(before));
    ASSERT_EQ(dpmpi("sample generator --records 2 --output kept.csv").code, 0);
    EXPECT_EQ(fs::status(output).permissions(), fs::perms(after));
  }
  ::umask(mask);
}

TEST_F(Sample, RefusesInOneLine) {
  const auto refuses = [](const std::string& words, int code, const std::string& says) {
    const auto outcome = dpmpi("sample " + words);
    EXPECT_EQ(outcome.code, code) << words << outcome.output;
    EXPECT_NE(outcome.output.find(says), std::string::npos) << words << "\n" << outcome.output;
    EXPECT_FALSE(fs::exists(folder() + "/no.csv"));
  };
  refuses("classifier --output no.csv", 2, "makes no records");
  refuses("generator --output no.txt", 2, "must end with .csv, .npy or .png");
  refuses("generator --output no.csv --records 0", 2, "records");
  refuses("generator --output no.png --records 10001", 2, "at most 10000 pictures");
  refuses("generator --output t.csv", 2, "t.csv");
  refuses("generator --output generator/samples.png", 2, "belongs to a run");
  refuses("generator --output " + std::string(300, 'a') + ".csv", 3, "File name too long");
  refuses("nowhere --output no.csv", 2, "not a run directory");
  ASSERT_EQ(train("diverged", "--set method.rate=1e38").code, 0);
  refuses("diverged --output no.csv", 3, "its training diverged");
  EXPECT_FALSE(fs::exists(folder() + "/no.csv.new"));
  fs::remove_all(folder() + "/damaged");
  fs::copy(folder() + "/generator", folder() + "/damaged", fs::copy_options::recursive);
  std::string model = file("damaged/model.safetensors");
  model.back() = static_cast<char>(model.back() ^ 1);
  std::ofstream(folder() + "/damaged/model.safetensors", std::ios::binary) << model;
  refuses("damaged --output no.csv", 4, "is not the model of");
  fs::remove_all(folder() + "/changed");
  fs::copy(folder() + "/generator", folder() + "/changed", fs::copy_options::recursive);
  std::string config = file("changed/config.ini");
  ASSERT_NE(config.find("image_rows = 2"), std::string::npos) << config;
  config.replace(config.find("image_rows = 2"), 14, "image_rows = 3");
  std::ofstream(folder() + "/changed/config.ini") << config;
  refuses("changed --output no.csv", 4, "is not the config of this run");
  fs::remove(folder() + "/damaged/plan.json");
  refuses("damaged --output no.csv", 3, "plan.json");
}

}  // namespace
}  // namespace dpmpi::sample_test
