#include "dpmpi/run/verify.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "dpmpi/core/digest.hpp"
#include "dpmpi/core/errors.hpp"
#include "dpmpi/core/untrusted_json.hpp"
#include "dpmpi/privacy/ledger.hpp"
#include "dpmpi/privacy/planned_events.hpp"
#include "dpmpi/run/audit.hpp"
#include "dpmpi/run/certificate.hpp"
#include "dpmpi/run/checkpoint.hpp"
#include "dpmpi/run/config.hpp"
#include "dpmpi/run/files.hpp"
#include "dpmpi/run/safetensors.hpp"
#include "dpmpi/run/searched_config.hpp"
#include "dpmpi/run/training_ledger.hpp"
#include "json_values.hpp"

namespace dpmpi {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Thrown at the first thing that is wrong.
struct Wrong {
  std::string place, problem;
};

// The same accountant gives the same number up to the last digits, which may differ between processors.
bool same_number(const json& value, double expected) {
  if (value.is_string()) return value == "infinity" && std::isinf(expected);
  return value.is_number() && std::abs(value.get<double>() - expected) <= 1e-9 * std::abs(expected);
}

class Verification {
 public:
  explicit Verification(std::string run) : run_(std::move(run)) {}

  std::vector<VerifiedItem> all() {
    try {
      look_at_checkpoint();
      ledger();
      config();
      plan();
      coverage();
      checkpoint();
      certificate();
      metrics();
      audit();
      model();
      leftovers();
    } catch (const Wrong& wrong) {
      items_.push_back({VerifiedItem::State::bad, wrong.place, wrong.problem});
    } catch (const std::exception& e) {  // unreadable, malformed, of another type
      items_.push_back({VerifiedItem::State::bad, place_, e.what()});
    }
    return std::move(items_);
  }

 private:
  std::string path(const std::string& file) const { return run_ + "/" + file; }
  bool exists(const std::string& file) const { return fs::exists(path(file)); }
  void good(const std::string& place, const std::string& detail) {
    items_.push_back({VerifiedItem::State::good, place, detail});
  }
  void absent(const std::string& place, const std::string& detail) {
    items_.push_back({VerifiedItem::State::absent, place, detail});
  }

  // A member of one of the two JSON files.
  const json& member(const json& object, const std::string& file, const std::string& name) const {
    const auto found = object.find(name);
    if (found == object.end()) throw Wrong{fmt::format("{}: {}", file, name), "missing"};
    return *found;
  }
  void equal(const json& object, const std::string& file, const std::string& name, const json& expected,
             const std::string& source) {
    const json& value = member(object, file, name);
    if (value != expected)
      throw Wrong{fmt::format("{}: {}", file, name),
                  fmt::format("is {}, but {} says {}", shown_json(value), source, shown_json(expected))};
  }
  void equal_number(const std::string& place, const json& value, double expected) {
    if (!same_number(value, expected))
      throw Wrong{place, fmt::format("is {}, but the events give {}", shown_json(value), expected)};
  }

  json parsed(const std::string& file) {
    place_ = file;
    return read_untrusted_json(path(file), file);
  }

  /// A ledger as it is in its file.
  struct Book {
    std::string file, text, head;
    EventList list;
    json header;

    std::vector<std::string> lines() const {
      std::vector<std::string> all;
      std::istringstream in(text);
      for (std::string line; std::getline(in, line);) all.push_back(line);
      return all;
    }
  };

  Book read_book(const std::string& file) {
    place_ = file;
    const LedgerCheck check = verify_ledger(path(file));
    if (check.bad_line > 0) throw Wrong{fmt::format("{}:{}", file, check.bad_line), check.problem};
    Book book{file, read_file(path(file), file_limit::lines), check.head, {}, {}};
    std::istringstream in(book.text);
    book.list = read_events(in, file);
    book.header = parse_untrusted_json(book.text.substr(0, book.text.find('\n')), file + ":1");
    good(file, fmt::format("{} lines, each with the SHA-256 of the line above; {} events", check.lines,
                           book.list.events.size()));
    return book;
  }

