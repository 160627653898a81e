// What public records say of a training: nonsense in good faith is named, before the first step where that is
// possible, in the terminal, in metrics.jsonl and in report.html. A config that makes sense hears nothing.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/numbers/random.hpp"
#include "run/directory/files.hpp"
#include "support/process.hpp"
#include "support/programs.hpp"

namespace dpmpi::warnings_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::Outcome;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

class Warnings : public ::testing::Test {
 protected:
  static constexpr int train_records = 600, eval_records = 200;

  static std::string folder() {
    return ::testing::TempDir() + "dpmpi_Warnings_" +
           ::testing::UnitTest::GetInstance()->current_test_info()->name();
  }
  static std::string path(const std::string& name) { return folder() + "/" + name; }
  static Outcome dpmpi(const std::string& arguments, int ranks = 1) {
    const std::string launcher = ranks > 1 ? fmt::format("mpirun -n {} ", ranks) : "";
    return test::run_command(fmt::format("cd {} && {}{} {}", folder(), launcher, test::program(), arguments));
  }

  void SetUp() override {
    fs::remove_all(folder());
    fs::create_directories(folder());
  }

  struct Person {
    double x = 0, y = 0, z = 0;  // standard normal
    bool positive = false;
  };
  /// Files train.csv and eval.csv with a line each for people whose label follows from x.
  static void write_people(const std::string& head, const std::function<std::string(const Person&)>& line) {
    std::uint64_t next = 0;
    const PublicStream stream(1, "people");
    std::vector<double> normals(4 * (train_records + eval_records));
    stream.normals(0, std::span(normals));
    for (const auto& [name, count] : {std::pair{"train.csv", train_records}, {"eval.csv", eval_records}}) {
      std::ofstream file(path(name));
      file << head;
      for (int i = 0; i < count; ++i, next += 4)
        file << line(
            {normals[next], normals[next + 1], normals[next + 2], normals[next] + 0.3 * normals[next + 3] > 0});
    }
  }
  static void write_ordinary_people() {
    write_people("label,a,b,c\n",
                 [](const Person& p) { return fmt::format("{},{},{},{}\n", p.positive ? 1 : -1, p.x, p.y, p.z); });
  }
  static void write_config(const std::string& more) {
    std::ofstream(path("run.ini")) << "[data]\ntrain = train.csv\neval = eval.csv\nheader = yes\nlabel = label\n"
                                      "blocks = 4\n[report]\nprogress = none\n[privacy]\nnoise_multiplier = 1\n"
                                      "delta = 1e-4\nseed = 1\n"
                                   << more;
  }
  static constexpr const char* sgd = "[method]\nbatch = 100\nsteps = 30\nrate = 1\n";

  static Outcome train(const std::string& words, const std::string& run = "run", int ranks = 1) {
    const Outcome outcome = dpmpi(fmt::format("--config run.ini --set run.dir={} {}", run, words), ranks);
    EXPECT_EQ(outcome.code, 0) << outcome.output;
    return outcome;
  }
  static std::vector<json> metrics(const std::string& run = "run") {
    std::vector<json> lines;
    std::istringstream text(read_file(path(run + "/metrics.jsonl")));
    for (std::string line; std::getline(text, line);) lines.push_back(json::parse(line));
    return lines;
  }
  /// Of one kind, of all lines; `step` is added to each.
  static std::vector<json> warnings(const std::string& about, const std::string& run = "run") {
    std::vector<json> found;
    for (const json& line : metrics(run))
      for (json warning : line.value("warnings", json::array()))
        if (warning["about"] == about) warning["of_step"] = line["step"], found.push_back(warning);
    return found;
  }
  static void expect_said(const Outcome& outcome, const std::string& part) {
    EXPECT_TRUE(contains(outcome.output, part)) << part << "\n" << outcome.output;
  }
};

// ---- Features of very different size

