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
  EXPECT_EQ(format_of("a.csv", "\x89HDF\r\n\x1a\n and more"), "hdf5");
  EXPECT_EQ(format_of("a.csv", npy_file("|u1", "(4,)", "abcd")), "npy");
  EXPECT_EQ(format_of("a.csv", idx_file(8, {2}, "ab")), "idx");
}

TEST(FormatTable, TheEndingComesBeforeTheText) {
  EXPECT_EQ(format_of("a.csv", "1 2:3\n"), "csv");
  EXPECT_EQ(format_of("a.csv.gz", "1\t2\n"), "csv");
  EXPECT_EQ(format_of("a.tsv", "1,2\n"), "tsv");
  for (const char* name : {"a.h5", "a.hdf5", "a.nc"}) EXPECT_EQ(format_of(name, "1,2\n"), "hdf5");
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

// Whatever they are called, and whatever the setting says.
TEST(FormatTable, FilesOfOtherProgramsAreKnownAndNotRead) {
  using namespace std::string_literals;
  const Folder folder;
  for (const auto& [bytes, said] :
       {std::pair{"PAR1\x15\0\x15"s, "is a Parquet file, which dpmpi does not read: pandas."},
        {"ARROW1\0\0"s, "is an Arrow (Feather) file"},
        {"PK\x03\x04\x14\0"s, "is a zip archive, as Excel's .xlsx"},
        {"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0"s, "is an old Excel file"},
        {"SQLite format 3\0"s, "is an SQLite database"},
        {"$FL2@(#) SPSS"s, "is an SPSS file"},
        {"<stata_dta><header>"s, "is a Stata file"},
        {"CDF\x01\0"s, "is a NetCDF-3 file, which dpmpi does not read: nccopy -k nc4"},
        {"BZh91AY&SY\x10"s, "is compressed by bzip2"},
        {"\xfd"
         "7zXZ\0\0"s,
         "is compressed by xz"},
        {"\x28\xb5\x2f\xfd\x04"s, "is compressed by zstd"}})
    for (const char* const setting : {"auto", "csv", "libsvm"}) {
      DataOptions options;
      options.format = setting;
      InputFile file(folder.write("a.csv", bytes + std::string(100, '\n')));
      const std::string what = message_of([&] { read_head(file, options); });
      EXPECT_MENTIONS(what, "a.csv: "s + said);
    }
  InputFile text(folder.write("a.csv", "PAR1,SQLite format 3\n1,2\n"));
  EXPECT_EQ(read_head(text, DataOptions{}).bytes.size(), 25u);
}

}  // namespace
}  // namespace dpmpi::test::format_test