  // Before the ledger, which a run that goes on makes longer: it may know more lines than the checkpoint, never
  // less.
  void look_at_checkpoint() {
    place_ = "checkpoint";
    if (!exists("certificate.json") && (exists("checkpoint/latest") || exists("checkpoint/previous")))
      checkpoint_ = read_checkpoint(run_, nullptr).facts();
  }

  void ledger() { book_ = read_book("ledger.jsonl"); }

  void config() {
    place_ = "config.ini";
    config_ = std::make_unique<RunConfig>(path(place_), std::vector<std::string>{});
    if (config_->search()) training_ = read_book(TrainingLedger::file);
    place_ = "config.ini";
    for (const Book* book : books()) {
      if (book->header.value("config", "") != config_->digest())
        throw Wrong{place_, fmt::format("its settings have the digest {}, but {}:1 says {}", config_->digest(),
                                        book->file, book->header.value("config", "nothing"))};
      if (book->list.header->seeded != config_->privacy.seeded())
        throw Wrong{place_, fmt::format("privacy.seed contradicts {}:1", book->file)};
    }
    good(place_, "settings have the digest in ledger.jsonl:1");
  }
  std::vector<const Book*> books() const {
    std::vector<const Book*> all{&book_};
    if (training_) all.push_back(&*training_);
    return all;
  }

  // Epsilon, interval and every accountant's bound, recomputed from events.
  void guarantee(const json& object, const std::string& file, const std::vector<Event>& events, bool is_private,
                 const std::string& accountant) {
    const Guarantee g = certified(events, is_private, book_.list.header->adjacency,
                                  member(object, file, "delta").get<double>(), accountant);
    equal_number(file + ": epsilon", member(object, file, "epsilon"), g.epsilon);
    const json& interval = member(object, file, "interval");
    if (!interval.is_array() || interval.size() != 2) throw Wrong{file + ": interval", "is not a pair"};
    if (is_private) equal_number(file + ": interval", interval[0], g.least);
    equal_number(file + ": interval", interval[1], g.epsilon);
    const json& by = member(object, file, "by");
    if (by.size() != g.by.size()) throw Wrong{file + ": by", fmt::format("is not by {} accountants", g.by.size())};
    for (const auto& [which, bound] : g.by)
      equal_number(fmt::format("{}: by.{}", file, which), by.value(which, json()), bound);
  }

  std::vector<Event> events_in(const json& object, const std::string& file) {
    member(object, file, "events");
    return planned_events(object, file);
  }

  void plan() {
    plan_ = parsed("plan.json");
    const json& plan = plan_;
    for (const Book* book : books())
      if (book->header.contains("plan") && book->header["plan"] != file_digest(path(place_)))
        throw Wrong{place_, fmt::format("is not the plan whose SHA-256 stands in {}:1", book->file)};
    planned_ = part_of_plan(plan, place_, book_, *config_, config_->digest(), config_->method->is_private());
    delta_ = plan["delta"];
    good(place_, fmt::format("SHA-256 as in ledger.jsonl:1; its events give its epsilon, {} at delta {}",
                             plan["epsilon"].dump(), delta_.dump()));
    if (training_) trainings();
  }

  // The events of what was promised to the people of one ledger.
  std::vector<Event> part_of_plan(const json& part, const std::string& file, const Book& book,
                                  const RunConfig& config, const std::string& digest, bool is_private) {
    const std::string header = book.file + ":1";
    equal(part, file, "adjacency", name(book.list.header->adjacency), header);
    equal(part, file, "n", book.list.header->n.value_or(0), header);
    equal(part, file, "config_digest", digest, "config.ini");
    std::vector<Event> events = events_in(part, file);
    guarantee(part, file, events, is_private, config.privacy.accountant);
    return events;
  }

