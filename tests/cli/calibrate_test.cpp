#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/account.hpp"
#include "cli/calibrate.hpp"
#include "core/errors.hpp"
#include "privacy/promise/calibrate.hpp"
#include "support/phases.hpp"

namespace dpmpi::calibrate_test {
namespace {

class CalibrateCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    request_.path = ::testing::TempDir() + "dpmpi-calibrate-" +
                    ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".jsonl";
    request_.json = true;
    request_.epsilon = 1.5, request_.delta = 1e-5;
    request_.accountant = "rdp";
  }
  void TearDown() override { std::filesystem::remove(request_.path); }

  void write(const std::string& text) const { std::ofstream(request_.path) << text; }
  nlohmann::json answer() const {
    std::ostringstream out;
    EXPECT_EQ(calibrate(request_, out), 0);
    return nlohmann::json::parse(out.str());
  }
  // What `account` says when the printed value stands in place of "?".
  double epsilon_with(std::string text, const nlohmann::json& value) const {
    for (std::size_t at; (at = text.find("\"?\"")) != text.npos;) text.replace(at, 3, value.dump());
    write(text);
    AccountRequest request;
    request.path = request_.path, request.delta = request_.delta, request.accountant = request_.accountant;
    request.adjacency = request_.adjacency, request.json = true;
    std::ostringstream out;
    EXPECT_EQ(account(request, out), 0);
    return nlohmann::json::parse(out.str())["epsilon"];
  }
  void expect_refused(const std::string& text, const std::string& message) const {
    write(text);
    std::ostringstream out;
    try {
      calibrate(request_, out);
      ADD_FAILURE() << text;
    } catch (const PrivacyError& e) {
      EXPECT_NE(std::string(e.what()).find(message), std::string::npos) << e.what();
    }
  }

  CalibrateRequest request_;
};

TEST_F(CalibrateCommand, AccountAgreesWithThePrintedValue) {
  const std::string fixed = "{\"event\":\"gaussian\",\"noise_multiplier\":30,\"count\":3}\n\n";
  const std::pair<std::string, std::string> cases[] = {
      {"noise_multiplier",
       fixed + R"({"event":"poisson_gaussian","sampling_rate":0.02,"noise_multiplier":"?","count":500})"
               "\n"
               R"({"event":"gaussian","noise_multiplier" : "?","count":2})"},
      {"sampling_rate",
       fixed + R"({"event":"poisson_gaussian","sampling_rate":"?","noise_multiplier":1.1,"count":500})"},
      {"count", fixed + R"({"event":"poisson_gaussian","sampling_rate":0.01,"noise_multiplier":1.1,"count":"?"})"}};
  for (const auto adjacency : {Adjacency::add_remove, Adjacency::replace_one})
    for (const auto& [member, text] : cases) {
      request_.adjacency = adjacency;
      write(text);
      const auto found = answer();
      const double epsilon = epsilon_with(text, found[member]);
      EXPECT_EQ(found["epsilon"], epsilon) << member;
      EXPECT_EQ(found["adjacency"], std::string(name(adjacency)));
      EXPECT_LE(epsilon, 1.5) << member;
      if (member == "count")
        EXPECT_GT(epsilon_with(text, found[member].get<std::uint64_t>() + 1), 1.5);
      else
        EXPECT_GT(epsilon, 1.5 * (1 - 1e-5)) << member;
    }
}

// What is printed takes no convolutions beyond those of the search.
TEST_F(CalibrateCommand, ComposesNothingAfterTheSearch) {
  request_.accountant = "best";
  write(R"({"event":"poisson_gaussian","sampling_rate":0.02,"noise_multiplier":"?","count":500})");
  const auto searches = [&] {
    calibrate_noise(
        [](double z) {
          return std::vector<Event>{{PoissonGaussian{.02, z}, 500}};
        },
        {1.5, 1e-5, Adjacency::add_remove}, "best");
  };
  const int in_all = test::phases_said("composing privacy losses", [&] { answer(); });
  EXPECT_GT(in_all, 0);
  EXPECT_EQ(in_all, test::phases_said("composing privacy losses", searches));
}

TEST_F(CalibrateCommand, TheHeaderCounts) {
  const std::string event = R"({"event":"poisson_gaussian","sampling_rate":0.02,"noise_multiplier":"?","count":9})";
  write("{\"ledger\":1,\"adjacency\":\"replace_one\",\"n\":100}\n" + event + "\n");
  EXPECT_EQ(answer()["adjacency"], "replace_one");
  request_.adjacency = Adjacency::add_remove;
  std::ostringstream out;
  EXPECT_THROW(calibrate(request_, out), PrivacyError);
  request_.adjacency.reset();
  expect_refused("{\"ledger\":1,\"adjacency\":\"replace_one\",\"seeded\":true}\n" + event, "seeded");
}

