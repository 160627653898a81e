// The table of formats: which one a file is.
#include "data/formats/format.hpp"

#include <string>

#include <gtest/gtest.h>

#include "support/binary_files.hpp"
#include "support/data_files.hpp"

namespace dpmpi::test::format_test {
namespace {

std::string_view format_of(const std::string& path, const std::string& bytes, const std::string& setting = "auto") {
  DataOptions options;
  options.format = setting;
  return detect_format(options, {path, bytes, bytes.size()});
}

TEST(FormatTable, TheSettingComesFirst) {
  for (const std::string& name : format_names()) {
    EXPECT_EQ(format_of("a.csv", "1,2\n", name), name);
    EXPECT_NE(make_format(name, {}), nullptr);
  }
}

TEST(FormatTable, FirstBytesComeBeforeTheEnding) {
  EXPECT_EQ(format_of("a.csv", "DPMPIREC and more"), "native");
  EXPECT_EQ(format_of("a.csv", npy_file("|u1", "(4,)", "abcd")), "npy");
  EXPECT_EQ(format_of("a.csv", idx_file(8, {2}, "ab")), "idx");
}

TEST(FormatTable, TheEndingComesBeforeTheText) {
  EXPECT_EQ(format_of("a.csv", "1 2:3\n"), "csv");
  EXPECT_EQ(format_of("a.csv.gz", "1\t2\n"), "csv");
  EXPECT_EQ(format_of("a.tsv", "1,2\n"), "tsv");
  EXPECT_EQ(format_of("a.svm", "1,2\n"), "libsvm");
  EXPECT_EQ(format_of("a.libsvm.gz", "1,2\n"), "libsvm");
}

TEST(FormatTable, OfATextTheFirstLineTellsMoreThanTheOthers) {
  EXPECT_EQ(format_of("a", "1,2:3\t4\n"), "csv");
  EXPECT_EQ(format_of("a", "1 2:3\t4\n5,6\n"), "libsvm");
  EXPECT_EQ(format_of("a", "# note\n1 2:3\n"), "libsvm");
  EXPECT_EQ(format_of("a", "1\t2\n3,4\n"), "tsv");
  EXPECT_EQ(format_of("a", "# note\n3,4\t5\n"), "csv");
  EXPECT_EQ(format_of("a", "# note\n3\t4\n"), "tsv");
  EXPECT_EQ(format_of("a", std::string(1 << 16, 'x') + "\ty:z\n1\t2\n"), "tsv");
  EXPECT_MENTIONS(message_of([] { format_of("a", "1 2 3\n"); }), "its format is not recognised");
}

}  // namespace
}  // namespace dpmpi::test::format_test
