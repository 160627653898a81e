// What progress and logs say, and when they are silent.
#include "core/console/progress.hpp"

#include <algorithm>
#include <cstdio>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "core/console/log.hpp"
#include "core/errors.hpp"

namespace dpmpi::progress_test {
namespace {

template <class Body>
std::string said(const Body& body) {
  ::testing::internal::CaptureStderr();
  body();
  std::fflush(stderr);
  return ::testing::internal::GetCapturedStderr();
}

class ProgressTest : public ::testing::Test {
 protected:
  void SetUp() override { show_progress_after(0); }
  void TearDown() override {
    show_progress("none");
    show_progress_after(1);
    set_log(LogLevel::info, 0);
  }
};

std::string three_of_four(std::string_view mode, bool times = true) {
  show_progress(mode);
  return said([&] {
    Progress progress("training", 4, "steps", 0, times);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    if (progress.reached(3)) progress.show("epsilon 0.5");
  });
}

TEST_F(ProgressTest, LinesHaveRateTimeLeftAndNote) {
  const std::string text = three_of_four("lines");
  EXPECT_TRUE(text.starts_with("training  3/4 steps (75 %)  ")) << text;
  for (const char* part : {" steps/s", " left", "  epsilon 0.5\n"}) EXPECT_NE(text.find(part), text.npos) << text;
  EXPECT_TRUE(three_of_four("auto").starts_with("training  3/4 steps (75 %)  ")) << "no terminal";
}

TEST_F(ProgressTest, TimesAreHiddenOnRequest) {
  EXPECT_EQ(three_of_four("lines", false), "training  3/4 steps (75 %)  epsilon 0.5\n");
}

// What is said must not follow the clock then: how many lines there are would tell how long it took.
TEST_F(ProgressTest, WithoutTimesLinesComeByCount) {
  const auto text = [](const char* mode, std::uint64_t total, double shown_after, int pause_ms) {
    show_progress(mode);
    show_progress_after(shown_after);
    return said([&] {
      Progress progress("training", total, "steps", 0, false);
      for (std::uint64_t t = 0; t < total; ++t) {
        std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms));
        progress.add();
      }
    });
  };
  for (const char* mode : {"lines", "bar"})
    for (const std::uint64_t total : {1, 3, 25})
      EXPECT_EQ(text(mode, total, 1000, 0), text(mode, total, 0, 2)) << mode << " " << total;
  EXPECT_EQ(text("lines", 1, 1000, 0), "training  1/1 steps (100 %)\n");
  const std::string many = text("lines", 25, 1000, 0);
  EXPECT_EQ(std::count(many.begin(), many.end(), '\n'), 10) << many;
}

TEST_F(ProgressTest, NoneIsTheDefaultAndSilent) {
  EXPECT_EQ(three_of_four("none"), "");
  EXPECT_THROW(show_progress("loud"), BugError);
}

// The first line comes when the phase has taken long enough, the next ten seconds later, the last at the end.
TEST_F(ProgressTest, LinesAreSparse) {
  show_progress("lines");
  const std::string text = said([] {
    Progress progress("reading a.csv", 1000, "records");
    for (int i = 0; i < 1000; ++i) progress.add();
  });
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
  EXPECT_NE(text.find("1/1000 records (0 %)"), text.npos) << text;
  EXPECT_NE(text.find("1000/1000 records (100 %)"), text.npos) << text;
}

TEST_F(ProgressTest, ShortPhasesShowNothing) {
  show_progress_after(1);
  for (const char* mode : {"lines", "bar"}) {
    show_progress(mode);
    EXPECT_EQ(said([] {
                Progress progress("reading", 3, "records");
                for (int i = 0; i < 3; ++i) progress.add();
              }),
              "")
        << mode;
  }
}

// Without a unit there are no counts; without a total there is no share either.
TEST_F(ProgressTest, SaysNothingThatIsNotPublic) {
  show_progress("lines");
  const std::string share = said([] { Progress("counting", 8192, "", 0, false).add(4096); });
  EXPECT_EQ(share, "counting  50 %\n");
  const std::string nothing = said([] { Progress("reading", 0, "").add(4096); });
  EXPECT_EQ(nothing, "reading  0.0 s so far\n");
}

TEST_F(ProgressTest, BarsAreRedrawnTakenAwayAndFreeOfEscapeSequencesInFiles) {
  show_progress("bar");
  const std::string text = said([] {
    Progress progress("training", 4, "steps", 0, false);
    if (progress.reached(1)) progress.show("epsilon 0.25");
    progress.reached(2), progress.show();
    print_user("hello\n");
    progress.reached(3), progress.show();
  });
  const std::string first = "training [#####---------------] 25 %  1/4 steps  epsilon 0.25";
  const std::string second = "training [##########----------] 50 %  2/4 steps";
  const std::string third = "training [###############-----] 75 %  3/4 steps";
  const auto blank = [](const std::string& bar) { return '\r' + std::string(bar.size(), ' ') + '\r'; };
  EXPECT_EQ(text, '\r' + first + '\r' + second + std::string(first.size() - second.size(), ' ') + blank(second) +
                      "hello\n" + '\r' + third + blank(third));
  EXPECT_EQ(text.find('\033'), text.npos);
}

TEST_F(ProgressTest, PhasesNest) {
  show_progress("bar");
  const std::string text = said([] {
    Progress outer("outer", 2, "steps", 0, false);
    outer.add();
    {
      Progress inner("inner", 2, "models", 0, false);
      inner.add();
    }
    outer.show();
  });
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 0);
  EXPECT_LT(text.find("inner"), text.rfind("outer")) << text;
}

TEST_F(ProgressTest, LevelsSayWhatTheyAreFor) {
  const auto everything = [] {
    return said([] {
      warn("a {}", "warning");
      print_at(LogLevel::info, "information\n");
      debug("a {}", "detail");
    });
  };
  set_log(parse_log_level("error"), 3);
  EXPECT_EQ(everything(), "");
  set_log(parse_log_level("warning"), 3);
  EXPECT_EQ(everything(), "dpmpi: warning: a warning\n");
  set_log(parse_log_level("info"), 3);
  EXPECT_EQ(everything(), "dpmpi: warning: a warning\ninformation\n");
  set_log(parse_log_level("debug"), 3);
  EXPECT_EQ(everything(), "dpmpi: warning: a warning\ninformation\ndpmpi: debug: rank 3: a detail\n");
  EXPECT_THROW(parse_log_level("loud"), ConfigError);
}

}  // namespace
}  // namespace dpmpi::progress_test
