#include "privacy/events/ledger.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <sys/resource.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "core/files/digest.hpp"
#include "core/numbers/random.hpp"

namespace dpmpi::ledger_test {
namespace {

namespace fs = std::filesystem;

// A fresh directory that goes away at the end of the test.
class LedgerFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "dpmpi-ledger-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    path_ = directory_ / "ledger.jsonl";
  }
  void TearDown() override { fs::remove_all(directory_); }

  std::string bytes() const {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void overwrite(const std::string& text) const { std::ofstream(path_, std::ios::binary) << text; }

  // Header and three events in two appends.
  void write_example() const {
    Ledger ledger = Ledger::create(path_, {Adjacency::replace_one, 60000}, R"("method":"dp_sgd")");
    ledger.append(
        std::vector<LedgerEntry>{{{Gaussian{2}, 1}, R"("step":0)"}, {{PoissonGaussian{0.01, 1.1}, 50}, ""}});
    ledger.append(std::vector<LedgerEntry>{{{NonPrivate{}, 1}, R"("reason":"seeded")"}});
  }

  fs::path directory_, path_;
};

/// SHA-256 of the last line but one.
std::string head_of(const std::string& text) {
  const std::size_t last = text.rfind('\n', text.size() - 2), before = text.rfind('\n', last - 1);
  return sha256(std::string_view(text).substr(before + 1, last - before - 1));
}

template <class F>
std::string message_of(F f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST_F(LedgerFile, LinesAreChained) {
  write_example();
  std::istringstream in(bytes());
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0], R"({"ledger":1,"adjacency":"replace_one","n":60000,"method":"dp_sgd"})");
  EXPECT_EQ(lines[1], fmt::format(R"({{"event":"gaussian","noise_multiplier":2,"count":1,"step":0,"prev":"{}"}})",
                                  sha256(lines[0])));
  EXPECT_NE(lines[3].find(sha256(lines[2])), std::string::npos);
}

TEST_F(LedgerFile, OpenGoesOnWhereItEnded) {
  write_example();
  {
    Ledger ledger = Ledger::open(path_);
    EXPECT_EQ(ledger.header().adjacency, Adjacency::replace_one);
    EXPECT_EQ(ledger.header().n, 60000u);
    EXPECT_EQ(ledger.events(),
              (std::vector<Event>{{Gaussian{2}, 1}, {PoissonGaussian{0.01, 1.1}, 50}, {NonPrivate{}, 1}}));
    EXPECT_EQ(ledger.lines().size(), 4u);
    EXPECT_EQ(ledger.head(), sha256(ledger.lines().back()));
    ledger.append(std::vector<LedgerEntry>{{{Gaussian{3}, 2}, ""}});
  }
  const LedgerCheck check = verify_ledger(path_);
  EXPECT_EQ(check.bad_line, 0u) << check.problem;
  EXPECT_EQ(check.lines, 5u);
}

TEST_F(LedgerFile, BytesDoNotDependOnHowLinesAreAppended) {
  write_example();
  const std::string once = bytes();
  fs::remove(path_);
  Ledger ledger = Ledger::create(path_, {Adjacency::replace_one, 60000}, R"("method":"dp_sgd")");
  ledger.append(std::vector<LedgerEntry>{{{Gaussian{2}, 1}, R"("step":0)"},
                                         {{PoissonGaussian{0.01, 1.1}, 50}, ""},
                                         {{NonPrivate{}, 1}, R"("reason":"seeded")"}});
  EXPECT_EQ(bytes(), once);
}

TEST_F(LedgerFile, EveryTamperedByteIsFound) {
  write_example();
  const std::string good = bytes();
  const std::size_t last_line = good.rfind('\n', good.size() - 2) + 1;
  for (std::size_t i = 0; i < last_line; ++i) {  // a last line has no successor: see TheHeadGuardsTheEnd
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    overwrite(bad);
    const auto line =
        static_cast<std::uint64_t>(std::count(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(i), '\n'));
    const LedgerCheck check = verify_ledger(path_);
    EXPECT_TRUE(check.bad_line == line + 1 || check.bad_line == line + 2)
        << "byte " << i << " line " << check.bad_line;
    EXPECT_THROW(Ledger::open(path_), PrivacyError);
    EXPECT_EQ(bytes(), bad);  // a refused ledger is left as it is
  }
}

