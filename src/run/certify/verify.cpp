#include "run/certify/verify.hpp"

#include <cstdint>
#include <exception>
#include <filesystem>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>

#include <sys/stat.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "core/files/digest.hpp"
#include "core/files/run_file.hpp"
#include "core/files/untrusted_json.hpp"
#include "privacy/curator/planned_lines.hpp"
#include "privacy/events/ledger.hpp"
#include "privacy/events/planned_events.hpp"
#include "run/certify/certificate.hpp"
#include "run/certify/certified_audit.hpp"
#include "run/certify/memory_bound.hpp"
#include "run/certify/metrics_lines.hpp"
#include "run/certify/model_metadata.hpp"
#include "run/certify/stated_files.hpp"
#include "run/config/config.hpp"
#include "run/directory/checkpoint.hpp"
#include "run/directory/directory.hpp"
#include "run/directory/files.hpp"
#include "run/directory/safetensors.hpp"
#include "run/plan/training_ledger.hpp"
#include "run/plan/trains_models.hpp"

namespace dpmpi {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using State = VerifiedItem::State;

// At no length: a directory may hold any number of files.
std::string shown_names(const std::set<std::string>& names, std::string_view separator) {
  constexpr std::size_t most = 20;
  std::vector<std::string> shown;
  for (const std::string& name : names)
    if (shown.size() < most) shown.push_back(shown_name(name));
  const std::string more = names.size() > most ? fmt::format(" and {} more", names.size() - most) : "";
  return fmt::format("{}{}", fmt::join(shown, separator), more);
}

class Verification {
 public:
  explicit Verification(std::string run) : run_(std::move(run)) {}

  /// `known`: what was derived before; null: nothing was.
  std::vector<VerifiedItem> all(const DerivedRun* known) {
    derived_ = known;
    try {
      look_at_checkpoint();
      ledger_ = read_ledger_text("ledger.jsonl");
      config();
      plan();
      ledger();
      trainings();
      checkpoint();
      certificate();
      metrics();
      audit();
      model();
      other_files();
      leftovers();
    } catch (const Failure& failure) {
      add(State::bad, failure.place, failure.problem);
    } catch (const json::exception&) {  // whose own words name no file
      add(State::bad, place_, "has a member of another type than dpmpi writes there");
    } catch (const std::exception& e) {  // unreadable, malformed
      add(State::bad, place_, e.what());
    }
    return std::move(items_);
  }

 private:
  std::string path(const std::string& file) const { return run_ + "/" + file; }
  bool exists(const std::string& file) const { return fs::exists(path(file)); }
  bool finished() const { return exists("certificate.json"); }

  void add(State state, const std::string& place, const std::string& detail) {
    items_.push_back({state, place, detail});
  }
  void good(const std::string& place, const std::string& detail) { add(State::good, place, detail); }
  void absent(const std::string& place, const std::string& detail) { add(State::absent, place, detail); }
  void unchecked(const std::string& place, const std::string& members, const std::string& why) {
    add(State::unchecked, place, members + ": " + why);
  }

  // What only the run itself can say: it has to be there.
  static void take(json& expected, const json& stated, const std::string& name) {
    expected[name] = stated.value(name, json());
  }
  // What is taken as stated and is a name or a digest, if it is there.
  json stated_text(const json& stated, const std::string& name) const {
    json value = stated.value(name, json());
    if (!value.is_null() && !(value.is_string() && value.get_ref<const std::string&>().size() <= 200))
      throw Failure{place_, fmt::format("{} is no text of at most 200 bytes", name)};
    return value;
  }

  LedgerText read_ledger_text(const std::string& file) {
    place_ = file;
    LedgerText ledger = dpmpi::read_ledger_text(run_, file);
    good(file, fmt::format("{} lines, each with the SHA-256 of the line above", ledger.lines.size()));
    return ledger;
  }

  // Before the ledger, which a run that goes on makes longer: it may know more lines than the checkpoint, never
  // less.
  void look_at_checkpoint() {
    place_ = "checkpoint";
    if (!finished() && (exists("checkpoint/latest") || exists("checkpoint/previous")))
      checkpoint_ = read_checkpoint(run_, nullptr).facts();
  }