  // The number of trainings may follow from what was released: all that were planned count.
  void trainings() {
    const std::string file = place_ + ": training";
    const json& part = member(plan_, place_, "training");
    planned_trainings_ =
        part_of_plan(part, file, *training_, config_->search()->base(), config_->search()->centre().digest(), true);
    if (training_->list.header->adjacency != book_.list.header->adjacency)
      throw Wrong{file, "has other neighbours than ledger.jsonl:1"};
    runs_ = member(part, file, "runs").get<std::uint64_t>();
    if (runs_ == 0) throw Wrong{file + ": runs", "is 0"};
    if (training_->header.value("trainings", std::uint64_t{0}) != runs_)
      throw Wrong{training_->file + ":1",
                  fmt::format("says another number of trainings than the {} of plan.json", runs_)};
    for (const auto& [mechanism, count] : uses(planned_trainings_))
      if (count % runs_ != 0) throw Wrong{file + ": events", fmt::format("are not those of {} trainings", runs_)};
    guarantee(member(plan_, place_, "both"), place_ + ": both", with_trainings(planned_),
              config_->method->is_private(), config_->privacy.accountant);
    good(file, fmt::format("to those on whose records {} models at most are trained: epsilon {}; to who is in both "
                           "sets: epsilon {}",
                           runs_, part["epsilon"].dump(), plan_["both"]["epsilon"].dump()));
  }
  std::vector<Event> with_trainings(std::vector<Event> events) const {
    events.insert(events.end(), planned_trainings_.begin(), planned_trainings_.end());
    return events;
  }

  // A ledger may not hold what was not promised: the first line that exceeds the plan.
  void covered(const Book& book, const std::vector<Event>& planned) {
    place_ = book.file;
    auto left = uses(planned);
    std::size_t line = 1;
    for (const Event& event : book.list.events) {
      ++line;
      std::uint64_t& uses_left = left[event.mechanism];
      if (uses_left < event.count)
        throw Wrong{fmt::format("{}:{}", book.file, line),
                    fmt::format("{} {} are more than plan.json has", event.count, name(event.mechanism))};
      uses_left -= event.count;
    }
  }
  void coverage() {
    covered(book_, planned_);
    complete_ = same_events(book_.list.events, planned_);
    good(place_, complete_ ? "covers plan.json exactly" : "is covered by plan.json, which goes on");
    if (!training_) return;
    covered(*training_, planned_trainings_);
    const auto one = events_of_training(planned_trainings_, runs_);
    trained_ = trainings_in(training_->lines(), one, training_->file).size();
    all_whole_ = training_->list.events.size() == trained_ * one.size();
    good(place_, fmt::format("{} trainings of {} at most, each with settings of its own", trained_, runs_));
  }

  void seen_before(const Book& book, std::uint64_t lines, const std::string& hash) {
    const std::vector<std::string> all = book.lines();
    if (all.size() < lines || lines == 0)
      throw Wrong{fmt::format("{}:{}", book.file, all.size() + 1),
                  fmt::format("missing: the checkpoint has seen {} lines", lines)};
    if (sha256(all[lines - 1]) != hash)
      throw Wrong{fmt::format("{}:{}", book.file, lines), "is not the line that the checkpoint has seen"};
  }

  void checkpoint() {
    place_ = "checkpoint";
    if (exists("certificate.json")) return;
    if (!checkpoint_) return absent(place_, "there is none: nothing says how long the ledger has to be");
    const Checkpoint& c = *checkpoint_;
    seen_before(book_, c.ledger_lines, c.ledger_line_hash);
    if (training_) seen_before(*training_, c.training_lines, c.training_line_hash);
    if (c.config != config_->essentials()) throw Wrong{place_, "belongs to another config"};
    if (c.commitment != book_.header.value("data", "")) throw Wrong{place_, "belongs to other data"};
    good(place_,
         fmt::format("after step {}: config, data and the first {} lines of the ledger", c.step, c.ledger_lines));
  }

