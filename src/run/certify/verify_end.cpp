#include "run/certify/verify_end.hpp"

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "core/errors.hpp"
#include "core/files/digest.hpp"
#include "core/files/run_file.hpp"
#include "core/files/untrusted_json.hpp"
#include "run/certify/certificate.hpp"
#include "run/certify/certified_audit.hpp"
#include "run/certify/metrics_lines.hpp"
#include "run/certify/model_metadata.hpp"
#include "run/directory/directory.hpp"
#include "run/directory/files.hpp"
#include "run/directory/safetensors.hpp"
#include "run/plan/evaluation_plan.hpp"

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

class EndOfRun {
 public:
  EndOfRun(VerifiedItems& found, const VerifiedSoFar& run) : found_(found), run_(run) {}

  void verify() {
    certificate();
    preparation();
    evaluation();
    metrics();
    audit();
    model();
    other_files();
    leftovers();
  }

 private:
  void certificate() {
    found_.place = "certificate.json";
    if (!found_.finished()) {
      refuse_lost_certificate(found_.run);
      return found_.absent(found_.place, "not there yet: the run is not finished");
    }
    const Document document = read_document(found_.run, found_.place);
    const json& c = certificate_ = document.value;
    json expected = run_.derived ? run_.derived->certificate : c;
    expected["config_digest"] = run_.config->digest();
    expected["plan_digest"] = sha256(run_.plan.text);
    expected["ledger_head"] = run_.ledger.head;
    expected["data_commitment"] = found_.stated_text(run_.ledger.header(), "data");
    if (!run_.config->audit.result.empty()) take(expected, c, "audit");  // compared with audit.json
    for (const char* digest : {"model_digest", "metrics_digest"}) take(expected, c, digest);  // and with these
    for (const char* origin : {"program", "version"}) expected[origin] = found_.stated_text(c, origin);
    for (const auto& [digest, of] :
         {std::pair{"public_models", "objective.train"}, {"training_files", "data.train"}})
      if (c.contains(digest) && !run_.config->value(of).empty()) expected[digest] = found_.stated_text(c, digest);
    if (run_.derived && c.contains("generators") && c["generators"].is_object())
      for (const auto& [stream, check] : generator_commitments(SecretKey::from_seed(0), 1))
        expected["generators"][stream] = found_.stated_text(c["generators"], stream);
    if (run_.trainings && run_.derived) expected_of_trainings(expected);
    if (run_.evaluation && run_.derived) expected_of_evaluation(expected, c);
    if (run_.config->prepare.on() && run_.derived)
      expected["preparation"]["results_digest"] =
          found_.stated_text(c.value("preparation", json::object()), "results_digest");
    if (run_.derived && !run_.complete) run_.refuse_uncovered();
    same(found_.place, c, expected, "the run");
    refuse_other_writing(found_.place, document);
    if (!run_.derived) return found_.good(found_.place, "digests of ledger, config and plan");
    found_.good(found_.place,
                fmt::format("made again from config.ini and the ledger: epsilon {} at delta {}, and every other "
                            "member; digests of ledger, config and plan",
                            c["epsilon"].dump(), c["delta"].dump()));
    if (c.contains("public_models"))
      found_.unchecked(found_.place, "public_models", "the digest of objective.train, which is not read");
    if (c.contains("training_files"))
      found_.unchecked(found_.place, "training_files",
                       "the digest of the names of data.train, which is not looked for");
    found_.unchecked(found_.place, "generators, program, version",
                     "keyed by the run's key, or about the machine that trained");
  }
  void expected_of_trainings(json& expected) {
    if (!run_.all_whole)
      throw Failure{run_.trainings->file, "lacks lines of its last training, though the run has a certificate"};
    expected["training"]["ledger_head"] = run_.trainings->head;
    expected["training"]["data_commitment"] = found_.stated_text(run_.trainings->header(), "data");
    expected["training"]["trained"] = run_.trained;
  }

  void expected_of_evaluation(json& expected, const json& c) {
    if (!run_.evaluated)
      throw Failure{run_.evaluation->file, "does not cover plan.json, though the run has a certificate"};
    const json stated = c.value("evaluation", json::object());
    json& evaluation = expected["evaluation"];
    evaluation["ledger_head"] = run_.evaluation->head;
    evaluation["data_commitment"] = found_.stated_text(run_.evaluation->header(), "data");
    evaluation["generator"] = found_.stated_text(stated, "generator");
    evaluation["results_digest"] = found_.stated_text(stated, "results_digest");
  }

