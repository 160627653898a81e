// A run of three sites, each with jobs of its own: what it makes is what one job makes of the same blocks, and
// nothing that comes too late, twice or from elsewhere gets in.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "core/fault.hpp"
#include "core/files/digest.hpp"
#include "core/files/durable.hpp"
#include "data/synthetic/generate.hpp"
#include "run/certify/verify.hpp"
#include "run/directory/files.hpp"
#include "run/sites/exchanged.hpp"
#include "run/sites/secret_file.hpp"
#include "run/sites/sites.hpp"
#include "run/train/train.hpp"
#include "support/data_files.hpp"
#include "support/process.hpp"
#include "support/programs.hpp"
#include "support/text.hpp"

namespace dpmpi::run_of_sites_test {
namespace {

namespace fs = std::filesystem;
using test::contains;

template <class Act>
std::string refusal(Act act) {
  try {
    act();
  } catch (const Error& e) {
    return e.what();
  }
  return "accepted";
}

class Sites : public ::testing::Test {
 protected:
  Sites() {
    for (int s = 1; s <= 3; ++s) {
      GenerateOptions options;
      options.records = 300 + 50 * s, options.eval_records = s == 1 ? 200 : 0, options.features = 5,
      options.seed = s;
      options.output = path(fmt::format("{}.csv", s)), options.eval_output = path("eval.csv");
      generate(options);
    }
    write_config("batch = 200\nsteps = 5");
  }
  ~Sites() override { set_fault_hook(nullptr); }

  std::string path(const std::string& name) const { return folder_.file(name); }
  void write_config(const std::string& method) const {
    folder_.write("base.ini",
                  "[data]\nshards = 1.csv,2.csv,3.csv\neval = eval.csv\nheader = yes\nblocks = 6\n"
                  "[privacy]\nseed = 7\nnoise_multiplier = 1.5\ndelta = 1e-5\n"
                  "[report]\nprogress = none\neval_every = 2\n[method]\n" +
                      method + "\n");
  }
  RunConfig config(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> settings = settings_;
    settings.insert(settings.end(), more.begin(), more.end());
    return RunConfig(path("base.ini"), settings);
  }
  /// Keys and files of all sites, and a run that waits for their parts of the first round.
  void open(const std::string& run = "run") const {
    std::vector<std::string> joined;
    for (int s = 1; s <= 3; ++s) {
      joined.push_back(path(fmt::format("{}.{}.join", run, s)));
      join_run(config(), s, key(run, s), joined.back());
    }
    open_run_of_sites(config({"run.dir=" + path(run)}), joined);
  }
  std::string key(const std::string& run, int site) const { return path(fmt::format("{}.{}.key", run, site)); }
  std::string round(const std::string& run = "run") const { return path(run) + "/sites/round"; }
  /// One site's job, of a folder in which the other sites' files are not.
  std::string step(int site, const std::string& run = "run", const std::string& name = "part") const {
    const std::string part = path(fmt::format("{}.{}.{}", run, site, name));
    const test::Folder own(path(fmt::format("site-{}", site)));
    for (const std::string& file : {fmt::format("{}.csv", site), std::string("base.ini")})
      fs::copy_file(path(file), own.file(file));
    const RunConfig config(own.file("base.ini"), settings_);
    step_at_site(Communicator::alone(), config, {key(run, site), round(run), part});
    return part;
  }
  std::vector<std::string> steps(const std::vector<int>& sites = {1, 2, 3}, const std::string& run = "run") const {
    std::vector<std::string> parts;
    for (const int site : sites) parts.push_back(step(site, run));
    return parts;
  }
  void change_a_record(const std::string& name) const {
    std::string table = dpmpi::read_file(path(name));
    char& digit = table.at(table.find_last_of('.') + 1);
    digit = digit == '1' ? '2' : '1';
    folder_.write(name, table);
  }
  void combine(const std::vector<std::string>& parts, const std::string& run = "run") const {
    combine_round(path(run), parts, true);
  }
  void finish(const std::string& run = "run") const {
    while (fs::exists(round(run))) combine(steps({1, 2, 3}, run), run);
  }
  void train_as_one_job(const std::string& run = "one") const {
    const RunConfig whole = config({"run.dir=" + path(run)});
    ASSERT_EQ(train(Communicator::alone(), whole, {.quiet = true}), ExitCode::done);
  }
  void expect_same(const std::string& run, const std::string& other) const {
    for (const char* file : {"model.safetensors", "ledger.jsonl", "metrics.jsonl", "certificate.json", "plan.json"})
      EXPECT_EQ(dpmpi::read_file(path(run) + "/" + file), dpmpi::read_file(path(other) + "/" + file)) << file;
  }
  std::string model(const std::string& run) const { return dpmpi::read_file(path(run) + "/model.safetensors"); }