  void certificate() {
    place_ = "certificate.json";
    if (!exists(place_)) return absent(place_, "not there yet: the run is not finished");
    if (!complete_) throw Wrong{"ledger.jsonl", "does not cover plan.json, though the run has a certificate"};
    const json& c = certificate_ = parsed(place_);
    equal(c, place_, "ledger_head", book_.head, "the last line of ledger.jsonl");
    equal(c, place_, "config_digest", config_->digest(), "config.ini");
    equal(c, place_, "plan_digest", file_digest(path("plan.json")), "plan.json");
    equal(c, place_, "data_commitment", book_.header.value("data", json()), "ledger.jsonl:1");
    equal(c, place_, "adjacency", name(book_.list.header->adjacency), "ledger.jsonl:1");
    equal(c, place_, "n", book_.list.header->n.value_or(0), "ledger.jsonl:1");
    equal(c, place_, "delta", delta_, "plan.json");
    equal(c, place_, "seeded", book_.list.header->seeded, "ledger.jsonl:1");
    equal(c, place_, "trust", config_->privacy.trust, "config.ini");
    equal(c, place_, "method", config_->method_name, "config.ini");
    equal(c, place_, "objective", config_->objective_name, "config.ini");
    equal(c, place_, "accountant", config_->privacy.accountant, "config.ini");
    equal(c, place_, "noise", config_->method->is_private() ? config_->privacy.noise : "none", "config.ini");
    equal(c, place_, "theorem", theorem(config_->method_name), "the method");
    for (const auto& [name, in_plan] : {std::pair{"numerical_slack", "slack"}, {"steps", "steps"}, {"dim", "dim"}})
      equal(c, place_, name, plan_.value(in_plan, json()), "plan.json");
    if (!same_events(events_in(c, place_), book_.list.events))
      throw Wrong{"certificate.json: events", "are not those of ledger.jsonl"};
    const bool is_private = config_->method->is_private() && !book_.list.header->seeded;
    guarantee(c, place_, book_.list.events, is_private, config_->privacy.accountant);
    equal(c, place_, "statement",
          statement(*config_, book_.list.header->n.value_or(0), epsilon_of(c), delta_.get<double>()),
          "its numbers");
    if (training_) certified_trainings(c, is_private);
    good(place_,
         fmt::format("epsilon {} at delta {}, recomputed from ledger.jsonl; digests of ledger, config, plan "
                     "and data",
                     c["epsilon"].dump(), delta_.dump()));
  }

  static double epsilon_of(const json& object) {
    return object["epsilon"].is_number() ? object["epsilon"].get<double>() : HUGE_VAL;
  }

  // What the certificate says to the trainer's people, and to who is in both sets.
  void certified_trainings(const json& c, bool is_private) {
    const RunConfig& trainer = config_->search()->base();
    const std::string file = place_ + ": training", other = place_ + ": both";
    const json& t = member(c, place_, "training");
    const json &planned = plan_["training"], &both = member(c, place_, "both");
    if (!all_whole_)
      throw Wrong{training_->file, "lacks lines of its last training, though the run has a certificate"};
    equal(t, file, "ledger_head", training_->head, "the last line of training_ledger.jsonl");
    equal(t, file, "data_commitment", training_->header.value("data", json()), "training_ledger.jsonl:1");
    equal(t, file, "trained", trained_, "training_ledger.jsonl");
    for (const auto& [name, in_plan] : {std::pair{"runs", "runs"},
                                        {"n", "n"},
                                        {"delta", "delta"},
                                        {"adjacency", "adjacency"},
                                        {"numerical_slack", "slack"}})
      equal(t, file, name, planned.value(in_plan, json()), "plan.json");
    equal(both, other, "delta", plan_["both"].value("delta", json()), "plan.json");
    equal(t, file, "accountant", trainer.privacy.accountant, "config.ini");
    equal(t, file, "noise", trainer.privacy.noise, "config.ini");
    equal(t, file, "trust", trainer.privacy.trust, "config.ini");
    equal(t, file, "method", trainer.method_name, "config.ini");
    equal(t, file, "objective", trainer.objective_name, "config.ini");
    equal(t, file, "theorem", theorem(trainer.method_name), "the method");
    if (!same_events(events_in(t, file), planned_trainings_))
      throw Wrong{file + ": events", "are not those of plan.json"};
    guarantee(t, file, planned_trainings_, !book_.list.header->seeded, trainer.privacy.accountant);
    guarantee(both, other, with_trainings(book_.list.events), is_private, config_->privacy.accountant);
    equal(t, file, "statement",
          training_statement(*config_, training_->list.header->n.value_or(0), runs_, epsilon_of(t),
                             t["delta"].get<double>()),
          "its numbers");
    equal(both, other, "statement", both_statement(*config_, epsilon_of(both), both["delta"].get<double>()),
          "its numbers");
  }