TEST_F(Warnings, NameFeaturesOfVeryDifferentSize) {
  write_people("label,income,b,age\n", [](const Person& p) {
    return fmt::format("{},{},{},{}\n", p.positive ? 1 : -1, 50000 + 10000 * p.x, p.y, 0.5 * p.z);
  });
  write_config(sgd);
  const Outcome outcome = train("");
  for (const char* part : {"warning: features of data.eval differ in size", "'income' (", "data.std"})
    expect_said(outcome, part);
  expect_said(train("--quiet", "quiet"), "warning: features of data.eval differ in size");
  const auto found = warnings("scales");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0]["of_step"], 0) << "before the first step";
  EXPECT_NEAR(found[0]["columns"]["income"].get<double>(), 50000, 3000);
  const std::string page = read_file(path("run/report.html"));
  EXPECT_TRUE(contains(page, "features of data.eval differ in size")) << "the report says so, too";

  const Outcome mended = train("--set data.mean=income:50000 --set data.std=income:10000", "mended");
  EXPECT_FALSE(contains(mended.output, "dpmpi: warning")) << mended.output;
  EXPECT_TRUE(warnings("scales", "mended").empty());
}

TEST_F(Warnings, NameColumnsWhateverTheyAreCalled) {
  write_people(
      "label,\"income, net\",gr\xf6\xdf"
      "e\x1b[31m,c\n",
      [](const Person& p) {
        return fmt::format("{},{},{},{}\n", p.positive ? 1 : -1, 50000 + 10000 * p.x, 0.1 * p.y, p.z);
      });
  write_config(sgd);
  const Outcome outcome = train("");
  for (const char* part : {"large are 'income, net' (", "small are 'gr\\xf6\\xdfe\\x1b[31m' ("})
    expect_said(outcome, part);
  EXPECT_FALSE(contains(outcome.output, "\x1b")) << "a terminal obeys such bytes";
  EXPECT_TRUE(warnings("scales").at(0)["columns"].contains("income, net"));
  EXPECT_TRUE(contains(read_file(path("run/report.html")), "<td>income, net</td>"));
}

TEST_F(Warnings, NameFeaturesOfSparseRecordsByTheirNumbers) {
  write_people("",
               [](const Person& p) { return fmt::format("{} 1:{} 3:{}\n", p.positive ? 1 : -1, p.x, 4000 * p.y); });
  std::ofstream(path("run.ini")) << "[data]\ntrain = train.csv\neval = eval.csv\nformat = libsvm\nfeatures = 5\n"
                                    "[report]\nprogress = none\n[privacy]\nnoise_multiplier = 1\ndelta = 1e-4\n"
                                 << sgd;
  expect_said(train(""), "feature 3 (");
}

// A word that few people have is small on average and of the same size as all others.
TEST_F(Warnings, CompareFeaturesWhereTheyAreNotZero) {
  write_people("label,a,word,common\n", [](const Person& p) {
    return fmt::format("{},{},{},{}\n", p.positive ? 1 : -1, p.x, p.y > 2 ? 1 : 0, p.z > -1 ? 1 : 0);
  });
  write_config(sgd);
  EXPECT_FALSE(contains(train("").output, "dpmpi: warning"));
}

// ---- What the clip cuts

TEST_F(Warnings, SayWhatTheClipCutsAtTheStartAndAtTheEnd) {
  write_ordinary_people();
  write_config(sgd);
  EXPECT_FALSE(contains(train("--set method.clip=1").output, "dpmpi: warning"));
  const auto lines = metrics();
  for (const json& line : {lines.front(), lines.back()})
    for (const char* name : {"clip.cut", "clip.size_10", "clip.size_50", "clip.size_90"})
      EXPECT_TRUE(line.contains(name)) << line;
  EXPECT_GT(lines.front()["clip.size_50"].get<double>(), lines.back()["clip.size_50"].get<double>())
      << "gradients of records that are learned are short";

  expect_said(train("--set method.clip=1e-3", "small"), "at the start point the clip cuts 100 %");
  expect_said(train("--set method.clip=1000 --set method.rate=1e-3", "large"),
              "at the start point the clip cuts nothing");
  EXPECT_EQ(warnings("clip", "small").at(0)["cut"], 1);
  EXPECT_EQ(warnings("clip", "large").at(0)["cut"], 0);
}

