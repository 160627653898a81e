// Kill it anywhere: a run that is killed again and again, at random points, by losing one rank, all ranks or the
// launcher, and that is gone on with on other numbers of ranks, ends with the bytes of one that was left alone.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "run/directory/files.hpp"
#include "support/programs.hpp"
#include "support/run_folder.hpp"

namespace dpmpi::kill_test {
namespace {

namespace fs = std::filesystem;
using test::Outcome;
using test::run_command;

constexpr int steps = 240;

class Kill : public test::RunFolder {
 protected:
  static void expect_same_end(const std::string& whole, const std::string& killed, const std::string& how) {
    expect_same_bytes(whole, killed, how);
    EXPECT_FALSE(fs::exists(killed + "/checkpoint/key")) << how;
    EXPECT_FALSE(fs::exists(killed + "/lock")) << how;
  }

  std::string random_fault(int ranks) {
    struct Point {
      const char* name;
      int passes;      // how often it is passed in a run
      bool root_only;  // or on all ranks
    };
    const std::vector<Point> points{{"step", steps, false},
                                    {"reduce", steps, false},
                                    {"reserved", 3, true},        // between the ledger line and the noise
                                    {"release", steps, true},     // noised, before the broadcast
                                    {"write:ledger", 4, true},    // while a line is written
                                    {"fsync:ledger", 4, true},    // written, not known to be on disk
                                    {"save", 9, false},           // before a checkpoint
                                    {"write:next.new", 9, true},  // during its write
                                    {"rename:checkpoint/next", 9, true},
                                    {"renamed", 8, true},  // between its two renames
                                    {"rename:latest", 9, true},
                                    {"append", 14, true},  // metrics and times
                                    {"write:metrics", 12, true},
                                    {"finish", 1, false},
                                    {"write:model", 1, true},
                                    {"rename:model", 1, true},
                                    {"write:certificate", 1, true},
                                    {"rename:certificate", 1, true},
                                    {"wipe", 1, true},
                                    {"write:checkpoint/key", 1, true}};
    const auto below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_); };
    const Point& point = points[below(points.size())];
    const std::size_t rank = point.root_only ? 0 : below(static_cast<std::size_t>(ranks));
    // Early passages: the run must come to it again after each resume.
    const std::size_t pass = 1 + below(static_cast<std::size_t>((point.passes + 2) / 3));
    const char* const actions[] = {"kill", "killall", "killmpirun"};
    return fmt::format("{}@{}#{}={}", point.name, rank, pass, actions[below(3)]);
  }

  // Runs with up to five kills in a row each, until `wanted` kills have hit.
  void kill_and_compare(int wanted, unsigned seed, const std::string& privacy_seed) {
    random_.seed(seed);
    const std::string whole = folder_ + "/whole", killed = folder_ + "/killed";
    const auto fresh = [&](const std::string& dir) {
      return fmt::format("{} run.dir={} privacy.seed={}", config_, dir, privacy_seed);
    };
    ASSERT_EQ(launch(2, "none", fresh(whole)).code, 0);
    int kills = 0;
    for (int run = 0; kills < wanted && run < 4 * wanted; ++run) {
      fs::remove_all(killed);
      std::string history = fmt::format("\nseed {}, run {}:", seed, run);
      Outcome outcome;
      for (int launches = 0; launches < 9 && !fs::exists(killed + "/certificate.json"); ++launches) {
        const int ranks = 1 + static_cast<int>(random_() % 4);
        const std::string fault = launches < 5 ? random_fault(ranks) : "none";
        const bool resume =
            fs::exists(killed + "/checkpoint/latest") || fs::exists(killed + "/checkpoint/previous");
        history += fmt::format(" {}{} on {} ranks;", resume ? "resume, " : "", fault, ranks);
        outcome = launch_when_free(ranks, fault, resume ? killed : fresh(killed));
        EXPECT_NE(outcome.code, 124) << "it hangs" << history << outcome.output;
        // Ranks that outlived their launcher have got further in the meantime.
        if (outcome.output.find("is finished") != outcome.output.npos ||
            outcome.output.find("already holds a") != outcome.output.npos)
          continue;
        kills += outcome.code != 0;
        // An error that is no kill would end with one of dpmpi's own codes and its own line.
        EXPECT_EQ(outcome.output.find("dpmpi: "), outcome.output.npos) << history << "\n" << outcome.output;
      }
      if (!wait_until_free(killed, history)) return;
      expect_same_end(whole, killed, history);
      if (HasFailure()) return;
    }
    EXPECT_GE(kills, wanted);
    std::printf("survived %d kills (seed %u)\n", kills, seed);
  }

  // Ends what a kill after the certificate left undone, as a user's next 'resume' would.
  bool wait_until_free(const std::string& run, const std::string& how) const {
    for (int attempt = 0; attempt < 100; ++attempt) {
      const Outcome outcome = run_command(fmt::format("{} resume {}", test::program(), run));
      if (outcome.output.find("is finished") != outcome.output.npos && !fs::exists(run + "/lock")) return true;
      if (outcome.output.find("is finished") == outcome.output.npos &&
          outcome.output.find("is in use by") == outcome.output.npos) {
        ADD_FAILURE() << "unfinished" << how << "\n" << outcome.output;
        return false;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
    ADD_FAILURE() << "still in use" << how;
    return false;
  }

  std::mt19937 random_;
};

TEST_F(Kill, EightKillsAndTheSameBytes) { kill_and_compare(8, 20260801, "3"); }

TEST_F(Kill, SlowSixtyKillsAndTheSameBytes) {
  const char* const seed = std::getenv("DPMPI_KILL_SEED");
  kill_and_compare(60, seed ? static_cast<unsigned>(std::atoi(seed)) : 1, "3");
}

// With a key of the operating system: two copies of one fresh run directory, one of them killed.
TEST_F(Kill, WithASecretKeyToo) {
  const std::string start = folder_ + "/start", whole = folder_ + "/whole", killed = folder_ + "/killed";
  ASSERT_EQ(launch(2, "step@0#1=kill", fmt::format("{} run.dir={}", config_, start)).code, 137);
  for (const auto& copy : {whole, killed}) fs::copy(start, copy, fs::copy_options::recursive);
  for (const auto& copy : {whole, killed}) fs::permissions(copy + "/checkpoint/key", fs::perms(0600));
  ASSERT_EQ(launch(1, "none", whole).code, 4) << "a copy is not gone on with unasked";
  ASSERT_EQ(launch(1, "none", whole + " run.moved=true").code, 0);
  ASSERT_EQ(launch(3, "release@0#77=kill", killed + " run.moved=true").code, 137);
  ASSERT_EQ(launch(2, "reduce@1#99=killall", killed).code, 137) << "asked once is enough";
  const Outcome outcome = launch(4, "none", killed);
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  expect_same_end(whole, killed, "");
}

}  // namespace
}  // namespace dpmpi::kill_test
