#include "run/look/verify_look.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "core/files/digest.hpp"
#include "core/files/run_file.hpp"
#include "core/files/untrusted_json.hpp"
#include "run/certify/findings.hpp"
#include "run/certify/stated_files.hpp"
#include "run/held_out/stated_results.hpp"
#include "run/look/look_plan.hpp"
#include "run/look/looks_ledger.hpp"

namespace dpmpi {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using State = VerifiedItem::State;

/// Of a member, or Failure.
template <class T>
T stated_as(const json& document, const char* member, bool (json::*is)() const noexcept) {
  const auto found = document.find(member);
  if (found == document.end() || !((*found).*is)())
    throw Failure{LookTerms::document, fmt::format("{} is not what dpmpi writes there", member)};
  return found->get<T>();
}

class LookAgain {
 public:
  explicit LookAgain(const std::string& folder) : found_(folder) {}

  std::vector<VerifiedItem> all() {
    try {
      found_.place = LookTerms::document;
      if (!found_.exists(LookTerms::document)) {
        found_.absent(found_.place, "not there: the look was stopped; what its ledger has of it is spent");
        return std::move(found_.items);
      }
      document_ = read_document(found_.run, found_.place);
      found_.place = LookTerms::ledger;
      ledger_ = read_ledger_text(found_.run, LookTerms::ledger);
      header_ = LooksHeader::read(ledger_.lines.front(), ledger_.place(0));
      take_terms();
      take_rules();
      plan_ = plan_of_look(terms_, promise_of_look(terms_));
      ledger();
      results();
      document();
    } catch (const Failure& failure) {
      found_.add(State::bad, failure.place, failure.problem);
    } catch (const json::exception&) {  // whose own words name no file
      found_.add(State::bad, found_.place, "has a member of another type than dpmpi writes there");
    } catch (const std::exception& e) {
      found_.add(State::bad, found_.place, e.what());
    }
    return std::move(found_.items);
  }

  const LookTerms& terms() const { return terms_; }
  const LooksHeader& header() const { return header_; }
  const LedgerText& ledger_text() const { return ledger_; }

 private:
  // What only the look itself can say. That it is no larger than planning bears is seen here.
  void take_terms() {
    const json& d = document_.value;
    found_.place = LookTerms::document;
    terms_.epsilon = stated_as<double>(d, "asked_epsilon", &json::is_number);
    terms_.n = stated_as<std::uint64_t>(d, "n", &json::is_number_unsigned);
    terms_.look = stated_as<std::uint64_t>(d, "look", &json::is_number_unsigned);
    terms_.counted.signs = stated_as<std::string>(d, "labels", &json::is_string) == "signs";
    terms_.counted.classes = stated_as<std::size_t>(d, "classes", &json::is_number_unsigned);
    terms_.counted.logits = stated_as<bool>(d, "logits", &json::is_boolean);
    const auto law = parse_noise(stated_as<std::string>(d, "noise", &json::is_string));
    constexpr std::uint64_t most_n = std::uint64_t{1} << 53, most_classes = 1024;
    if (!(terms_.epsilon > 0) || !std::isfinite(terms_.epsilon) || terms_.n == 0 || terms_.n > most_n || !law ||
        terms_.counted.classes < 2 || terms_.counted.classes > most_classes ||
        (terms_.counted.signs && terms_.counted.classes != 2))
      throw Failure{found_.place, "asked_epsilon, n, classes or noise is beyond what a look can have"};
    terms_.noise.law = *law;
    terms_.ranks_trusted = stated_as<std::string>(d, "trust", &json::is_string) == "cluster";
    terms_.model = stated_as<std::string>(d, "model_digest", &json::is_string);
    terms_.certificate = text_member(d, "run_certificate");
    if (terms_.model.size() != sha256("").size() ||
        (!terms_.certificate.empty() && terms_.certificate.size() != sha256("").size()))
      throw Failure{found_.place, "model_digest or run_certificate is no SHA-256"};
    terms_.delta = header_.delta, terms_.adjacency = header_.adjacency, terms_.seeded = header_.seeded;
    terms_.noise.slot_unit = header_.unit;
    if (header_.budget > 0) terms_.budget = header_.budget;
  }

  void take_rules() {
    found_.place = EvaluationPlan::results;
    const int rules = rules_of(read_document(found_.run, found_.place).value);
    if (rules < EarlierRules::today) earlier_.emplace(rules);
  }

  // The last lines are those of the plan, and those before are of looks before.
  void ledger() {
    found_.place = LookTerms::ledger;
    refuse_other_writing(ledger_);
    const std::vector<LedgerEntry> own = lines_of_look(terms_, plan_);
    if (ledger_.lines.size() < own.size() + 1) throw Failure{found_.place, "lacks lines of the look"};
    const std::size_t before = ledger_.lines.size() - own.size();
    std::uint64_t last = 0;
    for (std::size_t i = 1; i < ledger_.lines.size(); ++i) {
      const std::uint64_t look = look_of_line(ledger_.lines[i], ledger_.place(i));
      if (look < last || look > last + 1)
        throw Failure{ledger_.place(i), "is of a look that does not follow the one above"};
      last = look;
      const auto line = parse_event_line(ledger_.lines[i], ledger_.place(i));
      const Event& event = std::get<Event>(line.content);
      if (!std::holds_alternative<Gaussian>(event.mechanism) &&
          !std::holds_alternative<DiscreteGaussian>(event.mechanism))
        throw Failure{ledger_.place(i), "is nothing that a look releases"};
      (i < before ? evidence_.before : evidence_.own).push_back(event);
      if (i < before && look >= terms_.look) throw Failure{ledger_.place(i), "is more than the look was to have"};
      if (i < before) continue;
      json expected = json::parse(to_json(own[i - before].event, own[i - before].extra));
      take(expected, ledger_.line(i), "prev");
      same(ledger_.place(i), ledger_.line(i), expected, "the plan of the look");
    }
    evidence_.head = ledger_.head;
    found_.good(found_.place,
                fmt::format("{} lines, each with the SHA-256 of the line above; the last {} are those of "
                            "the plan of look {}",
                            ledger_.lines.size(), own.size(), terms_.look));
  }

