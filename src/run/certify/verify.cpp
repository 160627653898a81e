#include "run/certify/verify.hpp"

#include <cstdint>
#include <exception>
#include <filesystem>
#include <memory>
#include <new>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include <sys/stat.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "core/files/digest.hpp"
#include "core/files/untrusted_json.hpp"
#include "privacy/accountants/earlier.hpp"
#include "privacy/curator/planned_lines.hpp"
#include "privacy/events/ledger.hpp"
#include "privacy/events/planned_events.hpp"
#include "run/certify/memory_bound.hpp"
#include "run/certify/stated_files.hpp"
#include "run/certify/verify_end.hpp"
#include "run/config/config.hpp"
#include "run/directory/checkpoint.hpp"
#include "run/directory/files.hpp"
#include "run/plan/evaluation_plan.hpp"
#include "run/plan/training_ledger.hpp"
#include "run/plan/trains_models.hpp"

namespace dpmpi {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using State = VerifiedItem::State;

class Verification {
 public:
  Verification(std::string run, MakeResults make_results) : found_{std::move(run)} {
    run_.make_results = std::move(make_results);
  }

  /// `known`: what was derived before; null: nothing was.
  std::vector<VerifiedItem> all(const DerivedRun* known) {
    run_.derived = known;
    try {
      look_at_checkpoint();
      run_.ledger = read_ledger_text("ledger.jsonl");
      config();
      plan();
      ledger();
      trainings();
      evaluation();
      checkpoint();
      verify_end(found_, run_);
    } catch (const Failure& failure) {
      found_.add(State::bad, failure.place, failure.problem);
    } catch (const json::exception&) {  // whose own words name no file
      found_.add(State::bad, found_.place, "has a member of another type than dpmpi writes there");
    } catch (const std::exception& e) {  // unreadable, malformed
      found_.add(State::bad, found_.place, e.what());
    }
    return std::move(found_.items);
  }

 private:
  LedgerText read_ledger_text(const std::string& file) {
    found_.place = file;
    LedgerText ledger = dpmpi::read_ledger_text(found_.run, file);
    found_.good(file, fmt::format("{} lines, each with the SHA-256 of the line above", ledger.lines.size()));
    return ledger;
  }

  // Before the ledger, which a run that goes on makes longer: it may know more lines than the checkpoint, never
  // less.
  void look_at_checkpoint() {
    found_.place = "checkpoint";
    if (!found_.finished() && (found_.exists("checkpoint/latest") || found_.exists("checkpoint/previous")))
      checkpoint_ = read_checkpoint(found_.run, nullptr).facts();
  }

  void config() {
    found_.place = "config.ini";
    run_.config =
        std::make_shared<const RunConfig>(found_.path(found_.place), std::vector<std::string>{}, ConfigOf::run);
    if (run_.config->trainer()) run_.trainings = read_ledger_text(TrainingLedger::file);
    if (run_.config->data.test_share > 0) run_.evaluation = read_ledger_text(EvaluationPlan::ledger);
    found_.place = "config.ini";
    for (const LedgerText* ledger : ledgers()) {
      if (ledger->header().value("config", json()) != run_.config->digest())
        throw Failure{
            found_.place,
            fmt::format(
                "its settings have the digest {}, but {}:1 says {}: it was changed, or a version of dpmpi with "
                "other options made it",
                run_.config->digest(), ledger->file,
                shown_json(ledger->header().value("config", json("nothing"))))};
      if (ledger->header().value("seeded", json(false)) != run_.config->privacy.seeded())
        throw Failure{found_.place, fmt::format("privacy.seed contradicts {}:1", ledger->file)};
    }
    found_.good(found_.place, "settings have the digest in ledger.jsonl:1");
    found_.unchecked(found_.place, "run, report, audit, data.root, objective.trainer",
                     "not in the digest, and nothing follows");
    if (run_.trainings)
      found_.unchecked(RunConfig::trainer_file, "run, report, audit, data.root",
                       "not in the digest, and nothing follows");
  }

  std::vector<const LedgerText*> ledgers() const {
    std::vector<const LedgerText*> all{&run_.ledger};
    if (run_.trainings) all.push_back(&*run_.trainings);
    if (run_.evaluation) all.push_back(&*run_.evaluation);
    return all;
  }