// The gradient of the logistic loss at 0 is half of the record: its norm is known.
TEST_F(Warnings, MeasureGradientsBeforeTheyAreClipped) {
  write_people("label,a,b,c\n",
               [](const Person& p) { return fmt::format("{},{},0,0\n", p.positive ? 1 : -1, p.x > 0 ? 6 : -8); });
  write_config(sgd);
  for (const double clip : {0.01, 1.0, 100.0}) {
    const std::string run = fmt::format("run-{}", clip);
    train(fmt::format("--set data.bias=0 --set method.clip={}", clip), run);
    const json start = metrics(run).front();
    EXPECT_NEAR(start["clip.size_10"].get<double>(), 3 / clip, 0.006 * 3 / clip) << clip;
    EXPECT_NEAR(start["clip.size_90"].get<double>(), 4 / clip, 0.006 * 4 / clip) << clip;
    EXPECT_EQ(start["clip.cut"], clip < 3 ? 1 : 0);
  }
}

TEST_F(Warnings, LookAtTheClipOfEveryMethodThatHasOne) {
  write_ordinary_people();
  const std::pair<const char*, const char*> methods[] = {
      {"dp-ftrl", "batch = 100\nclip = "},
      {"clipped-gd", "steps = 5\nclip_rule = fixed\nclip = "},
      {"ht-localize", "folds = 2\nphases = 2\nsteps = 3\nclip = "},
      {"zo-naive", "inner = 8\nbatch = 20\nclip = "},
      {"zo-o2nc", "inner = 8\nbatch = 20\nfirst_batch = 60\nlipschitz = "},
      {"zo-hidden",
       "release = all\ndirections = 4\nsteps = 7\nrate = 0.5\nsampling = poisson\nbatch = "
       "100\nclip = "},
      {"dp-sgda", "batch = 100\nsteps = 5\nclip = "},
      {"private-diff", "batch = 100\nsteps = 5\nclip = "}};
  for (const auto& [method, settings] : methods) {
    const bool saddle = std::string(method) == "dp-sgda" || std::string(method) == "private-diff";
    for (const char* clip : {"1e-4", "1e4"}) {
      write_config(fmt::format("{}[method]\nname = {}\n{}{}\n",
                               saddle ? "[objective]\nname = auc\nprior = 0.5\n" : "", method, settings, clip));
      const std::string run = fmt::format("{}-{}", method, clip);
      train("--quiet", run);
      const auto found = warnings("clip", run);
      ASSERT_FALSE(found.empty()) << run;
      EXPECT_EQ(found[0]["of_step"], 0) << run;
      EXPECT_EQ(found[0]["cut"].get<double>() > 0.5, std::string(clip) == "1e-4") << run << " " << found[0];
    }
  }
}

// ---- Worse than a constant

TEST_F(Warnings, SayThatAModelIsWorseThanAConstant) {
  write_ordinary_people();
  std::ofstream(path("flipped.csv")) << [] {
    std::string all, line;
    std::istringstream lines(read_file(path("eval.csv")));
    while (std::getline(lines, line))
      all += (line[0] == '-' ? line.substr(1) : line[0] == '1' ? "-" + line : line) + "\n";
    return all;
  }();
  write_config(sgd);
  EXPECT_TRUE((train(""), warnings("constant").empty()));
  expect_said(train("--set data.eval=flipped.csv", "flipped"), "the model is worse than a constant on data.eval");
  const auto found = warnings("constant", "flipped");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_GT(found[0]["model"].get<double>(), found[0]["constant"].get<double>());
  EXPECT_TRUE(
      contains(read_file(path("flipped/report.html")) + read_file(path("run/report.html")), "largest class"));
}

