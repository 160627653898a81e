#include "run/look/look.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/errors.hpp"
#include "core/fault.hpp"
#include "core/files/digest.hpp"
#include "core/files/run_file.hpp"
#include "core/numbers/real.hpp"
#include "data/load/throw_on_all_ranks.hpp"
#include "data/records/labels.hpp"
#include "privacy/curator/curator.hpp"
#include "run/directory/files.hpp"
#include "run/directory/safetensors.hpp"
#include "run/held_out/counts.hpp"
#include "run/held_out/estimates.hpp"
#include "run/held_out/results.hpp"
#include "run/look/look_page.hpp"
#include "run/look/looks_ledger.hpp"
#include "run/plan/made_by_root.hpp"
#include "run/train/input_checks.hpp"

namespace dpmpi {
namespace {

namespace fs = std::filesystem;

/// Beside the file itself, whatever symbolic link leads there.
std::string ledger_path(const Dataset& people, const LookRequest& request) {
  if (!request.ledger.empty()) return request.ledger;
  const std::vector<FoundFile>& files = people.first().files;
  if (files.size() != 1)
    throw ConfigError(
        fmt::format("{} = {} names several files: say with --ledger where the ledger of their people is",
                    people.key, people.first().names));
  const fs::path file = fs::weakly_canonical(files.front().path());
  std::error_code unknown;
  if (fs::is_regular_file(file, unknown) && fs::hard_link_count(file, unknown) > 1)
    throw ConfigError(fmt::format(
        "{} = {} has several names (hard links), and its ledger would have one of them: say with --ledger where the ledger of its people is",
        people.key, people.first().names));
  return file.string() + ".looks.jsonl";
}

/// The header of the ledger, or of one that is to begin.
LooksHeader settled_header(const LooksLedger& ledger, const LookRequest& asked, const RunConfig& config,
                           std::uint64_t n) {
  LooksHeader wanted{.adjacency = asked.adjacency.value_or(config.privacy.which()),
                     .unit = config.data.unit(),
                     .seeded = asked.seed >= 0,
                     .delta = asked.delta.value_or(0),
                     .budget = asked.budget.value_or(0),
                     .people = {}};
  if (!ledger.header()) {
    wanted.delta = delta_for(wanted.delta, n, "--delta");
    wanted.people =
        (wanted.seeded ? SecretKey::from_seed(static_cast<std::uint64_t>(asked.seed)) : SecretKey::from_system())
            .authenticate("people");
    return wanted;
  }
  const LooksHeader& begun = *ledger.header();
  std::vector<std::string> problems;
  const auto refuse = [&](bool differs, const std::string& problem) {
    if (differs) problems.push_back(problem);
  };
  refuse(asked.adjacency && begun.adjacency != wanted.adjacency,
         fmt::format("its looks are under {}, and costs under {} do not add up with theirs", name(begun.adjacency),
                     name(wanted.adjacency)));
  refuse(begun.unit != wanted.unit,
         fmt::format("it protects {}, and this model's recipe {}", plural(begun.unit), plural(wanted.unit)));
  refuse(begun.seeded != wanted.seeded, "looks with --seed have a ledger of their own");
  refuse(asked.delta && begun.delta != wanted.delta,
         fmt::format("its looks add up at delta {}, and not at {}", begun.delta, wanted.delta));
  refuse(begun.budget > 0 && wanted.budget > begun.budget,
         fmt::format("its budget is {}, fixed before the first look", begun.budget));
  if (!problems.empty()) throw PrivacyError(fmt::format("ledger {}: {}", ledger.path(), fmt::join(problems, "; ")));
  delta_for(begun.delta, n, "the ledger's delta");
  return begun;
}

/// A number for this look's folder that none has yet.
std::string make_folder(const std::string& run, const std::string& output) {
  std::error_code failed;
  const auto made = [&](const fs::path& folder) {
    if (folder.has_parent_path()) fs::create_directories(folder.parent_path(), failed);
    const bool here = !failed && fs::create_directory(folder, failed);
    if (failed)
      throw DataError(fmt::format("{} cannot be made: {}; name another folder with --output", folder.string(),
                                  failed.message()));
    return here;
  };
  if (!output.empty()) {
    if (!made(output)) throw ConfigError(fmt::format("{} is there: give another name with --output", output));
    return output;
  }
  for (std::uint64_t number = 1;; ++number)
    if (const std::string folder = fmt::format("{}/{}/{}", run, LookTerms::folders, number); made(folder))
      return folder;
}

class Taking {
 public:
  Taking(const Communicator& comm, const ModelToScore& scored, const LookRequest& request)
      : comm_(comm), scored_(scored), request_(request), stamps_({&scored.files.given}) {}

