#include "cli/account.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "privacy/curves/gaussian_curve.hpp"

namespace dpmpi::account_test {
namespace {

// A list of events in a file of its own.
class Account : public testing::Test {
 protected:
  void SetUp() override {
    request_.path = testing::TempDir() + "dpmpi-account-" +
                    testing::UnitTest::GetInstance()->current_test_info()->name() + ".jsonl";
    request_.json = true;
    request_.accountant = "rdp";
    request_.delta = 1e-5;
    write(events_);
  }
  void TearDown() override { std::filesystem::remove(request_.path); }

  void write(const std::string& text) const { std::ofstream(request_.path) << text; }
  std::string text() const {
    std::ostringstream out;
    EXPECT_EQ(account(request_, out), 0);
    return out.str();
  }
  nlohmann::json json() const { return nlohmann::json::parse(text()); }

  const std::string events_ =
      "{\"event\":\"poisson_gaussian\",\"sampling_rate\":0.01,\"noise_multiplier\":1,\"count\":1000}\n";
  AccountRequest request_;
};

TEST_F(Account, PrintsEpsilon) {
  const auto answer = json();
  EXPECT_NEAR(answer["epsilon"].get<double>(), 2.101322989, 1e-9);
  EXPECT_EQ(answer["delta"], 1e-5);
  EXPECT_EQ(answer["by"]["rdp"], answer["epsilon"]);
  EXPECT_EQ(answer["adjacency"], "add_remove");
  EXPECT_FALSE(answer.contains("rdp"));
  request_.json = false;
  EXPECT_NE(text().find("2.10132"), std::string::npos);
}

TEST_F(Account, PrintsDelta) {
  request_.delta.reset();
  request_.epsilon = 2.101322989;
  const auto answer = json();
  EXPECT_NEAR(answer["delta"].get<double>(), 1e-5, 1e-10);  // by other orders
  EXPECT_EQ(answer["epsilon"], 2.101322989);
}

TEST_F(Account, PrintsTheComposedCurve) {
  request_.orders = {1.5, 2, 32};
  const auto curve = json()["rdp"];
  EXPECT_NEAR(curve["1.5"].get<double>(), 1.272537433e-1, 1e-9);
  EXPECT_NEAR(curve["2"].get<double>(), 1.718134220745e-1, 1e-10);
  EXPECT_NEAR(curve["32"].get<double>(), 1.124627593705e+4, 1e-5);
}

TEST_F(Account, TheCurveOfSeededNoiseIsInfinite) {
  request_.orders = {2};
  write("{\"ledger\":1,\"adjacency\":\"add_remove\",\"seeded\":true}\n" + events_);
  EXPECT_EQ(json()["rdp"]["2"], "infinity");
  request_.orders = {2, 3, 2};  // one member an order
  EXPECT_THROW(text(), ConfigError);
}

TEST_F(Account, TheBestIsTheSmallestOfAllThatApply) {
  request_.accountant = "best";
  const auto answer = json();
  double smallest = HUGE_VAL;
  for (const auto& [name, epsilon] : answer["by"].items()) {
    request_.accountant = name;
    EXPECT_EQ(json()["epsilon"], epsilon) << name;
    smallest = std::min(smallest, epsilon.get<double>());
  }
  EXPECT_TRUE(answer["by"].contains("rdp"));
  EXPECT_EQ(answer["epsilon"], smallest);
  EXPECT_EQ(answer["interval"][1], smallest);
  EXPECT_LE(answer["interval"][0].get<double>(), smallest);
  request_.accountant = "best", request_.json = false;
  EXPECT_NE(text().find("rdp      at most"), std::string::npos);
}

TEST_F(Account, AGroupLosesMoreAndHasNoLowerBound) {
  const double one = json()["epsilon"];
  EXPECT_FALSE(json().contains("group"));
  request_.group = 3;
  const auto answer = json();
  EXPECT_EQ(answer["group"], 3);
  EXPECT_GT(answer["epsilon"].get<double>(), one);
  EXPECT_EQ(answer["interval"][0], 0);
  request_.json = false;
  EXPECT_NE(text().find("for groups of 3 records"), std::string::npos);
  EXPECT_EQ(text().find("at least"), std::string::npos);
  request_.orders = {2};
  EXPECT_THROW(text(), ConfigError);
}

TEST_F(Account, ErrorsNameLineMemberValueAndWhatIsAllowed) {
  write(events_ + "{\"event\":\"gaussian\",\"noise_multiplier\":-1,\"count\":1}\n");
  try {
    text();
    FAIL();
  } catch (const PrivacyError& e) {
    EXPECT_NE(
        std::string(e.what()).find(request_.path + ":2: noise_multiplier is -1, allowed: a finite number > 0"),
        std::string::npos)
        << e.what();
  }
}

TEST_F(Account, MessagesShowValuesEscapedAndCut) {
  const auto message = [&](const std::string& line) -> std::string {
    write(line + "\n");
    try {
      text();
    } catch (const PrivacyError& e) {
      return e.what();
    }
    return "accepted";
  };
  const std::string escape = message(R"({"event":"\u001b[31m","count":1})");
  EXPECT_EQ(escape.find('\x1b'), escape.npos);
  EXPECT_NE(escape.find(R"(event is "\u001b[31m", allowed: gaussian)"), escape.npos) << escape;
  EXPECT_LT(message("{\"event\":\"" + std::string(100'000, 'a') + "\",\"count\":1}").size(), 1000);
  for (const std::string& deep :
       {std::string(200'000, '['), "{\"event\":\"laplace\",\"scale\":1,\"count\":" + std::string(200'000, '[')}) {
    const std::string nested = message(deep);
    EXPECT_NE(nested.find(request_.path + ":1: nested more than 16 deep"), nested.npos) << nested.substr(0, 200);
  }
  EXPECT_NE(message(R"({"event":"tree","strategy":"full","leaves":1e18,"noise_multiplier":1})").find("to 2^40"),
            std::string::npos);
}

TEST_F(Account, AdjacencyOfTheFile) {
  const double add_remove = json()["epsilon"];
  request_.adjacency = Adjacency::replace_one;
  EXPECT_EQ(json()["adjacency"], "replace_one");
  write("{\"ledger\":1,\"adjacency\":\"replace_one\",\"n\":100}\n" + events_);
  EXPECT_EQ(json()["adjacency"], "replace_one");
  request_.adjacency.reset();
  EXPECT_NE(json()["epsilon"], add_remove);
  request_.adjacency = Adjacency::add_remove;
  EXPECT_THROW(text(), PrivacyError);
}

TEST_F(Account, NothingAndEverything) {
  write("");  // a truncated or wrong file must not get the strongest claim
  EXPECT_THROW(text(), PrivacyError);
  write("{\"ledger\":1,\"adjacency\":\"add_remove\",\"n\":100}\n");
  EXPECT_EQ(json()["epsilon"], 0);
  write(events_ + "{\"event\":\"non_private\"}\n");
  EXPECT_EQ(json()["epsilon"], "infinity");
  request_.json = false;
  EXPECT_NE(text().find("(inf, 1e-05)"), std::string::npos);
}

TEST_F(Account, Refusals) {
  write(events_ +
        "{\"event\":\"wor_gaussian\",\"population\":10,\"batch\":1,\"noise_multiplier\":1,\"count\":1}\n");
  EXPECT_THROW(text(), PrivacyError);  // under add_remove
  request_.adjacency = Adjacency::replace_one;
  EXPECT_GT(json()["epsilon"], 0);
  write(events_ + "{\"event\":\"unknown\"}\n");
  EXPECT_THROW(text(), PrivacyError);
  write(events_);
  request_.accountant = "moments";
  EXPECT_THROW(text(), ConfigError);
  request_.accountant = "rdp";
  EXPECT_GT(json()["epsilon"], 0);
  request_.path += ".none";
  EXPECT_THROW(text(), DataError);
}

// T24 of gibo: how many steps there were is an outcome if results decided it, and costs all of the plan; a number
// that nothing released had a part in costs what it is.
TEST_F(Account, ARunThatItsResultsStoppedCostsItsPlan) {
  const std::string plan = request_.path + ".plan";
  using Stopped = std::optional<StopReason>;
  const auto mu_of = [&](Stopped stopped) {
    request_.stopped = stopped, request_.plan = stopped ? plan : "";
    return json()["epsilon"].get<double>();
  };
  request_.accountant = "gdp";
  write(R"({"ledger":1,"adjacency":"replace_one"})"
        "\n"
        R"({"event":"gaussian","noise_multiplier":5,"count":10})"
        "\n");
  std::ofstream(plan) << R"({"events":[{"event":"gaussian","noise_multiplier":5,"count":25}],"epsilon":1})";
  const double whole = gdp_epsilon(1, 1e-5), part = gdp_epsilon(std::sqrt(10.0 / 25), 1e-5);
  EXPECT_NEAR(mu_of({}), part, 1e-9);
  EXPECT_NEAR(mu_of(StopReason::outside), part, 1e-9);
  EXPECT_NEAR(mu_of(StopReason::results), whole, 1e-9);
  request_.json = false;
  EXPECT_NE(text().find("of the whole plan"), std::string::npos);

  // Neither without the other, nor with another run's plan.
  const auto fails = [&]<class E>(const std::string& of, Stopped stopped, const E*) {
    request_.plan = of, request_.stopped = stopped;
    EXPECT_THROW(text(), E) << of;
  };
  fails("", StopReason::results, static_cast<const ConfigError*>(nullptr));
  fails(plan, {}, static_cast<const ConfigError*>(nullptr));
  fails(request_.path, StopReason::results, static_cast<const DataError*>(nullptr));
  for (const char* other : {R"({"events":[{"event":"gaussian","noise_multiplier":5,"count":9}]})",
                            R"({"events":[{"event":"gaussian","noise_multiplier":6,"count":25}]})"}) {
    std::ofstream(plan) << other;
    fails(plan, StopReason::results, static_cast<const PrivacyError*>(nullptr));
    fails(plan, StopReason::outside, static_cast<const PrivacyError*>(nullptr));
  }
  std::filesystem::remove(plan);
}

TEST_F(Account, WrongRequests) {
  const auto refused = [this](auto change) {
    const AccountRequest kept = request_;
    change(request_);
    EXPECT_THROW(text(), ConfigError);
    request_ = kept;
  };
  refused([](AccountRequest& r) { r.delta.reset(); });
  refused([](AccountRequest& r) { r.epsilon = 1; });
  for (const double delta : {0.0, 1.0, -1.0, std::nan("")}) refused([=](AccountRequest& r) { r.delta = delta; });
  for (const double epsilon : {-1.0, std::nan(""), HUGE_VAL})
    refused([=](AccountRequest& r) { r.delta.reset(), r.epsilon = epsilon; });
  refused([](AccountRequest& r) { r.orders = {2, 1}; });
  refused([](AccountRequest& r) { r.accountant = "moments"; });
}

}  // namespace
}  // namespace dpmpi::account_test
