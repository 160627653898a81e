// The interface for programs of others, against what the program says of the same.
#include "dpmpi/dpmpi.hpp"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "data/formats/arrays.hpp"
#include "run/directory/files.hpp"
#include "support/process.hpp"
#include "support/programs.hpp"
#include "support/text.hpp"

namespace dpmpi::library_test {
namespace {

namespace fs = std::filesystem;
using test::contains;

class Library : public ::testing::Test {
 protected:
  static std::string path(const std::string& name) { return ::testing::TempDir() + "dpmpi_Library/" + name; }
  static test::Outcome dpmpi(const std::string& words) {
    return test::run_command(fmt::format("cd {} && {} {}", path(""), test::program(), words));
  }
  static void SetUpTestSuite() {
    fs::remove_all(path(""));
    fs::create_directories(path(""));
    ASSERT_EQ(dpmpi("generate --output t.csv --records 300 --eval-records 60 --features 4").code, 0);
    std::ofstream(path("a.ini"))
        << "[data]\ntrain = t.csv\neval = t-eval.csv\nblocks = 4\nnormalize = l2\n[method]\n"
           "batch = 50\nsteps = 40\n[privacy]\nepsilon = 3\ndelta = 1e-4\nseed = 7\n";
  }
  static library::Settings into(const std::string& run) { return {"run.dir=" + path(run)}; }
  template <class Call>
  static void expect_error(int code, const std::string& part, Call&& call) {
    try {
      call();
      ADD_FAILURE() << "no error: " << part;
    } catch (const library::Error& e) {
      EXPECT_EQ(e.exit_code(), code) << e.what();
      EXPECT_TRUE(contains(e.what(), part)) << e.what();
    }
  }
};

TEST_F(Library, PlansAsTheProgramDoes) {
  const library::Planned planned = library::plan(path("a.ini"), {"privacy.epsilon=2"});
  auto said = nlohmann::json::parse(dpmpi("plan --config a.ini --set privacy.epsilon=2 --json").output);
  said.erase("predicted");
  said.erase("records");
  EXPECT_EQ(nlohmann::json::parse(planned.json), said);
  EXPECT_EQ(planned.promise.epsilon, said["epsilon"].get<double>());
  EXPECT_EQ(planned.promise.adjacency, "add_remove");
  EXPECT_EQ(planned.steps, 40u);
  EXPECT_EQ(planned.records, 300u);
  EXPECT_EQ(planned.parameters, said["dim"].get<std::uint64_t>());
  EXPECT_EQ(planned.noise_multiplier, said["noise"][0]["noise_multiplier"].get<double>());
}

TEST_F(Library, TrainsStopsResumesAndAccountsAsTheProgramDoes) {
  ASSERT_EQ(dpmpi("--quiet --config a.ini --set run.dir=program").code, 0);
  library::Settings settings = into("mine");
  settings.emplace_back("run.max_hours=1e-12");
  const library::Trained stopped = library::train(path("a.ini"), settings);
  EXPECT_FALSE(stopped.finished);
  EXPECT_EQ(stopped.directory, path("mine"));
  const library::Trained trained = library::resume(path("mine"), {"run.max_hours=0"});
  EXPECT_TRUE(trained.finished);
  EXPECT_EQ(trained.metrics.at("step"), 40);
  EXPECT_TRUE(trained.metrics.contains("eval.accuracy"));
  for (const char* file : {"ledger.jsonl", "metrics.jsonl"})
    EXPECT_EQ(read_file(path("mine/") + file), read_file(path("program/") + file)) << "the same seed: " << file;
  EXPECT_TRUE(contains(dpmpi("verify mine").output, "everything fits together"));

  const std::string events = "{\"event\":\"gaussian\",\"noise_multiplier\":2,\"count\":10}\n";
  write_file(path("events.jsonl"), events);
  const auto said = nlohmann::json::parse(dpmpi("account events.jsonl --delta 1e-5 --json").output);
  EXPECT_EQ(library::account(events, 1e-5).epsilon, said["epsilon"].get<double>());
  EXPECT_EQ(library::account(events, 1e-5).adjacency, "add_remove");
  EXPECT_TRUE(std::isinf(library::account(read_file(path("mine/ledger.jsonl")), 1e-4).epsilon)) << "it has a seed";
}

// It holds the trainings that were drawn, and all that were planned cost.
TEST_F(Library, TheLedgerOfASearchesTrainingsIsNotTakenForAList) {
  library::train(path("a.ini"), into("of_header"));
  const std::string ledger = read_file(path("of_header/ledger.jsonl"));
  std::string header = ledger.substr(0, ledger.find('\n') + 1);
  EXPECT_NO_THROW(library::account(header, 1e-5));
  header.insert(header.find('{') + 1, "\"trainings\":9,");
  expect_error(4, "costs what was planned", [&] { library::account(header, 1e-5); });
}

TEST_F(Library, PredictsAsTheProgramDoes) {
  library::train(path("a.ini"), into("model"));
  std::vector<float> rows;
  for (int i = 0; i < 7 * 4; ++i) rows.push_back(0.25f * static_cast<float>(i % 9) - 1);
  write_file(path("rows.npy"), npy_header(7, 4) + std::string(reinterpret_cast<const char*>(rows.data()),
                                                              rows.size() * sizeof(float)));
  ASSERT_EQ(
      dpmpi("predict model --data rows.npy --output out.npy --set data.label=none --set data.format=npy").code, 0);
  for (const char* model : {"model", "model/model.safetensors"}) {
    const library::Predicted predicted = library::predict(path(model), rows, 4);
    ASSERT_EQ(predicted.outputs, 1u);
    ASSERT_EQ(predicted.scores.size(), 7u);
    const std::string said = read_file(path("out.npy")).substr(npy_header(7, 1).size());
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(predicted.scores.data()), 7 * sizeof(float)), said)
        << model;
  }
}

TEST_F(Library, ErrorsHaveTheCodesOfTheProgram) {
  expect_error(2, "did you mean method.batch?", [] { library::plan(path("a.ini"), {"method.bacth=3"}); });
  expect_error(2, "run.dir is not set", [] { library::train(path("a.ini")); });
  expect_error(3, "gone.csv", [] { library::plan(path("a.ini"), {"data.train=gone.csv"}); });
  expect_error(2, "delta is 0", [] { library::account("", 0); });
  expect_error(4, "events:1", [] { library::account("{\"event\":\"magic\"}\n", 1e-5); });
  library::train(path("a.ini"), into("once"));
  expect_error(2, "once", [] { library::train(path("a.ini"), into("once")); });
  expect_error(2, "no rows of 4 features", [] { library::predict(path("once"), std::vector<float>(7), 4); });
  expect_error(3, "has 5 features", [] { library::predict(path("once"), std::vector<float>(10), 5); });
  expect_error(2, "no rows", [] { library::predict(path("once"), {}, 4); });
}

}  // namespace
}  // namespace dpmpi::library_test