  Look look(const std::function<void(const LookAhead&)>& ahead) {
    throw_on_all_ranks(comm_, [&] {
      refuse_known_files(scored_.files.training, scored_.files.evaluation, people());
      refuse_known_files(scored_.trained_on, {}, people());
    });
    model_ = read_model_for(comm_, scored_);
    settle();
    plan_ = plan_of_look(terms_, made_by_root<Promise>(comm_, [&] { return promise_of_look(terms_); }));
    throw_on_all_ranks(comm_, [&] {
      if (comm_.is_root()) check_cost(ahead);
    });
    read_records_to_score(comm_, scored_, model_, key_);
    throw_on_all_ranks(comm_, [&] { stamps_.check(); });
    return counted();
  }

 private:
  const Dataset& people() const { return scored_.files.given; }

  // All that is public of the look.
  void settle() {
    const RunConfig& config = *scored_.config;
    const std::uint64_t n = model_.records.facts.units();
    const LooksHeader header = made_by_root<LooksHeader>(comm_, [&] {
      ledger_.emplace(ledger_path(people(), request_));
      return header_ = settled_header(*ledger_, request_, config, n);
    });
    terms_ = {.epsilon = request_.epsilon,
              .delta = header.delta,
              .adjacency = header.adjacency,
              .seeded = header.seeded,
              .ranks_trusted = config.privacy.trust == "cluster",
              .n = n,
              .counted = CountedScores::of(*model_.objective, config.objective_name, people().key)};
    terms_.noise.law = config.privacy.law();
    terms_.noise.slot_unit = header.unit;
    if (header.budget > 0) terms_.budget = header.budget;
    throw_on_all_ranks(comm_, [&] {
      if (!comm_.is_root()) return;
      terms_.look = ledger_->next_look();
      terms_.model = parameters_digest(scored_.file);
      if (!scored_.run.empty())
        terms_.certificate = sha256(read_run_file(scored_.run + "/certificate.json", file_limit::document));
      key_ = header.seeded
                 ? SecretKey::from_seed(static_cast<std::uint64_t>(request_.seed)).derive("look", terms_.look)
                 : SecretKey::from_system();
    });
  }

  // Root only; nothing is spent yet.
  void check_cost(const std::function<void(const LookAhead&)>& ahead) const {
    std::vector<Event> events = ledger_->events();
    const Guarantee before = cost_of_looks(terms_, events);
    for (const Event& event : plan_.events()) events.push_back(event);
    LookAhead next{terms_, cost_of_looks(terms_, plan_.events()), cost_of_looks(terms_, events), ledger_->path(),
                   !ledger_->header()};
    const double budget = std::min(request_.budget.value_or(infinity), terms_.budget.value_or(infinity));
    if (!terms_.seeded && next.all.epsilon > budget)
      throw PrivacyError(fmt::format(
          "with this look all looks at these people would cost epsilon {} at delta {}, and the budget is {}. Those in {} "
          "cost {} by now. Nothing was counted or spent; a smaller --epsilon may fit",
          rounded_up(next.all.epsilon), terms_.delta, budget, ledger_->path(), rounded_up(before.epsilon)));
    if (const double fewest = fewest_records(plan_.counted, plan_.queries[1].noise_std);
        static_cast<double>(terms_.n) < fewest)
      throw ConfigError(fmt::format(
          "--epsilon = {}: of {} {} the noise would leave nothing to say, and {:.0f} are needed. Nothing was counted or "
          "spent; choose a larger --epsilon, or wait for more {}",
          terms_.epsilon, terms_.n, plural(terms_.noise.slot_unit), fewest, plural(terms_.noise.slot_unit)));
    ahead(next);
  }

