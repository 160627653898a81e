// `dpmpi audit` as users meet it.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "run/directory/files.hpp"
#include "support/process.hpp"
#include "support/programs.hpp"

namespace dpmpi::audit_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::Outcome;

class AuditCommand : public ::testing::Test {
 protected:
  static Outcome dpmpi(const std::string& arguments, int ranks = 1) {
    const std::string launcher = ranks > 1 ? fmt::format("mpirun -n {} ", ranks) : "";
    return test::run_command(fmt::format("cd {} && {}{} {}", folder(), launcher, test::program(), arguments));
  }
  static std::string folder() { return ::testing::TempDir() + "dpmpi_AuditCommand"; }
  static std::string path(const std::string& name) { return folder() + "/" + name; }
  static json read(const std::string& name) { return json::parse(read_file(path(name))); }

  static void SetUpTestSuite() {
    fs::remove_all(folder());
    fs::create_directories(folder());
    ASSERT_EQ(dpmpi("generate --output data.csv --records 100 --eval-records 40 --features 4").code, 0);
    std::ofstream(path("a.ini"))
        << "[data]\ntrain = data.csv\neval = data-eval.csv\nblocks = 4\n[method]\nbatch = 50\nsteps = "
           "4\n[privacy]\nepsilon = 8\ndelta = 0.005\n[audit]\nruns = 400\ncanaries = 20\n";
  }
};

// Any number of ranks plays the same games.
TEST_F(AuditCommand, SaysTheSameOnAnyNumberOfRanks) {
  ASSERT_EQ(dpmpi("audit --config a.ini --set audit.runs=48 --output one.json").code, 0);
  const std::string one = read_file(path("one.json"));
  for (const auto& [ranks, options] : {std::pair{3, ""}, {2, "--set audit.ranks=2"}, {3, "--set audit.ranks=2"}}) {
    const Outcome outcome = dpmpi(
        fmt::format("audit --config a.ini --quiet --set audit.runs=48 --output other.json {}", options), ranks);
    ASSERT_EQ(outcome.code, 0) << outcome.output;
    EXPECT_EQ(read_file(path("other.json")), one) << ranks << options;
  }
}

TEST_F(AuditCommand, PrintsAndWritesWhatItFound) {
  const Outcome outcome = dpmpi("audit --config a.ini");
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  for (const char* word :
       {"| promise ", "worst_case   epsilon >= ", "distinguish  epsilon >= ", "canary       epsilon >= ",
        "one_run      epsilon >= ", "claimed      epsilon ", "audit.json"})
    EXPECT_NE(outcome.output.find(word), std::string::npos) << word << "\n" << outcome.output;
  const json result = read("audit.json");
  EXPECT_EQ(result["method"], "dp-sgd");
  EXPECT_NEAR(result["epsilon"].get<double>(), 8, 1e-3);
  EXPECT_EQ(result["delta"], 0.005);
  EXPECT_EQ(result["confidence"], 0.95);
  EXPECT_EQ(result["games"].size(), 4);
  double most = 0;
  for (const json& game : result["games"]) {
    EXPECT_TRUE(game["holds"].get<bool>());
    EXPECT_LE(game["bound"].get<double>(), 8);
    most = std::max(most, game["bound"].get<double>());
    if (game["game"] == "one_run") {
      EXPECT_EQ(game["canaries"], 16) << "of 5 coordinates";
      EXPECT_EQ(game["runs"], 125) << "2000 coins";
    } else {
      EXPECT_LE(game["found"], game["allowed"]);
    }
  }
  EXPECT_GT(result["games"][0]["bound"], 0.5) << "an attacker who sees all releases finds out something";
  EXPECT_GT(result["games"][0]["bound"], result["games"][1]["bound"])
      << "gradients vanish, the worst case does not";
  EXPECT_EQ(result["bound"], most);
  const Outcome printed = dpmpi("audit --config a.ini --quiet --json --set audit.game=one_run");
  EXPECT_EQ(json::parse(printed.output)["games"].size(), 1);
}

// By bets on many runs, and by the recursion of few.
TEST_F(AuditCommand, TestsTheWholeCurve) {
  ASSERT_EQ(dpmpi("generate --output wide.csv --records 100 --eval-records 40 --features 30").code, 0);
  for (const int repeats : {100, 10}) {
    const Outcome outcome = dpmpi(
        fmt::format("audit --config a.ini --quiet --set audit.game=one_run --set data.train=wide.csv --set "
                    "data.eval=wide-eval.csv --set audit.canaries=31 --set audit.repeats={} --output wide{}.json",
                    repeats, repeats));
    ASSERT_EQ(outcome.code, 0) << outcome.output;
    EXPECT_NE(outcome.output.find("\n  its curve  epsilon >= "), std::string::npos) << outcome.output;
    const json game = read(fmt::format("wide{}.json", repeats))["games"][0];
    ASSERT_TRUE(game.contains("by_curve")) << game;
    EXPECT_GT(game["by_curve"]["noise"], 1);
    EXPECT_GT(game["by_curve"]["bound"], game["bound"]) << "a curve is refuted sooner";
    EXPECT_LT(game["by_curve"]["bound"], 8);
  }
}