TEST_F(Warnings, SayThatPublicRecordsOfOneLabelTellNothing) {
  write_ordinary_people();
  write_config(sgd);
  std::ofstream(path("one.csv")) << [] {
    std::string all, line;
    std::istringstream lines(read_file(path("eval.csv")));
    while (std::getline(lines, line))
      if (line[0] != '-') all += line + "\n";
    return all;
  }();
  expect_said(train("--set data.eval=one.csv", "one"), "all records of data.eval have the same label");
  const auto found = warnings("constant", "one");
  ASSERT_EQ(found.size(), 1U) << "and not that the model is worse than a constant";
  EXPECT_EQ(found[0]["of_step"], 0);
}

// Sign labels: the entropy of their frequencies. Real ones: the variance, by the mean.
TEST_F(Warnings, KnowTheBestConstant) {
  write_people("label,a,b,c\n",
               [](const Person& p) { return fmt::format("{},{},{},{}\n", p.z > 0.7 ? 1 : -1, p.x, p.y, p.z); });
  write_config(sgd);
  train("");
  const json start = metrics().front();
  const double share = start["constant.accuracy"].get<double>();
  EXPECT_GT(share, 0.7);
  EXPECT_NEAR(start["constant.loss"].get<double>(), -share * std::log(share) - (1 - share) * std::log(1 - share),
              0.005);

  write_people("label,a,b,c\n",
               [](const Person& p) { return fmt::format("{},{},{},{}\n", p.positive ? 3 : 1, p.x, p.y, p.z); });
  for (const char* objective : {"squared", "mlp\nhidden = 3\nhead = squared"}) {
    const std::string run = std::string("real-") + objective[0];
    write_config(std::string("[objective]\nname = ") + objective + "\n" + sgd + "clip = 5\n");
    train("--set method.rate=0.1", run);
    EXPECT_NEAR(metrics(run).front()["constant.loss"].get<double>(), 0.5, 0.01) << "half of the variance, 1";
    EXPECT_FALSE(metrics(run).front().contains("constant.accuracy"));
  }
}

TEST_F(Warnings, ShowTheLargestClassBesideTheAccuracy) {
  write_ordinary_people();
  write_config(sgd);
  expect_said(train(""), " (largest class 0.");
  const Outcome shown = dpmpi("evaluate run");
  expect_said(shown, "constant");
  const json said = json::parse(dpmpi("evaluate run --json").output);
  EXPECT_NEAR(said["constants"]["accuracy"].get<double>(), metrics().front()["constant.accuracy"].get<double>(),
              0.001);
}

// ---- Divergence

TEST_F(Warnings, SayThatARunDiverges) {
  write_ordinary_people();
  write_config(std::string("[objective]\nname = squared\n") + sgd);
  const Outcome outcome = train("--set method.rate=100");
  expect_said(outcome, "The run diverges");
  const auto found = warnings("divergence");
  ASSERT_EQ(found.size(), 1U) << "once";
  EXPECT_LT(found[0]["of_step"], 30) << "as soon as it is seen";
  EXPECT_TRUE(contains(read_file(path("run/report.html")), "The run diverges"));
  train("--set method.rate=0.1", "good");
  EXPECT_TRUE(warnings("divergence", "good").empty());
}

// ---- All together

TEST_F(Warnings, SayOnceThatNothingIsSeenWithoutPublicRecords) {
  write_ordinary_people();
  write_config(sgd);
  const Outcome outcome = train("--set data.eval=");
  expect_said(outcome, "without public records (data.eval) nothing can be seen of the model");
  EXPECT_FALSE(contains(outcome.output, "dpmpi: warning")) << outcome.output;
  EXPECT_FALSE(contains(train("--quiet --set data.eval=", "quiet").output, "without public records"));
}