  void config() {
    place_ = "config.ini";
    config_ = std::make_shared<const RunConfig>(path(place_), std::vector<std::string>{}, ConfigOf::run);
    if (config_->trainer()) training_ = read_ledger_text(TrainingLedger::file);
    place_ = "config.ini";
    for (const LedgerText* ledger : ledgers()) {
      if (ledger->header().value("config", json()) != config_->digest())
        throw Failure{
            place_,
            fmt::format(
                "its settings have the digest {}, but {}:1 says {}: it was changed, or a version of dpmpi with "
                "other options made it",
                config_->digest(), ledger->file, shown_json(ledger->header().value("config", json("nothing"))))};
      if (ledger->header().value("seeded", json(false)) != config_->privacy.seeded())
        throw Failure{place_, fmt::format("privacy.seed contradicts {}:1", ledger->file)};
    }
    good(place_, "settings have the digest in ledger.jsonl:1");
    unchecked(place_, "run, report, audit, data.root, objective.trainer", "not in the digest, and nothing follows");
    if (training_)
      unchecked(RunConfig::trainer_file, "run, report, audit, data.root", "not in the digest, and nothing follows");
  }

  std::vector<const LedgerText*> ledgers() const {
    std::vector<const LedgerText*> all{&ledger_};
    if (training_) all.push_back(&*training_);
    return all;
  }

  // ---- What follows from config.ini

  void plan() {
    place_ = "plan.json";
    plan_ = read_document(run_, place_);
    for (const LedgerText* ledger : ledgers())
      if (ledger->header().value("plan", json()) != sha256(plan_.text))
        throw Failure{place_, fmt::format("is not the plan whose SHA-256 stands in {}:1", ledger->file)};
    if (const std::string reason = not_derivable(*config_); !reason.empty())
      return unchecked(place_, "everything but its SHA-256, and what follows from it in other files", reason);
    if (!derived_) {
      compare_before_planning();
      plan_again();
    }
    same(place_, plan_.value, derived_->plan_json, "config.ini");
    refuse_other_writing(place_, plan_);
    good(place_,
         fmt::format("planned again from config.ini: the same events, noise and promise, epsilon {} at delta {}",
                     plan_.value["epsilon"].dump(), plan_.value["delta"].dump()));
    public_facts(*config_, plan_.value, "");
    if (training_) public_facts(*config_->trainer(), plan_.value["training"], "training.");
  }

  // Whoever wrote the files chose how long planning takes: what can be seen without it comes first.
  void compare_before_planning() {
    json restated{{"accountant", config_->privacy.accountant},
                  {"adjacency", config_->privacy.adjacency},
                  {"objective", config_->objective_name},
                  {"config_digest", config_->digest()}};
    if (config_->data.records > 0) restated["n"] = config_->data.records;
    if (config_->data.by_person()) restated["unit"] = name(config_->data.unit());
    same_members(place_, plan_.value, restated, "config.ini");
    json promised;
    for (const char* member : {"n", "adjacency"}) take(promised, plan_.value, member);
    if (plan_.value.contains("unit") || ledger_.header().contains("unit")) take(promised, plan_.value, "unit");
    same_members(ledger_.place(0), ledger_.header(), promised, "plan.json");
    if (!finished()) return;
    std::uint64_t planned = 0, paid = 0;
    for (const Event& event : planned_events(plan_.value, place_)) planned += event.count;
    for (std::size_t i = 1; i < ledger_.lines.size(); ++i)
      paid += std::get<Event>(parse_event_line(ledger_.lines[i], ledger_.place(i)).content).count;
    if (paid != planned) refuse_uncovered();
  }
  // The members that are expected, whatever others there are.
  static void same_members(const std::string& place, const json& stated, const json& expected,
                           const std::string& source) {
    json part = json::object();
    for (const auto& [name, value] : expected.items())
      if (stated.contains(name)) part[name] = stated[name];
    same(place, part, expected, source);
  }
  [[noreturn]] void refuse_uncovered() const {
    throw Failure{ledger_.file, "does not cover plan.json, though the run has a certificate"};
  }

