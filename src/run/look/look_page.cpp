#include "run/look/look_page.hpp"

#include <filesystem>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/files/untrusted_json.hpp"
#include "data/records/unit.hpp"
#include "run/look/look_plan.hpp"
#include "run/plan/evaluation_plan.hpp"
#include "run/report/held_out.hpp"
#include "run/report/html.hpp"
#include "run/report/numbers.hpp"

namespace dpmpi {
namespace {

using Json = nlohmann::ordered_json;

/// As far as the sections on held-out records ask.
RunRecord record_of(const Json& document, const Json& results) {
  RunRecord record;
  record.plan = Json::object();
  if (document.at("unit") == name(Unit::person)) record.plan["unit"] = document["unit"];
  record.held_out = results;
  return record;
}

std::string tiles_of(const Json& document, const RunRecord& record) {
  const Json& all = document.at("all_looks");
  std::string tiles = html::tile(shown_above(document.at("epsilon")), "epsilon of this look",
                                 fmt::format("At delta {}, for {} {}.", shown_above(document.at("delta")),
                                             shown_count(document.at("n").get<double>()), plural(record.unit())));
  std::string budget;
  if (all.contains("budget")) budget = fmt::format(" The budget is {}.", shown(all["budget"]));
  tiles += html::tile(shown_above(all.at("epsilon")), "epsilon of all looks",
                      fmt::format("Of the {} at these people up to this one.{}", all.at("looks").dump(), budget));
  return tiles + looked_at_tile(record);
}

std::string facts_of(const Json& document) {
  html::Rows rows{{"look", document.at("look").dump()}};
  for (const auto& [member, what] : {std::pair{"adjacency", "neighbours differ by"},
                                     {"noise", "noise"},
                                     {"trust", "trusted with exact sums"},
                                     {"model_digest", "SHA-256 of the model"},
                                     {"run_certificate", "SHA-256 of the run's certificate"},
                                     {"ledger_head", "SHA-256 of the ledger's last line"},
                                     {"version", "dpmpi"}})
    if (document.contains(member)) rows.push_back({what, document[member].get<std::string>()});
  return html::heading("What anybody can check") +
         html::paragraph(
             "dpmpi verify makes the promise, the ledger's lines and all metrics again from the files beside this "
             "page. It needs no record and no key.") +
         html::facts(rows);
}

/// That of the run, where the look stands among its looks.
std::string name_of(std::filesystem::path folder) {
  if (!folder.has_filename()) folder = folder.parent_path();  // behind a slash
  const std::filesystem::path among = folder.parent_path();
  return (among.filename() == "looks" ? among.parent_path() : folder).filename().string();
}

}  // namespace

std::string look_page(const std::string& name, const Json& document, const Json& results) {
  const RunRecord record = record_of(document, results);
  const std::string alarm =
      document.at("seeded").get<bool>()
          ? html::alarm("Not private.", "The noise was drawn from --seed, which anybody may know.")
          : "";
  return html::page(fmt::format("{}: look {}", name, document.at("look").dump()),
                    "A model looked at by noisy counts of private records",
                    alarm + html::tiles(tiles_of(document, record)) + html::heading("The promise") +
                        html::paragraph(document.at("statement").get<std::string>()) + looked_at_section(record) +
                        facts_of(document));
}

std::string look_page(const std::string& folder) {
  try {
    return look_page(name_of(std::filesystem::weakly_canonical(folder)),
                     read_run_json<Json>(folder + "/" + LookTerms::document),
                     read_run_json<Json>(folder + "/" + EvaluationPlan::results));
  } catch (const nlohmann::json::exception& e) {  // a value of another type than dpmpi writes
    throw DataError(fmt::format("{}: the files of the look are not understood ({})", folder, e.what()));
  }
}

}  // namespace dpmpi
