// No message quotes what stands in a private text. Tables and LIBSVM text are given with a fault at every place of
// a record, and first lines that may be names or a record.
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "data/load/canary.hpp"
#include "data/load/convert.hpp"
#include "data/load/read_columns.hpp"
#include "support/data_files.hpp"

namespace dpmpi::test::canary_test {
namespace {

using namespace canaries;

// ---- tables ----

using Row = std::vector<std::string>;

std::string table(const std::vector<Row>& rows, char delimiter) {
  std::string text;
  for (const Row& row : rows) text += fmt::format("{}\n", fmt::join(row, std::string(1, delimiter)));
  return text;
}

/// A fault at field `c` of a row.
struct Fault {
  std::string what;
  std::function<void(Row&, std::size_t c, const Values&)> put;
};

const std::vector<Fault>& faults() {
  static const std::vector<Fault> all{
      {"a word", [](Row& r, std::size_t c, const Values& v) { r[c] = v.word; }},
      {"a quoted word", [](Row& r, std::size_t c, const Values& v) { r[c] = '"' + v.word + '"'; }},
      {"a number", [](Row& r, std::size_t c, const Values& v) { r[c] = v.number; }},
      {"a number and more", [](Row& r, std::size_t c, const Values& v) { r[c] = v.number + " 1"; }},
      {"beyond float32", [](Row& r, std::size_t c, const Values& v) { r[c] = v.huge; }},
      {"an open quote", [](Row& r, std::size_t c, const Values& v) { r[c] = '"' + v.word; }},
      {"text after a quote", [](Row& r, std::size_t c, const Values& v) { r[c] = "\"1\"" + v.word; }},
      {"one column more", [](Row& r, std::size_t c,
                             const Values& v) { r.insert(r.begin() + static_cast<std::ptrdiff_t>(c), v.word); }},
      {"columns missing",
       [](Row& r, std::size_t c, const Values& v) {
         r.resize(c + 1);
         r[c] = v.number;
       }},
      {"another delimiter", [](Row& r, std::size_t c, const Values& v) { r[c] = v.word + ";" + v.number; }},
      {"nothing beside it",
       [](Row& r, std::size_t c, const Values& v) {
         r[c] = v.number;
         r[(c + 1) % r.size()].clear();
       }},
      {"not a number beside it", [](Row& r, std::size_t c, const Values& v) {
         r[c] = v.number;
         r[(c + 1) % r.size()] = "nan";
       }}};
  return all;
}

class CanaryInTable : public Canary {
 protected:
  CanaryInTable() { options_.one_hot = {"3:red|green"}, options_.drop = {"4"}, options_.label = "1"; }