// The steps are the same whether somebody looks or not.
TEST_F(Warnings, ChangeNothingThatIsTrained) {
  write_ordinary_people();
  for (const char* method :
       {sgd, "[method]\nname = zo-naive\ninner = 8\nbatch = 20\n",
        "[method]\nname = zo-hidden\nrelease = all\ndirections = 4\nsteps = 7\nrate = "
        "0.5\nsampling = poisson\nbatch = 100\n",
        "[objective]\nname = mlp\nclasses = 2\nhidden = 5\n[method]\nbatch = 100\nsteps = 9\nclip = 1e-4\n"}) {
    write_config(method);
    const std::string labels = contains(method, "mlp") ? " --set data.label_map=1:1,-1:0" : "";
    train("--quiet" + labels, "seen");
    train("--quiet --set data.eval=" + labels, "unseen");
    const auto digest = [](const std::string& run) {
      return json::parse(read_file(path(run + "/certificate.json")))["model_digest"];
    };
    EXPECT_EQ(digest("seen"), digest("unseen")) << method;
    const auto events = [](const std::string& run) {
      return json::parse(read_file(path(run + "/plan.json")))["events"];
    };
    EXPECT_EQ(events("seen"), events("unseen")) << method;
    for (const char* run : {"seen", "unseen"}) fs::remove_all(path(run));
  }
}

TEST_F(Warnings, AreTheSameOnAnyNumberOfRanks) {
  write_people("label,income,b,c\n", [](const Person& p) {
    return fmt::format("{},{},{},{}\n", p.positive ? 1 : -1, 50000 + 10000 * p.x, p.y, p.z);
  });
  write_config(std::string(sgd) + "clip = 0.01\n");
  const auto said = [](const Outcome& outcome) {
    std::string all;
    std::istringstream lines(outcome.output);
    for (std::string line; std::getline(lines, line);)
      if (contains(line, "warning: ")) all += line.substr(line.find("warning: ")) + "\n";
    return all;
  };
  const std::string one = said(train("--quiet", "one"));
  EXPECT_TRUE(contains(one, "income")) << one;
  for (const int ranks : {2, 3}) {
    const std::string run = fmt::format("on-{}", ranks);
    EXPECT_EQ(said(train("--quiet", run, ranks)), one) << ranks;
    EXPECT_EQ(read_file(path(run + "/metrics.jsonl")), read_file(path("one/metrics.jsonl"))) << ranks;
  }
}

// What was said before a stop stands in the report of the run that went on, and is not said again.
TEST_F(Warnings, OutliveAStop) {
  write_people("label,income,b,c\n", [](const Person& p) {
    return fmt::format("{},{},{},{}\n", p.positive ? 1 : -1, 50000 + 10000 * p.x, p.y, p.z);
  });
  write_config("[objective]\nname = squared\n[method]\nbatch = 100\nsteps = 30\nrate = 10\n");
  train("", "whole");
  const auto faulty = [](const std::string& words) {
    return test::run_command(fmt::format("cd {} && {} {}", folder(), test::fault_program(), words));
  };
  const Outcome first = faulty("step@0#20=usr1 run.ini run.dir=stopped");
  ASSERT_EQ(first.code, 6) << first.output;
  expect_said(first, "income");
  const Outcome rest = faulty("none stopped");
  ASSERT_EQ(rest.code, 0) << rest.output;
  ASSERT_EQ(dpmpi("report stopped").code, 0);
  EXPECT_EQ(read_file(path("stopped/metrics.jsonl")), read_file(path("whole/metrics.jsonl")));
  EXPECT_EQ(warnings("divergence", "stopped").size(), 1U);
  EXPECT_FALSE(contains(rest.output, "income")) << rest.output;
  EXPECT_TRUE(contains(read_file(path("stopped/report.html")), "income"));
  EXPECT_EQ(dpmpi("verify stopped").code, 0);
}

}  // namespace
}  // namespace dpmpi::warnings_test
