// Every command that reads a run directory, a ledger or a plan ends soon, with one message and a documented exit
// code, whatever stands in place of one of the files.
#include <filesystem>
#include <fstream>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "run/directory/files.hpp"
#include "support/process.hpp"
#include "support/programs.hpp"

namespace dpmpi::hostile_files_test {
namespace {

namespace fs = std::filesystem;
using test::Outcome;

std::string nested(const std::string& opening, const std::string& closing, int depth) {
  std::string text;
  for (int i = 0; i < depth; ++i) text += opening;
  text += "1";
  for (int i = 0; i < depth; ++i) text += closing;
  return text + "\n";
}

void make_socket(const std::string& path) {
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  ASSERT_LT(path.size(), sizeof address.sun_path);
  path.copy(address.sun_path, path.size());
  const int file = ::socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(::bind(file, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ::close(file);
}

struct Kind {
  std::string name;
  void (*make)(const std::string& path);
  bool parsed = false;  // what is no file of bytes is refused before a parser sees it
};

const std::vector<Kind> kinds = {
    {"a pipe", [](const std::string& p) { ASSERT_EQ(::mkfifo(p.c_str(), 0600), 0); }},
    {"a terabyte",
     [](const std::string& p) {
       std::ofstream(p).close();
       fs::resize_file(p, std::uint64_t{1} << 40);
     }},
    {"a device", [](const std::string& p) { fs::create_symlink("/dev/zero", p); }},
    {"deep lists", [](const std::string& p) { std::ofstream(p) << nested("[", "]", 1000000); }, true},
    {"deep objects", [](const std::string& p) { std::ofstream(p) << nested("{\"a\":", "}", 300000); }, true},
    {"deep events",
     [](const std::string& p) { std::ofstream(p) << "{\"events\":[" + nested("[", "]", 300000) + "]}"; }, true},
    {"a socket", make_socket},
    {"a folder", [](const std::string& p) { fs::create_directory(p); }},
    {"a link to nothing", [](const std::string& p) { fs::create_symlink("/nowhere/at/all", p); }},
    {"a link to itself", [](const std::string& p) { fs::create_symlink(fs::path(p).filename(), p); }},
    {"nothing", [](const std::string& p) { std::ofstream(p).close(); }, true},
    {"a process's memory", [](const std::string& p) { fs::create_symlink("/proc/self/mem", p); }}};
constexpr std::size_t worst = 2;  // of these kinds, for commands that take a second to start

constexpr const char* png_signature = "\x89PNG\r\n\x1a\n";

class HostileFiles : public ::testing::Test {
 protected:
  static std::string folder() { return ::testing::TempDir() + "dpmpi_Hostile"; }
  static std::string path(const std::string& name) { return folder() + "/" + name; }
  // What a command would have to read for ever, or into memory, ends it here. (AddressSanitizer reserves more.)
  static Outcome dpmpi(const std::string& words) {
    const std::string limit = test::sanitized() ? "" : "ulimit -v 6000000; ";
    return test::run_command(fmt::format("{}cd {} && {} {}", limit, folder(), test::program(), words), 20);
  }

  static void SetUpTestSuite() {
    fs::remove_all(folder());
    fs::create_directories(folder());
    ASSERT_EQ(dpmpi("generate --output t.csv --records 300 --eval-records 60 --features 4").code, 0);
    std::ofstream(path("run.ini"))
        << "[data]\nblocks = 4\ntrain = t.csv\neval = t-eval.csv\n[method]\nbatch = 50\nsteps = 150\n[privacy]\n"
           "epsilon = 3\ndelta = 1e-4\naccountant = rdp\n[report]\nprogress = none\n";
    ASSERT_EQ(dpmpi("--quiet --config run.ini --set run.dir=finished").code, 0);
    ASSERT_EQ(dpmpi("--quiet --config run.ini --set run.dir=stopped --set run.max_hours=1e-12").code, 6);
    ASSERT_EQ(dpmpi("audit finished --json --set audit.runs=32 --set audit.game=distinguish").code, 0);
    std::ofstream(path("finished/samples.png")) << png_signature;
    fs::remove(path("stopped/checkpoint/previous"));  // which a run would go on from
  }

  /// `words` on a copy R of the run `base`, in which each of `files` in turn is each of the kinds. Sanitizers look
  /// at parsers.
  static void expect_refusals(const std::string& base, const std::string& words,
                              const std::vector<std::string>& files, std::size_t count = kinds.size()) {
    for (const std::string& file : files)
      for (const auto& [kind, make, parsed] : std::span(kinds).first(count)) {
        if (test::sanitized() && !parsed && count > worst) continue;
        fs::remove_all(path("R"));
        fs::copy(path(base), path("R"), fs::copy_options::recursive);
        fs::remove(path("R/" + file));
        make(path("R/" + file));
        const Outcome outcome = dpmpi(words);
        const std::string what =
            fmt::format("{} with {} as {}: {}", words, kind, file, outcome.output.substr(0, 2000));
        // Files that a run need not have may be left out, and what is only written replaces what was there.
        EXPECT_TRUE(outcome.code == 0 || (outcome.code >= 2 && outcome.code <= 4)) << outcome.code << " " << what;
        EXPECT_LT(outcome.seconds, 15) << what;
        EXPECT_LT(outcome.output.size(), 4000u) << what;
        EXPECT_EQ(outcome.output.find("internal error"), std::string::npos) << what;
        needed_[file] = needed_[file] || outcome.code != 0;
      }
    for (const std::string& file : files) EXPECT_TRUE(needed_[file]) << words << " does not read " << file;
    needed_.clear();
  }
  static inline std::map<std::string, bool> needed_;
};

TEST_F(HostileFiles, Verify) {
  expect_refusals(
      "finished", "verify R",
      {"config.ini", "plan.json", "certificate.json", "ledger.jsonl", "metrics.jsonl", "model.safetensors"});
}

TEST_F(HostileFiles, VerifyOfAStoppedRun) {
  expect_refusals("stopped", "verify R", {"config.ini", "plan.json", "ledger.jsonl", "checkpoint/latest"});
}

TEST_F(HostileFiles, Report) {
  expect_refusals("finished", "report R --times",
                  {"config.ini", "plan.json", "certificate.json", "metrics.jsonl", "timing.jsonl", "roc.json",
                   "assessment.json", "model.safetensors", "samples.png", "report.html"});
}

TEST_F(HostileFiles, WatchAndTensorboard) {
  expect_refusals("finished", "watch R", {"plan.json", "metrics.jsonl"});
  expect_refusals("finished", "export R --tensorboard events", {"metrics.jsonl"});
}

TEST_F(HostileFiles, AccountAndCalibrate) {
  expect_refusals("finished", "account R/ledger.jsonl --delta 1e-4", {"ledger.jsonl"});
  expect_refusals("finished", "account R/ledger.jsonl --delta 1e-4 --plan R/plan.json --stopped results",
                  {"plan.json"});
  expect_refusals("finished", "calibrate R/ledger.jsonl --epsilon 1 --delta 1e-4", {"ledger.jsonl"});
}

TEST_F(HostileFiles, Evaluate) {
  expect_refusals("finished", "evaluate R", {"config.ini"});  // read before MPI starts
  expect_refusals("finished", "evaluate R", {"certificate.json", "model.safetensors"}, worst);
}

TEST_F(HostileFiles, Predict) {
  expect_refusals("finished", "predict R --data t-eval.csv --output out.csv", {"model.safetensors"}, worst);
}

TEST_F(HostileFiles, PlanAndAudit) {
  expect_refusals("finished", "plan --config R/config.ini", {"config.ini"});
  expect_refusals("finished", "audit R --set audit.runs=32 --set audit.game=distinguish",
                  {"config.ini", "plan.json"}, worst);
  expect_refusals("finished", "--quiet --config run.ini --set run.dir=R/x --set audit.result=R/audit.json",
                  {"audit.json"}, worst);
}

TEST_F(HostileFiles, Resume) {
  expect_refusals("stopped", "resume R --quiet --set run.moved=true --set run.max_hours=0",
                  {"config.ini", "ledger.jsonl", "checkpoint/latest", "checkpoint/key", "timing.jsonl", "lock"},
                  worst);
}

// Sizes that stand in a file, and the sizes of files, are compared before anything is allocated or read.
TEST_F(HostileFiles, HeadersThatAnnounceMore) {
  const auto fresh = [](const std::string& run) {
    fs::remove_all(path("R"));
    fs::copy(path(run), path("R"), fs::copy_options::recursive);
  };
  const auto expect_soon = [](const std::string& words) {
    const Outcome outcome = dpmpi(words);
    EXPECT_TRUE(outcome.code == 3 || outcome.code == 4) << words << ": " << outcome.code << " " << outcome.output;
    EXPECT_LT(outcome.seconds, 15) << words;
  };
  const std::uint64_t terabyte = std::uint64_t{1} << 40, half = terabyte / 2;
  fresh("finished");
  fs::resize_file(path("R/model.safetensors"), terabyte);
  expect_soon("verify R");
  expect_soon("evaluate R");
  std::ofstream(path("R/model.safetensors"), std::ios::binary)
      .write(reinterpret_cast<const char*>(&half), sizeof half);
  fs::resize_file(path("R/model.safetensors"), terabyte);
  expect_soon("verify R");
  expect_soon("evaluate R");
  fresh("stopped");
  fs::resize_file(path("R/checkpoint/latest"), terabyte);
  expect_soon("verify R");
  expect_soon("resume R");
}

// Temporary files stand beside what they replace: a link there leads to a file of the user's.
TEST_F(HostileFiles, WritersFollowNoLinksOfTemporaryFiles) {
  fs::remove_all(path("R"));
  fs::copy(path("finished"), path("R"), fs::copy_options::recursive);
  std::ofstream(path("mine.txt")) << "mine";
  fs::create_symlink(path("mine.txt"), path("R/report.html.new"));
  fs::create_symlink(path("mine.txt"), path("R/audit-2.json.new"));
  EXPECT_EQ(dpmpi("report R").code, 0);
  EXPECT_EQ(dpmpi("audit R --set audit.runs=32 --set audit.game=distinguish").code, 0);
  EXPECT_EQ(read_file(path("mine.txt")), "mine");
  EXPECT_FALSE(fs::is_symlink(path("R/report.html")));
  EXPECT_TRUE(fs::exists(path("R/audit-2.json")));
  fs::remove_all(path("R/report.html"));
  ASSERT_EQ(::mkfifo(path("R/report.html.new").c_str(), 0600), 0);
  EXPECT_EQ(dpmpi("report R").code, 0);
}

// Of every name that a run opens for writing: what stands behind a link, symbolic or hard, is another file.
TEST_F(HostileFiles, ResumesWriteThroughNoLinks) {
  const std::string mine = path("mine.txt"), words = "resume R --quiet --set run.moved=true --set run.max_hours=0";
  for (const char* name :
       {"lock", "ledger.jsonl", "metrics.jsonl", "timing.jsonl", "config.ini", "config.ini.new", "plan.json",
        "plan.json.new", "model.safetensors", "model.safetensors.new", "certificate.json.new", "checkpoint/key",
        "checkpoint/key.new", "checkpoint/latest", "checkpoint/next", "checkpoint/next.new", "checkpoint/previous"})
    for (const bool symbolic : {true, false}) {
      fs::remove_all(path("R"));
      fs::copy(path("stopped"), path("R"), fs::copy_options::recursive);
      fs::remove(mine);
      const std::string file = path("R/") + name;
      if (fs::exists(file))
        fs::rename(file, mine);
      else
        std::ofstream(mine) << "300 pages";
      const std::string before = read_file(mine);
      symbolic ? fs::create_symlink(mine, file) : fs::create_hard_link(mine, file);
      const Outcome outcome = dpmpi(words);
      EXPECT_TRUE(outcome.code == 0 || outcome.code == 3 || outcome.code == 4) << name << outcome.output;
      EXPECT_TRUE(read_file(mine) == before) << name << " is a link, symbolic: " << symbolic << outcome.output;
    }
}

TEST_F(HostileFiles, LocksAreNoLinks) {
  fs::remove_all(path("R"));
  fs::copy(path("finished"), path("R"), fs::copy_options::recursive);
  std::ofstream(path("R/checkpoint/latest")) << "to be tidied up";
  std::ofstream(path("mine.txt")) << "300 pages";
  fs::create_symlink(path("mine.txt"), path("R/lock"));
  Outcome outcome = dpmpi("resume R");
  EXPECT_EQ(outcome.code, 3) << outcome.output;
  EXPECT_NE(outcome.output.find("R/lock is a symbolic link"), std::string::npos) << outcome.output;
  fs::remove(path("R/lock"));
  fs::create_hard_link(path("mine.txt"), path("R/lock"));
  outcome = dpmpi("resume R");
  EXPECT_EQ(outcome.code, 3) << outcome.output;
  EXPECT_NE(outcome.output.find("R/lock has 2 names (hard links)"), std::string::npos) << outcome.output;
  fs::remove(path("R/lock"));
  fs::create_symlink(path("nowhere.txt"), path("R/lock"));
  outcome = dpmpi("resume R");
  EXPECT_NE(outcome.output.find("R/lock is a symbolic link"), std::string::npos) << outcome.output;
  EXPECT_FALSE(fs::exists(path("nowhere.txt")));
  EXPECT_EQ(read_file(path("mine.txt")), "300 pages");
}

// A directory with the look of a finished run is tidied up: its own checkpoint, not that of another run.
TEST_F(HostileFiles, FinishedRunsWithTheCheckpointOfAnother) {
  fs::remove_all(path("R")), fs::remove_all(path("other"));
  fs::copy(path("stopped"), path("other"), fs::copy_options::recursive);
  fs::create_directories(path("R"));
  for (const char* name : {"config.ini", "certificate.json"})
    fs::copy(path(std::string("finished/") + name), path(std::string("R/") + name));
  fs::create_directory_symlink(path("other/checkpoint"), path("R/checkpoint"));
  const Outcome outcome = dpmpi("resume R");
  EXPECT_EQ(outcome.code, 4) << outcome.output;
  EXPECT_NE(outcome.output.find("R/checkpoint is a symbolic link"), std::string::npos) << outcome.output;
  for (const char* name : {"key", "latest"})
    EXPECT_EQ(read_file(path(std::string("other/checkpoint/") + name)),
              read_file(path(std::string("stopped/checkpoint/") + name)));
}

// A report is passed on.
TEST_F(HostileFiles, ReportsShowNoFilesOfElsewhere) {
  std::ofstream(path("secret")) << png_signature << "a secret";
  for (const char* name :
       {"samples.png", "plan.json", "certificate.json", "metrics.jsonl", "timing.jsonl", "config.ini"}) {
    fs::remove_all(path("R"));
    fs::copy(path("finished"), path("R"), fs::copy_options::recursive);
    const std::string file = path("R/") + name;
    if (name != std::string("samples.png")) fs::rename(file, path("elsewhere"));
    fs::remove(file);
    fs::create_symlink(path(name == std::string("samples.png") ? "secret" : "elsewhere"), file);
    const Outcome outcome = dpmpi("report R --times");
    EXPECT_EQ(outcome.code, 3) << name << outcome.output;
    EXPECT_NE(outcome.output.find(std::string(name) + " is a symbolic link"), std::string::npos) << outcome.output;
    EXPECT_FALSE(fs::exists(path("R/report.html"))) << name;
  }
  fs::remove_all(path("R"));
  fs::copy(path("finished"), path("R"), fs::copy_options::recursive);
  std::ofstream(path("R/samples.png")) << "root:x:0:0";
  const Outcome outcome = dpmpi("report R");
  EXPECT_EQ(outcome.code, 3) << outcome.output;
  EXPECT_NE(outcome.output.find("R/samples.png is no PNG picture"), std::string::npos) << outcome.output;
}

// What is judged is the directory itself, not what a link in it leads to.
TEST_F(HostileFiles, NothingIsReadThroughLinks) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> readers = {
      {"verify R",
       {"config.ini", "plan.json", "certificate.json", "ledger.jsonl", "metrics.jsonl", "model.safetensors"}},
      {"evaluate R", {"config.ini", "certificate.json", "model.safetensors"}},
      {"audit R --set audit.runs=32 --set audit.game=distinguish", {"config.ini", "plan.json"}}};
  for (const auto& [words, files] : readers)
    for (const std::string& file : files) {
      fs::remove_all(path("R"));
      fs::copy(path("finished"), path("R"), fs::copy_options::recursive);
      fs::rename(path("R/" + file), path("elsewhere"));
      fs::create_symlink(path("elsewhere"), path("R/" + file));
      const Outcome outcome = dpmpi(words);
      EXPECT_TRUE(outcome.code == 3 || outcome.code == 4) << words << " " << file << ": " << outcome.output;
      EXPECT_NE(outcome.output.find(file + " is a symbolic link"), std::string::npos) << words << outcome.output;
    }
  fs::remove_all(path("R"));
  fs::copy(path("stopped"), path("R"), fs::copy_options::recursive);
  for (const char* file : {"config.ini", "plan.json"}) {
    fs::rename(path(std::string("R/") + file), path("elsewhere"));
    fs::create_symlink(path("elsewhere"), path(std::string("R/") + file));
    const Outcome outcome = dpmpi("resume R --set run.moved=true");
    EXPECT_EQ(outcome.code, 3) << outcome.output;
    EXPECT_NE(outcome.output.find(std::string(file) + " is a symbolic link"), std::string::npos) << outcome.output;
    fs::remove(path(std::string("R/") + file));
    fs::rename(path("elsewhere"), path(std::string("R/") + file));
  }
}

// Exit code 70, and 134 or 139, say that the program is wrong, not the file.
TEST_F(HostileFiles, MembersOfOtherTypes) {
  const auto with = [](const std::string& file, const std::string& from, const std::string& to) {
    fs::remove_all(path("R"));
    fs::copy(path("finished"), path("R"), fs::copy_options::recursive);
    std::string text = read_file(path("R/" + file));
    ASSERT_NE(text.find(from), text.npos) << from;
    std::ofstream(path("R/" + file)) << text.replace(text.find(from), from.size(), to);
  };
  with("certificate.json", "\"model_digest\": \"", "\"model_digest\": 7, \"x\": \"");
  EXPECT_EQ(dpmpi("evaluate R").code, 4);
  with("plan.json", "\"config_digest\": \"", "\"config_digest\": 7, \"x\": \"");
  EXPECT_EQ(dpmpi("audit R").code, 2);
  const std::string header = R"({"ledger":1,"adjacency":"add_remove"})";
  with("plan.json", "\"events\": [", "\"events\": [" + header + ",");
  const std::string account = "account R/ledger.jsonl --delta 1e-4";
  EXPECT_EQ(dpmpi(account + " --plan R/plan.json --stopped results").code, 4);
  EXPECT_EQ(dpmpi("report R").code, 4);
  const std::string event = R"({"event":"gaussian","noise_multiplier":2,"count":3,"training":0})";
  for (const char* line : {R"({"ledger":1,"adjacency":"add_remove","trainings":"2"})",
                           R"({"ledger":1,"adjacency":"add_remove","trainings":18446744073709551615})"}) {
    std::ofstream(path("R/ledger.jsonl")) << line << "\n" << event << "\n";
    EXPECT_EQ(dpmpi(account).code, 4) << line;
  }
  std::ofstream(path("R/ledger.jsonl")) << R"( {"ledger":1,"adjacency":"add_remove","trainings":2})"
                                        << "\n\n"
                                        << event << "\n";
  EXPECT_EQ(dpmpi(account).code, 0) << "blanks are no error";
}

TEST_F(HostileFiles, ReportsDrawNoMoreThanARunMayHave) {
  fs::remove_all(path("R"));
  fs::copy(path("finished"), path("R"), fs::copy_options::recursive);
  std::ofstream metrics(path("R/metrics.jsonl"));
  for (int i = 0; i < 1000; ++i) metrics << fmt::format("{{\"step\":{0},\"epsilon\":1,\"eval.x{0}\":1}}\n", i);
  metrics.close();
  Outcome outcome = dpmpi("report R");
  EXPECT_EQ(outcome.code, 3) << outcome.output;
  EXPECT_NE(outcome.output.find("more than 64 metrics"), std::string::npos) << outcome.output;
  fs::copy(path("finished/metrics.jsonl"), path("R/metrics.jsonl"), fs::copy_options::overwrite_existing);
  std::string plan = read_file(path("R/plan.json"));
  plan.insert(
      plan.find("\"events\": [") + 11,
      R"({"event":"tree","strategy":"banded","leaves":1099511627776,"band":1000000000,"noise_multiplier":1},)");
  std::ofstream(path("R/plan.json")) << plan;
  outcome = dpmpi("report R");
  EXPECT_LT(outcome.seconds, 15);
  EXPECT_TRUE(outcome.code == 0 || outcome.code == 3 || outcome.code == 4) << outcome.output;
}

// What the settings say comes back from the run's own config.ini.
TEST_F(HostileFiles, AnHonestRunWithMarksInItsValues) {
  fs::create_directories(path("lot #1"));
  for (const char* file : {"t.csv", "t-eval.csv"})
    fs::copy(path(file), path(std::string("lot #1/") + file), fs::copy_options::overwrite_existing);
  fs::remove_all(path("lot #1/run"));
  const std::string sets =
      " --set \"data.train=lot #1/t.csv\" --set \"data.eval=lot #1/t-eval.csv\" --set \"data.comment=#\"";
  Outcome outcome = dpmpi("--quiet --config run.ini --set \"run.dir=lot #1/run\" --set run.max_hours=1e-12" + sets);
  ASSERT_EQ(outcome.code, 6) << outcome.output;
  EXPECT_NE(read_file(path("lot #1/run/config.ini")).find("train = \"lot #1/t.csv\""), std::string::npos);
  outcome = dpmpi("resume \"lot #1/run\" --quiet --set run.max_hours=0");
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  for (const char* command : {"verify", "evaluate", "report"}) {
    outcome = dpmpi(fmt::format("{} \"lot #1/run\"", command));
    EXPECT_EQ(outcome.code, 0) << command << ": " << outcome.output;
  }
  EXPECT_NE(read_file(path("lot #1/run/report.html")).find("lot #1/t.csv"), std::string::npos);
}

}  // namespace
}  // namespace dpmpi::hostile_files_test