  void check_grid(char delimiter, const std::string& ending) {
    const Row header{"label", "x", "colour", "note"}, good{"1", "0.5", "red", "free"};
    const auto put = [&](const char* setting, const Fault& fault, std::size_t row, std::size_t c, LabelKind kind) {
      options_.header = setting;
      const auto files = [&](const Values& values) {
        std::vector<Row> rows(4, good);
        fault.put(rows[row], c, values);
        if (*setting != 'n') rows.insert(rows.begin(), header);
        return Files{{"a" + ending, table(rows, delimiter)}};
      };
      check({fmt::format("header = {}: {} at row {}, column {}", setting, fault.what, row, c), files, kind},
            (row + c) % 2 == 1);
    };
    for (const Fault& fault : faults())
      for (const std::size_t row : {0, 3}) {
        for (const char* setting : {"auto", "yes", "no"})
          for (std::size_t c = 0; c < good.size(); ++c) put(setting, fault, row, c, LabelKind::real);
        for (const LabelKind kind : {LabelKind::sign, LabelKind::class_, LabelKind::count})
          put("yes", fault, row, 0, kind);
      }
  }
};

TEST_F(CanaryInTable, Csv) {
  check_grid(',', ".csv");
  expect_faults(600, 300);
}

TEST_F(CanaryInTable, Tsv) {
  check_grid('\t', ".tsv");
  expect_faults(600, 300);
}

TEST_F(CanaryInTable, WithAColumnsFile) {
  options_.one_hot.clear(), options_.drop.clear(), options_.label = "auto";
  options_.columns = folder_.write("columns.txt",
                                   "label label\n"
                                   "x number range=0..1 missing=NULL indicator\n"
                                   "colour category words=red,green\n"
                                   "note date format=%Y-%m-%d from=2015-01-01 missing=free impute=2015-01-02\n");
  std::vector<std::string> problems;
  read_columns(options_, problems);
  ASSERT_TRUE(problems.empty()) << problems.front();
  options_.separator = "semicolon", options_.decimal = "comma";
  check_grid(';', ".csv");
  expect_faults(600, 300);
}

TEST_F(CanaryInTable, FirstLinesThatLookLikeNames) {
  const auto line = [](const std::string& rest) {
    return [rest](const Values& v) { return Files{{"a.csv", v.word + ",secret,red,free\n" + rest}}; };
  };
  options_.one_hot = {"3:red|green"};
  for (const char* rest : {"1,2,red,free\n", "", "1,2,red,free\n3,4,red,free\n", "1;2\n"})
    for (const char* label : {"auto", "first", "x", "label", "none"}) {
      options_.label = label;
      check({fmt::format("label = {}, then '{}'", label, rest), line(rest)});
    }
  options_.one_hot.clear();
  options_.label = "no such column";
  for (const char* format : {"auto", "csv", "tsv"}) {
    options_.format = format;
    check({"other separators", [](const Values& v) { return Files{{"a", v.word + ";" + v.word + "\n1;2\n"}}; }});
    check({"carriage returns", [](const Values& v) { return Files{{"a", v.word + ",x\r1,2\r3,4"}}; }});
    check({"a line alone", [](const Values& v) { return Files{{"a", v.word + "\n"}}; }});
    check({"words", [](const Values& v) { return Files{{"a", v.word + " and " + v.word + "\n" + v.word}}; }});
    check({"zero bytes", [](const Values& v) { return Files{{"a", std::string("1\0,", 3) + v.word + "\n"}}; }});
  }
  options_.label = "last", options_.format = "auto", options_.features = 7;
  check({"another width", [](const Values& v) { return Files{{"a.csv", v.number + ",2\n" + v.word + ",1\n"}}; }});
  expect_faults(90, 15);
}

// ---- LIBSVM ----

TEST_F(Canary, Libsvm) {
  options_.features = 20;
  using Token = std::function<std::string(const Values&)>;
  const std::vector<std::pair<std::string, Token>> bad{
      {"a word", [](const Values& v) { return v.word; }},
      {"a number", [](const Values& v) { return v.number; }},
      {"an index out of range", [](const Values& v) { return v.number + ":1"; }},
      {"an index below the range", [](const Values& v) { return "-" + v.number + ":1"; }},
      {"an index beyond 64 bits", [](const Values& v) { return v.number + "99999999999999:1"; }},
      {"a key", [](const Values& v) { return v.word + ":1"; }},
      {"a query", [](const Values& v) { return "qid:" + v.number; }},
      {"a word as value", [](const Values& v) { return v.index + ":" + v.word; }},
      {"no value", [](const Values& v) { return v.index + ":"; }},
      {"a value beyond float32", [](const Values& v) { return v.index + ":" + v.huge; }},
      {"not a number", [](const Values& v) { return v.index + ":nan"; }},
      {"two values", [](const Values& v) { return v.index + ":1:" + v.number; }},
      {"indices in disorder", [](const Values& v) { return v.other_index + ":1 " + v.index + ":1"; }},
      {"an index twice", [](const Values& v) { return v.index + ":1 " + v.index + ":1"; }}};
  const std::vector<std::pair<std::string, std::function<std::string(const std::string&)>>> places{
      {"as label", [](const std::string& token) { return token + " 1:1"; }},
      {"first", [](const std::string& token) { return "1 " + token; }},
      {"after another", [](const std::string& token) { return "1 2:1 " + token; }},
      {"before another", [](const std::string& token) { return "1 " + token + " 20:3 x"; }}};
  for (const bool densify : {false, true})
    for (const auto& [fault, token] : bad)
      for (const auto& [place, line] : places)
        for (const int row : {0, 2}) {
          options_.densify = densify;
          const auto files = [&](const Values& v) {
            const std::string good = "1 3:0.5\n", one = line(token(v)) + "\n";
            return Files{{"a.svm", row == 0 ? one + good : good + "\n# comment\n" + good + one}};
          };
          check({fmt::format("{} {}, row {}", fault, place, row), files, LabelKind::sign}, row == 0);
        }
  expect_faults(500, 400);
}

// ---- any text ----

// Where it begins follows the lengths of the lines before it.
TEST_F(Canary, LinesOfNoText) {
  options_.header = "no", options_.label = "first";
  const std::string line((std::size_t{64} << 20) + (1u << 20), '0');
  check_training({"long", [&](const Values& v) { return Files{{"a.csv", fmt::format("0,{}\n", v.word) + line}}; }});
  expect_faults(1, 1);
}

TEST_F(Canary, GzipData) {
  options_.header = "no", options_.label = "first";
  const auto zipped = [&](const Values& v) {
    std::string text;
    for (int i = 0; i < 3000; ++i) text += fmt::format("{},{},{}\n", i * 7919 % 1000, i, v.number);
    return read_file(folder_.write_gzip("good.gz", text));
  };
  check({"cut", [&](const Values& v) {
           const std::string bytes = zipped(v);
           return Files{{"a.csv.gz", bytes.substr(0, bytes.size() - 5)}};
         }});
  check({"more", [&](const Values& v) { return Files{{"a.csv.gz", zipped(v) + v.word}}; }});
  check({"corrupt", [&](const Values& v) {
           std::string bytes = zipped(v);
           bytes[bytes.size() - 8] = static_cast<char>(bytes[bytes.size() - 8] ^ 1);
           return Files{{"a.csv.gz", bytes}};
         }});
  expect_faults(9, 9);
}

// Grouping by a column that names the episode: one that goes on after another, and one that is too long.
TEST_F(Canary, Episodes) {
  options_.header = "no", options_.label = "last";
  for (const char* rows : {"{0},1,2\n{1},1,2\n{0},1,2\n", "{1},1,2\n{0},1,2\n{0},1,2\n{0},1,2\n"}) {
    const auto message = [&](const Values& v) {
      const std::string text = fmt::format(fmt::runtime(rows), v.index, v.other_index);
      return said([&] { convert({folder_.write("log.csv", text), folder_.file("out.bin"), 1, 2}, options_); });
    };
    EXPECT_MENTIONS(message(canary), "log.csv: row ");
    EXPECT_EQ(message(canary), message(other));
  }
}

// ---- names ----

// Where sites' files differ, and where a file that a command line gives has other names than the training file: the
// names are public, or the files would have been refused.
TEST_F(Canary, NamesOfColumns) {
  const auto message = [&](const std::string& first_line, const std::string& setting) {
    DataOptions o = options_;
    o.header = setting;
    o.train = folder_.write("train.csv", "label,x,colour\n1,2,3\n");
    const std::string file = folder_.write("given.csv", first_line + "\n1,2,3\n");
    const DataFiles files(o, {}, file);
    return said([&] {
      check_feature_names(file, inspect(Communicator::alone(), files.given).feature_names,
                          feature_names(files.training));
    });
  };
  EXPECT_EQ(message("label,x,colour", "auto"), "");
  EXPECT_MENTIONS(message("label,colour,x", "auto"), "given.csv: its features are colour,x, those of the training");
  EXPECT_MENTIONS(message("qzcanaryxv,x,label", "auto"),
                  "given.csv: the first line may be column names or a private");
  EXPECT_EQ(message("qzcanaryxv,x,label", "auto").find("qzcanaryxv"), std::string::npos);
  EXPECT_MENTIONS(message("qzcanaryxv,x,label", "yes"), "qzcanaryxv");  // whoever sets it says that it is a name
}

TEST_F(Canary, NamesAreTakenFromAFirstLineOnlyIfTheyArePublic) {
  options_.eval.clear();
  const auto loaded = [&](const std::function<void(DataOptions&)>& set,
                          const std::string& first_line = "label,x,z") {
    DataOptions o = options_;
    o.train = folder_.write("a.csv", first_line + "\n1,2,3\n");
    set(o);
    return said([&] { EXPECT_EQ(load_one(o).count, 1U); });
  };
  const auto refused = "a.csv: the first line may be column names or a private record: set data.header = yes";
  const std::string eval = folder_.write("public.csv", "z,x,label\n1,2,3\n");
  EXPECT_MENTIONS(loaded([](DataOptions&) {}), refused);
  EXPECT_EQ(loaded([](DataOptions& o) { o.header = "yes"; }), "");
  EXPECT_EQ(loaded([&](DataOptions& o) { o.eval = eval; }), "") << "data.eval has these names";
  EXPECT_EQ(loaded([&](DataOptions& o) { o.eval = folder_.write_gzip("public.csv.gz", "z,x,label\n1,2,3\n"); }),
            "");
  EXPECT_MENTIONS(loaded([&](DataOptions& o) { o.eval = eval; }, "label,x,qzcanaryxv"), refused);
  EXPECT_MENTIONS(loaded([](DataOptions& o) { o.eval = "no such file"; }), refused);
  EXPECT_EQ(loaded([](DataOptions& o) { o.mean = {"x:1"}, o.drop = {"z"}; }), "") << "the config has these names";
  EXPECT_EQ(loaded([](DataOptions& o) { o.deviation = {"x:1", "z:2"}; }), "");
  EXPECT_EQ(loaded([](DataOptions& o) { o.label = "x", o.drop = {"label"}, o.one_hot = {"z:3|4"}; }), "");
  EXPECT_MENTIONS(loaded([](DataOptions& o) { o.label = "x", o.drop = {"z"}; }), refused);  // label is not named
  EXPECT_MENTIONS(loaded([](DataOptions& o) { o.mean = {"x:1"}; }), refused);               // z is not named
  EXPECT_MENTIONS(loaded([](DataOptions& o) { o.one_hot = {"x:2|z"}; }), refused);          // words are no names
  EXPECT_MENTIONS(loaded([](DataOptions& o) { o.drop = {"x", "z"}; }, "label,x,"), refused);
}

}  // namespace
}  // namespace dpmpi::test::canary_test