TEST_F(LedgerFile, RemovedSwappedAndRepeatedLinesAreFound) {
  write_example();
  std::istringstream in(bytes());
  std::vector<std::string> l;
  for (std::string line; std::getline(in, line);) l.push_back(line + "\n");
  const std::pair<std::string, std::uint64_t> cases[] = {
      {l[0] + l[2] + l[3], 2},        {l[0] + l[2] + l[1] + l[3], 2},
      {l[0] + l[1] + l[1] + l[2], 3}, {l[1] + l[2], 1},
      {l[0] + "\n" + l[1], 2},        {"", 1},
      {l[0] + l[1] + l[0] + l[2], 3}};
  for (const auto& [text, line] : cases) {
    overwrite(text);
    EXPECT_EQ(verify_ledger(path_).bad_line, line) << text;
    EXPECT_THROW(Ledger::open(path_), PrivacyError) << text;
  }
  overwrite(l[0] + l[2]);
  const std::string message = message_of([&] { Ledger::open(path_); });
  EXPECT_NE(message.find("ledger.jsonl:2"), std::string::npos) << message;
  EXPECT_NE(message.find("chain"), std::string::npos) << message;
}

TEST_F(LedgerFile, TheHeadGuardsTheEnd) {
  write_example();
  const std::string good = bytes();
  const std::string head = Ledger::open(path_).head();
  overwrite(good.substr(0, good.rfind('\n', good.size() - 2) + 1));
  EXPECT_EQ(verify_ledger(path_).bad_line, 0u);  // a shorter chain is a chain ...
  EXPECT_NE(Ledger::open(path_).head(), head);   // ... with another head
}

TEST_F(LedgerFile, AnInterruptedWriteIsCutOff) {
  write_example();
  const std::string good = bytes();
  const std::size_t two_lines = good.rfind('\n', good.size() - 2) + 1;
  for (std::size_t size = two_lines + 1; size < good.size(); size += 7) {
    overwrite(good.substr(0, size));
    EXPECT_EQ(verify_ledger(path_).bad_line, 4u);
    Ledger ledger = Ledger::open(path_);
    EXPECT_EQ(bytes(), good.substr(0, size)) << "opening changes nothing";
    EXPECT_EQ(ledger.events().size(), 2u);
    ledger.append(std::vector<LedgerEntry>{{{NonPrivate{}, 1}, R"("reason":"seeded")"}});
    EXPECT_EQ(bytes(), good);  // the replayed line is the line that was interrupted
  }
}

TEST_F(LedgerFile, NeverOverwritesAndNeverShares) {
  write_example();
  EXPECT_THROW(Ledger::create(path_, {}), DataError);
  const Ledger open = Ledger::open(path_);
  const std::string message = message_of([&] { Ledger::open(path_); });
  EXPECT_NE(message.find("another process"), std::string::npos) << message;
  EXPECT_THROW(Ledger::open(directory_ / "none.jsonl"), DataError);
  EXPECT_THROW(Ledger::create(directory_ / "no" / "such.jsonl", {}), DataError);
  EXPECT_THROW(verify_ledger(directory_ / "none.jsonl"), DataError);
}

TEST_F(LedgerFile, AForeignWriteIsNoticed) {
  write_example();
  Ledger ledger = Ledger::open(path_);
  std::ofstream(path_, std::ios::app) << "x";
  EXPECT_THROW(ledger.append(std::vector<LedgerEntry>{{{Gaussian{1}, 1}, ""}}), DataError);
}

