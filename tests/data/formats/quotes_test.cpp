// Line ends in quoted fields: where records end, wherever somebody begins to read.
#include "data/formats/quotes.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/numbers/random.hpp"
#include "core/trim.hpp"
#include "data/formats/table.hpp"
#include "data/formats/table_fields.hpp"
#include "data/formats/text_lines.hpp"
#include "support/data_files.hpp"

namespace dpmpi::test::quotes_test {
namespace {

TEST(Quotes, OpenAFieldWhereOneBegins) {
  for (const char* line : {"", "a,b", "\"a\",b", "\"a,\",\"\"\"b\"\"\"", "5\" pipe,a", "a,b\"", "\"a\"\"\"", "\"\"",
                           "a \",b", "\"a\"b\"c,d"})
    EXPECT_FALSE(open_behind(line, false, ',')) << line;
  for (const char* line : {"\"", "\"a", "a,\"b,c", "a,  \"b", "\"a\",\"", "\"a\"\"", "\"\"\"", "5\" pipe,\"x"})
    EXPECT_TRUE(open_behind(line, false, ',')) << line;
  for (const char* line : {"\"", "a\"", "a\",b", "\"\"\"", "a\" , \"b\"", "\",\"\""})
    EXPECT_FALSE(open_behind(line, true, ',')) << line;
  for (const char* line : {"", "a", "a\"\"", "\"\"", "\",\"b", "a\",\"b\"\""})
    EXPECT_TRUE(open_behind(line, true, ',')) << line;
  EXPECT_TRUE(open_behind("a;\"b", false, ';'));
  EXPECT_FALSE(open_behind("a,\"b", false, ';'));
  EXPECT_EQ(lines_before_open_quote("\"a\n\nb\",\"c\nd", ','), 2U);
  EXPECT_EQ(lines_before_open_quote("\"a\nb\",c", ','), 0U);
}

/// The records of a table by reading it character by character: the rule of quotes.hpp once more.
std::vector<std::string> records_by_characters(const std::string& text, char delimiter) {
  std::vector<std::string> records;
  std::string record;
  bool open = false, begins = true;
  const auto finish = [&] {
    if (!trim(record).empty()) records.push_back(record);
    record.clear(), open = false, begins = true;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n' && !open) {
      finish();
      continue;
    }
    record += c;
    if (open && c == '"' && i + 1 < text.size() && text[i + 1] == '"') {
      record += text[++i];
    } else if (open) {
      open = c != '"', begins = false;
    } else {
      open = begins && c == '"';
      begins = c == delimiter || (begins && c == ' ');
    }
  }
  finish();
  return records;
}

/// Records of a piece after the other, each of `size` bytes if it can be, as blocks are read.
std::vector<std::string> records_by_pieces(const std::string& text, std::size_t size) {
  const Section section{.delimiter = ','};
  std::vector<std::string> records;
  Position position;
  Faults faults;
  for (std::size_t at = 0, piece = size; at < text.size();) {
    const bool more = at + piece < text.size();
    const std::string_view bytes = std::string_view(text).substr(at, piece);
    const std::size_t whole = more ? bytes.rfind('\n') + 1 : bytes.size();
    position.more = more;
    for_each_record({section, bytes.substr(0, whole), position, faults},
                    [&](std::string_view record, std::uint64_t index) {
                      records.resize(index + 1);
                      records[index] = record;
                      split_fields(record, ',');
                    });
    at += whole - position.left;
    piece = position.left < whole ? size : 2 * piece;
  }
  return records;
}

TEST(Quotes, RecordsAreThoseOfAReaderOfCharacters) {
  const PublicStream random(7, "quotes");
  const std::string alphabet = "a\",\n \"\n,x";
  for (std::uint64_t t = 0; t < 2000; ++t) {
    std::string text;
    for (std::uint64_t i = 0; i < 40; ++i) text += alphabet[random.below(100 * t + i, alphabet.size())];
    const Section section{.delimiter = ','};
    std::vector<std::string> records;
    Position position;
    for_each_record(text, section, position,
                    [&](std::string_view record, std::uint64_t) { records.emplace_back(record); });
    ASSERT_EQ(records, records_by_characters(text, ',')) << text;
    for (const std::size_t size : {1U, 2U, 5U, 9U, 20U, 39U, 40U})
      ASSERT_EQ(records_by_pieces(text, size), records) << text << "\nin pieces of " << size;
  }
}

TEST(Quotes, NamesOfColumnsHaveBlanksForLineEnds) {
  const Folder folder;
  DataOptions o;
  o.train = folder.write("t.csv", "\"height\r\n(cm)\",\"the\nlabel\"\n170,1\n180,0\n");
  o.header = "yes", o.label = "the label";
  EXPECT_EQ(feature_names(DataFiles(o).training), "height (cm)\n");
  EXPECT_EQ(load_one(o).label, (std::vector<float>{1, 0}));
  o.train = folder.write("bad.csv", "x,label\n\n1,\"0\n\n\",\"q\n2,1\n");
  o.label = "label";
  EXPECT_MENTIONS(message_of([&] { load_one(o); }), "bad.csv:5: a quoted field is not closed");
}

TEST(Quotes, FieldsAreKeptWithTheirLineEnds) {
  const Folder folder;
  const std::string file = folder.write("t.csv", "note,x\n\"a\n\n# \"\"b\"\"\",1\nplain,2\n");
  EXPECT_EQ(fields_of_table(file, {file}, {}, {"note"}),
            (std::vector<std::string>{"note,", "\"a\n\n# \"\"b\"\"\",", "plain,"}));
}

TEST(Quotes, WhatIsNotClosedIsToldByTheLineOnWhichItBegins) {
  const Folder folder;
  DataOptions o;
  o.header = "yes", o.label = "label", o.drop = {"note"};
  for (const auto& [records, line] :
       {std::pair{"1,\"a\nb\",0\n2,\"qzcanary\nqzcanary,1\n", 4}, {"1,\"a\nb\",\"0\n1\n", 3}, {"\"1\n", 2}}) {
    o.train = folder.write("t.csv", std::string("x,note,label\n") + records);
    const std::string message = message_of([&] { load_one(o); });
    EXPECT_MENTIONS(message, fmt::format("t.csv:{}: a quoted field is not closed: it begins on this line", line));
    EXPECT_EQ(message.find("qzcanary"), message.npos) << message;
    EXPECT_EQ(message.find('\n'), message.npos) << message;
  }
  folder.write("u1.csv", "x,note,label\n1,\"a\nb\",0\n2,\"c\n\n"),
      folder.write("u2.csv", "x,note,label\n3,d,1\n4,e,f\n");
  o.train = folder.path() + "/u*.csv";
  const std::string both = message_of([&] { load_one(o); });
  EXPECT_MENTIONS(both, "u1.csv:4: a quoted field is not closed");
  EXPECT_MENTIONS(both, "u2.csv:3: label (private");
}

}  // namespace
}  // namespace dpmpi::test::quotes_test
