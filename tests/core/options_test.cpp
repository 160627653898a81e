#include "core/options.hpp"

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"

namespace dpmpi::options_test {
namespace {

std::string write_file(const std::string& text) {
  const std::string path = ::testing::TempDir() + "options_test.ini";
  std::ofstream(path) << text;
  return path;
}

std::string refusal(const std::string& text) {
  try {
    read_ini(write_file(text));
  } catch (const ConfigError& e) {
    return e.what();
  }
  return "";
}

struct Fields {
  double rate = 0.1;
  std::int64_t steps = 10;
  bool nesterov = false;
  std::string mode = "a";
  std::vector<std::int64_t> widths{3, 4};
  Options options{"method"};
  Fields() {
    options.add("rate", rate, "learning rate", Range::positive())
        .add("steps", steps, "number of steps", Range::at_least(1))
        .add("nesterov", nesterov, "look ahead")
        .add("mode", mode, "which one", {"a", "b"})
        .add("widths", widths, "layers", Range::at_least(1));
  }
};

enum class Colour { red, green };

TEST(Options, ACommandLineHasWordsWithMeaningsNumbersThatMayBeMissingAndRepeatedTexts) {
  std::optional<Colour> colour;
  std::optional<double> delta = 0.5;
  std::vector<double> orders;
  std::vector<std::string> texts;
  Options options("");
  options.add_words("colour", colour, "which", {{"", std::nullopt}, {"red", Colour::red}, {"green", Colour::green}})
      .add("delta", delta, "loss", Range::open(0, 1))
      .add("orders", orders, "of a curve", Range::at_least(1))
      .add_each("texts", texts, "some");
  const auto& all = options.declarations();
  EXPECT_EQ(all[0].name, "colour") << "of no section";
  EXPECT_EQ(all[0].allowed, "one of: red, green");
  EXPECT_TRUE(all[0].parse("green"));
  EXPECT_EQ(colour, Colour::green);
  EXPECT_FALSE(all[0].parse("blue"));
  EXPECT_EQ(colour, Colour::green);
  EXPECT_EQ(all[0].text(), "green");
  EXPECT_TRUE(all[0].parse(""));
  EXPECT_EQ(colour, std::nullopt);

  EXPECT_EQ(all[1].default_text(), "default 0.5");
  EXPECT_EQ(delta, 0.5);
  EXPECT_TRUE(all[1].parse("1e-5"));
  EXPECT_EQ(delta, 1e-5);
  for (const char* wrong : {"1", "0", "nan", "1e-5x"}) EXPECT_FALSE(all[1].parse(wrong)) << wrong;
  EXPECT_TRUE(all[1].parse(""));
  EXPECT_EQ(delta, std::nullopt);

  EXPECT_TRUE(all[2].parse("1.5, 2"));
  EXPECT_EQ(orders, (std::vector<double>{1.5, 2}));
  for (const char* wrong : {"1,x", "0.5", ","}) EXPECT_FALSE(all[2].parse(wrong)) << wrong;

  EXPECT_TRUE(texts.empty());
  EXPECT_TRUE(all[3].repeated && !all[0].repeated);
  EXPECT_TRUE(all[3].parse("a,b") && all[3].parse("c"));
  EXPECT_FALSE(all[3].parse(""));
  EXPECT_EQ(texts, (std::vector<std::string>{"a,b", "c"}));
}

TEST(Options, AFirstValueThatIsNotAllowedIsNoDefault) {
  double epsilon = 0, rate = 0.1;
  std::string config;
  Options options("privacy");
  options.add("epsilon", epsilon, "budget", Range::positive())
      .add("rate", rate, "rate")
      .add("config", config, "file");
  const auto& all = options.declarations();
  EXPECT_FALSE(all[0].has_default);
  EXPECT_EQ(all[0].default_text(), "not set");
  EXPECT_EQ(all[1].default_text(), "default 0.1");
  EXPECT_TRUE(all[2].has_default);
  EXPECT_EQ(all[2].default_text(), "not set");
  EXPECT_EQ(epsilon, 0);  // asking changes no field
}

TEST(Options, ReadsEveryTypeFromIni) {
  Fields f;
  std::vector<std::string> problems;
  f.options.read(
      read_ini(write_file(
          "# hello\n[method]\nrate = 0.5 # half\nsteps=7\nnesterov = true\nmode = b\nwidths = 5, 6,7\n")),
      problems);
  EXPECT_TRUE(problems.empty());
  EXPECT_EQ(f.rate, 0.5);
  EXPECT_EQ(f.steps, 7);
  EXPECT_TRUE(f.nesterov);
  EXPECT_EQ(f.mode, "b");
  EXPECT_EQ(f.widths, (std::vector<std::int64_t>{5, 6, 7}));
  EXPECT_TRUE(f.options.given("rate"));
}

TEST(Options, ReportsAllProblemsAtOnceWithPlaceValueAndWhatIsAllowed) {
  Fields f;
  std::vector<std::string> problems;
  f.options.read(read_ini(write_file("[method]\nrate = nan\nsteps = 0\nnesterov = yes\nmode = c\nwidths = 1,x\n")),
                 problems);
  ASSERT_EQ(problems.size(), 5u);
  EXPECT_NE(problems[0].find("options_test.ini:2: method.rate = nan is not allowed; it must be > 0"),
            std::string::npos)
      << problems[0];
  EXPECT_NE(problems[3].find("one of: a, b"), std::string::npos);
  EXPECT_EQ(f.rate, 0.1) << "a refused value must not be stored";
}

TEST(Options, RefusesNumbersWithTails) {
  for (const char* bad : {"0.5x", "", "inf", "-inf", "1e999", "0x10", "1,2"}) {
    Fields f;
    std::vector<std::string> problems;
    f.options.read({{"method.rate", {bad, "here"}}}, problems);
    EXPECT_EQ(problems.size(), 1u) << bad;
  }
}

TEST(Options, UnknownKeysNameTheNearest) {
  Fields f;
  std::vector<std::string> problems;
  check_unknown({{"method.raet", {"1", "x.ini:3"}}, {"method.rate", {"1", "x.ini:4"}}}, {&f.options}, problems);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0], "x.ini:3: unknown key method.raet; did you mean method.rate?");
}