  void model() {
    place_ = "model.safetensors";
    if (!exists("certificate.json")) return;
    if (!exists(place_))
      return absent(place_, "not here: the certificate's own digest, which the model has, was not compared");
    auto metadata = read_metadata(path(place_));
    if (metadata["method"] != config_->method_name || metadata["objective"] != config_->objective_name ||
        metadata.size() != 4)
      throw Wrong{place_, "says other things of itself than it was written with"};
    if (metadata["certificate"] != file_digest(path("certificate.json")))
      throw Wrong{place_, "carries the SHA-256 of another certificate than certificate.json"};
    if (metadata["config"] != config_->digest()) throw Wrong{place_, "belongs to another config"};
    if (parameter_bytes(path(place_)) / sizeof(float) > member(plan_, "plan.json", "dim").get<std::uint64_t>())
      throw Wrong{place_, "holds more numbers than plan.json's dim"};
    if (parameters_digest(path(place_)) != certificate_.value("model_digest", json()))
      throw Wrong{place_, "holds other tensors than those of certificate.json's model_digest"};
    good(place_, "carries the SHA-256 of certificate.json and the config's digest; parameters as certified");
  }

  void metrics() {
    place_ = "metrics.jsonl";
    if (!exists("certificate.json")) return;
    if (!exists(place_)) return absent(place_, "not here: certificate.json has its digest");
    if (file_digest(path(place_), file_limit::lines) != certificate_.value("metrics_digest", json()))
      throw Wrong{place_, "is not the file of certificate.json's metrics_digest"};
    good(place_, "SHA-256 as in certificate.json");
  }

  void audit() {
    place_ = "audit.json";
    if (!certificate_.contains("audit")) return;
    if (!exists(place_)) return absent(place_, "not here: certificate.json quotes it");
    if (json::parse(certified_audit(path(place_), config_->digest(), plan_["epsilon"].get<double>(),
                                    delta_.get<double>())) != certificate_["audit"])
      throw Wrong{place_, "is not the audit that certificate.json quotes"};
    good(place_, "the bounds on epsilon in certificate.json");
  }

  // Last, because what a kill at the end left says nothing against the other files.
  void leftovers() {
    place_ = "checkpoint";
    if (!exists("certificate.json")) return;
    std::error_code refused;
    std::set<std::string> left;
    for (const auto& file : fs::directory_iterator(path(place_), refused)) left.insert(file.path().filename());
    if (refused == std::errc::permission_denied)
      return absent(place_, "may not be looked into by this user: whether a key is left there is not known");
    if (left.empty()) return;
    const std::string what =
        fmt::format("{} left in a finished run: whoever has the key can remove the noise from what was released",
                    fmt::join(left, " and "));
    if (left == std::set<std::string>{"key"} && config_->run.keep_key)
      items_.push_back({VerifiedItem::State::warning, place_, what + ". run.keep_key asked for it"});
    else
      throw Wrong{place_,
                  fmt::format("{}; 'dpmpi resume {}' wipes and removes what a kill at the end left", what, run_)};
  }

  std::string run_, place_;
  std::vector<VerifiedItem> items_;
  Book book_;
  std::optional<Book> training_;  // of a run that trains models on a second private set
  std::optional<Checkpoint> checkpoint_;
  json plan_, delta_, certificate_;
  std::unique_ptr<RunConfig> config_;
  std::vector<Event> planned_, planned_trainings_;
  std::uint64_t runs_ = 0, trained_ = 0;
  bool complete_ = false, all_whole_ = true;
};

}  // namespace

std::vector<VerifiedItem> verify_run(const std::string& run) {
  if (!fs::is_directory(run)) throw ConfigError(fmt::format("{} is not a run directory", run));
  return Verification(run).all();
}

}  // namespace dpmpi
