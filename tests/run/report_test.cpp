// report.html: what stands in it, that it is whole and harmless, and that a browser shows it.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "dpmpi/core/errors.hpp"
#include "dpmpi/run/files.hpp"
#include "dpmpi/run/plot.hpp"
#include "dpmpi/run/report.hpp"
#include "support/process.hpp"

namespace dpmpi {
namespace {

namespace fs = std::filesystem;
using testing::Outcome;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }
bool installed(const char* program) {
  return testing::run_command(fmt::format("command -v {}", program)).code == 0;
}

class Report : public ::testing::Test {
 protected:
  static std::string folder() { return ::testing::TempDir() + "dpmpi_Report"; }
  static std::string path(const std::string& name) { return folder() + "/" + name; }
  static Outcome dpmpi(const std::string& arguments) {
    return testing::run_command(fmt::format("cd {} && {} {}", folder(), DPMPI_PROGRAM, arguments));
  }

  static void SetUpTestSuite() {
    fs::remove_all(folder());
    fs::create_directories(folder());
    ASSERT_EQ(dpmpi("generate --output t.csv --records 500 --eval-records 100 --features 4").code, 0);
    std::ofstream(path("a.ini")) << "[data]\ntrain = t.csv\neval = t-eval.csv\n[method]\nbatch = 50\nsteps = 40\n"
                                    "[privacy]\nepsilon = 2\ndelta = 1e-4\n";
    const std::string words = "--config a.ini --set report.progress=none --set run.dir=";
    ASSERT_EQ(dpmpi(words + "one").code, 0);
    ASSERT_EQ(dpmpi(words + "two --quiet --set method.rate=0.01").code, 0);
    ASSERT_EQ(dpmpi(words + "public --set method.name=sgd").code, 0);
  }
};

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
  EXPECT_TRUE(contains(read_file(path("timed.html")), "of them kernels"));
  EXPECT_EQ(fs::status(path("timed.html")).permissions(), fs::perms::owner_read | fs::perms::owner_write);
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
  fs::remove_all(path("half"));
  fs::copy(path("one"), path("half"));
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

TEST_F(Report, Refusals) {
  EXPECT_EQ(dpmpi("report").code, 2);
  EXPECT_EQ(dpmpi("report nothing").code, 2);
  fs::remove_all(path("broken"));
  fs::copy(path("one"), path("broken"));
  std::ofstream(path("broken/metrics.jsonl"), std::ios::app) << "[1, 2]\n";
  const Outcome broken = dpmpi("report broken");
  EXPECT_EQ(broken.code, 3);
  EXPECT_TRUE(contains(broken.output, "broken/metrics.jsonl:")) << broken.output;
  EXPECT_EQ(dpmpi("report one --output no/folder/x.html").code, 3);
}

// On machines without gnuplot the numbers stand in tables.
TEST_F(Report, IsWrittenWithoutPlots) {
  const Outcome outcome = testing::run_command(
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
  EXPECT_TRUE(contains(read_file(path("one/report.html")), "<svg"));
}

// Looked at as people do: the page has its height and its text on the screen.
TEST_F(Report, ABrowserShowsIt) {
  if (!installed("chromium")) GTEST_SKIP() << "no chromium (apt-get install chromium)";
  const Outcome shown = testing::run_command(
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
