// Runs that were forged with care: whoever changes a member of a file also makes everything fit that is a digest of
// it. verify finds every one of them, or has said beforehand that it checks no such member.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <sys/resource.h>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "core/files/digest.hpp"
#include "data/synthetic/generate.hpp"
#include "run/audit/audit.hpp"
#include "run/certify/certificate.hpp"
#include "run/certify/verify.hpp"
#include "run/directory/files.hpp"
#include "run/directory/safetensors.hpp"
#include "run/search/tuning_folder.hpp"
#include "run/train/train.hpp"
#include "support/process.hpp"
#include "support/programs.hpp"

namespace dpmpi::forgery_test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using Pointer = Json::json_pointer;
using State = VerifiedItem::State;

void overwrite(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

std::vector<Json> json_lines(const std::string& path) {
  std::vector<Json> lines;
  std::istringstream in(fs::exists(path) ? read_file(path) : "");
  for (std::string line; std::getline(in, line);) lines.push_back(Json::parse(line));
  return lines;
}

std::string text_of(const std::vector<Json>& lines) {
  std::string text;
  for (const Json& line : lines) text += line.dump() + "\n";
  return text;
}

std::string sized(const std::string& header) {
  const std::uint64_t size = header.size();
  return std::string(reinterpret_cast<const char*>(&size), sizeof size) + header;
}

/// The files of a finished run, in the order in which digests of one stand in the next.
struct Files {
  static constexpr const char* plan_file = "plan.json";
  static constexpr const char* ledger_file = "ledger.jsonl";
  static constexpr const char* training_file = "training_ledger.jsonl";
  static constexpr const char* metrics_file = "metrics.jsonl";
  static constexpr const char* certificate_file = "certificate.json";
  static constexpr const char* model_file = "model.safetensors";

  explicit Files(const std::string& run)
      : plan(Json::parse(read_file(run + "/plan.json"))),
        ledger(json_lines(run + "/ledger.jsonl")),
        trainings(json_lines(run + "/training_ledger.jsonl")),
        metrics(json_lines(run + "/metrics.jsonl")),
        certificate(Json::parse(read_file(run + "/certificate.json"))) {
    const std::string model = read_file(run + "/model.safetensors");
    std::uint64_t size = 0;
    std::memcpy(&size, model.data(), sizeof size);
    header = Json::parse(model.substr(sizeof size, size));
    tensors = model.substr(sizeof size + size);
  }

  /// Makes everything fit again behind a change. `changed`: the file, and the line of a ledger, that was changed:
  /// it stays as it is.
  void settle(const std::string& changed, std::size_t line = 0) {
    bool behind = false;
    const auto reached = [&](const char* file) { return behind = behind || changed == file; };
    if (reached(plan_file))
      for (auto* book : {&ledger, &trainings})
        if (!book->empty()) book->front()["plan"] = sha256(plan.dump(2) + "\n");
    if (reached(ledger_file)) {
      chain(ledger, changed == ledger_file ? line : 0);
      certificate["ledger_head"] = sha256(ledger.back().dump());
      certificate["data_commitment"] = ledger.front().value("data", Json());
    }
    if ((reached(training_file) || changed == plan_file) && !trainings.empty()) {
      chain(trainings, changed == training_file ? line : 0);
      certificate["training"]["ledger_head"] = sha256(trainings.back().dump());
      certificate["training"]["data_commitment"] = trainings.front().value("data", Json());
    }
    if (changed == plan_file) certificate["plan_digest"] = sha256(plan.dump(2) + "\n");
    if (reached(metrics_file)) certificate["metrics_digest"] = sha256(text_of(metrics));
    if (changed == model_file) {
      Json entries = header;
      entries.erase("__metadata__");
      const std::string digest = sha256(entries.dump() + tensors);
      if (certificate["model_digest"] == digest) return;  // it is the metadata that were changed
      certificate["model_digest"] = digest;
    }
    header["__metadata__"]["certificate"] = sha256(certificate.dump(2) + "\n");
  }

  void write(const std::string& run) const {
    overwrite(run + "/plan.json", plan.dump(2) + "\n");
    overwrite(run + "/ledger.jsonl", text_of(ledger));
    if (!trainings.empty()) overwrite(run + "/training_ledger.jsonl", text_of(trainings));
    overwrite(run + "/metrics.jsonl", text_of(metrics));
    overwrite(run + "/certificate.json", certificate.dump(2) + "\n");
    std::string text = header.dump();
    text.resize((text.size() + 7) / 8 * 8, ' ');
    overwrite(run + "/model.safetensors", sized(text) + tensors);
  }

  Json plan;
  std::vector<Json> ledger, trainings, metrics;
  Json certificate, header;
  std::string tensors;

 private:
  static void chain(std::vector<Json>& book, std::size_t from) {
    for (std::size_t i = from + 1; i < book.size(); ++i) book[i]["prev"] = sha256(book[i - 1].dump());
  }
};

/// Every value in it, and every member that holds more of them, once.
void each_place(const Json& value, const Pointer& at, const std::function<void(const Pointer&)>& use) {
  if (!at.empty()) use(at);
  if (value.is_object())
    for (const auto& [name, member] : value.items()) each_place(member, at / name, use);
  if (value.is_array())
    for (std::size_t i = 0; i < value.size(); ++i) each_place(value[i], at / i, use);
}

/// Another value of the same type; nothing: it has members.
std::optional<Json> flipped(const Json& value) {
  if (value.is_boolean()) return Json(!value.get<bool>());
  if (value.is_string()) {
    std::string text = value.get<std::string>();
    if (text.empty()) return Json("x");
    text.back() = text.back() == 'a' ? 'b' : 'a';
    return Json(text);
  }
  if (value.is_number_integer()) return Json(value.get<std::int64_t>() + 1);
  if (value.is_number_float()) return Json(value.get<double>() * 1.01 + 0.001);
  return {};
}

/// The same number in another writing; nothing: there is none that a reader could take for it.
std::optional<Json> rewritten(const Json& value) {
  if (value.is_number_integer()) return Json(value.get<double>());
  if (value.is_number_float() && value == 0.0) return Json(-0.0);
  return {};
}

/// "a.b.0" of "/a/b/0".
std::string dotted(const Pointer& at) {
  std::string name = at.to_string().substr(1);
  std::ranges::replace(name, '/', '.');
  return name;
}

/// What a verification said that it does not check: a file, and its members.
class Declared {
 public:
  explicit Declared(const std::vector<VerifiedItem>& items) {
    for (const VerifiedItem& item : items) {
      if (item.state != State::unchecked) continue;
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

struct Kind {
  std::string name, config;
};
void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

constexpr const char* budget = "[privacy]\nepsilon = 3\ndelta = 1e-4\naccountant = rdp\ntrust = cluster\n";
constexpr const char* replaced =
    "[privacy]\nepsilon = 3\ndelta = 1e-4\naccountant = rdp\ntrust = cluster\nadjacency = replace_one\n";

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all{
      {"dp_sgd", std::string("[method]\nbatch = 50\nsteps = 250\nmomentum = 0.5\n") + budget},
      {"dp_sgd_discrete",
       std::string("[method]\nbatch = 50\nsteps = 120\n") + budget + "noise = discrete_gaussian\n"},
      {"dp_ftrl", std::string("[method]\nname = dp-ftrl\nbatch = 50\npasses = 2\n") + budget},
      {"noiseless", "[method]\nbatch = 50\nsteps = 120\n[privacy]\nnoise = none\ndelta = 1e-4\n"},
      {"zo_hidden",
       "[method]\nname = zo-hidden\ndirections = 3\nsteps = 60\nwindow = 40\nshare = 0.5\nball = 0.3\n"
       "feature_bound = 1\n[privacy]\nnoise_multiplier = 40\ndelta = 1e-4\nadjacency = replace_one\n"
       "trust = cluster\n"},
      {"ht_glm",
       "[method]\nname = ht-glm\nbatch = 8\nphases = 3\n[privacy]\nnoise_multiplier = 1\ndelta = 1e-4\n"
       "trust = cluster\n"},
      {"ht_smooth",
       std::string("[objective]\nname = mean\n[method]\nname = ht-smooth\nmode = guarded\nrate = 1e-5\n"
                   "clip = 1\nhits = 20\nphases = 3\n") +
           replaced},
      {"random_stopping", std::string("[method]\nname = random-stopping\ngamma = 0.1\n") + replaced},
      {"tuned",
       std::string("[method]\nbatch = 50\nsteps = 9\n[tune]\ngamma = 0.3\nsearch = method.rate=0.1,1\n") + budget},
      {"auc",
       std::string("[objective]\nname = auc\nprior = 0.5\n[method]\nname = dp-sgda\nbatch = 50\nsteps = 90\n") +
           budget}};
  return all;
}

class ForgedRun : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
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
    fs::copy(finished_, damaged_, fs::copy_options::recursive);
  }

  static std::string bad(const std::vector<VerifiedItem>& items) {
    return items.back().state == State::bad ? items.back().place : "";
  }

  /// Of an honest run.
  void begin() {
    const auto items = verify_run(finished_);
    ASSERT_EQ(bad(items), "") << items.back().detail;
    declared_ = std::make_unique<Declared>(items);
    derived_ = std::make_unique<DerivedRun>(derive_run(finished_));
    files_ = std::make_unique<Files>(finished_);
    files_->settle(Files::plan_file);
    files_->write(damaged_);  // a forger's tools change nothing by themselves
    ASSERT_EQ(bad(verify_run(damaged_)), "");
  }

  void begin_with_first_kind() {
    configure(kinds().front().config);
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
    const std::string text = read_file(finished_ + "/" + file);
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
  std::unique_ptr<Declared> declared_;
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

class EveryKind : public ForgedRun, public ::testing::WithParamInterface<Kind> {};

TEST_P(EveryKind, EveryMemberOfEveryFileIsCheckedOrNamed) {
  configure(GetParam().config);
  ASSERT_NO_FATAL_FAILURE(run(folder_ + "/run.ini"));
  ASSERT_NO_FATAL_FAILURE(begin());
  flip_everything();
  EXPECT_GT(flips_, 200);
  EXPECT_LT(unnoticed_, 100);
}

INSTANTIATE_TEST_SUITE_P(Runs, EveryKind, ::testing::ValuesIn(kinds()),
                         [](const auto& kind) { return kind.param.name; });

// What was chosen, and its score, may be anything that fits, but they must be there.
TEST_F(ForgedRun, ATunedRunSaysWhatItChose) {
  for (const Kind& kind : kinds())
    if (kind.name == "tuned") configure(kind.config);
  ASSERT_NO_FATAL_FAILURE(run(folder_ + "/run.ini"));
  ASSERT_NO_FATAL_FAILURE(begin());
  const auto bad_after = [&](const std::function<void(Json&)>& change) {
    Files forged = *files_;
    change(forged.metrics.back());
    forged.settle(Files::metrics_file, forged.metrics.size() - 1);
    forged.write(damaged_);
    return bad(verify_run(damaged_, *derived_));
  };
  EXPECT_EQ(bad_after([](Json&) {}), "");
  EXPECT_EQ(bad_after([](Json& line) { line["method.score"] = 0.25; }), "");
  EXPECT_EQ(bad_after([](Json& line) { line.erase("tuned"); }), "metrics.jsonl:2");
  EXPECT_EQ(bad_after([](Json& line) { line.erase("method.score"); }), "metrics.jsonl:2");
  EXPECT_EQ(bad_after([](Json& line) { line.erase("tuned"), line.erase("method.score"); }), "metrics.jsonl:2");
  EXPECT_EQ(bad_after([](Json& line) { line["method.score"] = nullptr; }), "metrics.jsonl:2");
}

// ---- Runs with more files

TEST_F(ForgedRun, MembersOfASearchThatTrainsOnASecondSet) {
  const test::TuningFolder here{folder_ + "/search"};
  here.make();
  ASSERT_NO_FATAL_FAILURE(run(here.config()));
  ASSERT_NO_FATAL_FAILURE(begin());
  flip_everything();
  flip_settings("trainer.ini");
  EXPECT_GT(flips_, 300);
}

TEST_F(ForgedRun, MembersOfAnAuditThatTheCertificateQuotes) {
  configure(kinds().front().config);
  const std::string config = folder_ + "/run.ini", result = folder_ + "/result.json";
  overwrite(result, audit(Communicator::alone(), config, {"audit.game=worst_case", "audit.runs=64"}, true).json());
  ASSERT_NO_FATAL_FAILURE(run(config, {"audit.result=" + result}));
  ASSERT_NO_FATAL_FAILURE(begin());
  ASSERT_TRUE(files_->certificate.contains("audit"));
  flip_all(Files::certificate_file, [](Files& f) -> Json& { return f.certificate; });
  files_->write(damaged_);
  Json report = Json::parse(read_file(finished_ + "/audit.json"));
  each_place(report, Pointer(), [&](const Pointer& at) {
    const auto other = flipped(report[at]);
    if (!other) return;
    Json forged = report;
    forged[at] = *other;
    overwrite(damaged_ + "/audit.json", forged.dump(2) + "\n");
    EXPECT_TRUE(!bad(verify_run(damaged_, *derived_)).empty() || declared_->has("audit.json", dotted(at)))
        << dotted(at);
  });
}

// ---- Ledgers that were written in other words

class RewrittenLedger : public ForgedRun {
 protected:
  void SetUp() override {
    ForgedRun::SetUp();
    begin_with_first_kind();
    files_->write(damaged_);
    std::istringstream in(read_file(finished_ + "/ledger.jsonl"));
    for (std::string line; std::getline(in, line);) lines_.push_back(line);
  }

  // Where verify finds fault after that change of one line, with everything behind it settled.
  std::string bad_after(std::size_t line, const std::string& from, const std::string& to) {
    auto lines = lines_;
    const std::size_t at = lines[line].find(from);
    EXPECT_NE(at, std::string::npos) << from;
    if (at == std::string::npos) return "";
    lines[line].replace(at, from.size(), to);
    std::string text = lines[0] + "\n";
    for (std::size_t i = 1; i < lines.size(); ++i) {
      const std::size_t link = lines[i].find(R"("prev":")");
      if (i > line)
        lines[i].replace(link, lines[i].size() - link, fmt::format(R"("prev":"{}"}})", sha256(lines[i - 1])));
      text += lines[i] + "\n";
    }
    Files forged = *files_;
    forged.certificate["ledger_head"] = sha256(lines.back());
    forged.header["__metadata__"]["certificate"] = sha256(forged.certificate.dump(2) + "\n");
    forged.write(damaged_);
    overwrite(damaged_ + "/ledger.jsonl", text);
    return bad(verify_run(damaged_, *derived_));
  }

  std::vector<std::string> lines_;
};

// Every value is what it was, and the chain holds: but the program writes nothing like that.
TEST_F(RewrittenLedger, NumbersBlanksAndEscapesHaveOneWayEach) {
  EXPECT_EQ(bad_after(1, "a", "a"), "") << "the forger's tools change nothing by themselves";
  const std::vector<std::pair<std::string, std::string>> changes = {
      {R"("sampling_rate":0.1)", R"("sampling_rate":1e-1)"},
      {R"("sampling_rate":0.1)", R"("sampling_rate":0.10)"},
      {R"("sampling_rate":0.1)", R"("sampling_rate":0.1000000000000000055)"},
      {R"("count":100)", R"("count":1e2)"},
      {R"("count":100)", R"("count": 100)"},
      {R"("clip":1,)", R"("clip":1.0,)"},
      {R"("steps":[0,99])", R"("steps":[0, 99])"},
      {R"("site":"g)", R"("site":"\u0067)"},
      {R"({"event":)", R"({"\u0065vent":)"},
      {R"("prev":)", R"( "prev":)"},
      {R"({"event":)", R"( {"event":)"},
      {R"(,"prev")", R"(,"site":"x","prev")"}};
  const auto line_of = [](const std::string& place) {
    return place.substr(0, std::string("ledger.jsonl:0").size());
  };
  for (const auto& [from, to] : changes) EXPECT_EQ(line_of(bad_after(1, from, to)), "ledger.jsonl:2") << to;
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{R"("n":500)", R"("n": 500)"},
                                                        {R"("n":500)", R"("n":5e2)"},
                                                        {R"("n":500)", R"("n":500.0)"},
                                                        {R"("ledger":1,)", R"("ledger":1.0,)"},
                                                        {R"("config")", R"("\u0063onfig")"}})
    EXPECT_EQ(line_of(bad_after(0, from, to)), "ledger.jsonl:1") << to;
}

// ---- Events that were rewritten

class ForgedEvents : public ForgedRun {
 protected:
  void SetUp() override {
    ForgedRun::SetUp();
    begin_with_first_kind();
  }

  // All that a reader would compare: epsilon and the rest follow from the events in plan, ledger and certificate.
  void write(Files forged, const std::string& event) {
    const RunConfig config(finished_ + "/config.ini", {});
    forged.plan["events"] = forged.certificate["events"] = Json::array({Json::parse(event)});
    const std::vector<Event> events{std::get<Event>(parse_event_line(event, "forged").content)};
    const Guarantee g = certified(events, true, config.privacy.which(), config.privacy.delta, "rdp");
    for (Json* part : {&forged.plan, &forged.certificate}) {
      (*part)["epsilon"] = g.epsilon;
      (*part)["interval"] = {g.least, g.epsilon};
      (*part)["by"] = Json::object();
      for (const auto& [name, bound] : g.by) (*part)["by"][name] = bound;
    }
    forged.certificate["statement"] = statement(config, 500, g.epsilon, g.delta);
    forged.settle(Files::plan_file);
    forged.write(damaged_);
    epsilon_ = g.epsilon;
  }
  // With one member of the event changed everywhere.
  void rewrite(const std::string& member, const Json& value) {
    Files forged = *files_;
    for (std::size_t i = 1; i < forged.ledger.size(); ++i) forged.ledger[i][member] = value;
    Json event = forged.plan["events"][0];
    event[member] = value;
    write(forged, event.dump());
  }

  double epsilon_ = 0;
};

TEST_F(ForgedEvents, SamplingRate) {
  rewrite("sampling_rate", 0.0016);
  EXPECT_LT(epsilon_, 0.1);
  EXPECT_TRUE(bad(verify_run(damaged_)).starts_with("plan.json: by.")) << bad(verify_run(damaged_));
}

TEST_F(ForgedEvents, Noise) {
  rewrite("noise_multiplier", 100.0);
  EXPECT_LT(epsilon_, 0.1);
  EXPECT_TRUE(bad(verify_run(damaged_)).starts_with("plan.json: by.")) << bad(verify_run(damaged_));
}

TEST_F(ForgedEvents, Count) {
  Files forged = *files_;
  forged.ledger.resize(2);
  forged.ledger[1]["count"] = 1;
  Json event = forged.plan["events"][0];
  event["count"] = 1;
  write(forged, event.dump());
  EXPECT_LT(epsilon_, 2);
  EXPECT_TRUE(bad(verify_run(damaged_)).starts_with("plan.json: by.")) << bad(verify_run(damaged_));
}

// The plan as it was: the ledger and what follows from it.
TEST_F(ForgedEvents, InTheLedgerAlone) {
  Files forged = *files_;
  forged.ledger[2]["noise_multiplier"] = 100.0;
  forged.settle(Files::ledger_file, 2);
  forged.write(damaged_);
  EXPECT_EQ(bad(verify_run(damaged_)), "ledger.jsonl:3: noise_multiplier");
}

// Whoever writes the files chooses what it takes to plan them again.
class DearPlans : public ForgedEvents {
 protected:
  // The config with these values, and every digest that it is in settled.
  void settle_config(Files& forged, const std::map<std::string, std::string>& values) {
    std::string text = read_file(finished_ + "/config.ini");
    for (const auto& [from, to] : values) {
      ASSERT_NE(text.find(from), text.npos) << from;
      text.replace(text.find(from), from.size(), to);
    }
    fs::create_directories(folder_ + "/digest");
    overwrite(folder_ + "/digest/config.ini", text);
    const std::string digest = RunConfig(folder_ + "/digest/config.ini", {}).digest();
    for (Json* part : {&forged.plan, &forged.ledger[0], &forged.certificate})
      for (const char* name : {"config", "config_digest"})
        if (part->contains(name)) (*part)[name] = digest;
    forged.header["__metadata__"]["config"] = digest;
    forged.settle(Files::plan_file);
    forged.write(damaged_);
    overwrite(damaged_ + "/config.ini", text);
  }
  // By a process of its own, in little time and memory.
  void expect_answered(const std::string& place) const {
    rusage before{}, after{};
    ASSERT_EQ(::getrusage(RUSAGE_CHILDREN, &before), 0);
    const auto outcome = test::run_command(fmt::format("{} verify {}", test::program(), damaged_));
    ASSERT_EQ(::getrusage(RUSAGE_CHILDREN, &after), 0);
    EXPECT_EQ(outcome.code, 4);
    EXPECT_NE(outcome.output.find("\nBAD     " + place), std::string::npos) << outcome.output;
    EXPECT_LT(after.ru_utime.tv_sec - before.ru_utime.tv_sec, 4) << outcome.output;
    EXPECT_TRUE(after.ru_maxrss == before.ru_maxrss || after.ru_maxrss < 1200 * 1024) << after.ru_maxrss << " KiB";
  }
};

// As many steps as the config says, and no line for them.
TEST_F(DearPlans, OfMoreStepsThanTheLedgerPaysFor) {
  Files forged = *files_;
  forged.plan["steps"] = forged.certificate["steps"] = 1000000;
  forged.plan["events"][0]["count"] = forged.plan["noise"][0]["count"] = 1000000;
  forged.plan["accountant"] = forged.certificate["accountant"] = "best";
  ASSERT_NO_FATAL_FAILURE(
      settle_config(forged, {{"steps = 250", "steps = 1000000"}, {"accountant = rdp", "accountant = best"}}));
  expect_answered("ledger.jsonl         does not cover plan.json");
}
TEST_F(DearPlans, OfOtherSettingsThanThePlanStates) {
  Files forged = *files_;
  ASSERT_NO_FATAL_FAILURE(
      settle_config(forged, {{"steps = 250", "steps = 1000000"}, {"accountant = rdp", "accountant = best"}}));
  expect_answered("plan.json: accountant is");
}
TEST_F(DearPlans, OfMoreParametersThanTheModelHolds) {
  for (const char* objective : {"mean", "tune_gp"}) {
    Files forged = *files_;
    forged.plan["data"]["features"] = 300000000;
    forged.plan["objective"] = objective;
    ASSERT_NO_FATAL_FAILURE(settle_config(forged, {{"name = logistic", std::string("name = ") + objective}}));
    expect_answered("plan.json");
  }
}

// Two members of one name: readers differ in which of them they show.
TEST_F(ForgedEvents, MembersThatAreThereTwice) {
  Files forged = *files_;
  std::string text = forged.certificate.dump(2) + "\n";
  text.insert(2, "  \"epsilon\": 0.01,\n");
  forged.header["__metadata__"]["certificate"] = sha256(text);
  forged.write(damaged_);
  overwrite(damaged_ + "/certificate.json", text);
  EXPECT_EQ(bad(verify_run(damaged_)), "certificate.json");
}

// Facts that config.ini declares are not taken from anybody.
TEST_F(ForgedEvents, NumberOfRecordsThatTheConfigDeclares) {
  fs::remove_all(finished_);
  fs::remove_all(damaged_);
  run(folder_ + "/run.ini", {"data.records=500"});
  begin();
  EXPECT_FALSE(declared_->has("plan.json", "n"));
  Files forged = *files_;
  forged.plan["n"] = forged.ledger[0]["n"] = forged.certificate["n"] = 31250;
  forged.settle(Files::plan_file);
  forged.write(damaged_);
  EXPECT_EQ(bad(verify_run(damaged_)), "plan.json: n");
}

// A library that a run names is somebody else's code.
TEST_F(ForgedRun, PluginsAreNotLoaded) {
  const std::string library = folder_ + "/loss.so";
  fs::copy_file(DPMPI_PINBALL_PLUGIN, library);
  configure("[objective]\nname = plugin\nlibrary = " + library +
            "\n[method]\nname = random-stopping\ngamma = 0.3\n" + replaced);
  ASSERT_NO_FATAL_FAILURE(run(folder_ + "/run.ini"));
  fs::remove(library);
  ASSERT_NO_FATAL_FAILURE(begin());
  EXPECT_TRUE(declared_->has("plan.json", "dim"));
  flip_all(Files::plan_file, [](Files& f) -> Json& { return f.plan; });
  flip_all(Files::certificate_file, [](Files& f) -> Json& { return f.certificate; });
}

}  // namespace
}  // namespace dpmpi::forgery_test