  Look counted() {
    std::string folder;
    std::size_t before = 0;
    throw_on_all_ranks(comm_, [&] {
      if (!comm_.is_root()) return;
      folder = make_folder(scored_.run, request_.output);
      try {
        if (!ledger_->header()) ledger_->begin(header_);
      } catch (const std::exception&) {
        std::error_code ignored;
        fs::remove(folder, ignored);  // nothing was looked at
        throw;
      }
      before = ledger_->file().events().size();
    });
    Curator curator(comm_, model_.records, plan_.queries, model_.objective->micro_batch_rows(), key_,
                    !terms_.ranks_trusted);
    if (comm_.is_root()) curator.record_in(ledger_->file(), members_of_look(terms_));
    const NoisyCounts counts = release_counts(curator, plan_, *model_.objective, model_.parameters);
    fault_point("looked");
    return comm_.is_root() ? written(folder, counts, before) : Look{};
  }

  // Root only. The document last but for the page on it: where it stands the look is complete.
  Look written(const std::string& folder, const NoisyCounts& counts, std::size_t before) {
    Ledger& ledger = ledger_->file();
    const auto first = ledger.events().begin(), own = first + static_cast<std::ptrdiff_t>(before);
    LookEvidence evidence{{first, own}, {own, ledger.events().end()}, ledger.head(), {}};
    if (!same_events(evidence.own, plan_.events()))
      throw PrivacyError("the ledger does not cover the look: nothing is written");
    ledger.check_in_place();
    Look look{folder, {}, results_json(counts, plan_)};
    const std::string results = look.results.dump(2) + "\n";
    evidence.results = sha256(results);
    look.document = look_json(terms_, plan_, evidence);
    write_file(folder + "/" + EvaluationPlan::results, results);
    write_file(folder + "/" + LookTerms::ledger, fmt::format("{}\n", fmt::join(ledger.lines(), "\n")));
    write_file(folder + "/" + LookTerms::document, look.document.dump(2) + "\n");
    write_file(folder + "/" + LookTerms::page, look_page(folder));
    return look;
  }

  const Communicator& comm_;
  const ModelToScore& scored_;
  const LookRequest& request_;
  const FileStamps stamps_;
  TrainedModel model_;
  LookTerms terms_;  // number, digests and key are on the root
  EvaluationPlan plan_;
  std::optional<SecretKey> key_;
  std::optional<LooksLedger> ledger_;  // root only
  LooksHeader header_;
};

}  // namespace

ModelToScore model_to_look_at(const std::string& place, const std::string& people,
                              const std::vector<std::string>& overrides, const LookRequest& request) {
  ModelToScore scored = model_at(place, people, overrides);
  const DataOptions& data = scored.config->data;
  if (data.label == no_label)
    throw ConfigError(fmt::format("{} needs labels: data.label = none has none", LookRequest::file_option));
  if (scored.run.empty() && request.output.empty())
    throw ConfigError(
        fmt::format("{} is a model alone: say with --output in which new folder the results go", place));
  scored.files.given = of_people(std::move(scored.files.given), data, request.records);
  scored.files.given.key = LookRequest::file_option;
  return scored;
}

Look take_look(const Communicator& comm, const ModelToScore& model, const LookRequest& request,
               const std::function<void(const LookAhead&)>& ahead) {
  return Taking(comm, model, request).look(ahead);
}

}  // namespace dpmpi
