// Line ends in quoted fields, wherever a rank begins to read.
#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "data/load/convert.hpp"
#include "data/load/throw_on_all_ranks.hpp"
#include "support/data_files.hpp"
#include "support/mpi_harness.hpp"
#include "support/shared_folder.hpp"

namespace dpmpi::test::quoted_lines_mpi_test {
namespace {

const auto all_sizes = {1, 2, 3, 4, 5, 8};

/// 600 records whose notes have line ends (`end`), some of them very long, and all that may be odd in them.
std::string notes_csv(const std::string& end) {
  const std::string lines[] = {"a",    "\"\"said\"\"", "1,2,3", "",      "# no comment", "x,label,note",
                               "\"\"", "5 mm",         "  ",    ",\"\"", "7,1",          "\"\",\"\""};
  std::string text = "x,label,note\n";
  for (int i = 0; i < 600; ++i) {
    text += fmt::format("{},{},", i, i % 7);
    if (i % 5 == 0) text += i % 2 == 0 ? "5\" pipe" : "plain";
    for (int l = 0; i % 5 != 0 && l <= i % 13; ++l) text += (l == 0 ? "\"" : end) + lines[(i + l * l) % 12];
    if (i % 97 == 1 && i % 5 != 0)
      for (int l = 0; l < (i == 98 ? 500000 : 3000); ++l) text += end + lines[l % 12];
    text += std::string(i % 5 != 0 ? "\"" : "") + (i % 3 == 0 ? "\r\n" : i % 11 == 0 ? "\n\n" : "\n");
  }
  return text;
}

DataOptions notes_file(const std::string& path) {
  DataOptions o;
  o.train = path;
  o.header = "yes";
  o.drop = {"note"};
  return o;
}

TEST(QuotedLines, LineEndsInQuotesWhereverRangesBegin) {
  for_each_size(all_sizes, [&](const Communicator& comm) {
    SharedFolder folder(comm);
    folder.fill([&](const Folder& f) {
      f.write("flat.csv", notes_csv(" "));
      f.write("a.csv", notes_csv("\n"));
      f.write("lines.csv", notes_csv("\r\n"));
      f.write_gzip("lines.csv.gz", notes_csv("\n"));
      std::string half = notes_csv("\n");
      const std::string first = half.substr(0, half.find("\n300,")), second = half.substr(half.find("\n300,"));
      f.write("joined-1.csv", first + "\n");
      f.write("joined-2.csv", "x,label,note" + second);
      f.write_gzip("zipped-1.csv.gz", first);  // without its last line end
      f.write_gzip("zipped-2.csv.gz", "x,label,note" + second);
      f.write("mixed-1.csv", first);
      f.write_gzip("mixed-2.csv.gz", "x,label,note" + second);
    });
    const Communicator alone = Communicator::alone();
    const Shard flat = load_all(alone, notes_file(folder.file("flat.csv")));
    EXPECT_EQ(flat.layout.records, 600U);
    for (const char* name : {"lines.csv", "lines.csv.gz", "joined-*.csv", "zipped-*", "mixed-*"})
      EXPECT_EQ(dataset_digest(comm, load_all(comm, notes_file(folder.file(name)))), dataset_digest(alone, flat))
          << name << " on " << comm.size() << " ranks";
    for (const std::uint32_t blocks : {8U, 37U}) {
      const auto digest_on = [&](const Communicator& ranks) {
        return dataset_digest(ranks, load_all(ranks, notes_file(folder.file("a.csv")), LabelKind::real, 0, blocks));
      };
      EXPECT_EQ(digest_on(comm), digest_on(alone)) << blocks << " blocks on " << comm.size() << " ranks";
    }
  });
}

// Of files that are read as one, whoever opens them: blocks begin and end anywhere in them.
TEST(QuotedLines, AFaultHasTheFileAndLineInWhichItStands) {
  const std::pair<int, int> files[] = {{0, 110}, {110, 113}, {113, 290}};
  for_each_size(all_sizes, [&](const Communicator& comm) {
    for (const auto& [wrong, number] : {std::pair{17, 1}, {109, 1}, {110, 2}, {112, 2}, {113, 3}, {289, 3}}) {
      SharedFolder folder(comm);
      const auto name = [&](const char* kind, int n) { return fmt::format("{}-{}.csv", kind, n); };
      folder.fill([&](const Folder& f) {
        for (int n = 1; n <= 3; ++n) {
          std::string text = "x,label,note\n";
          for (int i = files[n - 1].first; i < files[n - 1].second; ++i)
            text += fmt::format("{},1,\"a\n{}\"\n", i == wrong ? "qzcanary" : "3", i);
          f.write(name("plain", n), text), f.write_gzip(name("zipped", n), text);
        }
      });
      const int line = 2 + 2 * (wrong - files[number - 1].first);
      for (const char* kind : {"plain", "zipped"}) {
        const std::string message = message_of(
            [&] { load_all(comm, notes_file(folder.file(fmt::format("{}-*", kind))), LabelKind::real, 0, 16); });
        EXPECT_MENTIONS(message, fmt::format("{}:{}: column 'x': ", folder.file(name(kind, number)), line));
        EXPECT_EQ(message.find("qzcanary"), message.npos) << message;
      }
    }
  });
}

TEST(QuotedLines, AQuoteThatIsNotClosedIsOneErrorOnAnyNumberOfRanks) {
  for_each_size(all_sizes, [&](const Communicator& comm) {
    SharedFolder folder(comm);
    std::string text = notes_csv("\n");
    const std::size_t at = text.find("\n200,");
    text.resize(at + 1);
    const auto line = std::count(text.begin(), text.end(), '\n') + 2;
    for (int i = 0; i < 400; ++i) text += i == 1 ? "1,1,\"qzcanary\n" : fmt::format("{},1,qzcanary\n", i);
    folder.fill([&](const Folder& f) { f.write("a.csv", text); });
    const std::string message = message_of([&] { load_all(comm, notes_file(folder.file("a.csv"))); });
    EXPECT_EQ(message, fmt::format("{}:{}: a quoted field is not closed: it begins on this line",
                                   folder.file("a.csv"), line))
        << comm.size() << " ranks";
  });
}

}  // namespace
}  // namespace dpmpi::test::quoted_lines_mpi_test
