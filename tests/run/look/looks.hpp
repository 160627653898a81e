#pragma once
// Runs that later looks are taken at, and people for them.

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/fault.hpp"
#include "core/files/digest.hpp"
#include "data/synthetic/generate.hpp"
#include "privacy/events/ledger.hpp"
#include "run/config/config.hpp"
#include "run/directory/files.hpp"
#include "run/look/look.hpp"
#include "run/look/verify_look.hpp"
#include "run/train/train.hpp"

namespace dpmpi::test::look_test {

namespace fs = std::filesystem;
using nlohmann::json;
using State = VerifiedItem::State;

inline std::vector<std::string> lines_in(const std::string& path) {
  std::istringstream in(dpmpi::read_file(path));
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// Lines of a ledger with their chain made new.
inline void write_chained(const std::string& path, std::vector<std::string> lines) {
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::size_t link = lines[i].find(R"("prev":")");
    lines[i].replace(link, lines[i].size() - link, fmt::format(R"("prev":"{}"}})", sha256(lines[i - 1])));
  }
  std::ofstream(path, std::ios::binary | std::ios::trunc) << fmt::format("{}\n", fmt::join(lines, "\n"));
}

inline std::string first_bad(const std::vector<VerifiedItem>& items) {
  for (const VerifiedItem& item : items)
    if (item.state == State::bad) return item.place + ": " + item.detail;
  return "";
}

/// Two runs, trained once for all tests, and a fresh file of people for each.
class Look : public ::testing::Test {
 protected:
  static std::string root() { return ::testing::TempDir() + "dpmpi_Look"; }
  static void SetUpTestSuite() {
    fs::remove_all(root());
    fs::create_directories(root());
    GenerateOptions options;
    options.records = 1000, options.eval_records = 800, options.features = 5;
    options.output = root() + "/train.csv", options.eval_output = root() + "/others.csv";
    generate(options);
    std::ofstream(root() + "/run.ini") << "[data]\nblocks = 8\ntrain = " << root()
                                       << "/train.csv\nheader = yes\n[method]\nbatch = 50\nsteps = 40\n[privacy]\n"
                                          "epsilon = 2\ndelta = 1e-4\n[report]\nprogress = none\n";
    train_to("run", {});
    train_to("other", {"method.steps=20"});
  }
  static void train_to(const std::string& name, std::vector<std::string> settings) {
    settings.push_back("run.dir=" + root() + "/" + name);
    ASSERT_EQ(train(Communicator::alone(), RunConfig(root() + "/run.ini", settings), {.quiet = true}),
              ExitCode::done);
  }
  void SetUp() override {
    fs::remove_all(here_);
    fs::create_directories(here_);
    fs::copy(root() + "/others.csv", people_);
    fs::remove_all(run_ + "/looks");
    fs::remove_all(root() + "/other/looks");
  }
  void TearDown() override { set_fault_hook(nullptr); }

  dpmpi::Look look(const LookRequest& request, const std::string& run, const std::string& people) {
    const ModelToScore model = model_to_look_at(run, people, {}, request);
    return take_look(Communicator::alone(), model, request, [&](const LookAhead& next) { ahead_ = next; });
  }
  dpmpi::Look look(const LookRequest& request) { return look(request, run_, people_); }
  std::string refusal(const LookRequest& request, const std::string& run, const std::string& people) {
    try {
      look(request, run, people);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
  std::string refusal(const LookRequest& request) { return refusal(request, run_, people_); }
  double cost(const std::string& ledger, double delta) const {
    std::istringstream in(dpmpi::read_file(ledger));
    const EventList list = read_events(in, ledger);
    return epsilon_guarantee(list.events, list.header->adjacency, delta, "best").epsilon;
  }

  std::string here_ = root() + "/" + ::testing::UnitTest::GetInstance()->current_test_info()->name();
  std::string run_ = root() + "/run", people_ = here_ + "/people.csv", ledger_ = people_ + ".looks.jsonl";
  LookAhead ahead_;
};

}  // namespace dpmpi::test::look_test
