#include "data/formats/text_lines.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/data_files.hpp"

namespace dpmpi::test::text_lines_test {
namespace {

using Lines = std::vector<std::pair<std::uint64_t, std::size_t>>;  // where a line begins, and its length

Lines lines_of(InputFile& file, std::uint64_t start, std::uint64_t from, std::uint64_t to) {
  Lines lines;
  for_each_line(file, start, from, to,
                [&](std::uint64_t offset, std::string_view line) { lines.emplace_back(offset, line.size()); });
  return lines;
}

// Lines are read in pieces: however long one is and wherever it is cut, each is seen once, by whom it begins with.
TEST(TextLines, EveryLineIsSeenOnceWhereverTheRangesAreCut) {
  const Folder folder;
  std::string text = "skipped\n";
  Lines all;
  for (const std::size_t length : {0U, 1U, 65535U, 3U, 65536U, 65537U, 0U, 300000U, 7U}) {
    all.emplace_back(text.size(), length);
    text += std::string(length, 'x') + '\n';
  }
  text.pop_back();  // the last line has no end
  for (const std::string& path : {folder.write("a", text), folder.write_gzip("a.gz", text)}) {
    InputFile file(path);
    EXPECT_EQ(lines_of(file, 8, 8, ~std::uint64_t{0}), all);
    for (const std::uint64_t cut : {8U, 9U, 11U, 65545U, 65546U, 65547U, 150000U, 200000U, 496000U}) {
      Lines both = lines_of(file, 8, 8, cut);
      const Lines rest = lines_of(file, 8, cut, text.size());
      both.insert(both.end(), rest.begin(), rest.end());
      EXPECT_EQ(both, all) << "cut at " << cut;
    }
  }
}

}  // namespace
}  // namespace dpmpi::test::text_lines_test