  void results() {
    found_.place = EvaluationPlan::results;
    const Document stated = read_document(found_.run, found_.place);
    evidence_.results = sha256(stated.text);
    if (EarlierRules::in_force() == EarlierRules::first)
      return found_.unchecked(found_.place, "all members", of_earlier_rules);
    same(found_.place, stated.value, results_again(stated.value, plan_).file, "what the counts there give");
    refuse_other_writing(found_.place, stated);
    found_.good(found_.place, "metrics, intervals and noise made again from its counts");
    found_.unchecked(found_.place, "counts, loss", "noisy sums over the records: the word of who looked");
  }

  void document() {
    found_.place = LookTerms::document;
    json expected = json::parse(look_json(terms_, plan_, evidence_).dump());
    expected["version"] = found_.stated_text(document_.value, "version");
    same(found_.place, document_.value, expected, "the ledger and the plan");
    refuse_other_writing(found_.place, document_);
    found_.good(found_.place,
                fmt::format("planned again: epsilon {} at delta {}; with all looks before it {}, and it is look {}",
                            document_.value["epsilon"].dump(), document_.value["delta"].dump(),
                            document_.value["all_looks"]["epsilon"].dump(), terms_.look));
    found_.unchecked(found_.place, "n, labels, classes, logits, trust, version", "taken as stated");
  }

  VerifiedItems found_;
  std::optional<EarlierRules> earlier_;
  Document document_;
  LedgerText ledger_;
  LooksHeader header_;
  LookTerms terms_;
  EvaluationPlan plan_;
  LookEvidence evidence_;
};

bool is_bad(const std::vector<VerifiedItem>& items) {
  return std::ranges::any_of(items, [](const VerifiedItem& item) { return item.state == State::bad; });
}

bool is_absent(const std::vector<VerifiedItem>& items) {
  return std::ranges::any_of(items, [](const VerifiedItem& item) { return item.state == State::absent; });
}

/// Folders by number; others are nobody's.
std::map<std::uint64_t, std::string> folders_of_looks(const std::string& run) {
  std::map<std::uint64_t, std::string> folders;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(run + "/" + LookTerms::folders, none)) {
    const std::string name = entry.path().filename().string();
    if (!name.empty() && name.size() < 10 && std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; }))
      folders.emplace(std::stoull(name), name);
  }
  return folders;
}

/// That a look is at this run's model. Throws Failure.
void check_model(const std::string& run, const LookTerms& terms, const std::string& place) {
  const std::string certificate = read_run_file(run + "/certificate.json", file_limit::document);
  if (terms.certificate != sha256(certificate) ||
      parsed(certificate, "certificate.json").value("model_digest", json()) != terms.model)
    throw Failure{place, "is a look at another model than that of certificate.json"};
}

/// Ledgers of the same people are one ledger, of which each look has the beginning.
class Stories {
 public:
  void add(const LooksHeader& header, const LedgerText& ledger, const std::string& place) {
    std::vector<std::string>& known = longest_[header.people];
    const std::size_t common = std::min(known.size(), ledger.lines.size());
    if (!std::equal(known.begin(), known.begin() + static_cast<std::ptrdiff_t>(common), ledger.lines.begin()) ||
        known.size() == ledger.lines.size())
      throw Failure{place,
                    "and the ledger of another look here are of the same people, and none is the beginning of the "
                    "other: looks were forgotten, so they cost more than is said"};
    if (ledger.lines.size() > known.size()) known = ledger.lines;
  }

 private:
  std::map<std::string, std::vector<std::string>> longest_;
};

}  // namespace

bool is_look(const std::string& folder) {
  return fs::exists(folder + "/" + LookTerms::document) && !fs::exists(folder + "/config.ini");
}

std::vector<VerifiedItem> verify_look(const std::string& folder) { return LookAgain(folder).all(); }

std::vector<VerifiedItem> verify_looks(const std::string& run) {
  std::vector<VerifiedItem> all;
  Stories stories;
  for (const auto& [number, folder] : folders_of_looks(run)) {
    const std::string place = fmt::format("{}/{}", LookTerms::folders, folder);
    LookAgain look(run + "/" + place);
    std::vector<VerifiedItem> items = look.all();
    for (VerifiedItem& item : items) item.place = place + "/" + item.place;
    if (!is_bad(items) && !is_absent(items)) try {
        check_model(run, look.terms(), place + "/" + LookTerms::document);
        stories.add(look.header(), look.ledger_text(), place + "/" + LookTerms::ledger);
      } catch (const Failure& failure) {
        items.push_back({State::bad, failure.place, failure.problem});
      } catch (const std::exception& e) {
        items.push_back({State::bad, place, e.what()});
      }
    const bool bad = is_bad(items);
    all.insert(all.end(), items.begin(), items.end());
    if (bad) break;
  }
  return all;
}

}  // namespace dpmpi
