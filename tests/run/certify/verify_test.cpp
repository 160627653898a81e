// Runs verify; runs of which any byte that means something was changed do not.
#include "run/certify/verify.hpp"

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "data/synthetic/generate.hpp"
#include "privacy/accountants/earlier.hpp"
#include "run/directory/files.hpp"
#include "run/train/train.hpp"
#include "support/process.hpp"
#include "support/programs.hpp"

namespace dpmpi::verify_test {
namespace {

namespace fs = std::filesystem;
using State = VerifiedItem::State;

class Verify : public ::testing::Test {
 protected:
  static std::string folder() { return ::testing::TempDir() + "dpmpi_verify"; }
  static std::string finished() { return folder() + "/finished"; }
  static std::string stopped() { return folder() + "/stopped"; }

  static void SetUpTestSuite() {
    fs::remove_all(folder());
    fs::create_directories(folder());
    GenerateOptions options;
    options.records = 500, options.eval_records = 0, options.features = 6;
    options.output = folder() + "/train.csv";
    generate(options);
    std::ofstream(folder() + "/run.ini")
        << "[data]\nblocks = 4\ntrain = train.csv\nheader = yes\n[method]\nbatch = 50\nsteps = 250\n[privacy]\n"
           "epsilon = 3\ndelta = 1e-4\naccountant = rdp\n[report]\nprogress = none\n";
    ASSERT_EQ(run(finished(), {}), ExitCode::done);
    ASSERT_EQ(run(folder() + "/other", {"method.rate=0.3"}), ExitCode::done);
    ASSERT_EQ(run(folder() + "/twin", {}), ExitCode::done);  // the same config, other noise
    ASSERT_EQ(run(stopped(), {"run.max_hours=1e-12"}), ExitCode::stopped);
  }

  static ExitCode run(const std::string& directory, std::vector<std::string> settings) {
    settings.push_back("run.dir=" + directory);
    const RunConfig config(folder() + "/run.ini", settings);
    return train(Communicator::alone(), config, {.quiet = true});
  }

  // A copy that may be damaged.
  std::string copy(const std::string& run) const {
    const std::string damaged = folder() + "/damaged";
    fs::remove_all(damaged);
    fs::copy(run, damaged, fs::copy_options::recursive);
    return damaged;
  }
  static void overwrite(const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
  }

  // Without what verify says that it does not check.
  static std::vector<VerifiedItem> checked(const std::string& run) {
    auto items = verify_run(run);
    std::erase_if(items, [](const VerifiedItem& item) { return item.state == State::unchecked; });
    return items;
  }

  // The place of the first bad item; empty if all are good.
  static std::string bad(const std::string& run) {
    const auto items = verify_run(run);
    for (std::size_t i = 0; i + 1 < items.size(); ++i) EXPECT_NE(items[i].state, State::bad);
    return items.back().state == State::bad ? items.back().place : "";
  }