  // Of a run that goes on, too: what was found out is written before the first step.
  void preparation() {
    found_.place = PreparationPlan::results;
    if (!run_.config->prepare.on()) return;
    if (!found_.exists(found_.place))
      return found_.absent(found_.place, found_.finished() ? "not here: certificate.json has its digest"
                                                           : "not there yet: the run has not begun");
    const Document document = read_document(found_.run, found_.place);
    prepared_ = document.value.value("columns_file", json());
    if (found_.finished() &&
        sha256(document.text) != certificate_.value(json::json_pointer("/preparation/results_digest"), json()))
      throw Failure{found_.place, "is not the file of certificate.json's preparation.results_digest"};
    if (!run_.derived) return found_.unchecked(found_.place, "all members", "not made again from the counts here");
    const Plan& plan = run_.derived->plan;
    Preparation again(*run_.config->data.columns_file, plan.preparation.words, plan.preparing());
    again.read(document.value);
    same(found_.place, document.value, json::parse(again.json().dump()), "what the counts there give");
    refuse_other_writing(found_.place, document);
    found_.good(found_.place, "scales and columns file made again from its counts and columns.txt");
    found_.unchecked(found_.place, "octaves, zoom, values, counts of classes and words",
                     "noisy counts of records: the trainer's word");
  }

  void evaluation() {
    found_.place = EvaluationPlan::results;
    if (!run_.evaluation || !found_.finished()) return;
    if (!found_.exists(found_.place))
      return found_.absent(found_.place, "not here: certificate.json has its digest");
    const Document document = read_document(found_.run, found_.place);
    const json digest = certificate_.value(json::json_pointer("/evaluation/results_digest"), json());
    if (sha256(document.text) != digest)
      throw Failure{found_.place, "is not the file of certificate.json's evaluation.results_digest"};
    if (!run_.derived || !run_.make_results) {
      found_.good(found_.place, "SHA-256 as in certificate.json");
      return found_.unchecked(found_.place, "all members", "not made again from the counts here");
    }
    if (rules_of(document.value) == EarlierRules::first) {
      found_.good(found_.place, "SHA-256 as in certificate.json");
      return found_.unchecked(found_.place, "all members", of_earlier_rules);
    }
    const ResultsAgain again = run_.make_results(document.value, *run_.derived->plan.evaluation);
    same(found_.place, document.value, again.file, "what the counts there give");
    refuse_other_writing(found_.place, document);
    tested_ = again.line;
    found_.good(found_.place,
                "SHA-256 as in certificate.json; metrics, intervals and noise made again from its counts");
    found_.unchecked(found_.place, "counts, loss", "noisy sums over held-out records: the trainer's word");
  }

  void metrics() {
    found_.place = "metrics.jsonl";
    if (!found_.finished()) return;
    if (!found_.exists(found_.place))
      return found_.absent(found_.place, "not here: certificate.json has its digest");
    const std::string text = read_run_file(found_.path(found_.place), file_limit::lines);
    if (sha256(text) != certificate_.value("metrics_digest", json()))
      throw Failure{found_.place, "is not the file of certificate.json's metrics_digest"};
    if (!text.ends_with('\n')) throw Failure{found_.place, "does not end with a newline, as dpmpi writes it"};
    if (run_.derived) check_metrics(*run_.config, *run_.derived, lines_of(text), tested_, found_.place);
    found_.good(
        "metrics.jsonl",
        fmt::format("SHA-256 as in certificate.json{}{}",
                    run_.derived ? "; epsilon spent after every step that it shows" : "",
                    tested_.is_null() ? "" : "; what was tested as in " + std::string(EvaluationPlan::results)));
    found_.unchecked("metrics.jsonl",
                     tested_.is_null() ? "eval, test, method, tuned, constant, clip, warnings"
                                       : "eval, method, tuned, constant, clip, warnings",
                     "who has data.eval can evaluate the model");
    found_.unchecked("metrics.jsonl", "step",
                     "a line is for a step that may be shown; which of these were is not checked");
  }
  void audit() {
    found_.place = "audit.json";
    if (!certificate_.contains("audit")) return;
    if (!found_.exists(found_.place)) return found_.absent(found_.place, "not here: certificate.json quotes it");
    const json bounds = json::parse(certified_audit(found_.path(found_.place), run_.config->digest(),
                                                    run_.plan.value["epsilon"].get<double>(),
                                                    run_.plan.value["delta"].get<double>()));
    if (certificate_["audit"].dump() != bounds.dump())  // 1 and 1.0 are equal values
      throw Failure{found_.place, "is not the audit that certificate.json quotes"};
    found_.good(found_.place, "the bounds on epsilon in certificate.json");
    found_.unchecked(found_.place, "config, method, objective, adjacency, confidence, seed, bound, games",
                     "as dpmpi audit wrote them: who plays it again can compare");
  }

