// The grammar of columns files: what a line means, and what is wrong with it.
#include "data/columns/columns_file.hpp"

#include <limits>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "data/columns/coding.hpp"
#include "data/columns/day.hpp"
#include "data/columns/line_words.hpp"
#include "data/records/text.hpp"
#include "support/data_files.hpp"

namespace dpmpi::test::columns_file_test {
namespace {

using WordList = std::vector<std::string>;

ColumnsFile parsed(const std::string& text) { return {text, "c.txt"}; }

std::string refused(const std::string& text) {
  return message_of<ConfigError>([&] { parsed(text); });
}

/// What a field becomes, by feature.
std::map<std::size_t, double> coded(const std::string& line, const std::string& field, bool comma = false) {
  const ColumnsFile file = parsed(line);
  std::map<std::size_t, double> features;
  ColumnCode(file.columns.at(0), "c.txt:1", comma).read(field, [&](std::size_t f, double x) { features[f] = x; });
  return features;
}

WordList names_of(const std::string& line) {
  return ColumnCode(parsed(line).columns.at(0), "c.txt:1", false).feature_names();
}

using Features = std::map<std::size_t, double>;

TEST(ColumnsFile, IsWrittenByHand) {
  const ColumnsFile file = parsed(
      "\xef\xbb\xbf# the columns of our export\r\n"
      "age        number    mean=50 std=20 missing=NULL impute=50 indicator\r\n"
      "\n"
      "sex        category  words=f, m,\r\n"
      "           \"not, \"\"said\"\"\" other   # as the registry has it\n"
      "\"admitted on\"  date  format=%Y-%m-%d from=2015-01-01 unit=years\n"
      "#old number\n"
      "outcome    label     positive=>50K,\"yes\"");
  ASSERT_EQ(file.columns.size(), 4U);
  const ColumnRule& age = file.columns[0];
  EXPECT_EQ(age.name, "age");
  EXPECT_EQ(age.kind, ColumnKind::number);
  EXPECT_EQ(age.line, 2U);
  EXPECT_EQ(age.missing, WordList{"NULL"});
  EXPECT_TRUE(age.indicator);
  const ColumnRule& sex = file.columns[1];
  EXPECT_EQ(sex.line, 4U);
  EXPECT_EQ(sex.words, (WordList{"f", "m", "not, \"said\""}));
  EXPECT_TRUE(sex.other);
  EXPECT_EQ(file.columns[2].name, "admitted on");
  EXPECT_EQ(file.columns[2].line, 6U);
  EXPECT_EQ(file.columns[3].positive, (WordList{">50K", "yes"}));
  EXPECT_EQ(file.label(), &file.columns[3]);
  EXPECT_EQ(file.find("age"), &file.columns[0]);
  EXPECT_EQ(file.find("old"), nullptr);
}

TEST(ColumnsFile, NumbersAreScaledAndCut) {
  EXPECT_EQ(coded("x number", "2.5"), (Features{{0, 2.5}}));
  EXPECT_EQ(coded("x number mean=50 std=20", "90"), (Features{{0, 2}}));
  EXPECT_EQ(coded("x number range=10..30", "15"), (Features{{0, 0.25}}));
  EXPECT_EQ(coded("x number range=10..30", "1e9"), (Features{{0, 1}}));
  EXPECT_EQ(coded("x number range=-3..-1", "-7"), (Features{{0, 0}}));
  EXPECT_EQ(coded("x number range=0..100 mean=10 std=5", "1000"), (Features{{0, 18}}));
  EXPECT_EQ(coded("x number", "2,5", true), (Features{{0, 2.5}}));
  EXPECT_THROW(coded("x number", "1.000", true), Malformed);
  EXPECT_THROW(coded("x number", "2,5"), Malformed);
  EXPECT_THROW(coded("x number", "nan"), Malformed);
}

TEST(ColumnsFile, WordsBecomeFeatures) {
  const std::string sex = "sex category words=f,m";
  EXPECT_EQ(names_of(sex), (WordList{"sex=f", "sex=m"}));
  EXPECT_EQ(coded(sex, "m"), (Features{{1, 1}}));
  EXPECT_THROW(coded(sex, "x"), Malformed);
  EXPECT_EQ(names_of(sex + " other indicator"),
            (WordList{"sex=f", "sex=m", "sex is another word", "sex is missing"}));
  EXPECT_EQ(coded(sex + " other", "x"), (Features{{2, 1}}));
  EXPECT_EQ(coded("x ordinal words=low,mid,high", "mid"), (Features{{0, 0.5}}));
  EXPECT_EQ(coded("x ordinal words=low,mid,high", "high"), (Features{{0, 1}}));
  EXPECT_EQ(names_of("x ordinal words=low,mid,high"), WordList{"x"});
  EXPECT_EQ(coded("x yes/no", "yes"), (Features{{0, 1}}));
  EXPECT_EQ(coded("x yes/no", "0"), (Features{{0, 0}}));
  EXPECT_EQ(coded("x yes/no true=ja,j false=nein", "j"), (Features{{0, 1}}));
  EXPECT_THROW(coded("x yes/no true=ja false=nein", "yes"), Malformed);
}

TEST(ColumnsFile, RareWordsShareAFeature) {
  const std::string pet = "pet category words=cat,dog,newt,yak ";
  EXPECT_EQ(names_of(pet + "rare=newt,yak"), names_of(pet)) << "features keep their places";
  EXPECT_EQ(coded(pet + "rare=yak,dog", "yak"), (Features{{1, 1}})) << "that of the first in the order of words";
  EXPECT_EQ(coded(pet + "rare=yak,dog", "dog"), (Features{{1, 1}}));
  EXPECT_EQ(coded(pet + "rare=yak,dog", "newt"), (Features{{2, 1}}));
  EXPECT_EQ(coded(pet + "rare=yak,dog other", "dog"), (Features{{4, 1}})) << "that of other words";
  EXPECT_EQ(coded(pet + "rare=yak,dog other", "emu"), (Features{{4, 1}}));
  EXPECT_EQ(coded(pet + "rare=yak,dog impute=dog indicator", "?"), (Features{{1, 1}, {4, 1}}));
  EXPECT_THROW(coded(pet + "rare=emu", "cat"), ConfigError);
  EXPECT_THROW(coded("x ordinal words=a,b rare=a", "a"), ConfigError);
}

TEST(ColumnsFile, DatesBecomeTheTimeSinceADay) {
  const std::string date = "d date format=%Y-%m-%d from=2015-01-01";
  EXPECT_EQ(coded(date, "2015-01-11"), (Features{{0, 10}}));
  EXPECT_EQ(coded(date + " unit=weeks", "2014-12-25"), (Features{{0, -1}}));
  EXPECT_EQ(coded(date + " unit=years", "2019-01-01"), (Features{{0, 4}}));
  EXPECT_EQ(coded("d date format=%d.%m.%Y from=2015-01-01", "3.1.2015"), (Features{{0, 2}}));
  EXPECT_EQ(coded("d date format=%Y%m%d from=2015-01-01", "20150103"), (Features{{0, 2}}));
  EXPECT_EQ(coded("d date format=\"%Y, %m, %d\" from=2015-01-01 unit=days", "2015, 01, 03"), (Features{{0, 2}}));
}

TEST(DatePattern, KnowsTheCalendar) {
  const DatePattern day("%Y-%m-%d"), minute("%d/%m/%Y %H:%M"), year("%Y"), percent("%Y%%");
  EXPECT_EQ(day.days("1970-01-01"), 0);
  EXPECT_EQ(day.days("2000-02-29"), 11016);
  EXPECT_EQ(minute.days("02/01/1970 12:00"), 1.5);
  EXPECT_EQ(year.days("1971"), 365);
  EXPECT_EQ(percent.days("1971%"), 365);
  for (const char* bad :
       {"", "2001-02-29", "2001-13-01", "2001-00-01", "01-01-01", "2001-1-1x", "2001-1", " 2001-01-01"})
    EXPECT_FALSE(day.days(bad)) << bad;
  EXPECT_FALSE(minute.days("02/01/1970 24:00"));
  for (const char* bad : {"%y", "%", "%Y-%d", "%m", "%Y%Y", ""}) EXPECT_THROW(DatePattern{bad}, ConfigError) << bad;
}

TEST(ColumnsFile, MissingValuesCountAsWhatTheLineSays) {
  EXPECT_THROW(coded("x number", ""), Malformed);
  EXPECT_THROW(coded("x number", "NA"), Malformed);
  EXPECT_EQ(coded("x number impute=3", "?"), (Features{{0, 3}}));
  EXPECT_EQ(coded("x number mean=1 std=2 impute=3", "?"), (Features{{0, 1}}));
  EXPECT_EQ(coded("x number indicator", "?"), (Features{{1, 1}}));
  EXPECT_EQ(coded("x number impute=3 indicator", "?"), (Features{{0, 3}, {1, 1}}));
  EXPECT_EQ(coded("x number impute=3 indicator", "4"), (Features{{0, 4}}));
  EXPECT_EQ(coded("x number missing=NULL,\"\",- impute=3", "-"), (Features{{0, 3}}));
  EXPECT_EQ(coded("x number missing=NULL,\"\",- impute=3", ""), (Features{{0, 3}}));
  EXPECT_THROW(coded("x number missing=NULL impute=3", "NA"), Malformed) << "only the words of the line";
  EXPECT_EQ(coded("x category words=a,b impute=b indicator", ""), (Features{{1, 1}, {2, 1}}));
  EXPECT_EQ(coded("x category words=a,?", "?"), (Features{{1, 1}})) << "a word of the column is not missing";
  EXPECT_THROW(coded("x category words=a other", "NA"), Malformed) << "a missing value is no other word";
}

// Weights are shares of the highest; both are brought into their range, and no feature.
TEST(ColumnsFile, WeightsAndExposuresAreCut) {
  const std::string feature = "\nx number\n", weight = "w weight range=0.5..20 missing=NULL impute=2" + feature,
                    exposure = "e exposure range=0.1..4" + feature;
  for (const auto& [field, share] : std::map<std::string, double>{
           {"5", 0.25}, {"20", 1}, {"1e300", 1}, {"0", 0.025}, {"-7", 0.025}, {"NULL", 0.1}})
    EXPECT_EQ(coded(weight, field), (Features{{0, share}})) << field;
  EXPECT_EQ(coded(weight, "2,5", true), (Features{{0, 0.125}}));
  for (const auto& [field, years] : std::map<std::string, double>{{"0.5", 0.5}, {"0", 0.1}, {"-1", 0.1}, {"9", 4}})
    EXPECT_EQ(coded(exposure, field), (Features{{0, years}})) << field;
  for (const char* bad : {"NaN", "inf", "heavy", "1e999"})
    for (const std::string& line : {weight, exposure}) EXPECT_THROW(coded(line, bad), Malformed) << bad;
  for (const char* gap : {"", "NA"}) EXPECT_THROW(coded(exposure, gap), Malformed);
  const ColumnsFile both = parsed("w weight range=0..1\ne exposure range=1..2\nx number\n");
  EXPECT_TRUE(both.factors().weight && both.factors().exposure);
  EXPECT_FALSE(makes_features(both.columns[0]) || makes_features(both.columns[1]));
  EXPECT_FALSE(parsed("x number\n").factors().weight);
  EXPECT_MENTIONS(refused("w weight\nx number\n"), "column 'w': weight needs range=");
  EXPECT_MENTIONS(refused("w weight range=-1..2\nx number\n"), "the lower end of a weight must be 0 or above");
  EXPECT_MENTIONS(refused("e exposure range=0..2\nx number\n"), "the lower end of an exposure must be above 0");
  EXPECT_MENTIONS(refused("w weight range=0..2 indicator\nx number\n"), "weight has no attribute 'indicator'");
  EXPECT_MENTIONS(refused("w weight range=0..2\nv weight range=0..2\nx number\n"), "a table has one weight");
  EXPECT_MENTIONS(refused("w weight range=0..2 impute=x\nx number\n"), "impute='x': it is not a finite number");
}

TEST(ColumnsFile, AllThatIsWrongIsToldAtOnce) {
  const std::string text =
      "age\n"
      "a numbr\n"
      "b number words=x\n"
      "c number range=5..1 std=0\n"
      "d category\n"
      "e category words=x,x\n"
      "f date format=%d.%m from=2015-13-01\n"
      "g number mean= 50\n"
      "h number mean=50 mean=51\n"
      "i \"number\n"
      "j ordinal words=one\n"
      "k yes/no true=a false=a\n"
      "l label positive=a classes=b,c\n"
      "good number\n"
      "good number\n"
      "m persona\n"
      "n number impute=x\n"
      "o category words=a,b missing=a\n"
      "p yes/no true=a\n"
      "q number indicator=yes\n";
  const std::string message = refused(text);
  for (
      const char* part :
      {"c.txt:1: column 'age': column 'age' has no kind",
       "c.txt:2: column 'a': kind 'numbr' is not known (did you mean number?)",
       "number, yes/no, category, ordinal, date, ignore, label",
       "c.txt:3: column 'b': number has no attribute 'words'; it takes range, mean, std, missing, impute, indicator",
       "c.txt:4: column 'c': range=: the lower end must be below the higher one; std= must be > 0",
       "c.txt:5: column 'd': category needs words=",
       "c.txt:6: column 'e': words= has the word 'x' twice",
       "c.txt:7: column 'f': format=%d.%m: a date has a year",
       "from= takes a day of the calendar",
       "c.txt:8: column 'g': mean= has nothing",
       "c.txt:9: column 'h': mean is given twice",
       "c.txt:10: column 'i': a quotation mark is not closed",
       "c.txt:11: column 'j': ordinal needs two words",
       "c.txt:12: column 'k': the word 'a' stands in true= and in false=",
       "c.txt:13: column 'l': positive= makes signs",
       "c.txt:15: column 'good': column 'good' stands in line 14, too",
       "c.txt:16: column 'm': kind 'persona' is not known",
       "c.txt:17: column 'n': impute='x': it is not a finite number",
       "c.txt:18: column 'o': the word 'a' stands in missing= and among",
       "c.txt:19: column 'p': true= and false= go together",
       "c.txt:20: column 'q': indicator takes no value"})
    EXPECT_MENTIONS(message, part);
  EXPECT_MENTIONS(refused(""), "c.txt names no column");
  EXPECT_MENTIONS(refused("a ignore\nb label\n"), "no column becomes a feature");
  EXPECT_MENTIONS(refused("a label\nb label\nx number\n"), "a table has one label");
}

// Of a comma too many, and not of the column behind it.
TEST(ColumnsFile, ALineGoesOnBehindAComma) {
  const ColumnsFile file = parsed("a category words=x,\n\n  # of old\ny,\nlabel, z other\nb number\n");
  ASSERT_EQ(file.columns.size(), 2U);
  EXPECT_EQ(file.columns[0].words, (WordList{"x", "y", "label", "z"}));
  EXPECT_TRUE(file.columns[0].other);
  EXPECT_EQ(file.columns[1].line, 6U);
  const std::string message =
      refused("a category words=x,y,\n\nb ignore\nc category words=x, # and more\nd numbr\n");
  EXPECT_MENTIONS(message, "c.txt:1: column 'a': words= ends in a comma: take it away, or");
  EXPECT_MENTIONS(message, "c.txt:4: column 'c': words= ends in a comma");
  EXPECT_MENTIONS(message, "c.txt:5: column 'd': kind 'numbr' is not known");
  EXPECT_EQ(message.find("'b'"), message.npos) << message;
  EXPECT_MENTIONS(refused("b number\na category words=x,"), "c.txt:2: column 'a': words= ends in a comma");
  EXPECT_MENTIONS(refused("a category words=x,\nb numbr\n"), "(its line goes on to line 2, behind commas)");
}

TEST(ColumnsFile, WordsAreReadAsTheyAreWritten) {
  for (const char* word : {"plain", "", "two words", "a,b", "say \"x\"", "#5", "a=b", "=", "\"", "Größe", "a\tb"}) {
    const std::string text = written_word("n") + " category words=" + written_word(word) + ",z other\n";
    EXPECT_EQ(parsed(text).columns.at(0).words.at(0), word) << text;
    if (*word == '\0') continue;
    EXPECT_EQ(parsed(written_word(word) + " number\n").columns.at(0).name, word);
  }
}

}  // namespace
}  // namespace dpmpi::test::columns_file_test