  // In memory that is in proportion to the files: a run keeps all that it trains, in its model or its checkpoint.
  void plan_again() {
    constexpr std::uint64_t always = 1024 * file_limit::mebibyte, each_byte = 64;
    std::uint64_t kept = 0;
    for (const char* file : {"model.safetensors", "checkpoint/latest", "checkpoint/previous"})
      kept += bytes_on_disk(path(file));
    try {
      const MemoryBound bound(always + each_byte * kept);
      own_ = derive_run(config_, plan_.value);
    } catch (const std::bad_alloc&) {
      throw Failure{place_,
                    fmt::format("could only be planned again with more than {} MiB of memory, which is out of "
                                "proportion to the model or checkpoint that is here",
                                (always + each_byte * kept) / file_limit::mebibyte)};
    }
    derived_ = &own_;
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
    unchecked("plan.json", fmt::format("{}{}data", declared ? "" : member + "n, ", member),
              fmt::format("taken as stated ({} {}, {}): only the records could show it{}", part["n"].dump(),
                          plural(config.data.unit()), part["data"].dump(),
                          declared ? "" : ", or data.records in config.ini"));
    if (config.objective_name == "plugin")
      unchecked("plan.json", "dim", fmt::format("taken as stated ({}): the plugin says it", part["dim"].dump()));
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
                     {"config", config_->digest()},
                     {"plan", sha256(plan_.text)}});
    if (config_->privacy.seeded()) expected["seeded"] = true;
    if (config_->data.by_person()) expected["unit"] = name(config_->data.unit());
    const json header = ledger.header();
    take(expected, header, "data");
    same(ledger.place(0), header, expected, "the plan");
  }

  void ledger() {
    place_ = ledger_.file;
    unchecked(place_, "data", "commits to the records by the noise key, which is not here to compare");
    if (!derived_) return refuse_other_writing(ledger_);
    same_header(ledger_, derived_->plan, derived_->facts.data.units(), json::object());
    std::size_t next = 1;
    complete_ = each_planned_line(derived_->plan.queries, [&](const LedgerEntry& planned) {
      if (next == ledger_.lines.size()) return false;
      same_line(ledger_, next++, json::parse(to_json(planned.event, planned.extra)));
      return true;
    });
    if (next < ledger_.lines.size()) throw Failure{ledger_.place(next), "is more than was planned"};
    refuse_other_writing(ledger_);
    good(place_, complete_ ? "has every line of the plan" : "has lines of the plan, which goes on");
  }

  // Every training has the lines of one of the planned ones; which settings it had follows from what was released.
  void trainings() {
    if (!training_) return;
    place_ = training_->file;
    unchecked(place_, "data, settings", "follow from the trainer's records, and from the models before");
    if (!derived_) return refuse_other_writing(*training_);
    const Plan& plan = derived_->plan.training->plan;
    same_header(*training_, plan, trains_models(derived_->facts)->dearest().data.records,
                {{"trainings", plan.runs}});
    const auto one = events_of_training(plan.events(), plan.runs);
    trained_ = trainings_in(training_->lines, one, place_).size();
    if (trained_ > plan.runs)
      throw Failure{training_->place(1 + plan.runs * one.size()),
                    fmt::format("is of more trainings than the {} that were planned", plan.runs)};
    for (std::size_t i = 1; i < training_->lines.size(); ++i) {
      json expected = json::parse(to_json(one[(i - 1) % one.size()]));
      expected["training"] = (i - 1) / one.size();
      take(expected, training_->line(i), "settings");
      same_line(*training_, i, expected);
    }
    refuse_other_writing(*training_);
    all_whole_ = training_->lines.size() - 1 == trained_ * one.size();
    good(place_, fmt::format("{} trainings of {} at most, each with settings of its own", trained_, plan.runs));
  }

  void seen_before(const LedgerText& ledger, std::uint64_t lines, const std::string& hash) {
    if (ledger.lines.size() < lines || lines == 0)
      throw Failure{ledger.place(ledger.lines.size()),
                    fmt::format("missing: the checkpoint has seen {} lines", lines)};
    if (sha256(ledger.lines[lines - 1]) != hash)
      throw Failure{ledger.place(lines - 1), "is not the line that the checkpoint has seen"};
  }

  void checkpoint() {
    place_ = "checkpoint";
    if (finished()) return;
    if (!checkpoint_) return absent(place_, "there is none: nothing says how long the ledger has to be");
    const Checkpoint& c = *checkpoint_;
    seen_before(ledger_, c.ledger_lines, c.ledger_line_hash);
    if (training_) seen_before(*training_, c.training_lines, c.training_line_hash);
    if (c.config != config_->essentials()) throw Failure{place_, "belongs to another config"};
    if (ledger_.header().value("data", json()) != c.commitment) throw Failure{place_, "belongs to other data"};
    good(place_,
         fmt::format("after step {}: config, data and the first {} lines of the ledger", c.step, c.ledger_lines));
    unchecked(place_, "the state", "it carries a MAC under the noise key, which verify does not read");
  }

  // ---- The end

  void certificate() {
    place_ = "certificate.json";
    if (!finished()) {
      refuse_lost_certificate(run_);
      return absent(place_, "not there yet: the run is not finished");
    }
    const Document document = read_document(run_, place_);
    const json& c = certificate_ = document.value;
    json expected = derived_ ? derived_->certificate : c;
    expected["config_digest"] = config_->digest();
    expected["plan_digest"] = sha256(plan_.text);
    expected["ledger_head"] = ledger_.head;
    expected["data_commitment"] = stated_text(ledger_.header(), "data");
    if (!config_->audit.result.empty()) take(expected, c, "audit");  // compared with audit.json
    for (const char* digest : {"model_digest", "metrics_digest"}) take(expected, c, digest);  // and with these
    for (const char* origin : {"program", "version"}) expected[origin] = stated_text(c, origin);
    for (const auto& [digest, of] :
         {std::pair{"public_models", "objective.train"}, {"training_files", "data.train"}})
      if (c.contains(digest) && !config_->value(of).empty()) expected[digest] = stated_text(c, digest);
    if (derived_ && c.contains("generators") && c["generators"].is_object())
      for (const auto& [stream, check] : generator_commitments(SecretKey::from_seed(0), 1))
        expected["generators"][stream] = stated_text(c["generators"], stream);
    if (training_ && derived_) expected_of_trainings(expected);
    if (derived_ && !complete_) refuse_uncovered();
    same(place_, c, expected, "the run");
    refuse_other_writing(place_, document);
    if (!derived_) return good(place_, "digests of ledger, config and plan");
    good(place_, fmt::format("made again from config.ini and the ledger: epsilon {} at delta {}, and every other "
                             "member; digests of ledger, config and plan",
                             c["epsilon"].dump(), c["delta"].dump()));
    if (c.contains("public_models"))
      unchecked(place_, "public_models", "the digest of objective.train, which is not read");
    if (c.contains("training_files"))
      unchecked(place_, "training_files", "the digest of the names of data.train, which is not looked for");
    unchecked(place_, "generators, program, version", "keyed by the run's key, or about the machine that trained");
  }
  void expected_of_trainings(json& expected) {
    if (!all_whole_)
      throw Failure{training_->file, "lacks lines of its last training, though the run has a certificate"};
    expected["training"]["ledger_head"] = training_->head;
    expected["training"]["data_commitment"] = stated_text(training_->header(), "data");
    expected["training"]["trained"] = trained_;
  }

  void metrics() {
    place_ = "metrics.jsonl";
    if (!finished()) return;
    if (!exists(place_)) return absent(place_, "not here: certificate.json has its digest");
    const std::string text = read_run_file(path(place_), file_limit::lines);
    if (sha256(text) != certificate_.value("metrics_digest", json()))
      throw Failure{place_, "is not the file of certificate.json's metrics_digest"};
    if (!text.ends_with('\n')) throw Failure{place_, "does not end with a newline, as dpmpi writes it"};
    if (derived_) check_metrics(*config_, *derived_, lines_of(text), place_);
    good("metrics.jsonl", fmt::format("SHA-256 as in certificate.json{}",
                                      derived_ ? "; epsilon spent after every step that it shows" : ""));
    unchecked("metrics.jsonl", "eval, method, tuned, constant, clip, warnings",
              "who has data.eval can evaluate the model");
    unchecked("metrics.jsonl", "step",
              "a line is for a step that may be shown; which of these were is not checked");
  }
  void audit() {
    place_ = "audit.json";
    if (!certificate_.contains("audit")) return;
    if (!exists(place_)) return absent(place_, "not here: certificate.json quotes it");
    const json bounds = json::parse(certified_audit(
        path(place_), config_->digest(), plan_.value["epsilon"].get<double>(), plan_.value["delta"].get<double>()));
    if (certificate_["audit"].dump() != bounds.dump())  // 1 and 1.0 are equal values
      throw Failure{place_, "is not the audit that certificate.json quotes"};
    good(place_, "the bounds on epsilon in certificate.json");
    unchecked(place_, "config, method, objective, adjacency, confidence, seed, bound, games",
              "as dpmpi audit wrote them: who plays it again can compare");
  }

  void model() {
    place_ = "model.safetensors";
    if (!finished()) return;
    if (!exists(place_))
      return absent(place_, "not here: the certificate's own digest, which the model has, was not compared");
    const std::string file = path(place_),
                      certificate = sha256(read_run_file(path("certificate.json"), file_limit::document));
    if (read_metadata(file)["certificate"] != certificate)
      throw Failure{place_, "carries the SHA-256 of another certificate than certificate.json"};
    const auto written = read_metadata(file);
    const json features = plan_.value.value(json::json_pointer("/data/features"), json());
    const auto metadata = expected_metadata(
        *config_, certificate, features.is_number_unsigned() ? features.get<std::uint64_t>() : 0, written);
    if (written != std::map<std::string, std::string>(metadata.begin(), metadata.end()) ||
        (derived_ && !has_safetensors_header(file, derived_->objective->groups(), metadata)))
      throw Failure{place_, "says other things of itself than it was written with"};
    if (parameters_digest(file) != certificate_.value("model_digest", json()))
      throw Failure{place_, "holds other tensors than those of certificate.json's model_digest"};
    good(place_, "carries the SHA-256 of certificate.json and the config's digest; parameters as certified");
    unchecked(place_, "parameters", "their digest is certified; that the run released them is the trainer's word");
  }

  // What stands beside the files above.
  void other_files() {
    std::set<std::string> read{"ledger.jsonl", "config.ini", "plan.json", "checkpoint"};
    if (training_) read.insert({training_->file, RunConfig::trainer_file});
    if (config_->data.columns_file) read.insert(RunConfig::columns_file);
    if (certificate_.contains("audit")) read.insert("audit.json");
    if (finished()) read.insert({"certificate.json", "metrics.jsonl", "model.safetensors"});
    std::set<std::string> others;
    for (const auto& entry : fs::directory_iterator(run_))
      if (!read.contains(entry.path().filename())) others.insert(entry.path().filename());
    if (!others.empty()) unchecked("other files", shown_names(others, ", "), "not read");
  }

  // Last, because what a kill at the end left says nothing against the other files.
  void leftovers() {
    place_ = "checkpoint";
    if (!finished()) return;
    std::error_code refused;
    std::set<std::string> left;
    for (const auto& file : fs::directory_iterator(path(place_), refused)) left.insert(file.path().filename());
    if (refused == std::errc::permission_denied)
      return absent(place_, "may not be looked into by this user: whether a key is left there is not known");
    if (left.empty()) return;
    const std::string what =
        fmt::format("{} left in a finished run: whoever has the key can remove the noise from what was released",
                    shown_names(left, " and "));
    if (left == std::set<std::string>{"key"} && config_->run.keep_key)
      add(State::warning, place_, what + ". run.keep_key asked for it");
    else
      throw Failure{place_,
                    fmt::format("{}; 'dpmpi resume {}' wipes and removes what a kill at the end left", what, run_)};
  }

  std::string run_, place_;
  std::vector<VerifiedItem> items_;
  LedgerText ledger_;
  std::optional<LedgerText> training_;  // of a run that trains models on a second private set
  std::optional<Checkpoint> checkpoint_;
  std::shared_ptr<const RunConfig> config_;
  DerivedRun own_;
  const DerivedRun* derived_ = nullptr;  // null: it was not derived
  Document plan_;
  json certificate_;
  std::uint64_t trained_ = 0;
  bool complete_ = false, all_whole_ = true;
};

void check_folder(const std::string& run) {
  if (!fs::is_directory(run)) throw ConfigError(fmt::format("{} is not a run directory", run));
}

}  // namespace

std::vector<VerifiedItem> verify_run(const std::string& run) {
  check_folder(run);
  return Verification(run).all(nullptr);
}

std::vector<VerifiedItem> verify_run(const std::string& run, const DerivedRun& derived) {
  check_folder(run);
  return Verification(run).all(&derived);
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
