// The page of a report is whole and harmless, whatever stands in files, and a browser shows it.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "run/directory/files.hpp"
#include "run/report/report.hpp"
#include "run/report/report_folder.hpp"
#include "support/process.hpp"
#include "support/programs.hpp"
#include "support/text.hpp"

namespace dpmpi::report_page_test {
namespace {

namespace fs = std::filesystem;
using test::contains;
using test::Outcome;
using test::Report;

bool installed(const char* program) { return test::run_command(fmt::format("command -v {}", program)).code == 0; }

TEST_F(Report, LoadsNothing) {
  const std::string page = read_file(path("one/report.html"));
  for (const char* part : {"<script", "<link", "@import", "url(", "href=\"http", "src=\"http", "src=\"//"})
    EXPECT_FALSE(contains(page, part)) << part;
}

TEST_F(Report, EscapesWhatRunsAreCalled) {
  const std::string odd = path("<b>&amp;");
  fs::remove_all(odd);
  fs::copy(path("one"), odd);
  const std::string page = report_html({odd}, false);
  EXPECT_FALSE(contains(page, "<b>&amp;:"));
  EXPECT_TRUE(contains(page, "&lt;b&gt;&amp;amp;"));
}

// Names come from anybody's files, and no shell or plotter may take them for commands.
TEST_F(Report, RunsNothingThatStandsInAFile) {
  copy("one", "ours");
  std::string metrics = read_file(path("ours/metrics.jsonl"));
  for (std::size_t at = 0; (at = metrics.find("eval.loss", at)) != metrics.npos; ++at)
    metrics.replace(at, 9, "eval.`touch PWNED`' . system('touch PWNED') . '");
  std::ofstream(path("ours/metrics.jsonl")) << metrics;
  const Outcome outcome = dpmpi("report ours one --output of-two.html");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_FALSE(fs::exists(path("PWNED")));
  EXPECT_TRUE(contains(read_file(path("of-two.html")), "<polyline"));
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

// The page is drawn by the program itself, and needs nothing that a machine may lack.
TEST_F(Report, IsTheSameWithoutOtherPrograms) {
  const Outcome outcome = test::run_command(fmt::format(
      "cd {} && PATH=/not/there TMPDIR=/not/there {} report one --output plain.html", folder(), test::program()));
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  const std::string page = read_file(path("plain.html"));
  EXPECT_EQ(page, read_file(path("one/report.html")));
  EXPECT_TRUE(contains(page, "<polyline"));
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

// A browser says how far right anything reaches: beyond the window it would be cut off.
TEST_F(Report, NothingIsCutOffOnATelephone) {
  if (!installed("chromium")) GTEST_SKIP() << "no chromium (apt-get install chromium)";
  copy("one", "one-with-a-rather-long-name");
  ASSERT_EQ(dpmpi("report one two public one-with-a-rather-long-name --output four.html").code, 0);
  for (const char* file : {"one/report.html", "public/report.html", "four.html"}) {
    std::string page = read_file(path(file));
    page.insert(page.rfind("</body>"),
                "<script>let r = 0; for (const e of document.querySelectorAll('body *')) r = Math.max(r, "
                "e.getBoundingClientRect().right); document.body.dataset.reach = Math.ceil(r) + ' of ' + "
                "document.documentElement.clientWidth;</script>");
    std::ofstream(path("measured.html")) << page;
    // A window is no narrower than some 500 pixels, so the page stands in a frame of 400.
    std::ofstream(path("frame.html"))
        << "<iframe id=f width=400 height=3000 style='border:0' src=measured.html></iframe>"
           "<script>onload = () => document.body.dataset.seen = "
           "document.getElementById('f').contentDocument.body.dataset.reach</script>";
    const Outcome seen = test::run_command(
        fmt::format("cd {} && chromium --headless --no-sandbox --disable-gpu --allow-file-access-from-files "
                    "--user-data-dir={}/browser --virtual-time-budget=2000 --dump-dom frame.html",
                    folder(), folder()),
        120);
    const std::string mark = "data-seen=\"";
    const std::size_t at = seen.output.find(mark);
    ASSERT_NE(at, std::string::npos) << file << seen.output;
    int reach = 0, width = 0;
    ASSERT_EQ(std::sscanf(seen.output.c_str() + at + mark.size(), "%d of %d", &reach, &width), 2) << seen.output;
    EXPECT_LE(width, 400);
    EXPECT_LE(reach, width) << file;
  }
}

TEST_F(Report, ShowsThreeDigits) {
  std::string page = read_file(path("one/report.html"));
  for (std::size_t at; (at = page.find("<svg")) != page.npos;)  // marks of an axis have the digits that part them
    page.erase(at, page.find("</svg>", at) + 6 - at);
  std::string words = words_of(page);
  words.erase(words.find("Settings"));
  const std::size_t quote = words.find("Everything released by this run");  // the certificate's own words
  words.erase(quote, words.find("promise", quote) - quote);
  std::string number;
  for (const char c : words + " ") {
    if ((c >= '0' && c <= '9') || c == '.') {
      number += c;
      continue;
    }
    const std::size_t point = number.find('.');
    if (point != number.npos && point > 0 && point + 1 < number.size()) {
      std::string digits = number;
      digits.erase(point, 1);
      digits.erase(0, digits.find_first_not_of('0'));
      EXPECT_LE(digits.size(), 3u + (number == DPMPI_VERSION ? 9 : 0)) << number;
    }
    number.clear();
  }
}

TEST_F(Report, HasADarkModeAndPrints) {
  const std::string page = read_file(path("one/report.html"));
  for (const char* part : {"prefers-color-scheme: dark", "@media print", "color-scheme: light dark"})
    EXPECT_TRUE(contains(page, part)) << part;
  const std::string body = page.substr(page.find("<body>"));
  EXPECT_FALSE(contains(body, "fill=\"#")) << "colours come from the palette";
  EXPECT_FALSE(contains(body, "stroke=\"#"));
}

}  // namespace
}  // namespace dpmpi::report_page_test
