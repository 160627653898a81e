#include "run/plan/training_ledger.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/console/heartbeat.hpp"
#include "core/errors.hpp"
#include "core/files/digest.hpp"
#include "core/files/untrusted_json.hpp"
#include "privacy/events/planned_events.hpp"

namespace dpmpi {

std::vector<Event> events_of_training(const std::vector<Event>& all, std::uint64_t trainings) {
  std::vector<Event> events;
  for (const auto& [mechanism, count] : uses(all)) events.push_back({mechanism, count / trainings});
  return events;
}

std::vector<std::string> trainings_in(const std::vector<std::string>& lines, const std::vector<Event>& events,
                                      const std::string& file) {
  std::vector<std::string> settings;
  if (events.empty()) throw PrivacyError(fmt::format("{}: no events of a training are planned", file));
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::size_t number = (i - 1) / events.size(), part = (i - 1) % events.size();
    const std::string where = fmt::format("{}:{}", file, i + 1);
    const auto line = parse_untrusted_json(lines[i], where);
    const std::string digest = text_member(line, "settings");
    if (line.value("training", nlohmann::json()) != number || digest.size() != sha256("").size() ||
        planned_event(line, where) != events[part])
      throw PrivacyError(
          fmt::format("{}: is not line {} of {} of training {}", where, part + 1, events.size(), number));
    if (part > 0 && digest != settings.back())
      throw PrivacyError(fmt::format("{}: training {} has two lists of settings", where, number));
    if (part > 0) continue;
    if (std::ranges::find(settings, digest) != settings.end())
      throw PrivacyError(fmt::format("{}: training {} repeats the settings of an earlier one", where, number));
    settings.push_back(digest);
  }
  return settings;
}

TrainingLedger::TrainingLedger(Ledger ledger, const Plan& plan, std::uint64_t begun)
    : ledger_(std::move(ledger)),
      events_(events_of_training(plan.events(), plan.runs)),
      most_(plan.runs),
      begun_(begun),
      settings_(trainings_in(ledger_.lines(), events_, file)) {
  if (begun_ > settings_.size() || settings_.size() > most_)
    throw PrivacyError(fmt::format("{} has {} trainings; {} were begun, {} are planned at most", file,
                                   settings_.size(), begun_, most_));
}

std::vector<LedgerEntry> TrainingLedger::lines_of(std::uint64_t number) const {
  std::vector<LedgerEntry> lines;
  for (const Event& event : events_)
    lines.push_back({event, fmt::format(R"("training":{},"settings":"{}")", number, settings_[number])});
  return lines;
}

std::vector<std::uint64_t> TrainingLedger::pay(const std::vector<std::string>& settings) {
  const InStage stage(Stage::ledger);
  std::vector<std::uint64_t> numbers;
  std::uint64_t begun = begun_;
  std::vector<std::string> all = settings_;
  for (const std::string& text : settings) {
    const std::string digest = sha256(text);
    const auto end = all.begin() + static_cast<std::ptrdiff_t>(begun);
    const auto known = std::find(all.begin(), end, digest);
    numbers.push_back(static_cast<std::uint64_t>(known - all.begin()));
    if (known != end) continue;
    if (begun == most_)
      throw PrivacyError(fmt::format(
          "all {} trainings that were planned are used up; another one is not in the promise to those whose records they are",
          most_));
    if (begun < all.size() && all[begun] != digest)
      throw PrivacyError(fmt::format(
          "training_ledger.jsonl says that training {} was paid for with other settings: one training's "
          "noise on another would give data away. Put back the files of this run, or start a new one",
          begun));
    if (begun == all.size()) all.push_back(digest);
    ++begun;
  }
  settings_ = std::move(all);
  // A write that was interrupted between the lines of a training is completed.
  std::vector<LedgerEntry> missing;
  for (std::uint64_t number = ledger_.events().size() / events_.size(); number < begun; ++number)
    for (LedgerEntry& line : lines_of(number)) missing.push_back(std::move(line));
  const std::size_t there = ledger_.events().size() % events_.size();
  if (!missing.empty()) ledger_.append(std::span(missing).subspan(there));
  begun_ = begun;
  return numbers;
}

}  // namespace dpmpi