  void model() {
    found_.place = "model.safetensors";
    if (!found_.finished()) return;
    if (!found_.exists(found_.place))
      return found_.absent(found_.place,
                           "not here: the certificate's own digest, which the model has, was not compared");
    const std::string file = found_.path(found_.place),
                      certificate = sha256(read_run_file(found_.path("certificate.json"), file_limit::document));
    if (read_metadata(file)["certificate"] != certificate)
      throw Failure{found_.place, "carries the SHA-256 of another certificate than certificate.json"};
    const auto written = read_metadata(file);
    const json features = run_.plan.value.value(json::json_pointer("/data/features"), json());
    const auto metadata = expected_metadata(
        *run_.config, certificate, features.is_number_unsigned() ? features.get<std::uint64_t>() : 0, written);
    if (written != std::map<std::string, std::string>(metadata.begin(), metadata.end()) ||
        (run_.derived && !has_safetensors_header(file, run_.derived->objective->model_groups(), metadata)))
      throw Failure{found_.place, "says other things of itself than it was written with"};
    const auto columns = written.find("columns");
    if (!prepared_.is_null() && columns != written.end() && prepared_ != columns->second)
      throw Failure{found_.place, fmt::format("reads columns otherwise than {} says", PreparationPlan::results)};
    if (parameters_digest(file) != certificate_.value("model_digest", json()))
      throw Failure{found_.place, "holds other tensors than those of certificate.json's model_digest"};
    found_.good(found_.place,
                "carries the SHA-256 of certificate.json and the config's digest; parameters as certified");
    found_.unchecked(found_.place, "parameters",
                     "their digest is certified; that the run released them is the trainer's word");
  }

  // What stands beside the files above.
  void other_files() {
    // Looks come after the run, and have documents of their own (run/look).
    std::set<std::string> read{"ledger.jsonl", "config.ini", "plan.json", "checkpoint", "looks"};
    if (run_.trainings) read.insert({run_.trainings->file, RunConfig::trainer_file});
    if (run_.config->data.columns_file) read.insert(RunConfig::columns_file);
    if (run_.evaluation) read.insert({EvaluationPlan::ledger, EvaluationPlan::results});
    if (run_.config->prepare.on()) read.insert(PreparationPlan::results);
    if (certificate_.contains("audit")) read.insert("audit.json");
    if (found_.finished()) read.insert({"certificate.json", "metrics.jsonl", "model.safetensors"});
    std::set<std::string> others;
    for (const auto& entry : fs::directory_iterator(found_.run))
      if (!read.contains(entry.path().filename())) others.insert(entry.path().filename());
    if (!others.empty()) found_.unchecked("other files", shown_names(others, ", "), "not read");
  }

  // Last, because what a kill at the end left says nothing against the other files.
  void leftovers() {
    found_.place = "checkpoint";
    if (!found_.finished()) return;
    std::error_code refused;
    std::set<std::string> left;
    for (const auto& file : fs::directory_iterator(found_.path(found_.place), refused))
      left.insert(file.path().filename());
    if (refused == std::errc::permission_denied)
      return found_.absent(found_.place,
                           "may not be looked into by this user: whether a key is left there is not known");
    if (left.empty()) return;
    const std::string what =
        fmt::format("{} left in a finished run: whoever has the key can remove the noise from what was released",
                    shown_names(left, " and "));
    if (left == std::set<std::string>{"key"} && run_.config->run.keep_key)
      found_.add(State::warning, found_.place, what + ". run.keep_key asked for it");
    else
      throw Failure{found_.place, fmt::format("{}; 'dpmpi resume {}' wipes and removes what a kill at the end left",
                                              what, found_.run)};
  }

  VerifiedItems& found_;
  const VerifiedSoFar& run_;
  json certificate_;
  json prepared_;  // the columns file that was found out; null: none was, or it is not here
  json tested_;    // the members "test.NAME" of the last line of metrics.jsonl; null: nothing says them
};

}  // namespace

void verify_end(VerifiedItems& found, const VerifiedSoFar& run) { EndOfRun(found, run).verify(); }

}  // namespace dpmpi