  // ---- What follows from config.ini

  void plan() {
    found_.place = "plan.json";
    run_.plan = read_document(found_.run, found_.place);
    for (const LedgerText* ledger : ledgers())
      if (ledger->header().value("plan", json()) != sha256(run_.plan.text))
        throw Failure{found_.place, fmt::format("is not the plan whose SHA-256 stands in {}:1", ledger->file)};
    if (const std::string reason = not_derivable(*run_.config); !reason.empty())
      return found_.unchecked(found_.place, "everything but its SHA-256, and what follows from it in other files",
                              reason);
    if (!run_.derived) {
      compare_before_planning();
      plan_again();
      if (own_.plan_json != run_.plan.value) plan_as_earlier_versions();
    }
    same(found_.place, run_.plan.value, run_.derived->plan_json, "config.ini");
    refuse_other_writing(found_.place, run_.plan);
    found_.good(
        found_.place,
        fmt::format("planned again from config.ini: the same events, noise and promise, epsilon {} at delta {}{}",
                    run_.plan.value["epsilon"].dump(), run_.plan.value["delta"].dump(),
                    earlier_ ? ", by the bounds of an earlier version, which are no smaller" : ""));
    public_facts(*run_.config, run_.plan.value, "");
    if (run_.trainings) public_facts(*run_.config->trainer(), run_.plan.value["training"], "training.");
  }

  // Whoever wrote the files chose how long planning takes: what can be seen without it comes first.
  void compare_before_planning() {
    json restated{{"accountant", run_.config->privacy.accountant},
                  {"adjacency", run_.config->privacy.adjacency},
                  {"objective", run_.config->objective_name},
                  {"config_digest", run_.config->digest()}};
    if (run_.config->data.records > 0 && !run_.evaluation) restated["n"] = run_.config->data.records;
    if (run_.config->data.by_person()) restated["unit"] = name(run_.config->data.unit());
    same_members(found_.place, run_.plan.value, restated, "config.ini");
    json promised;
    for (const char* member : {"n", "adjacency"}) take(promised, run_.plan.value, member);
    if (run_.plan.value.contains("unit") || run_.ledger.header().contains("unit"))
      take(promised, run_.plan.value, "unit");
    same_members(run_.ledger.place(0), run_.ledger.header(), promised, "plan.json");
    if (!found_.finished()) return;
    std::uint64_t planned = 0, paid = 0;
    for (const Event& event : planned_events(run_.plan.value, found_.place)) planned += event.count;
    for (std::size_t i = 1; i < run_.ledger.lines.size(); ++i)
      paid += std::get<Event>(parse_event_line(run_.ledger.lines[i], run_.ledger.place(i)).content).count;
    if (paid != planned) run_.refuse_uncovered();
  }
  // The members that are expected, whatever others there are.
  static void same_members(const std::string& place, const json& stated, const json& expected,
                           const std::string& source) {
    json part = json::object();
    for (const auto& [name, value] : expected.items())
      if (stated.contains(name)) part[name] = stated[name];
    same(place, part, expected, source);
  }

