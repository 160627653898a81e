// report.html: what stands in it, that it is whole and harmless, and that a browser shows it.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "run/directory/files.hpp"
#include "run/evaluate/evaluate.hpp"
#include "run/report/plot.hpp"
#include "run/report/report.hpp"
#include "support/process.hpp"

namespace dpmpi {
namespace {

namespace fs = std::filesystem;
using test::Outcome;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }
bool installed(const char* program) { return test::run_command(fmt::format("command -v {}", program)).code == 0; }

class Report : public ::testing::Test {
 protected:
  static std::string folder() { return ::testing::TempDir() + "dpmpi_Report"; }
  static std::string path(const std::string& name) { return folder() + "/" + name; }
  static Outcome dpmpi(const std::string& arguments) {
    return test::run_command(fmt::format("cd {} && {} {}", folder(), DPMPI_PROGRAM, arguments));
  }

  static void copy(const std::string& from, const std::string& to) {
    fs::remove_all(path(to));
    fs::copy(path(from), path(to));
  }

  static void SetUpTestSuite() {
    fs::remove_all(folder());
    fs::create_directories(folder());
    ASSERT_EQ(dpmpi("generate --output t.csv --records 500 --eval-records 100 --features 4").code, 0);
    std::ofstream(path("a.ini")) << "[data]\ntrain = t.csv\neval = t-eval.csv\n[method]\nbatch = 50\nsteps = 40\n"
                                    "[privacy]\nepsilon = 2\ndelta = 1e-4\n";
    std::ofstream(path("b.ini"))
        << "[data]\ntrain = t.csv\neval = t-eval.csv\n[privacy]\nepsilon = 2\ndelta = 1e-4\n";
    const std::string words = "--config a.ini --set report.progress=none --set run.dir=";
    ASSERT_EQ(dpmpi(words + "one").code, 0);
    ASSERT_EQ(dpmpi(words + "two --quiet --set method.rate=0.01").code, 0);
    ASSERT_EQ(dpmpi(words + "public --set privacy.noise=none").code, 0);
  }
};

TEST_F(Report, SetsNoiseAgainstSignal) {
  const auto site = nlohmann::json::parse(read_file(path("one/plan.json")))["noise"][0];
  EXPECT_EQ(site["batch"], 50);
  const double noise = site["std"].get<double>() * std::sqrt(5.0), longest = 50 * site["clip"].get<double>();
  EXPECT_TRUE(contains(
      read_file(path("one/report.html")),
      fmt::format(
          R"(<td class="n">50</td><td class="n">{:.4g}</td><td class="n">{:.4g}</td><td class="n">{:.3g}</td>)",
          longest, noise, noise / longest)));
  EXPECT_FALSE(contains(read_file(path("public/report.html")), "Noise against signal")) << "there is no noise";
}

TEST_F(Report, TrainingWritesIt) {
  EXPECT_FALSE(fs::exists(path("two/report.html"))) << "--quiet";
  const std::string page = read_file(path("one/report.html"));
  for (const char* part :
       {"<title>one: logistic by dp-sgd</title>", "epsilon 2 at delta 0.0001", "adding or removing one record",
        "members found", "eval.accuracy", "method.batch", "data_commitment", "noise multiplier"})
    EXPECT_TRUE(contains(page, part)) << part;
  EXPECT_FALSE(contains(page, "Not finished"));
  EXPECT_EQ(page, report_html({path("one")}, false)) << "the same bytes from the same run";
}

TEST_F(Report, LoadsNothing) {
  const std::string page = read_file(path("one/report.html"));
  for (const char* part : {"<script", "<link", "@import", "url(", "href=\"http", "src=\"http", "src=\"//"})
    EXPECT_FALSE(contains(page, part)) << part;
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

TEST_F(Report, ARunIsShownOnce) {
  const Outcome outcome = dpmpi("report one ./one/ one");
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_EQ(outcome.output, "one/report.html\n");
  EXPECT_EQ(report_html({path("one"), path("one/"), path("one")}, false), report_html({path("one")}, false));
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
  EXPECT_FALSE(contains(report_html({path("one")}, false), "Noise of the running sums"));
}

TEST_F(Report, PosteriorTrace) {
  ASSERT_EQ(dpmpi("--quiet --config b.ini --set method.name=gibo --set method.steps=4 --set method.trace_tol=1 "
                  "--set data.bias=0 --set privacy.adjacency=replace_one --set run.dir=posterior")
                .code,
            0);
  EXPECT_TRUE(contains(report_html({path("posterior")}, false), "method.posterior_trace"));
}

// Runs whose loss falls like n^(-1/2) but for one of them.
TEST_F(Report, SlopesOfASweep) {
  std::vector<std::string> runs;
  for (const int n : {500, 1000, 2000, 4000}) {
    const std::string name = fmt::format("n{}", n);
    copy("one", name);
    auto plan = nlohmann::ordered_json::parse(read_file(path("one/plan.json")));
    plan["n"] = n;
    std::ofstream(path(name + "/plan.json")) << plan.dump();
    std::ofstream(path(name + "/metrics.jsonl")) << fmt::format(
        "{{\"step\":40,\"epsilon\":2,\"eval.loss\":{},\"eval.auc\":{}}}\n", 3 / std::sqrt(n), 1 - 10.0 / n);
    runs.push_back(path(name));
  }
  const std::string page = report_html(runs, false);
  EXPECT_TRUE(contains(page, "<td>eval.loss</td><td>n</td><td class=\"n\">-0.500</td><td class=\"n\">0.000</td>"));
  EXPECT_TRUE(contains(page, "<td>1 - eval.auc</td><td>n</td><td class=\"n\">-1.000</td>"));
  EXPECT_FALSE(contains(page, "<td>eval.loss</td><td>epsilon</td>")) << "the same epsilon in all";
  EXPECT_FALSE(contains(report_html({runs[0], runs[1]}, false), "Slopes")) << "two runs are no sweep";
  EXPECT_FALSE(contains(report_html({path("one"), path("two"), path("public")}, false), "Slopes"));
}

TEST_F(Report, RunsBesideEachOther) {
  const Outcome outcome = dpmpi("report one two public");
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  const std::string page = read_file(path("report.html"));
  for (const char* part : {"3 runs", ">one<", ">two<", ">public<", "NOT PRIVATE", "<td>method.rate</td>", ">0.01<"})
    EXPECT_TRUE(contains(page, part)) << part;
  EXPECT_FALSE(contains(page, "<td>method.batch</td>")) << "the same in all";
  EXPECT_FALSE(contains(page, "do not compare"));
}

TEST_F(Report, SaysWhatIsNotPrivateAndNotFinished) {
  EXPECT_TRUE(contains(report_html({path("public")}, false), "<b>NOT PRIVATE.</b>"));
  copy("one", "half");
  fs::remove(path("half/certificate.json"));
  std::ofstream(path("half/metrics.jsonl"), std::ios::app) << "{\"step\":41,\"eps";  // being written
  const std::string page = report_html({path("half")}, false);
  EXPECT_TRUE(contains(page, "Not finished"));
  EXPECT_TRUE(contains(page, "dpmpi resume"));
}

TEST_F(Report, EscapesWhatRunsAreCalled) {
  const std::string odd = path("<b>&amp;");
  fs::remove_all(odd);
  fs::copy(path("one"), odd);
  const std::string page = report_html({odd}, false);
  EXPECT_FALSE(contains(page, "<b>&amp;:"));
  EXPECT_TRUE(contains(page, "&lt;b&gt;&amp;amp;"));
}

// gnuplot would run what stands between backquotes in some of its strings.
TEST_F(Report, RunsNothingThatStandsInAFile) {
  copy("one", "ours");
  std::string metrics = read_file(path("ours/metrics.jsonl"));
  for (std::size_t at = 0; (at = metrics.find("eval.loss", at)) != metrics.npos; ++at)
    metrics.replace(at, 9, "eval.`touch PWNED`' . system('touch PWNED') . '");
  std::ofstream(path("ours/metrics.jsonl")) << metrics;
  const Outcome outcome = dpmpi("report ours one --output of-two.html");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_FALSE(fs::exists(path("PWNED")));
  EXPECT_EQ(contains(read_file(path("of-two.html")), "<svg"), installed("gnuplot"));
}

TEST_F(Report, ReplacesReportsOnly) {
  const std::string data = read_file(path("t.csv"));
  EXPECT_EQ(dpmpi("report one two --output t.csv").code, 2);
  EXPECT_EQ(read_file(path("t.csv")), data);
  EXPECT_EQ(dpmpi("report one two --output twice.html").code, 0);
  EXPECT_EQ(dpmpi("report one two --output twice.html").code, 0);
}

TEST_F(Report, Refusals) {
  EXPECT_EQ(dpmpi("report").code, 2);
  EXPECT_EQ(dpmpi("report nothing").code, 2);
  copy("one", "broken");
  std::ofstream(path("broken/metrics.jsonl"), std::ios::app) << "[1, 2]\n";
  const Outcome broken = dpmpi("report broken");
  EXPECT_EQ(broken.code, 3);
  EXPECT_TRUE(contains(broken.output, "broken/metrics.jsonl:")) << broken.output;
  EXPECT_EQ(dpmpi("report one --output no/folder/x.html").code, 3);
}

TEST_F(Report, DamagedFilesAreDataErrors) {
  for (const auto& [key, value] : std::vector<std::pair<std::string, std::string>>{{"attacker", R"({"x": 0.5})"},
                                                                                   {"attacker", R"({"0.1": "x"})"},
                                                                                   {"attacker", "[true]"},
                                                                                   {"noise", "3"},
                                                                                   {"delta", R"("x")"}}) {
    copy("one", "damaged");
    auto plan = nlohmann::ordered_json::parse(read_file(path("damaged/plan.json")));
    plan[key] = nlohmann::ordered_json::parse(value);
    std::ofstream(path("damaged/plan.json")) << plan.dump();
    EXPECT_THROW(report_html({path("damaged")}, false), DataError) << key << " = " << value;
  }
}

// On machines without gnuplot the numbers stand in tables.
TEST_F(Report, IsWrittenWithoutPlots) {
  const Outcome outcome = test::run_command(
      fmt::format("cd {} && PATH=/not/there {} report one --output plain.html", folder(), DPMPI_PROGRAM));
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  const std::string page = read_file(path("plain.html"));
  EXPECT_TRUE(contains(page, "No plots"));
  EXPECT_TRUE(contains(page, "members found"));
  EXPECT_FALSE(contains(page, "<svg"));
}

TEST_F(Report, PlotsAreDrawn) {
  if (!installed("gnuplot")) {
    EXPECT_TRUE(contains(read_file(path("one/report.html")), "No plots"));
    GTEST_SKIP() << "no gnuplot";
  }
  const std::string drawn = svg({"x", "y", {{"a \"b\"\n", {{1, 2}, {2, 3}, {3, NAN}}}, {"", {{1, 1}}}}}, "id");
  EXPECT_TRUE(drawn.starts_with("<svg"));
  EXPECT_TRUE(contains(drawn, "</svg>"));
  EXPECT_TRUE(svg({"x", "y", {{"", {{NAN, 1}}}}}, "id").empty());
  EXPECT_TRUE(svg({"x", "y", {{"", {{1, 0.5}, {10, 0}, {20, 0.1}}, true}}, true, true}, "id").starts_with("<svg"));
  EXPECT_TRUE(svg({"x", "y", {{"", {{1, 0}, {2, -1}}, true}}, false, true}, "id").empty()) << "no logarithm";
  EXPECT_TRUE(contains(read_file(path("one/report.html")), "<svg"));
}

// Looked at as people do: the page has its height and its text on the screen.
TEST_F(Report, ABrowserShowsIt) {
  if (!installed("chromium")) GTEST_SKIP() << "no chromium (apt-get install chromium)";
  const Outcome shown = test::run_command(
      fmt::format(
          "cd {} && chromium --headless --no-sandbox --disable-gpu --user-data-dir={}/browser "
          "--virtual-time-budget=2000 "
          "--screenshot=page.png --window-size=1000,2400 one/report.html && chromium --headless --no-sandbox "
          "--disable-gpu --user-data-dir={}/browser --dump-dom one/report.html",
          folder(), folder(), folder()),
      120);
  ASSERT_EQ(shown.code, 0) << shown.output;
  EXPECT_TRUE(contains(shown.output, "members found"));
  // A blank page compresses to some kilobytes.
  EXPECT_GT(fs::file_size(path("page.png")), 30000u);
}

}  // namespace
}  // namespace dpmpi
