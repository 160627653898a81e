// Who is to blame, seen from the heartbeats alone.
#include "run/train/watchdog.hpp"

#include <array>
#include <vector>

#include <gtest/gtest.h>

namespace dpmpi::watchdog_test {
namespace {

constexpr std::uint64_t limit = 20;

struct Ranks {
  std::array<Heartbeat, 3> board{};
  Ranks() {
    for (int i = 0; i < 3; ++i) board[static_cast<std::size_t>(i)].rank = 10 + i;
    for (auto& rank : board) set(rank, Stage::waiting);
  }
  static void set(Heartbeat& rank, Stage stage) { rank.stage = static_cast<std::uint32_t>(stage); }
  // Seconds until something is said, at most 100; `living` ranks' threads run, `going` ranks get on.
  int seconds_to(Verdict& verdict, std::vector<std::size_t> living, std::vector<std::size_t> going) {
    HangDetector detector(board, limit);
    for (int second = 1; second <= 100; ++second) {
      for (const auto i : living) board[i].alive.fetch_add(1);
      for (const auto i : going) board[i].beat();
      verdict = detector.look();
      if (!verdict.text.empty()) return second;
    }
    return 0;
  }
};

TEST(HangDetector, BlamesTheRankThatDoesNotWait) {
  Ranks ranks;
  Ranks::set(ranks.board[1], Stage::kernels);
  ranks.board[1].step = 17;
  Verdict verdict;
  EXPECT_NEAR(ranks.seconds_to(verdict, {0, 1, 2}, {}), limit, 1);
  EXPECT_EQ(verdict.speaker, 11);
  EXPECT_NE(verdict.text.find("rank 11 "), verdict.text.npos) << verdict.text;
  EXPECT_NE(verdict.text.find("step 17: it hangs in kernels"), verdict.text.npos) << verdict.text;
}

TEST(HangDetector, LetsAnotherSpeakForARankThatDoesNotRun) {
  Ranks ranks;  // stopped inside an MPI call
  Verdict verdict;
  EXPECT_NEAR(ranks.seconds_to(verdict, {1, 2}, {}), limit, 1);
  EXPECT_EQ(verdict.speaker, 11);
  EXPECT_NE(verdict.text.find("rank 10 "), verdict.text.npos) << verdict.text;
  EXPECT_NE(verdict.text.find("stopped or frozen"), verdict.text.npos) << verdict.text;
}

TEST(HangDetector, LeavesTheFirstWordToTheMachineOfTheRankThatHangs) {
  Ranks ranks;
  Verdict verdict;
  EXPECT_NEAR(ranks.seconds_to(verdict, {0, 1, 2}, {}), limit + HangDetector::grace, 1);
  EXPECT_EQ(verdict.speaker, 10);
  EXPECT_NE(verdict.text.find("rank of another machine"), verdict.text.npos) << verdict.text;
}

TEST(HangDetector, SaysNothingWhileRanksGetOn) {
  Ranks ranks;
  Ranks::set(ranks.board[2], Stage::kernels);
  Verdict verdict;
  EXPECT_EQ(ranks.seconds_to(verdict, {0, 1, 2}, {0, 1, 2}), 0);
  EXPECT_EQ(ranks.seconds_to(verdict, {0, 1, 2}, {2}), 0)
      << "others may wait as long as the one they wait for works";
}

}  // namespace
}  // namespace dpmpi::watchdog_test
