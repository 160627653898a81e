#include "support/hospital_files.hpp"

#include <cmath>
#include <cstdint>
#include <fstream>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "support/hdf5_files.hpp"

namespace dpmpi::test {
namespace {

constexpr std::size_t visits = 3001;

std::uint64_t patient(std::size_t i) { return (std::uint64_t{1} << 60) + i * 7919 % 400; }
double age(std::size_t i) { return static_cast<double>(i % 97); }
/// NaN: nobody measured it.
double sugar(std::size_t i) {
  return i % 11 == 0 ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(i % 501) / 7;
}
std::string ward(std::size_t i) {
  const char* const words[] = {"north", "south, 2", "west \"old\"", "somewhere else", ""};
  return words[i * 31 % 5];
}
std::string day(std::size_t i) { return fmt::format("20{:02}-{:02}-{:02}", i % 20, i % 12 + 1, i % 28 + 1); }
double smokes(std::size_t i) { return i % 3 == 0 ? 1 : 0; }
std::string outcome(std::size_t i) { return i % 5 == 0 ? "back" : "well"; }
double share(std::size_t i) { return static_cast<double>(i % 8 + 1) / 4; }

std::vector<std::string> words(std::string (*word)(std::size_t)) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < visits; ++i) all.push_back(word(i));
  return all;
}

std::string quoted(const std::string& word) {
  std::string text = "\"";
  for (const char c : word) text += c == '"' ? "\"\"" : std::string(1, c);
  return text + '"';
}

}  // namespace

const char* const hospital_columns =
    "patient person\n"
    "age number range=0..90\n"
    "sugar number mean=30 std=12.5 impute=31 indicator\n"
    "ward category words=north,\"south, 2\",\"west \"\"old\"\"\" other indicator\n"
    "day date format=%Y-%m-%d from=2010-01-01 unit=years\n"
    "smokes yes/no\n"
    "share weight range=0..2\n"
    "outcome label classes=well,back\n";

void write_hospital_csv(const std::string& path) {
  std::ofstream out(path);
  out << "patient,age,sugar,ward,day,smokes,share,outcome\n";
  for (std::size_t i = 0; i < visits; ++i)
    out << fmt::format("{},{},{},{},{},{},{},{}\n", patient(i), age(i),
                       std::isnan(sugar(i)) ? "" : fmt::format("{}", sugar(i)), quoted(ward(i)), day(i), smokes(i),
                       share(i), outcome(i));
}

void write_hospital_hdf5(const std::string& path) {
  NewHdf5 file(path);
  std::vector<std::uint64_t> patients;
  for (std::size_t i = 0; i < visits; ++i) patients.push_back(patient(i));
  file.add_integers("who/patient", patients);
  file.add("age", "i2", {visits}, numbers(visits, age), {.chunk = {256}, .packed = true});
  file.add("labs/sugar", "f8", {visits}, numbers(visits, sugar), {.chunk = {100}});
  file.add_words("ward", words(ward));
  file.add_fixed_words("day", words(day), 10);
  file.add("smokes", "b1", {visits}, numbers(visits, smokes));
  file.add("share", "f4", {visits}, numbers(visits, share));
  file.add_fixed_words("outcome", words(outcome), 6, true);
}

}  // namespace dpmpi::test
