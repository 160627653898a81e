// report.html: what stands in it, that it is whole and harmless, and that a browser shows it.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "run/directory/files.hpp"
#include "run/evaluate/evaluate.hpp"
#include "run/report/numbers.hpp"
#include "run/report/plot.hpp"
#include "run/report/report.hpp"
#include "support/process.hpp"
#include "support/programs.hpp"

namespace dpmpi::report_test {
namespace {

namespace fs = std::filesystem;
using test::Outcome;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }
/// How often `part` stands in `text`.
std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != text.npos; at += part.size()) ++found;
  return found;
}
/// What people read: without markup, style and what stands between tags.
std::string words_of(const std::string& page) {
  std::string words;
  bool inside = false;
  for (const char c : page.substr(page.find("<body>"))) {
    if (c == '<') inside = true, words += ' ';
    if (!inside) words += c;
    if (c == '>') inside = false;
  }
  return words;
}
bool installed(const char* program) { return test::run_command(fmt::format("command -v {}", program)).code == 0; }

class Report : public ::testing::Test {
 protected:
  static std::string folder() { return ::testing::TempDir() + "dpmpi_Report"; }
  static std::string path(const std::string& name) { return folder() + "/" + name; }
  static Outcome dpmpi(const std::string& arguments) {
    return test::run_command(fmt::format("cd {} && {} {}", folder(), test::program(), arguments));
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

// ---- What people who decide look for

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
  const std::string calibration = page.substr(page.find("Whether its probabilities can be believed"));
  std::size_t filled = 0;
  for (const auto& bin : seen["calibration"]) filled += bin["records"].get<int>() > 0;
  EXPECT_EQ(count(calibration.substr(0, calibration.find("</svg>")), "<circle"), filled);
  for (const char* bad :
       {"[]", "nonsense", R"({"classes":["a"],"confusion":[[1,2]]})", R"({"classes":3,"confusion":4})",
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
