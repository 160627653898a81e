#include "dpmpi/run/verify.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <exception>
#include <filesystem>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "dpmpi/core/digest.hpp"
#include "dpmpi/core/errors.hpp"
#include "dpmpi/privacy/ledger.hpp"
#include "dpmpi/run/audit.hpp"
#include "dpmpi/run/certificate.hpp"
#include "dpmpi/run/checkpoint.hpp"
#include "dpmpi/run/config.hpp"
#include "dpmpi/run/files.hpp"
#include "dpmpi/run/safetensors.hpp"
#include "json_values.hpp"

namespace dpmpi {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Values nested deeper than any of the run's files could exhaust the stack of what recurses over them.
bool not_deep(int depth, json::parse_event_t, json&) {
  if (depth > 16) throw std::runtime_error("is nested more than 16 deep");
  return true;
}

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
      ledger();
      config();
      plan();
      coverage();
      checkpoint();
      certificate();
      metrics();
      audit();
      model();
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
                  fmt::format("is {}, but {} says {}", value.dump(), source, expected.dump())};
  }
  void equal_number(const std::string& place, const json& value, double expected) {
    if (!same_number(value, expected))
      throw Wrong{place, fmt::format("is {}, but the events give {}", value.dump(), expected)};
  }

  json parsed(const std::string& file) {
    place_ = file;
    try {
      return json::parse(read_file(path(file)), not_deep);
    } catch (const json::exception& e) {
      throw Wrong{file, fmt::format("is not JSON: {}", e.what())};
    }
  }

  void ledger() {
    place_ = "ledger.jsonl";
    const LedgerCheck check = verify_ledger(path(place_));
    if (check.bad_line > 0) throw Wrong{fmt::format("ledger.jsonl:{}", check.bad_line), check.problem};
    text_ = read_file(path(place_));
    std::istringstream in(text_);
    list_ = read_events(in, place_);
    header_ = json::parse(text_.substr(0, text_.find('\n')));
    head_ = check.head;
    good(place_, fmt::format("{} lines, each with the SHA-256 of the line above; {} events", check.lines,
                             list_.events.size()));
  }

  void config() {
    place_ = "config.ini";
    config_ = std::make_unique<RunConfig>(path(place_), std::vector<std::string>{});
    if (header_.value("config", "") != config_->digest())
      throw Wrong{place_, fmt::format("its settings have the digest {}, but ledger.jsonl:1 says {}",
                                      config_->digest(), header_.value("config", "nothing"))};
    if (list_.header->seeded != config_->privacy.seeded())
      throw Wrong{place_, "privacy.seed contradicts ledger.jsonl:1"};
    good(place_, "settings have the digest in ledger.jsonl:1");
  }

  // Epsilon, interval and every accountant's bound, recomputed from events.
  void guarantee(const json& object, const std::string& file, const std::vector<Event>& events, bool is_private) {
    const Guarantee g = certified(events, is_private, list_.header->adjacency,
                                  member(object, file, "delta").get<double>(), config_->privacy.accountant);
    equal_number(file + ": epsilon", member(object, file, "epsilon"), g.epsilon);
    const json& interval = member(object, file, "interval");
    if (!interval.is_array() || interval.size() != 2) throw Wrong{file + ": interval", "is not a pair"};
    if (is_private) equal_number(file + ": interval", interval[0], g.least);
    equal_number(file + ": interval", interval[1], g.epsilon);
    const json& by = member(object, file, "by");
    if (by.size() != g.by.size()) throw Wrong{file + ": by", fmt::format("is not by {} accountants", g.by.size())};
    for (const auto& [accountant, bound] : g.by)
      equal_number(fmt::format("{}: by.{}", file, accountant), by.value(accountant, json()), bound);
  }

  std::vector<Event> events_in(const json& object, const std::string& file) {
    std::vector<Event> events;
    for (const json& event : member(object, file, "events"))
      events.push_back(std::get<Event>(parse_event_line(event.dump(), file + ": events").content));
    return events;
  }

  void plan() {
    plan_ = parsed("plan.json");
    const json& plan = plan_;
    if (header_.contains("plan") && header_["plan"] != file_digest(path(place_)))
      throw Wrong{place_, "is not the plan whose SHA-256 stands in ledger.jsonl:1"};
    equal(plan, place_, "adjacency", name(list_.header->adjacency), "ledger.jsonl:1");
    equal(plan, place_, "n", list_.header->n.value_or(0), "ledger.jsonl:1");
    equal(plan, place_, "config_digest", config_->digest(), "config.ini");
    planned_ = events_in(plan, place_);
    guarantee(plan, place_, planned_, config_->method->is_private());
    delta_ = plan["delta"];
    good(place_, fmt::format("SHA-256 as in ledger.jsonl:1; its events give its epsilon, {} at delta {}",
                             plan["epsilon"].dump(), delta_.dump()));
  }

  // The ledger may not hold what was not promised: the first line that exceeds the plan.
  void coverage() {
    place_ = "ledger.jsonl";
    auto left = uses(planned_);
    std::size_t line = 1;
    for (const Event& event : list_.events) {
      ++line;
      std::uint64_t& uses_left = left[event.mechanism];
      if (uses_left < event.count)
        throw Wrong{fmt::format("ledger.jsonl:{}", line),
                    fmt::format("{} {} are more than plan.json has", event.count, name(event.mechanism))};
      uses_left -= event.count;
    }
    complete_ = same_events(list_.events, planned_);
    good(place_, complete_ ? "covers plan.json exactly" : "is covered by plan.json, which goes on");
  }

  void checkpoint() {
    place_ = "checkpoint";
    if (exists("certificate.json")) return;
    if (!exists("checkpoint/latest") && !exists("checkpoint/previous"))
      return absent(place_, "there is none: nothing says how long the ledger has to be");
    const Checkpoint c = read_checkpoint(run_, nullptr).facts();
    std::istringstream in(text_);
    std::string line;
    std::uint64_t lines = 0;
    while (lines < c.ledger_lines && std::getline(in, line)) ++lines;
    if (lines < c.ledger_lines)
      throw Wrong{fmt::format("ledger.jsonl:{}", lines + 1),
                  fmt::format("missing: the checkpoint has seen {} lines", c.ledger_lines)};
    if (sha256(line) != c.ledger_line_hash)
      throw Wrong{fmt::format("ledger.jsonl:{}", lines), "is not the line that the checkpoint has seen"};
    if (c.config != config_->essentials()) throw Wrong{place_, "belongs to another config"};
    if (c.commitment != header_.value("data", "")) throw Wrong{place_, "belongs to other data"};
    good(place_, fmt::format("after step {}: config, data and the first {} lines of the ledger", c.step, lines));
  }

  void certificate() {
    place_ = "certificate.json";
    if (!exists(place_)) return absent(place_, "not there yet: the run is not finished");
    if (!complete_) throw Wrong{"ledger.jsonl", "does not cover plan.json, though the run has a certificate"};
    const json& c = certificate_ = parsed(place_);
    equal(c, place_, "ledger_head", head_, "the last line of ledger.jsonl");
    equal(c, place_, "config_digest", config_->digest(), "config.ini");
    equal(c, place_, "plan_digest", file_digest(path("plan.json")), "plan.json");
    equal(c, place_, "data_commitment", header_.value("data", json()), "ledger.jsonl:1");
    equal(c, place_, "adjacency", name(list_.header->adjacency), "ledger.jsonl:1");
    equal(c, place_, "n", list_.header->n.value_or(0), "ledger.jsonl:1");
    equal(c, place_, "delta", delta_, "plan.json");
    equal(c, place_, "seeded", list_.header->seeded, "ledger.jsonl:1");
    equal(c, place_, "trust", config_->privacy.trust, "config.ini");
    equal(c, place_, "method", config_->method_name, "config.ini");
    equal(c, place_, "objective", config_->objective_name, "config.ini");
    equal(c, place_, "accountant", config_->privacy.accountant, "config.ini");
    equal(c, place_, "noise", config_->method->is_private() ? config_->privacy.noise : "none", "config.ini");
    equal(c, place_, "theorem", theorem(config_->method_name), "the method");
    for (const auto& [name, in_plan] : {std::pair{"numerical_slack", "slack"}, {"steps", "steps"}, {"dim", "dim"}})
      equal(c, place_, name, plan_.value(in_plan, json()), "plan.json");
    if (!same_events(events_in(c, place_), list_.events))
      throw Wrong{"certificate.json: events", "are not those of ledger.jsonl"};
    guarantee(c, place_, list_.events, config_->method->is_private() && !list_.header->seeded);
    const double epsilon = c["epsilon"].is_number() ? c["epsilon"].get<double>() : HUGE_VAL;
    equal(c, place_, "statement", statement(*config_, list_.header->n.value_or(0), epsilon, delta_.get<double>()),
          "its numbers");
    good(place_,
         fmt::format("epsilon {} at delta {}, recomputed from ledger.jsonl; digests of ledger, config, plan "
                     "and data",
                     c["epsilon"].dump(), delta_.dump()));
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
    if (parameters_digest(path(place_)) != certificate_.value("model_digest", json()))
      throw Wrong{place_, "holds other tensors than those of certificate.json's model_digest"};
    good(place_, "carries the SHA-256 of certificate.json and the config's digest; parameters as certified");
  }

  void metrics() {
    place_ = "metrics.jsonl";
    if (!exists("certificate.json")) return;
    if (!exists(place_)) return absent(place_, "not here: certificate.json has its digest");
    if (file_digest(path(place_)) != certificate_.value("metrics_digest", json()))
      throw Wrong{place_, "is not the file of certificate.json's metrics_digest"};
    good(place_, "SHA-256 as in certificate.json");
  }

  void audit() {
    place_ = "audit.json";
    if (!certificate_.contains("audit")) return;
    if (!exists(place_)) return absent(place_, "not here: certificate.json quotes it");
    if (json::parse(certified_audit(path(place_), config_->digest())) != certificate_["audit"])
      throw Wrong{place_, "is not the audit that certificate.json quotes"};
    good(place_, "the bounds on epsilon in certificate.json");
  }

  std::string run_, place_;
  std::vector<VerifiedItem> items_;
  std::string text_, head_;  // of the ledger
  EventList list_;
  json header_, plan_, delta_, certificate_;
  std::unique_ptr<RunConfig> config_;
  std::vector<Event> planned_;
  bool complete_ = false;
};

}  // namespace

std::vector<VerifiedItem> verify_run(const std::string& run) {
  if (!fs::is_directory(run)) throw ConfigError(fmt::format("{} is not a run directory", run));
  return Verification(run).all();
}

}  // namespace dpmpi
