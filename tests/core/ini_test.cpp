// Any value that a setting can have comes back from the file it is written to.
#include "core/ini.hpp"

#include <fstream>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "core/options.hpp"

namespace dpmpi::ini_test {
namespace {

std::string read_back(const std::string& value) {
  const auto entries = parse_ini("[s]\nkey = " + ini_value(value) + "\nnext = 1 # note\n", "x.ini");
  EXPECT_EQ(entries.size(), 2u) << value;
  EXPECT_EQ(entries.back().name, "s.next");
  EXPECT_EQ(entries.back().value, "1");
  return entries.front().value;
}

std::string refusal(const std::string& text) {
  try {
    parse_ini(text, "x.ini");
  } catch (const ConfigError& e) {
    return e.what();
  }
  return "no error";
}

TEST(Ini, WritesPlainValuesAsTheyAre) {
  for (const char* value :
       {"", "0.5", "a b", "run/x.csv", "it's", "a\"b\"", "a\\b", "x;y", "[x]", "a=b", "\xc3\xa9"})
    EXPECT_EQ(ini_value(value), value);
}

TEST(Ini, QuotesWhatALineCouldNotHold) {
  EXPECT_EQ(ini_value("#"), "\"#\"");
  EXPECT_EQ(ini_value("runs/#1/train.csv"), "\"runs/#1/train.csv\"");
  EXPECT_EQ(ini_value(" x"), "\" x\"");
  EXPECT_EQ(ini_value("x\t"), "\"x\t\"");
  EXPECT_EQ(ini_value("\"x\""), R"("\"x\"")");
  EXPECT_EQ(ini_value("#\\"), R"("#\\")");
}

// What a line can hold, in any order; the characters that mean something to the grammar often.
TEST(Ini, AnyValueReadsBack) {
  std::mt19937 random(7);
  const std::vector<std::string> parts = {"#",    "\"",   "\\", " ", "\t", "\r", ";",        "=",
                                          "[",    "]",    "'",  ",", "a",  "0",  "\xc3\xa4", "\xf0\x9f\x98\x80",
                                          "\xff", "\x7f", "\v"};
  for (int trial = 0; trial < 20000; ++trial) {
    std::string value;
    for (auto length = random() % 9; length > 0; --length) value += parts[random() % parts.size()];
    ASSERT_EQ(read_back(value), value) << ini_value(value);
  }
}

TEST(Ini, RefusesToWriteWhatNoFileCanHold) {
  for (const std::string& value :
       {std::string("a\nb"), std::string("\n"), std::string("\x1b[0m"), std::string(1, '\0')})
    EXPECT_THROW(ini_value(value), ConfigError);
  Settings settings;
  EXPECT_THROW(apply_override(settings, "data.train=a\n[privacy]\nepsilon=100"), ConfigError);
  EXPECT_TRUE(settings.empty());
}

TEST(Ini, CommentsAndMarks) {
  const auto entries =
      parse_ini("\xef\xbb\xbf# one\n[ s ]\r\na = \"x # y\" # z\r\nb = x \"#\" y\nc=\"\"\n", "x.ini");
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0].name, "s.a");
  EXPECT_EQ(entries[0].value, "x # y");
  EXPECT_EQ(entries[0].line, 3u);
  EXPECT_EQ(entries[1].value, "x \"") << "marks count at the beginning only";
  EXPECT_EQ(entries[2].value, "");
}

TEST(Ini, ListsGoOnBehindAComma) {
  const auto entries = parse_ini(
      "[s]\nlayers = conv 3 3,  # the first\n  tanh,\n# between\n\n  dense 2\nnext = 1,\nlast = 2,\n[t]\nkey = \"x,\"\n",
      "x.ini");
  ASSERT_EQ(entries.size(), 4U);
  EXPECT_EQ(entries[0].value, "conv 3 3, tanh, dense 2");
  EXPECT_EQ(entries[0].line, 2U);
  EXPECT_EQ(entries[1].value, "1,");
  EXPECT_EQ(entries[2].value, "2,");
  EXPECT_EQ(entries[3].value, "x,");
  EXPECT_NE(refusal("[s]\na = 1,\n2\n3\n").find("x.ini:4: '3' is neither"), std::string::npos);
  EXPECT_NE(refusal("[s]\na = \"1,\"\n2\n").find("x.ini:3: '2' is neither"), std::string::npos);
  EXPECT_NE(refusal("[s]\na = 1,\n[t]\n2\n").find("x.ini:4: '2' is neither"), std::string::npos);
}

TEST(Ini, MarksThatAreNotClosedNameTheLine) {
  for (const char* line : {"a = \"x", "a = \"x\" y", "a = \"\\n\"", "a = \"x\\\"", "a = \""})
    EXPECT_EQ(refusal(std::string("[s]\n") + line + "\n").find("x.ini:2: s.a: a value that begins with"), 0u)
        << line;
}

TEST(Ini, LinesThatAreNeither) {
  EXPECT_NE(refusal("[s]\nrate 0.5\n = 3\n").find("x.ini:2: 'rate 0.5' is neither"), std::string::npos);
  EXPECT_NE(refusal("[s]\nrate 0.5\n = 3\n").find("x.ini:3:"), std::string::npos);
  EXPECT_NE(refusal(std::string("a\0b", 3)).find("control character"), std::string::npos);
}

TEST(Ini, RecordsThatAreTakenForAConfigAreNotQuoted) {
  const std::string message = refusal("-1,0.4261152,smith\n1,0.122312665,jones\n");
  EXPECT_NE(message.find("x.ini:1: a line before the first [section] is neither"), std::string::npos) << message;
  for (const char* field : {"0.4261152", "smith", "jones"}) EXPECT_EQ(message.find(field), std::string::npos);
}

TEST(Ini, MessagesAreForPeople) {
  EXPECT_LT(refusal(std::string(600000, '[')).size(), 300u);
  std::string many, keys;
  for (int i = 0; i < 100000; ++i) many += "x\n", keys += fmt::format("k{} = 1\n", i);
  EXPECT_LT(refusal(many).size(), 3000u);
  EXPECT_LT(refusal(keys).size(), 3000u);
  EXPECT_NE(refusal(keys).find("x.ini:2001: a key is no longer than 100 bytes"), std::string::npos);
  EXPECT_LT(refusal(std::string(600000, 'k') + " = 1").size(), 300u);
}

}  // namespace
}  // namespace dpmpi::ini_test
