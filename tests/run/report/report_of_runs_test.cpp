// Reports of several runs: beside each other, once each, and with slopes where they are a sweep.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "run/directory/files.hpp"
#include "run/report/report.hpp"
#include "run/report/report_folder.hpp"
#include "support/process.hpp"
#include "support/text.hpp"

namespace dpmpi::report_of_runs_test {
namespace {

namespace fs = std::filesystem;
using test::contains;
using test::Outcome;
using test::Report;

TEST_F(Report, ARunIsShownOnce) {
  const Outcome outcome = dpmpi("report one ./one/ one");
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_EQ(outcome.output, "one/report.html\n");
  EXPECT_EQ(report_html({path("one"), path("one/"), path("one")}, false), report_html({path("one")}, false));
}

TEST_F(Report, RunsBesideEachOther) {
  const Outcome outcome = dpmpi("report one two public");
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  const std::string page = read_file(path("report.html"));
  for (const char* part : {"3 runs", ">one<", ">two<", ">public<",
                           "<b>NOT PRIVATE.</b> No promise is made by: public.", "<td>method.rate</td>", ">0.01<"})
    EXPECT_TRUE(contains(page, part)) << part;
  EXPECT_FALSE(contains(page, "<td>method.batch</td>")) << "the same in all";
  EXPECT_FALSE(contains(page, "do not compare"));
  EXPECT_FALSE(contains(page, "best constant")) << "which stands beside a single run";
  const auto told = page.find("To compare with:");
  EXPECT_NE(told, std::string::npos);
  EXPECT_EQ(told, page.rfind("To compare with:")) << "once, if it is the same for all";
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
  const auto row = [&](const std::string& metric, const std::string& over) {
    const std::string words = words_of(page);
    const std::size_t at = words.find(metric, words.find("Slopes"));
    std::istringstream rest(at == words.npos ? "" : words.substr(at + metric.size()));
    std::string name;
    double slope = 0, error = 0;
    rest >> name >> slope >> error;
    return name == over ? std::pair(slope, error) : std::pair<double, double>(NAN, NAN);
  };
  EXPECT_NEAR(row("eval.loss", "n").first, -0.5, 1e-4);
  EXPECT_NEAR(row("eval.loss", "n").second, 0, 1e-4);
  EXPECT_NEAR(row("1 - eval.auc", "n").first, -1, 1e-4);
  EXPECT_FALSE(contains(page, "<td>eval.loss</td><td data-name=\"over\">epsilon</td>"))
      << "the same epsilon in all";
  EXPECT_FALSE(contains(report_html({runs[0], runs[1]}, false), "Slopes")) << "two runs are no sweep";
  EXPECT_FALSE(contains(report_html({path("one"), path("two"), path("public")}, false), "Slopes"));
}

TEST_F(Report, ARunKeepsItsColourInAllPlots) {
  copy("one", "three");
  fs::remove(path("one-less"));
  copy("one", "one-less");
  fs::remove(path("one-less/roc.json"));
  const std::string page = report_html({path("one-less"), path("two"), path("three"), path("public")}, false);
  std::size_t plots = 0;
  for (std::size_t at = 0; (at = page.find("<figure>", at)) != page.npos; ++at, ++plots) {
    const std::string figure = page.substr(at, page.find("</figure>", at) - at);
    for (const auto& [name, colour] : {std::pair{"two", "k1 d0"}, {"three", "k2 d0"}, {"public", "k3 d0"}}) {
      if (!contains(figure, fmt::format("</svg>{}</span>", name))) continue;
      EXPECT_TRUE(contains(figure, fmt::format("<polyline class=\"{}\"", colour))) << name << figure;
    }
    const std::string roc = "true positives";
    EXPECT_EQ(contains(figure, "polyline class=\"k0"),
              !contains(figure, roc) && contains(figure, "</svg>one-less<"));
  }
  EXPECT_GE(plots, 4u);
}

TEST_F(Report, ManyRunsHaveTheirPlaceInKeys) {
  std::vector<std::string> runs;
  for (int i = 0; i < 10; ++i) {
    copy("one", fmt::format("a-run-with-a-long-name-{}", i));
    runs.push_back(path(fmt::format("a-run-with-a-long-name-{}", i)));
  }
  const std::string page = report_html(runs, false);
  const std::size_t at = page.find("<figure>");
  const std::string figure = page.substr(at, page.find("</figure>", at) - at);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(contains(figure, fmt::format("</svg>a-run-with-a-long-name-{}<", i)));
  EXPECT_TRUE(contains(figure, "class=\"k0 d1\"")) << "the ninth run has the first colour, in a broken line";
}

}  // namespace
}  // namespace dpmpi::report_of_runs_test
