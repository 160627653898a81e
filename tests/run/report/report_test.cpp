// report.html of one run: the promise, the result, and what else stands in it.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "privacy/curves/strategy.hpp"
#include "privacy/events/planned_events.hpp"
#include "run/directory/files.hpp"
#include "run/evaluate/evaluate.hpp"
#include "run/report/numbers.hpp"
#include "run/report/report.hpp"
#include "run/report/report_folder.hpp"
#include "support/text.hpp"

namespace dpmpi::report_test {
namespace {

namespace fs = std::filesystem;
using test::contains;
using test::Report;

TEST_F(Report, SetsNoiseAgainstSignal) {
  const auto site = nlohmann::json::parse(read_file(path("one/plan.json")))["noise"][0];
  EXPECT_EQ(site["batch"], 50);
  const double noise = site["std"].get<double>() * std::sqrt(5.0), longest = 50 * site["clip"].get<double>();
  const std::string page = read_file(path("one/report.html"));
  const std::string row = page.substr(page.find("Noise against signal"));
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, std::string>>{{"batch", "50"},
                                                        {"longest sum", shown(longest)},
                                                        {"length of noise", shown(noise)},
                                                        {"quotient", shown(noise / longest)}})
    EXPECT_TRUE(contains(row, fmt::format(R"(<td class="n" data-name="{}">{}</td>)", name, value))) << name;
  EXPECT_FALSE(contains(read_file(path("public/report.html")), "Noise against signal")) << "there is no noise";
}

TEST_F(Report, TrainingWritesIt) {
  EXPECT_FALSE(fs::exists(path("two/report.html"))) << "--quiet";
  const std::string page = read_file(path("one/report.html"));
  for (const char* part :
       {"<title>one: logistic by dp-sgd</title>", "epsilon 2 at delta 0.0001", "adding or removing one record",
        "<b>2</b> <span>epsilon</span>", "<b>0.0001</b> <span>delta</span>", "1 in 10,000",
        "<b>500</b> <span>records protected</span>", "members found", "eval.accuracy", "method.batch",
        "data_commitment", "noise multiplier"})
    EXPECT_TRUE(contains(page, part)) << part;
  EXPECT_FALSE(contains(page, "Not finished"));
  EXPECT_EQ(page, report_html({path("one")}, false)) << "the same bytes from the same run";
}

TEST_F(Report, TimesOnlyOnRequestAndForTheOwner) {
  EXPECT_FALSE(contains(read_file(path("one/report.html")), "Where the time went"));
  ASSERT_EQ(dpmpi("report one --times --output timed.html").code, 0);
  EXPECT_TRUE(contains(read_file(path("timed.html")), "must not be published"));
  EXPECT_TRUE(contains(read_file(path("timed.html")), "<th>kernels</th>"));
  EXPECT_EQ(fs::status(path("timed.html")).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

// At the end of a run every rank says where its time went; a run that is going on has the root's last line.
TEST_F(Report, TimesOfEveryRank) {
  const std::string times = read_file(path("one/timing.jsonl"));
  EXPECT_TRUE(contains(times, "{\"rank\":0,\"seconds\":")) << times;
  copy("one", "ranks");
  std::ofstream(path("ranks/timing.jsonl"))
      << "{\"phase\":\"load\",\"step\":0,\"seconds\":0.25,\"ranks\":2}\n{\"step\":40,\"seconds\":8,\"kernels\":1}\n"
         "{\"rank\":0,\"seconds\":9,\"sampling\":1,\"kernels\":2,\"noise\":0.5,\"reduce\":0.25,\"broadcast\":0,\"ledger\":0}\n"
         "{\"rank\":1,\"seconds\":9.5,\"sampling\":1,\"kernels\":2,\"noise\":0,\"reduce\":0,\"broadcast\":3,\"ledger\":0}\n";
  const std::string page = report_html({path("ranks")}, true);
  for (const char* part : {">9.000<", ">5.250<", ">9.500<", ">3.500<", ">0.25<"})
    EXPECT_TRUE(contains(page, part)) << part;
  EXPECT_FALSE(contains(page, ">8.000<")) << "the root's line of an evaluation, where every rank has one";
  EXPECT_FALSE(contains(report_html({path("ranks")}, false), ">9.500<"));
  std::ofstream(path("ranks/timing.jsonl")) << "{\"phase\":\"load\",\"step\":0,\"seconds\":0.25,\"ranks\":2}\n";
  EXPECT_TRUE(contains(report_html({path("ranks")}, true), "Steps of this run tell no times")) << "runs of phases";
}

TEST_F(Report, RocCurveOfTheFinalModel) {
  const std::string page = report_html({path("one")}, false);
  EXPECT_TRUE(contains(page, "<h2>ROC curve</h2>"));
  EXPECT_TRUE(contains(report_html({path("one"), path("two")}, false), "<h2>ROC curve</h2>"));
  const auto roc = nlohmann::json::parse(read_file(path("one/roc.json"))).get<RocCurve>();
  ASSERT_GT(roc.size(), 3u);
  double area = 0;
  for (std::size_t i = 1; i < roc.size(); ++i)
    area += (roc[i].first - roc[i - 1].first) * (roc[i].second + roc[i - 1].second) / 2;
  const std::string metrics = read_file(path("one/metrics.jsonl"));
  const auto last = nlohmann::json::parse(metrics.substr(metrics.rfind('\n', metrics.size() - 2) + 1));
  EXPECT_NEAR(area, last["eval.auc"].get<double>(), 1e-12) << "100 records: every corner is there";
  for (const char* bad : {"{}", "[[0]]", "[[0, 2]]", "[[0, \"1\"]]", "nonsense"}) {
    copy("one", "broken");
    std::ofstream(path("broken/roc.json")) << bad;
    EXPECT_THROW(report_html({path("broken")}, false), DataError) << bad;
  }
}

TEST(RocCurve, StepsAreTiesAndCornersAreThinned) {
  const auto curve = [](std::vector<float> score, std::vector<float> label) { return roc_curve(score, label); };
  EXPECT_EQ(curve({3, 2, 1}, {1, 1, -1}), (RocCurve{{0, 0}, {0, 0.5}, {0, 1}, {1, 1}}));
  EXPECT_EQ(curve({1, 1, 1, 1}, {1, -1, 1, -1}), (RocCurve{{0, 0}, {1, 1}}));
  EXPECT_EQ(curve({1, 2, 3, 4}, {1, 1, -1, -1}), (RocCurve{{0, 0}, {0.5, 0}, {1, 0}, {1, 0.5}, {1, 1}}));
  EXPECT_TRUE(curve({1, 2}, {1, 1}).empty());
  std::vector<float> score, label;
  for (int i = 0; i < 20000; ++i) {
    label.push_back(i % 3 == 0 ? 1.0F : -1.0F);
    score.push_back(static_cast<float>(i * 7919 % 20011) + (i % 3 == 0 ? 4000.0F : 0.0F));
  }
  const RocCurve thin = roc_curve(score, label);
  EXPECT_LE(thin.size(), 402u);
  double area = 0;
  for (std::size_t i = 1; i < thin.size(); ++i) {
    EXPECT_GE(thin[i].first, thin[i - 1].first);
    EXPECT_GE(thin[i].second, thin[i - 1].second);
    area += (thin[i].first - thin[i - 1].first) * (thin[i].second + thin[i - 1].second) / 2;
  }
  EXPECT_NEAR(area, *area_under_curve(score, label), 1e-4);
}

TEST_F(Report, NoiseOfRunningSums) {
  ASSERT_EQ(dpmpi("--quiet --config b.ini --set method.name=dp-ftrl --set method.batch=50 --set run.dir=sums").code,
            0);
  const std::string page = report_html({path("sums")}, false);
  EXPECT_TRUE(contains(page, "Noise of the running sums"));
  // Beside those of other strategies with the same guarantee: independent noise of t leaves has the deviation
  // sqrt(t), and draws that are larger by as much as this strategy makes of one record.
  const auto plan = nlohmann::ordered_json::parse(read_file(path("sums/plan.json")));
  const auto tree = std::get<Tree>(planned_event(plan.at("events").at(0), "plan.json").mechanism);
  const double one_by_one = std::sqrt(static_cast<double>(tree.leaves) / squared_sensitivity(tree));
  EXPECT_TRUE(contains(page, "one by one " + shown(one_by_one)));
  for (const char* other : {", tree ", ", lambda "}) EXPECT_TRUE(contains(page, other)) << other;
  EXPECT_FALSE(contains(report_html({path("one")}, false), "Noise of the running sums"));
}

TEST_F(Report, PosteriorTrace) {
  ASSERT_EQ(dpmpi("--quiet --config b.ini --set method.name=gibo --set method.steps=4 --set method.trace_tol=1 "
                  "--set data.bias=0 --set privacy.adjacency=replace_one --set run.dir=posterior")
                .code,
            0);
  EXPECT_TRUE(contains(report_html({path("posterior")}, false), "method.posterior_trace"));
}

TEST_F(Report, SaysWhatIsNotPrivateAndNotFinished) {
  const std::string open = report_html({path("public")}, false);
  EXPECT_TRUE(contains(open, "<b>NOT PRIVATE.</b> No noise was added"));
  EXPECT_EQ(count(open, "NOT PRIVATE"), 1u) << "once, and loud";
  EXPECT_LT(open.find("NOT PRIVATE"), open.find("class=\"tile\""));
  for (const char* part : {"records protected", "<span>epsilon</span>", "members found"})
    EXPECT_FALSE(contains(open, part)) << part;
  copy("one", "half");
  fs::remove(path("half/certificate.json"));
  std::ofstream(path("half/metrics.jsonl"), std::ios::app) << "{\"step\":41,\"eps";  // being written
  fs::remove(path("half/assessment.json"));
  const std::string page = report_html({path("half")}, false);
  EXPECT_TRUE(contains(page, "Not finished"));
  EXPECT_TRUE(contains(page, "dpmpi resume"));
  std::ofstream(path("half/metrics.jsonl")).close();
  EXPECT_TRUE(contains(report_html({path("half")}, false), "Not measured yet."));
}

TEST_F(Report, SaysWhatThisEpsilonMeans) {
  const std::string page = read_file(path("one/report.html"));
  const auto plan = nlohmann::json::parse(read_file(path("one/plan.json")));
  const std::string words = words_of(page);
  const std::string before = "is right in at most ";
  const std::size_t at = words.find(before);
  ASSERT_NE(at, words.npos);
  const double right = std::strtod(words.c_str() + at + before.size(), nullptr);
  const double epsilon = plan["epsilon"], delta = plan["delta"];
  EXPECT_GT(right, 50);
  EXPECT_LE(right, 100 * (std::exp(epsilon) + delta) / (std::exp(epsilon) + 1) + 0.1) << "what one epsilon allows";
  EXPECT_GE(right, 50 * (1 + plan["attacker"]["0.1"].get<double>() - 0.1) - 5) << "what an attacker can reach";
  EXPECT_TRUE(contains(words, "if it happens with a chance of 1 % without the person's record"));
  EXPECT_TRUE(contains(words, fmt::format("with a chance of at most {} % with it",
                                          shown_above(100 * plan["attacker"]["0.01"].get<double>()))));
}

TEST_F(Report, ThePromiseAndTheResultStandOnTop) {
  const std::string page = read_file(path("one/report.html"));
  const std::string top = page.substr(0, page.find("<h2>"));
  const auto seen = nlohmann::json::parse(read_file(path("one/assessment.json")));
  for (const std::string& part : std::vector<std::string>{
           "epsilon", "delta", "records protected", "On 100 public records",
           fmt::format("<b>{}</b> <span>accuracy</span>", shown_share(seen["metrics"]["accuracy"].get<double>()))})
    EXPECT_TRUE(contains(top, part)) << part;
  const auto& confusion = seen["confusion"];
  const double negative = confusion[0][0].get<double>() + confusion[0][1].get<double>();
  EXPECT_TRUE(contains(top, "most frequent class: " + shown_share(std::max(negative, 100 - negative) / 100)))
      << top;
}

TEST_F(Report, TellsSizesDateAndVersion) {
  const std::string page = words_of(read_file(path("one/report.html")));
  for (const char* part : {"records (n)  500", "features  4", "parameters (d)  5", "steps  40",
                           "batch, expected  50", "dpmpi  " DPMPI_VERSION, "begun on  20"})
    EXPECT_TRUE(contains(page, part)) << part << "\n" << page.substr(0, 20000);
}

TEST_F(Report, DeltaIsTheSameEverywhere) {
  ASSERT_EQ(dpmpi("--quiet --config a.ini --set privacy.delta=1.23456789e-5 --set run.dir=odd").code, 0);
  std::string page = report_html({path("odd")}, false);
  page.erase(page.find("<blockquote>"),
             page.find("</blockquote>") - page.find("<blockquote>"));  // the certificate's
  page.erase(page.find("<h2>Settings"));  // as it was typed, there and in the command that is to be typed
  EXPECT_FALSE(contains(page, "1.23e-5")) << "a promise is not rounded down";
  EXPECT_FALSE(contains(page, "1.23456")) << "three digits";
  EXPECT_GE(count(page, "1.24e-5"), 2u);
}

TEST_F(Report, ConfusionAndCalibrationOfTheFinalModel) {
  const std::string page = read_file(path("one/report.html"));
  const auto seen = nlohmann::json::parse(read_file(path("one/assessment.json")));
  EXPECT_TRUE(contains(page, "Which classes are confused"));
  for (const auto& row : seen["confusion"])
    for (const auto& cell : row) EXPECT_TRUE(contains(page, fmt::format(")\">{}</td>", cell.get<int>()))) << cell;
  for (const char* name : {"balanced_accuracy", "average_precision"})
    EXPECT_TRUE(contains(page, fmt::format("<td>{}</td>", name))) << name;
  EXPECT_TRUE(contains(page, measured(seen["by_class"][1]["metrics"]["f1"].get<double>())));
  const std::string calibration = page.substr(page.find("Whether its probabilities can be believed"));
  std::size_t filled = 0;
  for (const auto& bin : seen["calibration"]) filled += bin["records"].get<int>() > 0;
  EXPECT_EQ(count(calibration.substr(0, calibration.find("</svg>")), "<circle"), filled);
  for (const char* bad : {"[]", "nonsense", R"({"classes":["a"],"confusion":[[1,2]]})",
                          R"({"classes":3,"confusion":4})", R"({"classes":[],"confusion":[],"by_class":3})",
                          R"({"calibration":[{"records":"x"}]})", R"({"calibration":7})"}) {
    copy("one", "broken");
    std::ofstream(path("broken/assessment.json")) << bad;
    EXPECT_THROW(report_html({path("broken")}, false), DataError) << bad;
  }
}

TEST_F(Report, WeightsStandBesideTheNamesOfTheirFeatures) {
  std::ofstream(path("named.csv")) << "age,pay <b>,kind,label\n1,2,a,1\n2,1,b,-1\n3,1,a,1\n4,0,b,-1\n";
  ASSERT_EQ(
      dpmpi(
          "--quiet --config a.ini --set data.eval= --set data.train=named.csv --set data.header=yes --set \"data.one_hot=kind:a|b\" "
          "--set data.label=label --set method.batch=2 --set method.steps=3 --set privacy.noise=none "
          "--set run.dir=named")
          .code,
      0);
  const std::string page = report_html({path("named")}, false);
  for (const char* name : {"<td>age</td>", "<td>pay &lt;b&gt;</td>", "<td>kind=a</td>", "<td>kind=b</td>"})
    EXPECT_TRUE(contains(page, name)) << name;
  EXPECT_EQ(nlohmann::json::parse(read_file(path("named/assessment.json")))["features"].size(), 4u);
  EXPECT_TRUE(contains(report_html({path("one")}, false), "What the model weighs"));
}

TEST_F(Report, ARunWithASeedPromisesNothingWhileItLasts) {
  copy("one", "seeded");
  fs::remove(path("seeded/certificate.json"));
  std::string config = read_file(path("seeded/config.ini"));
  config.replace(config.find("[privacy]\n"), 10, "[privacy]\nseed = 3\n");
  const std::size_t other = config.find("\nseed = -1", config.find("seed = 3"));
  if (other != config.npos) config.erase(other, 10);
  std::ofstream(path("seeded/config.ini")) << config;
  EXPECT_TRUE(contains(report_html({path("seeded")}, false), "<b>NOT PRIVATE.</b>"));
}

}  // namespace
}  // namespace dpmpi::report_test