  // In memory that is in proportion to the files: a run keeps all that it trains, in its model or its checkpoint.
  void plan_again() {
    constexpr std::uint64_t always = 1024 * file_limit::mebibyte, each_byte = 64;
    std::uint64_t kept = 0;
    for (const char* file : {"model.safetensors", "checkpoint/latest", "checkpoint/previous"})
      kept += bytes_on_disk(found_.path(file));
    try {
      const MemoryBound bound(always + each_byte * kept);
      own_ = derive_run(run_.config, run_.plan.value);
    } catch (const std::bad_alloc&) {
      throw Failure{found_.place,
                    fmt::format("could only be planned again with more than {} MiB of memory, which is out of "
                                "proportion to the model or checkpoint that is here",
                                (always + each_byte * kept) / file_limit::mebibyte)};
    }
    run_.derived = &own_;
  }
  // Bounds become smaller from version to version, and the larger ones are as valid; evaluations had other bins.
  // Where none of these gives the plan, it is compared with today's.
  void plan_as_earlier_versions() {
    DerivedRun today = std::exchange(own_, {});
    if (run_.plan.value.contains("evaluation")) {
      for (const int rules : {EarlierRules::of_other_bins, EarlierRules::first}) {
        earlier_rules_.reset(), earlier_rules_.emplace(rules);
        if (plans_the_same()) return;
      }
    }
    earlier_.emplace();
    if (plans_the_same()) return;
    earlier_.reset();
    earlier_rules_.reset();
    own_ = std::move(today);
    run_.derived = &own_;
  }
  bool plans_the_same() {
    try {
      plan_again();
      return own_.plan_json == run_.plan.value;
    } catch (const std::exception&) {  // has no such plan
      return false;
    }
  }
  // What a file really fills: a hole in it is no parameter.
  static std::uint64_t bytes_on_disk(const std::string& file) {
    struct stat status {};
    if (::lstat(file.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return 0;
    return static_cast<std::uint64_t>(status.st_blocks) * 512;
  }

  // `member`: "training." or nothing.
  void public_facts(const RunConfig& config, const json& part, const std::string& member) {
    const bool declared = config.data.records > 0 || !config.data.shard_records.empty();
    found_.unchecked("plan.json", fmt::format("{}{}data", declared ? "" : member + "n, ", member),
                     fmt::format("taken as stated ({} {}, {}): only the records could show it{}", part["n"].dump(),
                                 plural(config.data.unit()), part["data"].dump(),
                                 declared ? "" : ", or data.records in config.ini"));
    if (config.library())
      found_.unchecked("plan.json", "dim",
                       fmt::format("taken as stated ({}): the plugin says it", part["dim"].dump()));
  }

  // ---- Ledgers

  // The line with this number, from 0, says what was planned, and is linked to the line above.
  static void same_line(const LedgerText& ledger, std::size_t number, json expected) {
    const json line = ledger.line(number);
    take(expected, line, "prev");
    same(ledger.place(number), line, expected, "the plan");
  }
  void same_header(const LedgerText& ledger, const Plan& plan, std::uint64_t records, json more) {
    json expected = std::move(more);
    expected.update({{"ledger", 1},
                     {"adjacency", name(plan.adjacency)},
                     {"n", records},
                     {"config", run_.config->digest()},
                     {"plan", sha256(run_.plan.text)}});
    if (run_.config->privacy.seeded()) expected["seeded"] = true;
    if (run_.config->data.by_person()) expected["unit"] = name(run_.config->data.unit());
    const json header = ledger.header();
    take(expected, header, "data");
    same(ledger.place(0), header, expected, "the plan");
  }

  /// The lines of a ledger are those of these queries, in their order. False: they go on.
  static bool has_all_lines(const LedgerText& ledger, const std::vector<Query>& queries) {
    std::size_t next = 1;
    const bool all = each_planned_line(queries, [&](const LedgerEntry& planned) {
      if (next == ledger.lines.size()) return false;
      same_line(ledger, next++, json::parse(to_json(planned.event, planned.extra)));
      return true;
    });
    if (next < ledger.lines.size()) throw Failure{ledger.place(next), "is more than was planned"};
    return all;
  }

  void ledger() {
    found_.place = run_.ledger.file;
    found_.unchecked(found_.place, "data", "commits to the records by the noise key, which is not here to compare");
    if (!run_.derived) return refuse_other_writing(run_.ledger);
    same_header(run_.ledger, run_.derived->plan, run_.derived->facts.data.units(), json::object());
    run_.complete = has_all_lines(run_.ledger, run_.derived->plan.queries);
    refuse_other_writing(run_.ledger);
    found_.good(found_.place,
                run_.complete ? "has every line of the plan" : "has lines of the plan, which goes on");
  }

  // A line of one part that stands in the other part's ledger is not the planned one there.
  void evaluation() {
    if (!run_.evaluation) return;
    found_.place = run_.evaluation->file;
    found_.unchecked(found_.place, "data", "commits to the records by the noise key, which is not here to compare");
    if (!run_.derived) return refuse_other_writing(*run_.evaluation);
    const EvaluationPlan& plan = *run_.derived->plan.evaluation;
    same_header(*run_.evaluation, run_.derived->plan, plan.data.units(), {{"part", "held_out"}});
    run_.evaluated = has_all_lines(*run_.evaluation, plan.queries);
    refuse_other_writing(*run_.evaluation);
    found_.good(found_.place, run_.evaluated ? "has every line of the plan for the held-out part"
                                             : "has lines of the plan, which goes on");
  }

  // Every training has the lines of one of the planned ones; which settings it had follows from what was released.
  void trainings() {
    if (!run_.trainings) return;
    found_.place = run_.trainings->file;
    found_.unchecked(found_.place, "data, settings",
                     "follow from the trainer's records, and from the models before");
    if (!run_.derived) return refuse_other_writing(*run_.trainings);
    const Plan& plan = run_.derived->plan.training->plan;
    same_header(*run_.trainings, plan, trains_models(run_.derived->facts)->dearest().data.records,
                {{"trainings", plan.runs}});
    const auto one = events_of_training(plan.events(), plan.runs);
    run_.trained = trainings_in(run_.trainings->lines, one, found_.place).size();
    if (run_.trained > plan.runs)
      throw Failure{run_.trainings->place(1 + plan.runs * one.size()),
                    fmt::format("is of more trainings than the {} that were planned", plan.runs)};
    for (std::size_t i = 1; i < run_.trainings->lines.size(); ++i) {
      json expected = json::parse(to_json(one[(i - 1) % one.size()]));
      expected["training"] = (i - 1) / one.size();
      take(expected, run_.trainings->line(i), "settings");
      same_line(*run_.trainings, i, expected);
    }
    refuse_other_writing(*run_.trainings);
    run_.all_whole = run_.trainings->lines.size() - 1 == run_.trained * one.size();
    found_.good(found_.place,
                fmt::format("{} trainings of {} at most, each with settings of its own", run_.trained, plan.runs));
  }

  void seen_before(const LedgerText& ledger, std::uint64_t lines, const std::string& hash) {
    if (ledger.lines.size() < lines || lines == 0)
      throw Failure{ledger.place(ledger.lines.size()),
                    fmt::format("missing: the checkpoint has seen {} lines", lines)};
    if (sha256(ledger.lines[lines - 1]) != hash)
      throw Failure{ledger.place(lines - 1), "is not the line that the checkpoint has seen"};
  }

  void checkpoint() {
    found_.place = "checkpoint";
    if (found_.finished()) return;
    if (!checkpoint_)
      return found_.absent(found_.place, "there is none: nothing says how long the ledger has to be");
    const Checkpoint& c = *checkpoint_;
    seen_before(run_.ledger, c.ledger_lines, c.ledger_line_hash);
    if (run_.trainings) seen_before(*run_.trainings, c.training_lines, c.training_line_hash);
    if (!run_.config->has_essentials(c.config)) throw Failure{found_.place, "belongs to another config"};
    if (run_.ledger.header().value("data", json()) != c.commitment)
      throw Failure{found_.place, "belongs to other data"};
    found_.good(found_.place, fmt::format("after step {}: config, data and the first {} lines of the ledger",
                                          c.step, c.ledger_lines));
    found_.unchecked(found_.place, "the state", "it carries a MAC under the noise key, which verify does not read");
  }

  VerifiedItems found_;
  VerifiedSoFar run_;
  std::optional<Checkpoint> checkpoint_;
  DerivedRun own_;
  std::optional<EarlierAccounting> earlier_;  // whose bounds the plan has, and all that follows
  std::optional<EarlierRules> earlier_rules_;
};

void check_folder(const std::string& run) {
  if (!fs::is_directory(run)) throw ConfigError(fmt::format("{} is not a run directory", run));
}

}  // namespace

std::vector<VerifiedItem> verify_run(const std::string& run, const MakeResults& make_results) {
  check_folder(run);
  return Verification(run, make_results).all(nullptr);
}

std::vector<VerifiedItem> verify_run(const std::string& run, const DerivedRun& derived,
                                     const MakeResults& make_results) {
  check_folder(run);
  return Verification(run, make_results).all(&derived);
}

DerivedRun derive_run(const std::string& run) {
  check_folder(run);
  try {
    return derive_run(
        std::make_shared<const RunConfig>(run + "/config.ini", std::vector<std::string>{}, ConfigOf::run),
        read_document(run, "plan.json").value);
  } catch (const Failure& failure) {
    throw DataError(fmt::format("{}/{}: {}", run, failure.place, failure.problem));
  } catch (const json::exception&) {
    throw DataError(fmt::format("{}/plan.json: has a member of another type than dpmpi writes there", run));
  }
}

}  // namespace dpmpi