  test::Folder folder_;
  std::vector<std::string> settings_;
};

TEST_F(Sites, ThreeJobsMakeTheBytesOfOne) {
  train_as_one_job();
  open();
  finish();
  expect_same("one", "run");
  EXPECT_FALSE(fs::exists(path("run") + "/checkpoint/key"));
  EXPECT_FALSE(fs::exists(path("run") + "/sites/key"));
}

// Momentum, clips that follow, correlated noise: state that goes from round to round.
TEST_F(Sites, StateThatStepsLeaveGoesFromRoundToRound) {
  const std::vector<std::string> all{"batch = 200\nsteps = 3\noptimizer = adam\nsampling = full",
                                     "batch = 200\nsteps = 3\nclip_quantile = 0.5\nsampling = cyclic",
                                     "batch = 200\nsteps = 3\nsampling = wor",
                                     "name = dp-ftrl\nbatch = 300\npasses = 1"};
  for (std::size_t i = 0; i < all.size(); ++i) {
    write_config(all[i]);
    settings_ = {contains(all[i], "wor") ? "privacy.adjacency=replace_one" : "privacy.adjacency=add_remove"};
    const std::string one = fmt::format("one{}", i), run = fmt::format("run{}", i);
    train_as_one_job(one);
    open(run);
    finish(run);
    expect_same(one, run);
  }
}

TEST_F(Sites, AFinishedRunIsVerifiedFromItsFilesAloneAndTakesNoRoundMore) {
  open();
  const std::vector<std::string> parts = steps();
  finish();
  for (const VerifiedItem& item : verify_run(path("run")))
    EXPECT_NE(item.state, VerifiedItem::State::bad) << item.place << ": " << item.detail;
  EXPECT_TRUE(contains(refusal([&] { combine(parts); }), "is finished"));
  EXPECT_TRUE(contains(refusal([&] { repeat_round(path("run"), {}); }), "is finished"));
}

// What is promised is spent when the last round is combined, and not before.
TEST_F(Sites, TheLastRoundIsWhereTheLedgerEnds) {
  open();
  for (int r = 1; r <= 5; ++r) {
    EXPECT_EQ(RoundFile::read(round()).round, static_cast<std::uint64_t>(r));
    EXPECT_FALSE(fs::exists(path("run") + "/certificate.json")) << r;
    combine(steps());
  }
  EXPECT_TRUE(fs::exists(path("run") + "/certificate.json"));
  EXPECT_FALSE(fs::exists(round()));
}

TEST_F(Sites, ASiteThatIsGoneCostsARepeatAndItsPartDoesNotComeInLater) {
  open();
  combine(steps());
  std::vector<std::string> late;
  for (const int site : {1, 2, 3}) late.push_back(step(site, "run", "late"));
  EXPECT_TRUE(contains(refusal([&] { combine({late[0], late[1]}); }), "round 2 has no part of site 3"));
  repeat_round(path("run"), {3});
  EXPECT_TRUE(contains(refusal([&] { combine(late); }), "for another round than the one that is open"));
  EXPECT_TRUE(contains(refusal([&] { step(3); }), "site 3 is left out of this file of round 2"));
  const std::vector<std::string> parts = steps({1, 2});
  EXPECT_TRUE(contains(refusal([&] { combine({parts[0], late[1]}); }), "run.2.late is for another round"));
  combine(parts);
  EXPECT_TRUE(contains(refusal([&] { combine(late); }), "for another round"));
  repeat_round(path("run"), {});
  finish();
  for (const VerifiedItem& item : verify_run(path("run")))
    EXPECT_NE(item.state, VerifiedItem::State::bad) << item.place << ": " << item.detail;
}

TEST_F(Sites, ARepeatWithAllSitesChangesNoByteOfTheResult) {
  train_as_one_job();
  open();
  combine(steps());
  steps({1, 2});
  repeat_round(path("run"), {});
  finish();
  expect_same("one", "run");
}

TEST_F(Sites, TheFirstRoundAndASumOfOneAreRefused) {
  open();
  EXPECT_TRUE(contains(refusal([&] { repeat_round(path("run"), {2}); }), "the first round fixes which records"));
  combine(steps());
  EXPECT_TRUE(contains(refusal([&] {
                         repeat_round(path("run"), {1, 2});
                       }),
                       "a sum of one site is that site's own"));
  EXPECT_TRUE(contains(refusal([&] { repeat_round(path("run"), {4}); }), "there are 3 sites"));
}

// The same noise on the sum with and without a site would give the site's own away.
TEST_F(Sites, ARoundIsCombinedFromOneSetOfPartsHoweverOftenItIsKilled) {
  train_as_one_job();
  open();
  combine(steps());
  const std::vector<std::string> parts = steps();
  set_fault_hook([](const char* where, const char*) {
    if (std::string(where) == "release") throw std::runtime_error("killed");
    return 0;
  });
  EXPECT_THROW(combine(parts), std::runtime_error);
  set_fault_hook(nullptr);
  EXPECT_TRUE(contains(refusal([&] { repeat_round(path("run"), {3}); }), "round 2 was combined"));
  combine(parts);
  finish();
  expect_same("one", "run");
}

TEST_F(Sites, AKillAtAnyPointOfARoundChangesNoByte) {
  write_config("batch = 200\nsteps = 3");
  train_as_one_job();
  static std::string point;
  static int left;
  for (const char* where :
       {"parts", "step", "reserved", "reduce", "release", "save", "renamed", "finish", "wipe"}) {
    const std::string run = fmt::format("run-{}", where);
    open(run);
    point = where;
    for (int r = 1; r <= 3; ++r) {
      const std::vector<std::string> parts = steps({1, 2, 3}, run);
      left = 1;
      set_fault_hook([](const char* at, const char*) {
        if (at == point && left-- == 1) throw std::runtime_error("killed");
        return 0;
      });
      const std::string first = refusal([&] {
        try {
          combine(parts, run);
        } catch (const std::runtime_error& e) {
          if (std::string(e.what()) != "killed") throw;
          throw DataError("killed");
        }
      });
      set_fault_hook(nullptr);
      if (first == "accepted") continue;
      ASSERT_EQ(first, "killed") << where;
      const std::string again = refusal([&] { combine(parts, run); });
      EXPECT_TRUE(again == "accepted" || (r == 3 && contains(again, "is finished"))) << where << ": " << again;
    }
    EXPECT_FALSE(fs::exists(round(run))) << where;
    expect_same("one", run);
  }
}

TEST_F(Sites, NoOtherJobGoesOnWithTheRun) {
  open();
  combine(steps());
  const RunConfig config(path("run") + "/config.ini", {}, ConfigOf::run);
  const auto resume = [&] { train(Communicator::alone(), config, {.resume = path("run"), .quiet = true}); };
  EXPECT_TRUE(contains(refusal(resume), "is a run of sites"));
}

TEST_F(Sites, ASiteHandsOverOnePartForAFileAndNoneForARoundThatIsOver) {
  open();
  const std::string first = dpmpi::read_file(step(1)), old = dpmpi::read_file(round());
  EXPECT_EQ(dpmpi::read_file(step(1)), first) << "again, and the same";
  const std::string before = dpmpi::read_file(path("1.csv"));
  change_a_record("1.csv");
  EXPECT_TRUE(contains(refusal([&] { step(1); }), "has handed over another part for this file of round 1"));
  folder_.write("1.csv", before);
  combine(steps());
  step(1);
  fs::remove(round());
  std::ofstream(round(), std::ios::binary) << old;
  EXPECT_TRUE(contains(refusal([&] { step(1); }), "round 1 is over"));
}

// The coordinator may send anything: a state of other lengths would be read beyond its end.
// Both wrote it before anything was done that it would have told of.
TEST_F(Sites, ALineThatAKillHasCutOffCountsForNothing) {
  open();
  combine(steps());
  const std::vector<std::string> parts = steps();
  const std::string rounds = path("run") + "/sites/rounds.jsonl", handed = key("run", 1) + ".rounds";
  for (const std::string& file : {rounds, handed}) std::ofstream(file, std::ios::app) << R"({"round":9,"ro)";
  step(1);
  combine(parts);
  steps();
  EXPECT_FALSE(contains(dpmpi::read_file(rounds) + dpmpi::read_file(handed), R"("round":9)"));
  EXPECT_TRUE(contains(dpmpi::read_file(rounds), R"("round":2)"));
  EXPECT_TRUE(contains(dpmpi::read_file(handed), R"("round":3)"));
}

TEST_F(Sites, AStateOfOtherLengthsIsRefused) {
  open();
  const SecretKey coordinator = read_secret(path("run") + "/sites/key");
  const RoundFile sent = RoundFile::read(round());
  const auto send = [&](const std::string& state) {
    RoundFile forged = sent;
    forged.state = state;
    forged.seals.clear();
    for (const std::uint32_t site : forged.present)
      forged.put_seal(coordinator, site, std::string(32 * forged.keys_of_site(), 'k'));
    fs::remove(round());
    std::ofstream(round(), std::ios::binary) << forged.text();
    return refusal([&] { step(1); });
  };
  EXPECT_EQ(send(sent.state), "accepted");
  for (const std::vector<float>& x : {std::vector<float>(5), std::vector<float>(7), std::vector<float>()}) {
    Archive state;
    std::vector<float> copy = x;
    state.field("x", copy);
    EXPECT_TRUE(contains(send(state.bytes()), "is not that of this method")) << x.size();
  }
  EXPECT_TRUE(contains(send(""), "is not that of this method"));
  EXPECT_TRUE(contains(send(sent.state + "x"), "is not that of this method"));
}

TEST_F(Sites, RecordsThatChangedBetweenRoundsAreRefused) {
  open();
  combine(steps());
  change_a_record("2.csv");
  EXPECT_TRUE(contains(refusal([&] { combine(steps()); }), "the records of site 2 are not those"));
}

TEST_F(Sites, ForeignFilesAreRefusedByName) {
  open();
  open("other");
  const std::vector<std::string> parts = steps(), others = steps({1, 2, 3}, "other");
  EXPECT_TRUE(contains(refusal([&] {
                         combine({parts[0], parts[1], others[2]});
                       }),
                       "other.3.part is for another round"));
  EXPECT_TRUE(contains(refusal([&] {
                         combine({parts[0], parts[1], parts[1]});
                       }),
                       "a part of site 2 is given twice"));
  fs::copy_file(key("other", 1), path("stranger"));
  const auto as_stranger = [&] {
    step_at_site(Communicator::alone(), config(), {path("stranger"), round(), path("x")});
  };
  EXPECT_TRUE(contains(refusal(as_stranger), "is not among those of the run"));
  settings_ = {"method.clip=2"};
  EXPECT_TRUE(contains(refusal([&] { step(1); }), "is of a run with another config"));
  EXPECT_FALSE(fs::exists(path("x")));
  EXPECT_FALSE(fs::exists(path("run") + "/ledger.jsonl")) << "nothing was paid for";
}

TEST_F(Sites, AKeyThatOthersMayReadIsRefused) {
  open();
  fs::permissions(key("run", 1), fs::perms::group_read, fs::perm_options::add);
  EXPECT_TRUE(contains(refusal([&] { step(1); }), "may be read by others"));
  EXPECT_TRUE(contains(refusal([&] { join_run(config(), 1, key("run", 2), path("again")); }), "is there"));
}

TEST_F(Sites, WrongJoinFilesAreNamedAllAtOnce) {
  std::vector<std::string> joined;
  for (int s = 1; s <= 2; ++s) {
    joined.push_back(path(fmt::format("{}.join", s)));
    join_run(config(), s, path(fmt::format("{}.key", s)), joined.back());
  }
  joined.push_back(joined.back());
  joined.push_back(path("other.join"));
  join_run(config({"method.clip=3"}), 3, path("3.key"), joined.back());
  const std::string said = refusal([&] { open_run_of_sites(config({"run.dir=" + path("run")}), joined); });
  for (const char* part : {"site 2 has joined twice", "site 3 joined with other settings", "site 3 has not joined"})
    EXPECT_TRUE(contains(said, part)) << said;
  EXPECT_FALSE(fs::exists(path("run")));
}

TEST_F(Sites, WhatSitesCannotDoIsSaidAllAtOnce) {
  settings_ = {"privacy.trust=cluster", "data.test_share=0.2"};
  const std::string said = refusal([&] { join_run(config(), 1, path("k"), path("j")); });
  for (const char* part : {"privacy.trust", "data.test_share"}) EXPECT_TRUE(contains(said, part)) << said;
  settings_ = {};
  write_config("name = random-search\ncandidates = 9\nblock = 3");
  std::vector<std::string> joined;
  const std::string method = refusal([&] {
    for (int s = 1; s <= 3; ++s) {
      joined.push_back(path(fmt::format("z{}.join", s)));
      join_run(config(), s, path(fmt::format("z{}.key", s)), joined.back());
    }
    open_run_of_sites(config({"run.dir=" + path("z")}), joined);
  });
  EXPECT_TRUE(contains(method, "method.name = random-search: sites can make a run in which every step is one sum"))
      << method;
}

// Both would add the same noise to the sums of different sites.
TEST_F(Sites, ACopyOfTheRunReadsNoSum) {
  open();
  const std::vector<std::string> parts = steps();
  fs::copy(path("run"), path("copy"), fs::copy_options::recursive);
  EXPECT_TRUE(contains(refusal([&] { combine(parts, "copy"); }), "is a copy"));
  combine(parts);
  fs::copy(path("run"), path("later"), fs::copy_options::recursive);
  EXPECT_TRUE(contains(refusal([&] { repeat_round(path("later"), {3}); }), "is a copy"));
  finish();
  EXPECT_FALSE(fs::exists(path("run") + "/sites/place"));
}

// Two parts behind one mask would give their difference away, by whatever name the key is called.
TEST_F(Sites, AKeyHasOneMemory) {
  open();
  step(1);
  change_a_record("1.csv");
  fs::create_symlink(key("run", 1), key("link", 1));
  fs::create_directories(path("link") + "/sites");
  fs::copy_file(round(), round("link"));
  EXPECT_TRUE(contains(refusal([&] { step(1, "link"); }), "another part for this file"));
  fs::rename(key("run", 1) + ".rounds", path("kept"));
  EXPECT_TRUE(contains(refusal([&] { step(1); }), "what this key has handed over. Put it back"));
}

// The keys that all sites compare in the first round stay those of the run.
TEST_F(Sites, AKeyThatIsExchangedAfterTheFirstRoundIsRefused) {
  open();
  combine(steps());
  const SecretKey coordinator = read_secret(path("run") + "/sites/key");
  RoundFile forged = RoundFile::read(round());
  forged.sites[2] = public_key_of(SecretKey::from_system());
  forged.seals.clear();
  for (const std::uint32_t site : forged.present)
    forged.put_seal(coordinator, site, std::string(32 * forged.keys_of_site(), 'k'));
  fs::remove(round());
  std::ofstream(round(), std::ios::binary) << forged.text();
  EXPECT_TRUE(contains(refusal([&] { step(1); }), "in whose first round this key had no part"));
}

// Of a point of low order everybody knows what is agreed on.
TEST_F(Sites, AKeyOfLowOrderIsToldByItsFile) {
  std::vector<std::string> joined;
  for (int s = 1; s <= 3; ++s) {
    joined.push_back(path(fmt::format("{}.join", s)));
    join_run(config(), s, path(fmt::format("{}.key", s)), joined.back());
  }
  auto low = nlohmann::ordered_json::parse(dpmpi::read_file(joined[1]));
  low["key"] = std::string(64, '0');
  std::ofstream(joined[1], std::ios::trunc) << low.dump();
  const std::string said = refusal([&] { open_run_of_sites(config({"run.dir=" + path("run")}), joined); });
  EXPECT_TRUE(contains(said, joined[1] + ": ")) << said;
  EXPECT_TRUE(contains(said, "is no public key with which a key can be agreed on")) << said;
  EXPECT_FALSE(fs::exists(path("run")));
}

TEST_F(Sites, AKeyTakesOneStepAtATime) {
  open();
  DurableFile other(key("run", 1) + ".rounds", O_RDWR, 0);  // another process, as far as the lock can tell
  bool unsupported = false;
  ASSERT_TRUE(other.lock(unsupported));
  if (unsupported) GTEST_SKIP() << "this file system has no locks";
  EXPECT_TRUE(contains(refusal([&] { step(1); }), "another dpmpi site step with this key has not ended"));
  other = DurableFile();
  step(1);
}

TEST_F(Sites, AJoinThatFailsLeavesNoKey) {
  EXPECT_NE(refusal([&] { join_run(config(), 1, path("new"), path("no/folder")); }), "accepted");
  EXPECT_FALSE(fs::exists(path("new")));
  join_run(config(), 1, path("new"), path("1.join"));
}

TEST_F(Sites, NoOutputTakesThePlaceOfAKey) {
  open();
  const std::string secret = dpmpi::read_file(key("run", 1));
  const auto step_into = [&](const std::string& output) {
    return refusal([&] { step_at_site(Communicator::alone(), config(), {key("run", 1), round(), output}); });
  };
  for (const std::string& output : {key("run", 1), key("run", 1) + ".rounds", round(), key("run", 2)})
    EXPECT_TRUE(contains(step_into(output), "choose another file")) << output;
  EXPECT_TRUE(contains(refusal([&] { join_run(config(), 1, path("new"), path("new")); }), "choose another file"));
  EXPECT_TRUE(contains(refusal([&] { join_run(config(), 1, path("new"), key("run", 3)); }), "choose another file"));
  EXPECT_EQ(dpmpi::read_file(key("run", 1)), secret);
  EXPECT_FALSE(fs::exists(path("new")));
}

// As its users type it, and the second site's job on two ranks.
TEST_F(Sites, ASiteMayHaveSeveralRanks) {
  open();
  const std::string part = dpmpi::read_file(step(2));
  std::ofstream(key("run", 2) + ".rounds", std::ios::trunc);  // as if it had handed nothing over
  const test::Outcome outcome =
      test::run_command(fmt::format("mpirun -n 2 {} site step --config {} --key {} --round {} --output {}",
                                    test::program(), path("base.ini"), key("run", 2), round(), path("ranks")));
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_TRUE(contains(outcome.output, "round 1 of 5, site 2 of 3")) << outcome.output;
  EXPECT_EQ(dpmpi::read_file(path("ranks")), part);
}

TEST_F(Sites, PersonsKeepTheirSlots) {
  for (int s = 1; s <= 3; ++s) {
    std::string table = "who,x,y\n";
    for (int i = 0; i < 400; ++i) table += fmt::format("p{},0.{},{}\n", i % 90, (i * 37 + s) % 100, i % 2);
    folder_.write(fmt::format("{}.csv", s), table);
  }
  settings_ = {"data.eval=", "data.person=who", "data.shard_records=100,100,100", "method.batch=60"};
  train_as_one_job();
  open();
  finish();
  expect_same("one", "run");
}

}  // namespace
}  // namespace dpmpi::run_of_sites_test
