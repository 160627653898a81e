#pragma once
// A run that a forger changes: whoever changes a member of a file also makes everything fit that is a digest of it.
// verify finds every change, or has said beforehand that it checks no such member.

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "data/synthetic/generate.hpp"
#include "run/certify/changed_members.hpp"
#include "run/certify/forged_files.hpp"
#include "run/certify/verify.hpp"
#include "run/train/train.hpp"

namespace dpmpi::test {

/// What a verification said that it does not check: a file, and its members.
class DeclaredMembers {
 public:
  explicit DeclaredMembers(const std::vector<VerifiedItem>& items) {
    for (const VerifiedItem& item : items) {
      if (item.state != VerifiedItem::State::unchecked) continue;
      std::istringstream names(item.detail.substr(0, item.detail.find(": ")));
      for (std::string name; std::getline(names, name, ',');)
        members_[item.place].push_back(name.substr(name.find_first_not_of(' ')));
    }
  }
  bool has(const std::string& file, const std::string& member) const {
    const auto found = members_.find(file);
    if (found == members_.end()) return false;
    return std::ranges::any_of(
        found->second, [&](const std::string& name) { return member == name || member.starts_with(name + "."); });
  }

 private:
  std::map<std::string, std::vector<std::string>> members_;
};

class ForgedRun : public ::testing::Test {
 public:
  /// The config whose runs are forged most.
  static constexpr const char* dp_sgd = "[method]\nbatch = 50\nsteps = 250\nmomentum = 0.5\n";
  static constexpr const char* budget = "[privacy]\nepsilon = 3\ndelta = 1e-4\naccountant = rdp\ntrust = cluster\n";

 protected:
  using Files = ForgedFiles;
  using Json = Files::Json;
  using Pointer = Json::json_pointer;

  void SetUp() override {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    GenerateOptions options;
    options.records = 500, options.eval_records = 100, options.features = 6;
    options.output = folder_ + "/train.csv";
    generate(options);
  }
  void configure(const std::string& text) const {
    overwrite(folder_ + "/run.ini", "[data]\nblocks = 4\ntrain = train.csv\nheader = yes\neval = train-eval.csv\n" +
                                        text + "[report]\nprogress = none\neval_every = 40\n");
  }
  void run(const std::string& config, std::vector<std::string> settings = {}) const {
    settings.push_back("run.dir=" + finished_);
    ASSERT_EQ(train(Communicator::alone(), RunConfig(config, settings), {.quiet = true}), ExitCode::done);
    std::filesystem::copy(finished_, damaged_, std::filesystem::copy_options::recursive);
  }

  static std::string bad(const std::vector<VerifiedItem>& items) {
    return items.back().state == VerifiedItem::State::bad ? items.back().place : "";
  }

  /// Of an honest run.
  void begin() {
    const auto items = verify_run(finished_);
    ASSERT_EQ(bad(items), "") << items.back().detail;
    declared_ = std::make_unique<DeclaredMembers>(items);
    derived_ = std::make_unique<DerivedRun>(derive_run(finished_));
    files_ = std::make_unique<Files>(finished_);
    files_->settle(Files::plan_file);
    files_->write(damaged_);  // a forger's tools change nothing by themselves
    ASSERT_EQ(bad(verify_run(damaged_)), "");
  }

  void begin_with_dp_sgd() {
    configure(std::string(dp_sgd) + budget);
    run(folder_ + "/run.ini");
    begin();
  }

  // The forger changed `member` of `file`, and everything behind it.
  void expect_found(const Files& forged, const std::string& file, const std::string& member) {
    ++flips_;
    forged.write(damaged_);
    const bool a_fact = file == Files::plan_file && declared_->has(file, member);
    const auto items = a_fact ? verify_run(damaged_) : verify_run(damaged_, *derived_);
    if (bad(items).empty()) {
      ++unnoticed_;
      EXPECT_TRUE(declared_->has(file, member)) << file << ": " << member << " was changed, and nobody noticed";
    }
  }

  // Every value of a part of a file is changed, every member is removed, and one is added.
  void flip_all(const std::string& file, const std::function<Json&(Files&)>& part, std::size_t line = 0,
                const std::string& leave = "") {
    each_place(part(*files_), Pointer(), [&](const Pointer& at) {
      const std::string member = dotted(at);
      if (!leave.empty() && member == leave) return;
      const auto forge = [&](const std::function<void(Json&)>& change) {
        Files forged = *files_;
        change(part(forged));
        forged.settle(file, line);
        expect_found(forged, file, member);
      };
      for (const auto& other : {flipped(part(*files_)[at]), rewritten(part(*files_)[at])})
        if (other) forge([&](Json& value) { value[at] = *other; });
      if (part(*files_)[at.parent_pointer()].is_object())
        forge([&](Json& value) { value[at.parent_pointer()].erase(at.back()); });
    });
    Files forged = *files_;
    part(forged)["unheard"] = 1;
    forged.settle(file, line);
    expect_found(forged, file, "unheard");
  }

  void flip_everything() {
    flip_all(Files::plan_file, [](Files& f) -> Json& { return f.plan; });
    for (std::size_t i = 0; i < files_->ledger.size(); ++i)
      flip_all(
          Files::ledger_file, [i](Files& f) -> Json& { return f.ledger[i]; }, i, "prev");
    for (std::size_t i = 0; i < std::min<std::size_t>(4, files_->trainings.size()); ++i)
      flip_all(
          Files::training_file, [i](Files& f) -> Json& { return f.trainings[i]; }, i, "prev");
    for (std::size_t i = 0; i < files_->metrics.size(); ++i)
      flip_all(Files::metrics_file, [i](Files& f) -> Json& { return f.metrics[i]; });
    flip_all(Files::certificate_file, [](Files& f) -> Json& { return f.certificate; });
    flip_all(Files::model_file, [](Files& f) -> Json& { return f.header; });
    files_->write(damaged_);
    flip_settings("config.ini");
  }

  // The forger leaves what has the config's digest as it is.
  void flip_settings(const std::string& file) {
    const std::string text = dpmpi::read_file(finished_ + "/" + file);
    std::string section;
    for (std::size_t at = 0, end; (end = text.find('\n', at)) != text.npos; at = end + 1) {
      const std::string line = text.substr(at, end - at);
      if (line.starts_with('[')) section = line.substr(1, line.find(']') - 1);
      const std::size_t equals = line.find(" = ");
      if (equals == line.npos) continue;
      const std::string member = section + "." + line.substr(0, equals);
      const std::string other = line + "1";
      overwrite(damaged_ + "/" + file, std::string(text).replace(at, end - at, other));
      ++flips_;
      EXPECT_TRUE(!bad(verify_run(damaged_, *derived_)).empty() || declared_->has(file, member))
          << file << ": " << other;
    }
    overwrite(damaged_ + "/" + file, text);
  }

  std::string folder_ = ::testing::TempDir() + "dpmpi_forged_" + unique_name();
  std::string finished_ = folder_ + "/finished", damaged_ = folder_ + "/damaged";
  std::unique_ptr<DeclaredMembers> declared_;
  std::unique_ptr<DerivedRun> derived_;
  std::unique_ptr<Files> files_;
  int flips_ = 0, unnoticed_ = 0;

 private:
  static std::string unique_name() {
    std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::ranges::replace(name, '/', '_');
    return name;
  }
};

}  // namespace dpmpi::test
