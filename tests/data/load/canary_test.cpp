// No message quotes what stands in a private file. Every parser is given files with a fault at every place of a
// record, each in two versions that differ in private values alone: what is said of one must be said of the other.
// Where a value is left out, data.show_values must bring it back, or the test would look for something that is
// never said.
#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "data/load/convert.hpp"
#include "data/records/text.hpp"
#include "support/binary_files.hpp"
#include "support/data_files.hpp"

namespace dpmpi::test::canary_test {
namespace {

/// The canary, and what stands in its place in the other version: words, numbers, numbers beyond float32.
struct Values {
  std::string word, number, huge, index, other_index;
};
constexpr std::string_view places_of_canary[] = {"qzcanaryxv", "7316529041", "7.316529041"};
const Values canary{"qzcanaryxv", "7316529041", "7.316529041e+38", "17", "19"};
const Values other{"ab", "85300000", "8.53e+38", "12", "18"};

/// Files by name; data.train is all of them, with a comma between.
using Files = std::vector<std::pair<std::string, std::string>>;

struct Case {
  std::string what;
  std::function<Files(const Values&)> files;
  LabelKind kind = LabelKind::real;
};

std::string said(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

class Canary : public ::testing::Test {
 protected:
  Canary() { options_.eval = folder_.write("public.csv", "label,x,colour,note\n0,1,red,free\n"); }

  /// Both versions, as training file, as a file that a command line gives, and converted.
  void check(const Case& c, bool gzipped = false) {
    SCOPED_TRACE(c.what + (gzipped ? ", gzipped" : ""));
    using Read = std::function<void(const DataOptions&)>;
    const Read training = [&](const DataOptions& o) { load_all(Communicator::alone(), o, c.kind, 10, 2); };
    const Read given = [&](DataOptions o) {
      const std::string file = std::exchange(o.train, "");
      load_all(Communicator::alone(), DataFiles(o, {}, file).given, c.kind, 10, 2);
    };
    const Read converted = [&](const DataOptions& o) { convert({o.train, folder_.file("out.bin")}, o); };
    for (const Read& read : {training, given, converted}) compare(c, read, gzipped);
    const Read of_public = [&](DataOptions o) {
      o.eval = std::exchange(o.train, "");
      load_all(Communicator::alone(), DataFiles(o).evaluation, c.kind, 10, 2);
    };
    const std::string text = message(c, canary, of_public, gzipped, false);
    EXPECT_EQ(text.find("not shown"), text.npos) << "data.eval is public: " << text;
  }

  /// At least so many messages, and of these so many that would quote a value.
  void expect_faults(std::size_t messages, std::size_t quoted) const {
    EXPECT_GE(messages_, messages);
    EXPECT_GE(quoted_, quoted);
  }

  const Folder folder_;
  DataOptions options_;

 private:
  std::string message(const Case& c, const Values& values, const std::function<void(const DataOptions&)>& read,
                      bool gzipped, bool show) const {
    DataOptions o = options_;
    o.show_values = show;
    for (const auto& [name, bytes] : c.files(values)) {
      const std::string path = gzipped ? folder_.write_gzip(name + ".gz", bytes) : folder_.write(name, bytes);
      o.train += (o.train.empty() ? "" : ",") + path;
    }
    return said([&] { read(o); });
  }

  void compare(const Case& c, const std::function<void(const DataOptions&)>& read, bool gzipped) {
    const std::string text = message(c, canary, read, gzipped, false);
    EXPECT_EQ(text, message(c, other, read, gzipped, false));
    for (const std::string_view place : places_of_canary) EXPECT_EQ(text.find(place), text.npos) << text;
    if (text.empty()) return;
    ++messages_;
    if (text.find("not shown") == text.npos) return;
    const std::string shown = message(c, canary, read, gzipped, true);
    EXPECT_EQ(shown.find("not shown"), shown.npos) << shown;
    if (shown != message(c, other, read, gzipped, true)) ++quoted_;
  }

  std::size_t messages_ = 0, quoted_ = 0;
};

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

// ---- pairs of arrays, and the native format ----

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

/// (good, canary or other, good) as doubles in a .npy file of `rows` records.
std::string npy_of(double at_1, std::uint64_t width = 1) {
  std::vector<double> values(3 * width, 1);
  values[width] = at_1;
  return npy_file("<f8", width == 1 ? "(3,)" : fmt::format("(3, {})", width), bytes_of(values));
}

TEST_F(Canary, NumpyPairs) {
  for (const LabelKind kind : {LabelKind::real, LabelKind::sign, LabelKind::class_, LabelKind::count}) {
    check({"a label",
           [](const Values& v) {
             return Files{{"x.npy", npy_of(1, 2)}, {"y.npy", npy_of(std::stod(v.number) + 0.5)}};
           },
           kind});
    check({"a label beyond float32",
           [](const Values& v) {
             return Files{{"x.npy", npy_of(1, 2)}, {"y.npy", npy_of(std::stod(v.huge))}};
           },
           kind});
  }
  check({"a feature", [](const Values& v) {
           return Files{{"x.npy", npy_of(std::stod(v.huge), 2)}, {"y.npy", npy_of(1)}};
         }});
  const auto shaped = [](const std::string& shape) { return npy_file("<f8", shape, std::string(16, '\0')); };
  for (const char* shape : {"({}, 2)", "(1{}, x)", "({} x)", "(9999999999999999, {})", "({})"})
    check({"shape " + std::string(shape),
           [&](const Values& v) {
             return Files{{"x.npy", shaped(fmt::format(fmt::runtime(shape), v.number))}, {"y.npy", npy_of(1)}};
           }},
          true);
  for (const char* shape : {"({},)", "(1{}, 2)"})
    check({"labels of shape " + std::string(shape), [&](const Values& v) {
             return Files{{"x.npy", npy_of(1, 2)}, {"y.npy", shaped(fmt::format(fmt::runtime(shape), v.number))}};
           }});
  check({"columns with names", [](const Values& v) {
           return Files{{"x.npy", npy_file(fmt::format("[('{}', '<f8')]", v.word), "(1, 1)", std::string(8, '\0'))},
                        {"y.npy", npy_of(1)}};
         }});
  for (const char* format : {"idx", "npy", "native"}) {
    options_.format = format;
    check({fmt::format("text as {}", format), [&](const Values& v) {
             return Files{{"x", v.word + v.word + std::string(100, ' ')}, {"y", v.word + std::string(99, ' ')}};
           }});
    check({fmt::format("text alone as {}", format), [&](const Values& v) {
             return Files{{"x", v.word + std::string(100, ' ')}};
           }});
  }
  expect_faults(45, 35);
}

TEST_F(Canary, IdxPairs) {
  const auto labels = [](const Values& v) {
    const auto x = static_cast<std::uint32_t>(std::stoull(v.number) % 4000000000U);
    std::string bytes;
    for (const std::uint32_t y : {1U, x})
      for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>((y >> shift) & 0xff);
    return idx_file(0x0c, {2}, bytes);
  };
  for (const bool gzipped : {false, true})
    for (const LabelKind kind : {LabelKind::sign, LabelKind::class_, LabelKind::count})
      check({"a label",
             [&](const Values& v) {
               return Files{{"x", idx_file(8, {2, 2}, "abcd")}, {"y", labels(v)}};
             },
             kind},
            gzipped);
  expect_faults(12, 12);
}

/// A file of `records` records is cut, or has more bytes than it announces, or more records than are declared: how
/// many it has is not said, whether the number is declared or not.
TEST_F(Canary, NumbersOfRecords) {
  const auto count = [](const Values& v) { return static_cast<std::uint32_t>(v.word.size() + 1); };  // 11 or 3
  const auto images = [=](const Values& v, int bytes) {
    const std::uint32_t n = count(v);
    const std::string data(static_cast<std::size_t>(2 * static_cast<int>(n) + bytes), 'a');
    return Files{{"x", idx_file(8, {n, 2}, data)}, {"y", idx_file(8, {n}, std::string(n, '\1'))}};
  };
  const auto text = [=](const Values& v, const std::string& line) {
    std::string all;
    for (std::uint32_t i = 0; i < count(v); ++i) all += line;
    return all;
  };
  options_.label = "first", options_.header = "no", options_.features = 2;
  for (const int records : {0, 2})
    for (const bool gzipped : {false, true}) {
      options_.records = records;
      for (const int bytes : {-1, 0, 1})
        check({fmt::format("{} bytes more", bytes), [&](const Values& v) { return images(v, bytes); }}, gzipped);
      check({"labels of others",
             [&](const Values& v) {
               return Files{images(v, 0)[0], {"y", idx_file(8, {5}, "abcde")}};
             }},
            gzipped);
      check({"lines", [&](const Values& v) { return Files{{"a.csv", text(v, "1,2,3\n")}}; }}, gzipped);
      check({"lines", [&](const Values& v) { return Files{{"a.svm", text(v, "1 2:1\n")}}; }}, gzipped);
    }
  expect_faults(30, 15);
}

std::string native_file(const Folder& folder, const DataOptions& options, const std::string& name,
                        const std::string& text) {
  convert({folder.write(name, text), folder.file("native.bin")}, options);
  return read_file(folder.file("native.bin"));
}

template <class T>
void put(std::string& bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

TEST_F(Canary, Native) {
  DataOptions table;
  table.header = "no", table.label = "first";
  const std::string dense = native_file(folder_, table, "good.csv", "1,0,0\n4,0,0\n");
  table.features = 20;
  const std::string sparse = native_file(folder_, table, "good.svm", "1 1:1e-20 3:1e-20\n2 2:1e-20\n");
  ASSERT_EQ(dense.size(), 64U + 8 + 16);
  ASSERT_EQ(sparse.size(), 64U + 8 + 24 + 12 + 12);
  const auto one = [](std::string bytes, std::size_t at, auto value) {
    put(bytes, at, value);
    return Files{{"a.bin", bytes}};
  };
  for (const std::string& good : {dense, sparse})
    for (const LabelKind kind : {LabelKind::sign, LabelKind::class_, LabelKind::count})
      check({"a label", [&](const Values& v) { return one(good, 68, std::stof(v.number)); }, kind});
  options_.scale = 1e30, options_.deviation = {"1e-9"};  // any number but a tiny one is beyond float32 then
  for (const std::size_t at : {72U, 84U})
    check({"a feature", [&](const Values& v) { return one(dense, at, std::stof(v.number)); }});
  for (const std::size_t at : {108U, 116U})
    check({"a value", [&](const Values& v) { return one(sparse, at, std::stof(v.number)); }});
  options_.scale = 1, options_.deviation.clear();
  for (const std::size_t at : {72U, 80U, 88U})
    check({"a row's offset", [&](const Values& v) { return one(sparse, at, std::stoull(v.number)); }});
  for (const std::size_t at : {96U, 100U, 104U}) {
    check({"a column out of range",
           [&](const Values& v) { return one(sparse, at, static_cast<std::uint32_t>(std::stoull(v.number))); }});
    check({"a column in disorder", [&](const Values& v) {
             return one(one(sparse, 96, static_cast<std::uint32_t>(19))[0].second, at == 96U ? 100 : at,
                        static_cast<std::uint32_t>(std::stoul(v.index)));
           }});
  }
  const auto cut = [](const std::string& good, std::size_t bytes) {
    return Files{{"a.bin", good.substr(0, bytes)}};
  };
  for (const std::string& good : {dense, sparse})
    check({"cut", [&](const Values& v) { return cut(good, good.size() - v.word.size()); }});
  for (const std::string& good : {dense, sparse})
    check({"more", [&](const Values& v) { return Files{{"a.bin", good + v.word}}; }});
  expect_faults(40, 35);
}

// Where it begins follows the lengths of the lines before it.
TEST_F(Canary, LinesOfNoText) {
  options_.header = "no", options_.label = "first";
  check({"long", [](const Values& v) {
           return Files{
               {"a.csv", fmt::format("0,{}\n", v.word) + std::string((std::size_t{64} << 20) + (4u << 20), '0')}};
         }});
  expect_faults(3, 3);
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

// ---- the header ----

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
