// Words of others, which a terminal must not obey.
#include "core/console/printable.hpp"

#include <gtest/gtest.h>

namespace dpmpi::printable_test {
namespace {

TEST(Printable, EscapesWhatATerminalObeys) {
  EXPECT_EQ(printable("\x1b[2J and \x1b]0;title\x07"), R"(\x1b[2J and \x1b]0;title\x07)");
  EXPECT_EQ(printable("a\rb\tc\x7f"), R"(a\x0db\x09c\x7f)");
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J"),
            R"(\x9b2J)")
      << "an escape of eight bits, as UTF-8 has it";
}

TEST(Printable, KeepsTextAndLineEnds) {
  const std::string text =
      "Gr\xc3\xb6\xc3\x9f"
      "e \xc2\xa0 \xe2\x82\xac\n  next line";
  EXPECT_EQ(printable(text), text);
  EXPECT_EQ(printable("\xc2"), "\xc2") << "cut within a character";
  EXPECT_EQ(printable(""), "");
}

}  // namespace
}  // namespace dpmpi::printable_test