TEST_F(CalibrateCommand, Refusals) {
  expect_refused(R"({"event":"gaussian","noise_multiplier":1,"count":1})", "no value is \"?\"");
  expect_refused("", "no value is \"?\"");
  expect_refused(R"({"event":"gaussian","noise_multiplier":"?","count":"?"})", ":1: count is \"?\" beside");
  expect_refused(
      "{\"event\":\"gaussian\",\"noise_multiplier\":\"?\",\"count\":1}\n"
      "{\"event\":\"gaussian\",\"noise_multiplier\":1,\"count\":\"?\"}",
      ":2: count is \"?\", but noise_multiplier is unknown already");
  expect_refused(R"({"event":"wor_gaussian","population":9,"batch":"?","noise_multiplier":1,"count":1})",
                 ":1: batch is \"?\", allowed as unknown: noise_multiplier");
  expect_refused(R"({"event":"laplace","scale":1,"noise_multiplier":"?","count":1})",
                 ":1: laplace has no member noise_multiplier");
  expect_refused(R"({"event":"gaussian","noise_multiplier":"?","count":0})", ":1: count is 0, allowed");
  expect_refused(
      "{\"event\":\"gaussian\",\"noise_multiplier\":0.5,\"count\":1}\n"
      "{\"event\":\"gaussian\",\"noise_multiplier\":\"?\",\"count\":1}",
      "cannot be reached");
  expect_refused("{\"event\":\"gaussian\",\"noise_multiplier\":\"?\",\"count\":1}\n{\"event\":\"non_private\"}",
                 "cannot be reached");
}

TEST_F(CalibrateCommand, WrongRequests) {
  write(R"({"event":"gaussian","noise_multiplier":"?","count":1})");
  const auto refused = [this](auto change) {
    const CalibrateRequest kept = request_;
    change(request_);
    std::ostringstream out;
    EXPECT_THROW(calibrate(request_, out), ConfigError);
    request_ = kept;
  };
  refused([](CalibrateRequest& r) { r.delta.reset(); });
  refused([](CalibrateRequest& r) { r.epsilon.reset(); });
  for (const double epsilon : {0.0, -1.0, std::nan(""), HUGE_VAL})
    refused([=](CalibrateRequest& r) { r.epsilon = epsilon; });
  for (const double delta : {0.0, 1.0, std::nan("")}) refused([=](CalibrateRequest& r) { r.delta = delta; });
  refused([](CalibrateRequest& r) { r.accountant = "moments"; });
  request_.path += ".none";
  std::ostringstream out;
  EXPECT_THROW(calibrate(request_, out), DataError);
}

TEST_F(CalibrateCommand, OnlyMembersOfTheEventAreOpen) {
  write(R"({"event":"gaussian","noise_multiplier":"?","count":9,"note":"\"scale\":\"?\"","x":{"rho":"?"}})"
        "\n");
  const double value = answer()["noise_multiplier"];
  write("{\"event\":\"gaussian\",\"noise_multiplier\":\"?\",\"count\":9}\n");
  EXPECT_EQ(answer()["noise_multiplier"], value);
  // An inner "?" opens nothing, least of all the value that is given outside.
  expect_refused("{\"event\":\"gaussian\",\"x\":{\"noise_multiplier\":\"?\"},\"noise_multiplier\":5,\"count\":9}\n",
                 "no value is \"?\"");
  expect_refused("{\"ledger\":1,\"adjacency\":\"add_remove\",\"scale\":\"?\"}\n", "a header has no member scale");
  expect_refused("{\"event\":\"gaussian\",\"noise_multiplier\":5,\"noise_multiplier\":\"?\",\"count\":9}\n",
                 "member \"noise_multiplier\" is given twice");
}

// The unknown of a run with hidden iterates scales all of its noise; its parts cannot be asked for alone.
TEST_F(CalibrateCommand, ARunWithHiddenIteratesScalesAsAWhole) {
  request_.adjacency = Adjacency::replace_one;
  request_.accountant = "best";
  const std::string run = R"({"event":"hidden_state","steps":500000,"hybrid":20000,"before_multiplier":110,)"
                          R"("directional_multiplier":100,"isotropic_multiplier":6,"noise_multiplier":"?",)"
                          R"("diameter":1000,"drift":1000,"contraction":1,"directions":16,"dimension":5000,)"
                          R"("population":1000,"batch":1000,"count":1})";
  write(run);
  const auto result = answer();
  EXPECT_LE(epsilon_with(run, result["noise_multiplier"]), 1.5);
  EXPECT_GT(epsilon_with(run, result["noise_multiplier"].get<double>() * (1 - 1e-5)), 1.5);
  std::string part = run;
  part.replace(part.find("\"?\""), 3, "1");
  part.replace(part.find("100,"), 3, "\"?\"");
  expect_refused(part, "directional_multiplier is \"?\", allowed as unknown: noise_multiplier");
}

TEST_F(CalibrateCommand, LongLinesAreRead) {
  const std::string event = "{\"event\":\"gaussian\",\"noise_multiplier\":\"?\",\"count\":9";
  write(event + "}\n");
  const auto expected = answer();
  for (const std::string& tail : {",\"note\":\"" + std::string(3'000'000, 'a') + "\"}",
                                  ",\"" + std::string(300'000, 'a') + "\":1}", std::string(300'000, ' ') + "}"}) {
    write(event + tail + "\n");
    EXPECT_EQ(answer(), expected);
  }
}

TEST_F(CalibrateCommand, AnUnknownCountIsThatOfAllRunsOfATree) {
  const std::string tree = R"({"event":"tree","strategy":"fenwick","leaves":64,"noise_multiplier":90,"count":"?")";
  expect_refused(tree + ",\"restarts\":7}\n", "restarts is 7 beside an unknown count");
  write(tree + ",\"restarts\":1}\n");
  const auto found = answer();
  EXPECT_LE(epsilon_with(tree + "}\n", found["count"]), 1.5);
}

}  // namespace
}  // namespace dpmpi::calibrate_test