// Training records are not read, so they may be anything that has their number.
TEST_F(AuditCommand, ReadsNoTrainingRecord) {
  std::ofstream other(path("other.csv"));
  std::ifstream lines(path("data.csv"));
  std::string line;
  std::getline(lines, line);
  other << line << '\n';
  while (std::getline(lines, line)) other << "1,0,0,0,0\n";
  other.close();
  ASSERT_EQ(dpmpi("audit --config a.ini --quiet --output here.json").code, 0);
  ASSERT_EQ(dpmpi("audit --config a.ini --quiet --output there.json --set data.train=other.csv").code, 0);
  EXPECT_EQ(read("here.json")["games"], read("there.json")["games"]);
}

TEST_F(AuditCommand, GoesIntoTheCertificate) {
  ASSERT_EQ(dpmpi("audit --config a.ini --quiet --output bound.json").code, 0);
  const Outcome trained = dpmpi("--config a.ini --quiet --set audit.result=bound.json --set run.dir=trained");
  ASSERT_EQ(trained.code, 0) << trained.output;
  const json audit = read("trained/certificate.json")["audit"];
  EXPECT_EQ(audit["games"], read("bound.json")["games"]);
  EXPECT_EQ(audit["confidence"], 0.95);
  EXPECT_EQ(read("trained/audit.json"), read("bound.json"));
  EXPECT_EQ(dpmpi("verify trained").code, 0);
  ASSERT_EQ(dpmpi("report trained").code, 0);
  const std::string page = read_file(path("trained/report.html"));
  EXPECT_NE(page.find("What attackers did find out"), std::string::npos);
  EXPECT_NE(page.find("<td>one_run"), std::string::npos) << page;
  EXPECT_NE(page.find("by the whole curve"), std::string::npos);
  // A finished run can be audited again; what its certificate quotes stays as it is.
  const std::string quoted = read_file(path("trained/audit.json"));
  const Outcome again = dpmpi("audit trained --quiet --set audit.game=one_run --set audit.seed=2");
  ASSERT_EQ(again.code, 0) << again.output;
  EXPECT_NE(again.output.find("trained/audit-2.json"), std::string::npos) << again.output;
  EXPECT_EQ(read("trained/audit-2.json")["games"].size(), 1);
  EXPECT_EQ(read_file(path("trained/audit.json")), quoted);
  const Outcome refused = dpmpi("audit trained --quiet --output trained/audit.json");
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.output.find("trained/audit.json belongs to a run"), std::string::npos) << refused.output;
  EXPECT_EQ(dpmpi("verify trained").code, 0);
  fs::rename(path("trained/audit-2.json"), path("trained/audit.json"));
  const Outcome exchanged = dpmpi("verify trained");
  EXPECT_EQ(exchanged.code, 4);
  EXPECT_NE(exchanged.output.find("is not the audit that certificate.json quotes"), std::string::npos);
  fs::remove(path("trained/audit.json"));
  EXPECT_NE(dpmpi("verify trained").output.find("audit.json"), std::string::npos);
}

TEST_F(AuditCommand, OfARunWithoutOneInItsCertificate) {
  ASSERT_EQ(dpmpi("--config a.ini --quiet --set run.dir=plain").code, 0);
  for (const char* name : {"plain/audit.json", "plain/audit-2.json", "plain/audit-3.json"}) {
    const Outcome outcome = dpmpi("audit plain --quiet --set audit.game=one_run");
    ASSERT_EQ(outcome.code, 0) << outcome.output;
    EXPECT_NE(outcome.output.find(name), std::string::npos) << outcome.output;
    EXPECT_TRUE(fs::exists(path(name)));
  }
  EXPECT_EQ(dpmpi("verify plain").code, 0);
}

TEST_F(AuditCommand, OnlyTheAuditOfThisConfigIsCertified) {
  ASSERT_EQ(dpmpi("audit --config a.ini --quiet --set audit.game=one_run --output bound.json").code, 0);
  const auto train = [&](const std::string& more) {
    return dpmpi("--config a.ini --quiet --set audit.result=bound.json --set run.dir=refused " + more);
  };
  const Outcome other = train("--set method.clip=2");
  EXPECT_EQ(other.code, 4);
  EXPECT_NE(other.output.find("bound.json is the audit of another config"), std::string::npos) << other.output;
  json result = read("bound.json");
  result["holds"] = false;
  std::ofstream(path("bound.json")) << result;
  const Outcome broken = train("");
  EXPECT_EQ(broken.code, 4);
  EXPECT_NE(broken.output.find("found a bound above the promise"), std::string::npos) << broken.output;
  result["holds"] = true;
  result["games"][0]["bound"] = 9;
  std::ofstream(path("bound.json")) << result;
  EXPECT_EQ(train("").code, 4);
  result["games"][0]["bound"] = result["bound"];
  result["games"][0]["by_curve"] = {{"bound", 9}, {"noise", 0.5}};
  std::ofstream(path("bound.json")) << result;
  EXPECT_EQ(train("").code, 4);
  result["epsilon"] = 100;  // a larger promise than the config's
  std::ofstream(path("bound.json")) << result;
  const Outcome larger = train("");
  EXPECT_EQ(larger.code, 4);
  EXPECT_NE(larger.output.find("the audit is of another promise, (100, 0.005)"), std::string::npos)
      << larger.output;
  const std::string foreign = "not what dpmpi audit writes";
  for (const auto& [damaged, message] : std::map<std::string, std::string>{
           {"{}", foreign}, {"[]", foreign}, {"text", "is not JSON"}, {R"({"config_digest": 1})", foreign}}) {
    std::ofstream(path("bound.json")) << damaged;
    const Outcome outcome = train("");
    EXPECT_EQ(outcome.code, 3) << outcome.output;
    EXPECT_NE(outcome.output.find(message), std::string::npos) << outcome.output;
  }
  EXPECT_FALSE(fs::exists(path("refused")));
}