  // After `change` of one file's text.
  std::string bad_after(const std::string& run, const std::string& file,
                        const std::function<void(std::string&)>& change) const {
    const std::string damaged = copy(run);
    std::string text = read_file(damaged + "/" + file);
    change(text);
    overwrite(damaged + "/" + file, text);
    return bad(damaged);
  }
  static std::function<void(std::string&)> replace(const std::string& from, const std::string& to) {
    return [=](std::string& text) {
      ASSERT_NE(text.find(from), text.npos) << from;
      text.replace(text.find(from), from.size(), to);
    };
  }
};

TEST_F(Verify, FinishedRuns) {
  const auto items = checked(finished());
  ASSERT_EQ(items.size(), 7u);
  for (const auto& item : items) EXPECT_EQ(item.state, State::good) << item.place << ": " << item.detail;
  EXPECT_EQ(items.back().place, "model.safetensors");
}

// Whose bounds are larger and as valid: plan, certificate and metrics are compared with those.
TEST_F(Verify, RunsOfEarlierVersions) {
  const std::string earlier = folder() + "/earlier", fixed_size = folder() + "/fixed_size";
  {
    const EarlierAccounting then;
    ASSERT_EQ(run(earlier, {}), ExitCode::done);
    ASSERT_EQ(run(fixed_size, {"method.sampling=wor", "privacy.adjacency=replace_one", "privacy.accountant=best"}),
              ExitCode::done);
  }
  for (const std::string& directory : {earlier, fixed_size}) {
    int said = 0;
    for (const VerifiedItem& item : checked(directory)) {
      EXPECT_EQ(item.state, State::good) << directory << ' ' << item.place << ": " << item.detail;
      said += item.detail.find("an earlier version") != item.detail.npos;
    }
    EXPECT_EQ(said, 1) << directory;
    EXPECT_EQ(bad_after(directory, "certificate.json", replace("\"epsilon\": ", "\"epsilon\": 0")),
              "certificate.json");
  }
  for (const VerifiedItem& item : checked(finished()))
    EXPECT_EQ(item.detail.find("an earlier version"), item.detail.npos) << item.place;
}

TEST_F(Verify, StoppedRunsSayWhatIsNotThereYet) {
  const auto items = checked(stopped());
  EXPECT_EQ(items.back().place, "certificate.json");
  EXPECT_EQ(items.back().state, State::absent);
  EXPECT_EQ(bad(stopped()), "");
}

TEST_F(Verify, EveryByteOfLedgerPlanAndCertificate) {
  for (const char* file : {"ledger.jsonl", "plan.json", "certificate.json"}) {
    const std::string text = read_file(finished() + "/" + file);
    // One bit of every 7th byte, and of all bytes of the last line.
    const std::string damaged = copy(finished());
    for (std::size_t i = 0; i<text.size(); i += i + 400> text.size() ? 1 : 7) {
      std::string changed = text;
      changed[i] = static_cast<char>(changed[i] ^ 1);
      overwrite(damaged + "/" + file, changed);
      EXPECT_NE(bad(damaged), "") << file << " byte " << i;
    }
  }
}

TEST_F(Verify, LinesOfTheLedger) {
  const auto cut_last = [](std::string& text) { text.erase(text.rfind('\n', text.size() - 2) + 1); };
  const auto swap_lines = [](std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    ASSERT_EQ(lines.size(), 4u);
    text = fmt::format("{}\n{}\n{}\n{}\n", lines[0], lines[2], lines[1], lines[3]);
  };
  EXPECT_EQ(bad_after(finished(), "ledger.jsonl", cut_last), "ledger.jsonl");
  EXPECT_EQ(bad_after(finished(), "ledger.jsonl", swap_lines), "ledger.jsonl:2");
  EXPECT_EQ(bad_after(finished(), "ledger.jsonl", replace("\"step", "\"stop")), "ledger.jsonl:3");
  EXPECT_EQ(bad_after(finished(), "ledger.jsonl", [](std::string& text) { text += "x"; }), "ledger.jsonl:5");
  EXPECT_EQ(bad_after(finished(), "ledger.jsonl", [](std::string& text) { text.clear(); }), "ledger.jsonl:1");
  EXPECT_EQ(bad_after(stopped(), "ledger.jsonl", cut_last), "ledger.jsonl:2");
  EXPECT_EQ(bad_after(stopped(), "ledger.jsonl", replace("\"count\":100", "\"count\":99")),
            "ledger.jsonl:2: count");
  EXPECT_EQ(bad_after(stopped(), "ledger.jsonl", replace("\"count\":100", "\"count\":999")),
            "ledger.jsonl:2: count");
}

TEST_F(Verify, MembersOfTheCertificateWithoutTheModel) {
  const std::string run = folder() + "/no-model";
  fs::copy(finished(), run, fs::copy_options::recursive);
  fs::remove(run + "/model.safetensors");
  EXPECT_EQ(bad(run), "");
  EXPECT_EQ(checked(run).back().state, State::absent);
  const std::string text = read_file(run + "/certificate.json");
  const auto certificate = nlohmann::json::parse(text);
  for (const char* key :
       {"epsilon", "delta", "adjacency", "interval", "by", "accountant", "events", "trust", "method", "objective",
        "n", "seeded", "config_digest", "plan_digest", "data_commitment", "ledger_head"}) {
    auto changed = certificate;
    changed.erase(key);
    EXPECT_NE(bad_after(run, "certificate.json", [&](std::string& t) { t = changed.dump(); }), "") << key;
    changed[key] = "other";
    EXPECT_NE(bad_after(run, "certificate.json", [&](std::string& t) { t = changed.dump(); }), "") << key;
  }
  auto smaller = certificate;
  smaller["epsilon"] = 0.99 * certificate["epsilon"].get<double>();
  EXPECT_EQ(bad_after(run, "certificate.json", [&](std::string& t) { t = smaller.dump(); }),
            "certificate.json: epsilon");
}

TEST_F(Verify, WhatPeopleReadInTheCertificateFollowsFromTheRun) {
  const auto certificate = nlohmann::ordered_json::parse(read_file(finished() + "/certificate.json"));
  for (const char* key : {"statement", "theorem", "noise", "numerical_slack", "steps", "dim"}) {
    const std::string damaged = copy(finished());
    fs::remove(damaged + "/model.safetensors");  // which has the certificate's digest
    EXPECT_EQ(bad(damaged), "");
    auto changed = certificate;
    changed[key] = key == std::string("statement") ? "It is (0.01, 1e-05)-differentially private." : "other";
    overwrite(damaged + "/certificate.json", changed.dump());
    EXPECT_EQ(bad(damaged), fmt::format("certificate.json: {}", key));
  }
}

TEST_F(Verify, DeepFilesAreNamed) {
  const auto nest = [](std::string& text) { text = std::string(200'000, '['); };
  for (const char* file : {"plan.json", "certificate.json"}) EXPECT_EQ(bad_after(finished(), file, nest), file);
}

TEST_F(Verify, SettingsThatTheNumbersDependOn) {
  EXPECT_EQ(bad_after(finished(), "config.ini", replace("batch = 50", "batch = 51")), "config.ini");
  EXPECT_EQ(bad_after(finished(), "config.ini", replace("epsilon = 3", "epsilon = 2")), "config.ini");
  EXPECT_EQ(bad_after(finished(), "config.ini", replace("[privacy]", "[privacz]")), "config.ini");
  EXPECT_EQ(bad_after(finished(), "config.ini", replace("progress = none", "progress = bar")), "")
      << "how progress is shown may change";
}

TEST_F(Verify, ParametersAndMetrics) {
  const auto last_bit = [](std::string& text) { text.back() = static_cast<char>(text.back() ^ 1); };
  EXPECT_EQ(bad_after(finished(), "model.safetensors", last_bit), "model.safetensors");
  EXPECT_EQ(bad_after(finished(), "model.safetensors", [](std::string& text) { text += "xxxx"; }),
            "model.safetensors");
  EXPECT_EQ(bad_after(finished(), "metrics.jsonl", replace("\"step\":", "\"step\": ")), "metrics.jsonl");
}

TEST_F(Verify, EveryByteThatSaysWhatTheParametersAre) {
  const std::string text = read_file(finished() + "/model.safetensors"), damaged = copy(finished());
  std::uint64_t size = 0;
  std::memcpy(&size, text.data(), sizeof size);
  for (std::size_t i = sizeof size; i < sizeof size + size; ++i) {
    std::string changed = text;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    overwrite(damaged + "/model.safetensors", changed);
    EXPECT_EQ(bad(damaged), "model.safetensors") << text.substr(i, 20);
  }
  const auto twice = [](std::string& header) {  // readers differ in which of the two they take
    constexpr std::string_view again = "\"bias\":{},";
    header.insert(header.find("\"bias\":"), again);
    std::uint64_t size_of_header = 0;
    std::memcpy(&size_of_header, header.data(), sizeof size_of_header);
    size_of_header += again.size();
    std::memcpy(header.data(), &size_of_header, sizeof size_of_header);
  };
  EXPECT_EQ(bad_after(finished(), "model.safetensors", twice), "model.safetensors");
}

TEST_F(Verify, FilesThatAreGone) {
  for (const char* file : {"metrics.jsonl", "model.safetensors"}) {
    const std::string damaged = copy(finished());
    fs::remove(damaged + "/" + file);
    const auto items = checked(damaged);
    ASSERT_EQ(items.size(), 7u) << file;
    for (const auto& item : items) EXPECT_EQ(item.state, item.place == file ? State::absent : State::good) << file;
  }
}

// Whoever has the key can remove the noise from a finished run. What else a kill at the end leaves is of no use
// there.
TEST_F(Verify, WhatIsLeftInTheFolderOfTheKey) {
  for (const char* file : {"key", "key.new", "latest"}) {
    const std::string untidy = copy(finished());
    overwrite(untidy + "/checkpoint/" + file, "secret");
    EXPECT_EQ(bad(untidy), "checkpoint") << file;
    const auto outcome = test::run_command(fmt::format("{0} verify {1}; {0} resume {1}", test::program(), untidy));
    EXPECT_NE(outcome.output.find(fmt::format("BAD     checkpoint           {} left in a finished", file)),
              std::string::npos)
        << outcome.output;
    EXPECT_NE(outcome.output.find(fmt::format("'dpmpi resume {}' wipes", untidy)), std::string::npos);
    EXPECT_EQ(bad(untidy), "") << "resume, as it was told to, should have tidied up: " << outcome.output;
  }
  const std::string unfinished = copy(stopped());
  EXPECT_EQ(bad(unfinished), "") << "a run that goes on needs its key";
}

TEST_F(Verify, AKeyThatWasKeptOnPurpose) {
  const std::string keeps = folder() + "/keeps";
  ASSERT_EQ(run(keeps, {"run.keep_key=true"}), ExitCode::done);
  const auto items = verify_run(keeps);
  EXPECT_EQ(items.back().state, State::warning) << items.back().detail;
  EXPECT_EQ(items.back().place, "checkpoint");
  EXPECT_NE(items.back().detail.find("run.keep_key"), std::string::npos) << items.back().detail;
  const auto outcome = test::run_command(fmt::format("{} verify {}", test::program(), keeps));
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_NE(outcome.output.find("WARNING checkpoint"), std::string::npos) << outcome.output;
  overwrite(keeps + "/checkpoint/next", "state");
  EXPECT_EQ(bad(keeps), "checkpoint");
}

TEST_F(Verify, BytesThatAreNoTextAreReportedAsJson) {
  for (const char* file : {"ledger.jsonl", "config.ini", "plan.json", "certificate.json", "model.safetensors"}) {
    const std::string damaged = copy(finished());
    std::string text = read_file(damaged + "/" + file);
    const std::size_t place = text.find(file == std::string("config.ini") ? "batch" : "n", 20);
    text.at(place) = static_cast<char>(0xB9);
    overwrite(damaged + "/" + file, text);
    const auto answer = test::run_command(fmt::format("{} verify --json {}", test::program(), damaged));
    EXPECT_EQ(answer.code, 4) << file << answer.output;
    EXPECT_EQ(nlohmann::json::parse(answer.output, nullptr, false).value("verified", true), false) << file;
  }
}

TEST_F(Verify, FilesOfAnotherRun) {
  for (const char* other : {"/other", "/twin"})
    for (const char* file : {"certificate.json", "ledger.jsonl", "model.safetensors"}) {
      const std::string damaged = copy(finished());
      fs::copy_file(folder() + other + "/" + file, damaged + "/" + file, fs::copy_options::overwrite_existing);
      EXPECT_NE(bad(damaged), "") << other << "/" << file;
    }
  for (const char* file : {"plan.json", "ledger.jsonl", "config.ini"}) {
    const std::string damaged = copy(finished());
    fs::remove(damaged + "/" + file);
    EXPECT_EQ(bad(damaged), file);
  }
  EXPECT_THROW(verify_run(folder() + "/none"), ConfigError);
}

TEST_F(Verify, SeededAndNoiselessRuns) {
  const std::string seeded = folder() + "/seeded", plain = folder() + "/plain";
  ASSERT_EQ(run(seeded, {"privacy.seed=4"}), ExitCode::done);
  EXPECT_EQ(bad(seeded), "");
  EXPECT_NE(bad_after(seeded, "ledger.jsonl", replace("\"seeded\":true", "\"seeded\":false")), "");
  ASSERT_EQ(run(plain, {"privacy.noise=none"}), ExitCode::done);
  EXPECT_EQ(bad(plain), "");
}

// Its ledger grows while it is looked at: that is no damage.
TEST_F(Verify, LooksAtARunThatGoesOn) {
  const auto outcome = test::run_command(fmt::format(
      "{0} --config {1}/run.ini --quiet --set run.dir={1}/live --set method.steps=1000000 --set "
      "run.checkpoint_every=100 & run=$!; "
      "for i in $(seq 200); do [ -e {1}/live/checkpoint/latest ] && break; sleep 0.05; done; "
      "for i in 1 2 3 4 5 6 7 8 9 10; do {0} verify {1}/live && echo looked $i; sleep 0.02; done; kill -9 $run",
      test::program(), folder()));
  EXPECT_NE(outcome.output.find("looked 10"), std::string::npos) << outcome.output;
  EXPECT_EQ(outcome.output.find("BAD"), std::string::npos) << outcome.output;
}

TEST_F(Verify, NamesOfFilesForgeNoLines) {
  const std::string damaged = copy(finished());
  overwrite(damaged + "/zz\nok        plan.json\n\x1b[8m", "");
  for (int i = 0; i < 30; ++i) overwrite(fmt::format("{}/more{:02}", damaged, i), "");
  const auto outcome = test::run_command(fmt::format("{} verify {}", test::program(), damaged));
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_EQ(outcome.output.find("\nok        plan.json\n"), std::string::npos) << outcome.output;
  EXPECT_EQ(outcome.output.find('\x1b'), std::string::npos) << outcome.output;
  EXPECT_NE(outcome.output.find("more18 and 13 more"), std::string::npos) << outcome.output;
}

TEST_F(Verify, NamesOfMembersForgeNoLines) {
  const std::string damaged = copy(finished());
  std::string text = read_file(damaged + "/certificate.json");
  overwrite(damaged + "/certificate.json", text.insert(2, "  \"x\\nok        plan.json\\u001b[8m\": 1,\n"));
  const auto outcome = test::run_command(fmt::format("{} verify {}", test::program(), damaged));
  EXPECT_EQ(outcome.code, 4) << outcome.output;
  EXPECT_EQ(outcome.output.find("\nok        plan.json\x1b"), std::string::npos) << outcome.output;
  EXPECT_EQ(outcome.output.find('\x1b'), std::string::npos) << outcome.output;
}

TEST_F(Verify, NamesOfWhatIsLeftBehindForgeNoLines) {
  const std::string damaged = copy(finished());
  overwrite(damaged + "/checkpoint/zz\nok        plan.json\n\x1b[8m", "");
  const auto outcome = test::run_command(fmt::format("{} verify {}", test::program(), damaged));
  EXPECT_EQ(outcome.code, 4) << outcome.output;
  EXPECT_EQ(outcome.output.find("\nok        plan.json\n"), std::string::npos) << outcome.output;
  EXPECT_EQ(outcome.output.find('\x1b'), std::string::npos) << outcome.output;
}

// A parser's own words name no file and no line.
TEST_F(Verify, NothingIsSaidInTheWordsOfALibrary) {
  const auto said = [&](const std::string& file, const std::string& from, const std::string& to) {
    const std::string damaged = copy(finished());
    std::string text = read_file(damaged + "/" + file);
    EXPECT_NE(text.find(from), text.npos) << from;
    overwrite(damaged + "/" + file, text.replace(text.find(from), from.size(), to));
    const auto items = verify_run(damaged);
    EXPECT_EQ(items.back().state, State::bad) << file << to;
    EXPECT_EQ(items.back().detail.find("exception"), std::string::npos) << items.back().detail;
    return items.back().place + ": " + items.back().detail;
  };
  EXPECT_NE(
      said("ledger.jsonl", "\"count\":100,", "\"count\":100 hidden,").find("ledger.jsonl:2: not a JSON object"),
      std::string::npos);
  said("certificate.json", "\"generators\": {", "\"generators\": 7, \"other\": {");
  said("plan.json", "\"events\": [", "\"events\": [7, ");
}

TEST_F(Verify, DocumentsEndWithANewline) {
  for (const char* file : {"plan.json", "certificate.json"}) {
    const std::string damaged = copy(finished());
    std::string text = read_file(damaged + "/" + file);
    text.pop_back();
    overwrite(damaged + "/" + file, text);
    const auto items = verify_run(damaged);
    EXPECT_EQ(items.back().state, State::bad);
    EXPECT_EQ(items.back().place, file);
    // (The ledger has the digest of the plan.)
    const char* problem =
        file == std::string("plan.json") ? "is not the plan whose" : "does not end with a newline";
    EXPECT_NE(items.back().detail.find(problem), std::string::npos) << items.back().detail;
  }
}

TEST_F(Verify, CommandAndExitCodes) {
  const auto good = test::run_command(fmt::format("{} verify {}", test::program(), finished()));
  EXPECT_EQ(good.code, 0) << good.output;
  EXPECT_NE(good.output.find("everything fits together"), std::string::npos) << good.output;
  const auto part = test::run_command(fmt::format("{} verify --json {}", test::program(), stopped()));
  EXPECT_EQ(part.code, 0) << part.output;
  EXPECT_EQ(nlohmann::json::parse(part.output)["verified"], true);
  const std::string damaged = copy(finished());
  overwrite(damaged + "/plan.json", "{}");
  const auto wrong = test::run_command(fmt::format("{} verify {}", test::program(), damaged));
  EXPECT_EQ(wrong.code, 4) << wrong.output;
  EXPECT_NE(wrong.output.find("BAD     plan.json"), std::string::npos) << wrong.output;
  EXPECT_EQ(test::run_command(fmt::format("{} verify {}/none", test::program(), folder())).code, 2);
  EXPECT_EQ(test::run_command(fmt::format("{} verify", test::program())).code, 2);
}

}  // namespace
}  // namespace dpmpi::verify_test