TEST(Options, NamesAreNearIfOneLetterInThreeDiffers) {
  const std::vector<std::string> known{"label", "rate", "steps", "box_lo", "l2"};
  for (const auto& [typed, nearest] : {std::pair<const char*, const char*>{"lable", "label"},
                                       {"raet", "rate"},
                                       {"setps", "steps"},
                                       {"points", ""},
                                       {"y", ""},
                                       {"xx.y", ""},
                                       {"notes", ""},
                                       {"l1", "l2"}})
    EXPECT_EQ(nearest_name(typed, known), nearest) << typed;
}

TEST(Options, SyntaxErrorsNameTheLine) {
  EXPECT_NE(refusal("[method]\nrate 0.5\n= 3\n").find(":2: 'rate 0.5' is neither"), std::string::npos);
  EXPECT_NE(refusal("[method]\nrate 0.5\n= 3\n").find(":3:"), std::string::npos) << "all problems at once";
  EXPECT_NE(refusal("[method]\nrate = 1\nrate = 2\n").find(":3: method.rate is set twice (first at"),
            std::string::npos);
  EXPECT_THROW(read_ini("/nonexistent/x.ini"), ConfigError);
  EXPECT_THROW(read_ini(::testing::TempDir()), ConfigError);
  EXPECT_THROW(read_ini(std::string(300, 'x')), ConfigError) << "a name that is too long for the system";
}

TEST(Options, OverridesReplaceAndAreChecked) {
  Settings settings{{"method.rate", {"1", "x.ini:1"}}};
  apply_override(settings, "method.rate = 2");
  EXPECT_EQ(settings.at("method.rate").value, "2");
  EXPECT_THROW(apply_override(settings, "method.rate"), ConfigError);
  EXPECT_THROW(apply_override(settings, "rate=2"), ConfigError);
}

}  // namespace
}  // namespace dpmpi::options_test