// What a method says of a run is said by one run, not by each of the audit's.
// A run is audited as it was, and nothing that is not an audit is replaced.
TEST_F(AuditCommand, OfARunIsOfItsPromise) {
  ASSERT_EQ(dpmpi("--config a.ini --quiet --set run.dir=was").code, 0);
  const Outcome other = dpmpi("audit was --quiet --set privacy.epsilon=9");
  EXPECT_EQ(other.code, 2);
  EXPECT_NE(other.output.find("was planned with other settings"), std::string::npos) << other.output;
  ASSERT_EQ(dpmpi("--config a.ini --quiet --set run.dir=seeded --set privacy.seed=1").code, 0);
  EXPECT_EQ(dpmpi("audit seeded --quiet").code, 4);
  const std::string config = read_file(path("a.ini")), data = read_file(path("data.csv"));
  for (const char* input : {"a.ini", "data.csv"}) {
    const Outcome outcome = dpmpi(fmt::format("audit --config a.ini --quiet --output {}", input));
    EXPECT_EQ(outcome.code, 2) << outcome.output;
    EXPECT_NE(outcome.output.find("would replace its input"), std::string::npos) << outcome.output;
  }
  EXPECT_EQ(read_file(path("a.ini")), config);
  EXPECT_EQ(read_file(path("data.csv")), data);
}

TEST_F(AuditCommand, SaysNothingOfItsRuns) {
  const std::string clipped =
      "--config c.ini --set method.name=clipped-gd --set method.clip_rule=median --set run.dir=clipped";
  std::string config = read_file(path("a.ini"));
  config.replace(config.find("batch = 50\n"), 11, "");
  std::ofstream(path("c.ini")) << config;
  const Outcome one = dpmpi(clipped);
  ASSERT_EQ(one.code, 0) << one.output;
  EXPECT_NE(one.output.find("the clip, chosen privately: "), std::string::npos) << one.output;
  fs::remove_all(path("clipped"));
  const Outcome quiet = dpmpi(clipped + " --quiet");
  EXPECT_EQ(quiet.output.find("chosen privately"), std::string::npos) << quiet.output;
  const Outcome played = dpmpi("audit " + clipped + " --set audit.runs=32 --set audit.game=distinguish");
  ASSERT_EQ(played.code, 0) << played.output;
  EXPECT_EQ(played.output.find("the clip"), std::string::npos) << played.output;
}

TEST_F(AuditCommand, OneClearMessage) {
  const struct {
    const char *arguments, *message;
    int code;
  } cases[] = {{"audit", "dpmpi audit needs --config FILE, or the directory of a run", 2},
               {"audit trained --config a.ini", "dpmpi audit needs --config FILE, or the directory of a run", 2},
               {"audit --config a.ini --set privacy.noise=none",
                "privacy.noise = none promises nothing, so there is nothing to test", 2},
               {"audit --config a.ini --set audit.game=chess", "audit.game", 2},
               {"audit --config a.ini --set audit.runs=3", "audit.runs", 2},
               {"audit --config a.ini --set audit.ranks=2", "audit.ranks = 2", 2},
               {"audit --config a.ini --set audit.canary=41", "audit.canary = 41: data.eval has 40 records", 2},
               {"audit --config a.ini --set data.header=yes --set data.eval= --set audit.game=canary",
                "needs public records: data.eval", 2},
               {"audit --config a.ini --set data.eval=data.csv", "data.eval", 4},
               {"audit --config a.ini --data x.csv", "--data is an option of dpmpi evaluate, predict", 2}};
  for (const auto& c : cases) {
    const Outcome outcome = dpmpi(c.arguments);
    EXPECT_EQ(outcome.code, c.code) << c.arguments << outcome.output;
    EXPECT_NE(outcome.output.find(c.message), std::string::npos) << c.arguments << "\n" << outcome.output;
  }
}

TEST_F(AuditCommand, ARowOfThePublicRecordsAsTheCanary) {
  const Outcome outcome =
      dpmpi("audit --config a.ini --quiet --set audit.canary=3 --set audit.game=distinguish --output row.json");
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_EQ(read("row.json")["games"].size(), 1);
}

}  // namespace
}  // namespace dpmpi::audit_test
