// Two datasets that differ in one person, with the same seed: what commands say and write is the same but for what
// follows from the noised sums, whatever the person's records are and however many.
#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "run/directory/files.hpp"
#include "support/data_files.hpp"
#include "support/process.hpp"
#include "support/programs.hpp"

namespace dpmpi::test::paired_persons_test {
namespace {

using nlohmann::json;

constexpr const char* header = "who,ward,age,day,w,back\n";
constexpr const char* columns =
    "who person\nward category words=A,B other missing=NULL indicator\n"
    "age number range=0..110 mean=50 std=20 missing=NULL impute=50 indicator\n"
    "day date format=%Y-%m-%d from=2020-01-01 unit=years missing=NULL indicator\nw weight range=0..8 missing=NULL impute=1\n"
    "back label positive=yes\n";

std::string others(int first) {
  std::string text;
  for (int i = 0; i < 200; ++i)
    text += fmt::format("P{},{},{},2021-{:02}-{:02},{},{}\n", first + i % 50, i % 3 ? "A" : "B", 20 + i % 60,
                        1 + i % 12, 1 + i % 28, 8 - i % 2, i % 5 ? "no" : "yes");
  return text;
}

/// One usual visit.
std::string usual() { return others(0) + "Q,A,44,2021-03-04,2,no\n"; }
/// Forty visits in all places, with words that are not listed, gaps, numbers beyond the range, and weights that are
/// huge, negative, zero and missing.
std::string unusual() {
  std::string text;
  const std::string all = others(0);
  std::size_t at = 0;
  for (int i = 0; i < 40; ++i) {
    const char* const weights[] = {"1e300", "-3", "0", "NULL", "7.5"};
    text += fmt::format("Q,{},{},{},{},yes\n", i % 4 ? "Hospice" : "NULL", i % 2 ? "NULL" : "1e6",
                        i % 3 ? "NULL" : "1931-07-08", weights[i % 5]);
    for (int line = 0; line < 5; ++line) {
      const std::size_t end = all.find('\n', at) + 1;
      text += all.substr(at, end - at);
      at = end;
    }
  }
  return text;
}

/// One of the two, in a folder of its own under the same names.
class Side {
 public:
  explicit Side(const std::string& records) {
    folder_.write("train.csv", header + records);
    folder_.write("eval.csv", header + others(300));
    folder_.write("columns.txt", columns);
    folder_.write("p.ini",
                  "[data]\ntrain = train.csv\neval = eval.csv\nheader = yes\ncolumns = columns.txt\nrecords = 60\n"
                  "person_records = 3\n[method]\nbatch = 30\nsteps = 6\n[privacy]\nepsilon = 1\ndelta = 1e-3\n"
                  "seed = 7\n[run]\ndir = run\n");
  }
  std::string said(const std::string& words) const {
    const Outcome outcome = run_command("cd " + folder_.file("") + " && " + program() + " " + words);
    EXPECT_EQ(outcome.code, 0) << words << "\n" << outcome.output;
    return outcome.output;
  }
  /// Without the name of the folder.
  std::string file(const std::string& name) const {
    std::string text = read_file(folder_.file("run/" + name));
    const std::string folder = std::filesystem::path(folder_.file("x")).parent_path();
    for (std::size_t at = 0; (at = text.find(folder, at)) != text.npos;) text.erase(at, folder.size());
    return text;
  }
  /// Names of all files of the run, and of those whose size nothing noised decides the size.
  std::map<std::string, std::uintmax_t> files() const {
    const std::set<std::string> of_model{"report.html", "metrics.jsonl",   "timing.jsonl",
                                         "roc.json",    "assessment.json", "certificate.json"};
    std::map<std::string, std::uintmax_t> sizes;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.file("run"))) {
      if (!entry.is_regular_file()) continue;
      const std::string name = entry.path().filename().string();
      sizes[name] = of_model.contains(name) ? 0 : entry.file_size();
    }
    return sizes;
  }
  /// A JSON file, or one line of several, without members that follow from records by a key or from the model.
  static json without(const std::string& text, const std::vector<std::string>& members) {
    json value = json::parse(text);
    for (const std::string& member : members) EXPECT_EQ(value.erase(member), 1U) << member;
    return value;
  }
  std::vector<json> ledger() const {
    std::vector<json> lines;
    std::istringstream in(file("ledger.jsonl"));
    for (std::string line; std::getline(in, line);)
      lines.push_back(without(line, {lines.empty() ? "data" : "prev"}));
    return lines;
  }
  std::vector<std::pair<std::int64_t, double>> steps_shown() const {
    std::vector<std::pair<std::int64_t, double>> shown;
    std::istringstream in(file("metrics.jsonl"));
    for (std::string line; std::getline(in, line);) {
      const json value = json::parse(line);
      shown.emplace_back(value.at("step"), value.at("epsilon"));
    }
    return shown;
  }

 private:
  const Folder folder_;
};

TEST(PairedPersons, NothingButTheNoisedSumsFollowsFromAPerson) {
  for (const char* sampling : {"persons", "records"}) {
    const std::string set = fmt::format(" --set data.person_sampling={}", sampling);
    const Side one(usual()), other(unusual());
    for (const char* command : {"check p.ini", "plan --config p.ini --quiet"})
      EXPECT_EQ(one.said(command + set), other.said(command + set)) << command;
    EXPECT_EQ(one.said("--config p.ini --quiet" + set), other.said("--config p.ini --quiet" + set));
    for (const char* name : {"config.ini", "plan.json", "columns.txt"}) EXPECT_EQ(one.file(name), other.file(name));
    EXPECT_EQ(one.files(), other.files());
    EXPECT_EQ(one.ledger(), other.ledger());
    EXPECT_EQ(one.steps_shown(), other.steps_shown());
    const std::vector<std::string> keyed{"data_commitment", "ledger_head", "model_digest", "metrics_digest"};
    EXPECT_EQ(Side::without(one.file("certificate.json"), keyed),
              Side::without(other.file("certificate.json"), keyed));
    EXPECT_NE(one.file("model.safetensors"), other.file("model.safetensors")) << "the person takes part";
    for (const char* command : {"verify run 2> progress", "account run/ledger.jsonl --delta 1e-3"})
      EXPECT_EQ(one.said(command), other.said(command)) << command;
  }
}

}  // namespace
}  // namespace dpmpi::test::paired_persons_test