TEST_F(LedgerFile, RefusesEventsOutOfRangeAndWritesNothing) {
  Ledger ledger = Ledger::create(path_, {});
  const std::string before = bytes();
  EXPECT_THROW(ledger.append(std::vector<LedgerEntry>{{{Gaussian{1}, 1}, ""}, {{Gaussian{0}, 1}, ""}}),
               PrivacyError);
  EXPECT_THROW(ledger.append(std::vector<LedgerEntry>{{{Gaussian{1}, 1}, R"("count":7)"}}), PrivacyError);
  EXPECT_EQ(bytes(), before);
  ledger.append(std::vector<LedgerEntry>{{{Gaussian{1}, 1}, ""}});
  EXPECT_EQ(ledger.events().size(), 1u);
}

// A file-size limit stands in for a full disk.
TEST_F(LedgerFile, AFullDiskStopsTheLedger) {
  write_example();
  Ledger ledger = Ledger::open(path_);
  const std::string before = bytes();
  rlimit old{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{before.size() + 30, old.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string message = message_of([&] { ledger.append(std::vector<LedgerEntry>{{{Gaussian{1}, 1}, ""}}); });
  setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, handler);
  EXPECT_NE(message.find("disk full"), std::string::npos) << message;
  EXPECT_EQ(ledger.events().size(), 3u);
  const std::vector<LedgerEntry> next{{{Gaussian{1}, 1}, ""}};
  EXPECT_THROW(ledger.append(next), DataError);  // closed for good ...
  { const Ledger gone = std::move(ledger); }
  Ledger again = Ledger::open(path_);  // ... until it is opened again
  EXPECT_EQ(bytes().size(), before.size() + 30);
  again.append(next);
  EXPECT_EQ(verify_ledger(path_).lines, 5u);
}

TEST(ReadEvents, ListsWithAndWithoutHeader) {
  std::istringstream plain(
      "{\"event\":\"gaussian\",\"noise_multiplier\":2,\"count\":1}\r\n\n"
      "{\"event\":\"gaussian\",\"noise_multiplier\":3,\"count\":4}");
  const EventList list = read_events(plain, "list");
  EXPECT_FALSE(list.header);
  EXPECT_EQ(list.events, (std::vector<Event>{{Gaussian{2}, 1}, {Gaussian{3}, 4}}));
  std::istringstream headed("{\"ledger\":1,\"adjacency\":\"replace_one\"}\n");
  EXPECT_EQ(read_events(headed, "list").header->adjacency, Adjacency::replace_one);
  std::istringstream empty("");
  EXPECT_TRUE(read_events(empty, "list").events.empty());
}

TEST(ReadEvents, ErrorsNameFileAndLine) {
  std::istringstream in("\n{\"event\":\"gaussian\",\"noise_multiplier\":2,\"count\":1}\n\n{\"event\":\"x\"}\n");
  const std::string message = message_of([&] { read_events(in, "list"); });
  EXPECT_EQ(message.find("list:4: "), 0u) << message;
}

TEST(ReadEvents, ErrorsDoNotQuoteWhatIsNoJson) {
  std::istringstream in("{\"event\":\"gaussian\",\"hidden text\n");
  const std::string message = message_of([&] { read_events(in, "list"); });
  EXPECT_EQ(message.find("list:1: not a JSON object (at byte "), 0u) << message;
  EXPECT_EQ(message.find("hidden"), message.npos) << message;
  EXPECT_EQ(message.find("exception"), message.npos) << message;
}

TEST(ReadEvents, ChecksChainsThatAreThere) {
  const std::string header = R"({"ledger":1,"adjacency":"add_remove"})";
  const auto line = [](const std::string& prev) {
    return R"({"event":"gaussian","noise_multiplier":2,"count":1)" +
           (prev.empty() ? "" : ",\"prev\":\"" + prev + "\"") + "}";
  };
  const std::string second = line(sha256(header)), third = line(sha256(second));
  const auto read = [](const std::string& text) {
    std::istringstream in(text);
    return message_of([&] { read_events(in, "list"); });
  };
  EXPECT_EQ(read(header + "\n" + second + "\n" + third + "\n"), "");
  EXPECT_EQ(read(header + "\n" + line("") + "\n" + line("") + "\n"), "");
  EXPECT_EQ(read(header + "\n" + second + "\n" + second + "\n").find("list:3: hash chain broken"), 0u);
  EXPECT_EQ(read(header + "\n" + second + "\n" + line("") + "\n").find("list:3: hash chain broken"), 0u);
  EXPECT_EQ(read(header + "\n" + line("") + "\n" + second + "\n").find("list:3: hash chain broken"), 0u);
}

// Lines that differ from earlier ones in steps and link only are read without being parsed: with the same result,
// and the same error, as if they were. Bytes of lines are changed at random, and the chain is made to fit.
TEST_F(LedgerFile, LinesLikeEarlierOnesAreReadAsIfParsed) {
  const std::string first = R"({"ledger":1,"adjacency":"replace_one"})";
  const std::vector<std::string> bodies = {
      R"({"event":"gaussian","noise_multiplier":2,"count":100,"steps":[0,99],"site":"gradient","clip":0.5)",
      R"({"event":"wor_gaussian","population":60000,"batch":600,"noise_multiplier":4,"count":7,"steps":[100,1099])",
      R"({"event":"gaussian","noise_multiplier":2,"count":100,"x":{"steps":[0,99]},"steps":[5,6],"s":",\"steps\":[1,2]")"};
  const std::string bytes = R"(0123456789-.,:"[]{}eE\ abfsteprv)";
  std::uint64_t errors = 0, read = 0;
  for (std::uint64_t trial = 0; trial < 6000; ++trial) {
    const PublicStream stream(trial, "changed lines");
    std::string text = first + "\n", head = sha256(first);
    const auto add = [&](const std::string& body, const std::string& link) {
      const std::string line = body + ",\"prev\":\"" + link + "\"}";
      text += line + "\n", head = sha256(line);
      return line;
    };
    for (const std::string& body : bodies) add(body, head);
    std::string body = bodies[trial % bodies.size()], link = head;
    for (std::uint64_t change = 0; change <= trial % 3; ++change) {
      const char to = bytes[stream.below(10 * change, bytes.size())];
      std::string& changed = trial % 11 == 0 ? link : body;
      const std::size_t at = stream.below(10 * change + 1, changed.size());
      trial % 2 == 0 ? changed.replace(at, 1, 1, to) : changed.insert(at, 1, to);
    }
    const std::string line = add(body, link);
    const auto all = [&] {
      std::istringstream in(text);
      return read_events(in, "list").events;
    };
    const auto parsed = [&] { return parse_event_line(line, "list:5"); };
    const std::string expected = message_of(parsed), found = message_of(all);
    if (!expected.empty()) {
      EXPECT_EQ(found, expected) << line;
      ++errors;
    } else if (parsed().prev != head_of(text)) {
      EXPECT_NE(found.find("hash chain broken"), std::string::npos) << line;
    } else {
      EXPECT_EQ(found, "") << line;
      EXPECT_TRUE(all().back() == std::get<Event>(parsed().content)) << line;
      ++read;
    }
  }
  EXPECT_GT(errors, 500u);
  EXPECT_GT(read, 500u);
}

// For audits: a ledger like any other, which nothing is left of however the process ends.
TEST_F(LedgerFile, InMemoryHasNoFile) {
  const auto files = [] {
    std::size_t count = 0;
    for (const char* folder : {"/dev/shm", "/tmp"})
      for (const auto& entry : fs::directory_iterator(folder))
        count += entry.path().filename().string().starts_with("dpmpi-audit");
    return count;
  };
  const std::size_t before = files();
  Ledger ledger = Ledger::in_memory({Adjacency::replace_one, 100, true});
  ledger.append(std::vector<LedgerEntry>{{{Gaussian{2}, 1}, R"("step":0)"}});
  ledger.append(std::vector<LedgerEntry>{{{Gaussian{2}, 3}, R"("step":1)"}});
  EXPECT_EQ(ledger.lines().size(), 3u);
  EXPECT_EQ(ledger.head(), sha256(ledger.lines().back()));
  EXPECT_EQ(ledger.events().back().count, 3u);
  EXPECT_EQ(files(), before);
  Ledger other = Ledger::in_memory({Adjacency::add_remove, 5});
  EXPECT_EQ(other.lines().size(), 1u);
}

}  // namespace
}  // namespace dpmpi::ledger_test
