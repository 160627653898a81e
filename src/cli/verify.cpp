// One line for everything that was checked.

#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "core/errors.hpp"
#include "run/certify/verify.hpp"
#include "run/held_out/stated_results.hpp"
#include "run/look/verify_look.hpp"

namespace dpmpi {
namespace {

const char* word(VerifiedItem::State state) {
  constexpr std::array words{"ok", "absent", "unknown", "WARNING", "BAD"};
  return words[static_cast<std::size_t>(state)];
}

/// Of a run with all looks at its model, or of a look.
std::vector<VerifiedItem> verified(const std::string& folder) {
  if (is_look(folder)) return verify_look(folder);
  std::vector<VerifiedItem> items = verify_run(folder, results_again);
  if (items.empty() || items.back().state == VerifiedItem::State::bad) return items;
  for (VerifiedItem& item : verify_looks(folder)) items.push_back(std::move(item));
  return items;
}

/// The exit code is 4 if anything is bad.
int print_verification(const std::vector<VerifiedItem>& items, bool json) {
  bool bad = false, absent = false;
  for (const auto& item : items) {
    bad = bad || item.state == VerifiedItem::State::bad;
    absent = absent || item.state == VerifiedItem::State::absent;
  }
  if (json) {
    nlohmann::ordered_json answer{{"verified", !bad}, {"checks", nlohmann::ordered_json::array()}};
    for (const auto& item : items)
      answer["checks"].push_back({{"result", word(item.state)}, {"place", item.place}, {"detail", item.detail}});
    // Details quote damaged files, whose bytes may be no text.
    fmt::print("{}\n", answer.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  } else {
    for (const auto& item : items) fmt::print("{:<7} {:<20} {}\n", word(item.state), item.place, item.detail);
    fmt::print("{}", bad      ? "the files do not verify\n"
                     : absent ? "what is there fits together, but for what is unknown\n"
                              : "everything fits together, but for what is unknown\n");
  }
  return printed(static_cast<int>(bad ? ExitCode::privacy : ExitCode::done));
}

}  // namespace

Command verify_command() {
  struct Typed {
    std::string run;
    bool json = false;
  };
  const auto typed = std::make_shared<Typed>();
  return {
      .name = "verify",
      .forms = {{"dpmpi verify RUN", "plans a run again from its config and compares its files"}},
      .about =
          "Plans the run again from its config.ini and the public facts in plan.json, and compares ledger, plan,\n"
          "certificate, metrics and model with that. Says if a key is left in a finished run. What cannot be\n"
          "checked without the data or the key is named. Of a run the looks at private records in RUN/looks are checked,\n"
          "too; the folder of one is enough for that look.",
      .options = Options("")
                     .add("run", typed->run, "the run directory, or the folder of a look")
                     .add("json", typed->json, "print JSON"),
      .arguments = {"run"},
      .needed = {"run"},
      .run = [typed](const Communicator&) { return print_verification(verified(typed->run), typed->json); }};
}

}  // namespace dpmpi
