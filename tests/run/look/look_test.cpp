// Later looks at private records: what they promise, what their ledger holds whatever happens, and what verify
// finds.
#include "run/look/looks.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/fault.hpp"
#include "core/files/digest.hpp"
#include "data/synthetic/generate.hpp"
#include "privacy/events/ledger.hpp"
#include "run/config/config.hpp"
#include "run/directory/files.hpp"
#include "run/held_out/stated_results.hpp"
#include "run/look/look_page.hpp"
#include "run/look/looks_ledger.hpp"
#include "run/look/verify_look.hpp"
#include "run/report/html.hpp"
#include "run/report/numbers.hpp"
#include "run/train/train.hpp"
#include "support/data_files.hpp"

namespace dpmpi::test::look_test {
namespace {

TEST_F(Look, PromisesWhatItsLedgerCosts) {
  for (const Adjacency adjacency : {Adjacency::add_remove, Adjacency::replace_one}) {
    fs::remove(ledger_);
    const dpmpi::Look taken = look({.epsilon = 1.5, .delta = 1e-5, .adjacency = adjacency});
    const json document = taken.document;
    EXPECT_LE(ahead_.own.epsilon, 1.5);
    EXPECT_GT(ahead_.own.epsilon, 0.999 * 1.5);
    EXPECT_EQ(document["epsilon"].get<double>(), ahead_.own.epsilon) << "what was said before";
    EXPECT_EQ(document["all_looks"]["epsilon"].get<double>(), ahead_.all.epsilon);
    EXPECT_EQ(cost(ledger_, 1e-5), ahead_.own.epsilon);
    EXPECT_EQ(document["adjacency"], name(adjacency));
    EXPECT_EQ(document["n"], 800);
    EXPECT_EQ(taken.results["held_out"], 800);
    EXPECT_TRUE(taken.results["metrics"].contains("auc"));
    EXPECT_EQ(dpmpi::read_file(taken.folder + "/ledger.jsonl"), dpmpi::read_file(ledger_));
    EXPECT_EQ(first_bad(verify_look(taken.folder)), "");
  }
  fs::remove_all(run_ + "/looks");
  look({.epsilon = 1}, run_, root() + "/others.csv");
  EXPECT_DOUBLE_EQ(ahead_.terms.delta, std::pow(800.0, -1.1));
  fs::remove(root() + "/others.csv.looks.jsonl");
}

TEST_F(Look, OfTheSamePeopleAddUpWhateverModelTheyAreAt) {
  look({.epsilon = 1, .delta = 1e-5});
  const double first = ahead_.all.epsilon;
  fs::create_symlink(people_, here_ + "/link.csv");
  look({.epsilon = 2}, root() + "/other", here_ + "/link.csv");
  EXPECT_EQ(ahead_.terms.look, 2U) << "of the ledger beside the file itself";
  EXPECT_EQ(ahead_.terms.delta, 1e-5) << "as the first look";
  EXPECT_GT(ahead_.all.epsilon, std::max(first, ahead_.own.epsilon));
  EXPECT_LT(ahead_.all.epsilon, first + ahead_.own.epsilon);
  EXPECT_EQ(ahead_.all.epsilon, cost(ledger_, 1e-5));
  const dpmpi::Look third = look({.epsilon = 1});
  EXPECT_EQ(third.document["look"], 3);
  EXPECT_EQ(third.folder, run_ + "/looks/2");
  EXPECT_EQ(third.document["all_looks"]["epsilon"].get<double>(), cost(ledger_, 1e-5));
  EXPECT_EQ(first_bad(verify_looks(run_)), "");
  EXPECT_EQ(first_bad(verify_looks(root() + "/other")), "");

  // More people, who have a part in later looks only.
  const std::string text = dpmpi::read_file(people_);
  std::ofstream(people_, std::ios::app) << text.substr(text.find('\n') + 1);
  EXPECT_EQ(look({.epsilon = 1}).document["n"], 1600);
  EXPECT_EQ(ahead_.terms.look, 4U);
  EXPECT_EQ(first_bad(verify_looks(run_)), "");
}

TEST_F(Look, BeyondTheBudgetIsRefusedAndSpendsNothing) {
  look({.epsilon = 1, .delta = 1e-5, .budget = 2});
  const std::string ledger = dpmpi::read_file(ledger_);
  for (const LookRequest& dear : {LookRequest{.epsilon = 1.9}, LookRequest{.epsilon = 1, .budget = 1.2}}) {
    EXPECT_MENTIONS(refusal(dear), "Nothing was counted or spent");
    EXPECT_EQ(dpmpi::read_file(ledger_), ledger);
    EXPECT_FALSE(fs::exists(run_ + "/looks/2"));
  }
  EXPECT_MENTIONS(refusal({.epsilon = 0.5, .budget = 3}), "its budget is 2, fixed before the first look");
  const dpmpi::Look second = look({.epsilon = 1});
  EXPECT_LE(second.document["all_looks"]["epsilon"].get<double>(), 2);
  EXPECT_EQ(second.document["all_looks"]["budget"], 2);
  EXPECT_MENTIONS(refusal({.epsilon = 1.5}), "the budget is 2");
  EXPECT_EQ(first_bad(verify_looks(run_)), "");

  fs::remove(ledger_);
  EXPECT_MENTIONS(refusal({.epsilon = 1, .budget = 0.5}), "the budget is 0.5");
  EXPECT_FALSE(fs::exists(ledger_)) << "it would have been the first";
}

std::string fault_at;  // a point, and how often it is passed before
int faults_left = 0;
int fault(const char* where, const char* path) {
  const std::string point = std::string(where) + ":" + path;
  if (point.find(fault_at) != 0 &&
      !(fault_at.ends_with("*") && point.find(fault_at.substr(0, fault_at.size() - 1)) == 0))
    return 0;
  if (--faults_left == 0) throw std::runtime_error("stopped");
  return 0;
}

// From the moment in which noise could be drawn, a look that is stopped has cost what it was to cost.
TEST_F(Look, ThatIsStoppedIsPaidFor) {
  look({.epsilon = 1, .delta = 1e-5});
  const std::size_t lines = lines_in(ledger_).size(), own = lines - 1;
  std::size_t paid = lines;
  std::uint64_t looks = 1;
  for (const auto& [point, times, charged] :
       std::vector<std::tuple<std::string, int, bool>>{{"write:" + ledger_, 1, false},
                                                       {"reserved:", 1, true},
                                                       {"release:", 1, true},
                                                       {"release:", 3, true},
                                                       {"looked:", 1, true},
                                                       {"rename:*", 1, true},
                                                       {"rename:*", 3, true}}) {
    fault_at = point, faults_left = times;
    set_fault_hook(fault);
    EXPECT_THROW(look({.epsilon = 1}), std::runtime_error) << point;
    set_fault_hook(nullptr);
    EXPECT_LE(faults_left, 0) << point;
    paid += charged ? own : 0;
    looks += charged ? 1 : 0;
    EXPECT_EQ(lines_in(ledger_).size(), paid) << point << times;
  }
  look({.epsilon = 1});
  EXPECT_EQ(ahead_.terms.look, looks + 1);
  EXPECT_EQ(ahead_.all.epsilon, cost(ledger_, 1e-5));
  const auto found = verify_looks(run_);
  EXPECT_EQ(first_bad(found), "");
  EXPECT_TRUE(std::ranges::any_of(found, [](const VerifiedItem& item) { return item.state == State::absent; }))
      << "the stopped looks are named";
}

TEST_F(Look, ALineThatWasCutOffCountsNotAndHalfALookDoes) {
  look({.epsilon = 1, .delta = 1e-5});
  const std::string whole = dpmpi::read_file(ledger_);
  std::ofstream(ledger_, std::ios::app) << R"({"event":"gaussian","noise_mul)";
  look({.epsilon = 1});
  EXPECT_EQ(ahead_.terms.look, 2U);
  EXPECT_EQ(dpmpi::read_file(ledger_).find(whole), 0U);

  auto lines = lines_in(ledger_);
  lines.pop_back();  // the last release of the second look
  write_chained(ledger_, lines);
  const dpmpi::Look third = look({.epsilon = 1});
  EXPECT_EQ(ahead_.terms.look, 3U);
  EXPECT_EQ(first_bad(verify_look(third.folder)), "");
  EXPECT_EQ(ahead_.all.epsilon, cost(ledger_, 1e-5));
}

TEST_F(Look, TakesNoLedgerButTheirOwn) {
  look({.epsilon = 1, .delta = 1e-5});
  {
    const LooksLedger held(ledger_);
    EXPECT_MENTIONS(refusal({.epsilon = 1}), "another process is writing to it");
  }
  EXPECT_MENTIONS(refusal({.epsilon = 1, .ledger = run_ + "/ledger.jsonl"}), "is no ledger of looks");
  fs::create_hard_link(people_, here_ + "/hard.csv");
  EXPECT_MENTIONS(refusal({.epsilon = 1}), "has several names (hard links)");
  fs::remove(here_ + "/hard.csv");
  EXPECT_MENTIONS(refusal({.epsilon = 1, .ledger = people_}), "people.csv");
  const std::string several =
      refusal({.epsilon = 1, .delta = 1e-6, .budget = 3, .adjacency = Adjacency::replace_one, .seed = 3});
  for (const char* problem : {"under add_remove", "delta 1e-05", "--seed"}) EXPECT_MENTIONS(several, problem);
  std::ofstream(here_ + "/empty.jsonl") << R"({"ledger":1)";
  EXPECT_MENTIONS(refusal({.epsilon = 1, .ledger = here_ + "/empty.jsonl"}), "has no whole line");
  std::string text = dpmpi::read_file(ledger_);
  text.replace(text.find("\"look\":1"), 8, "\"look\":2");
  std::ofstream(ledger_, std::ios::trunc) << text;
  EXPECT_MENTIONS(refusal({.epsilon = 1}), "hash chain broken");
}

TEST_F(Look, WhatMakesNoSenseIsRefused) {
  EXPECT_MENTIONS(refusal({.epsilon = 1}, run_, root() + "/train.csv"), "is also a training file");
  EXPECT_MENTIONS(refusal({.epsilon = 0.01}), "are needed");
  EXPECT_MENTIONS(refusal({.epsilon = 1, .delta = 0.01}), "above 1/n");
  EXPECT_MENTIONS(refusal({.epsilon = 1, .records = 700}), "people.csv");
  EXPECT_MENTIONS(refusal({.epsilon = 1, .output = here_}), "is there");
  EXPECT_MENTIONS(refusal({.epsilon = 1}, run_ + "/model.safetensors", people_), "--output");
  EXPECT_MENTIONS(refusal({.epsilon = 1}, run_, here_ + "/none.csv"), "none.csv");
  std::ofstream(here_ + "/wrong.csv") << "label,x1,x2,x3,x4,x7\n1,0.125,0,0,0,0\n";
  const std::string wrong = refusal({.epsilon = 1}, run_, here_ + "/wrong.csv");
  EXPECT_MENTIONS(wrong, "wrong.csv");
  EXPECT_EQ(wrong.find("0.125"), std::string::npos);
  EXPECT_FALSE(fs::exists(ledger_)) << "nothing was spent";
}

TEST_F(Look, RegressionsHaveNothingToCount) {
  train_to("squared", {"objective.name=squared"});
  EXPECT_MENTIONS(refusal({.epsilon = 1}, root() + "/squared", people_), "--private: the evaluation on held-out");
}

TEST_F(Look, OfAModelAlone) {
  const dpmpi::Look taken = look({.epsilon = 1, .output = here_ + "/found"}, run_ + "/model.safetensors", people_);
  EXPECT_EQ(taken.folder, here_ + "/found");
  EXPECT_FALSE(taken.document.contains("run_certificate"));
  EXPECT_EQ(first_bad(verify_look(taken.folder)), "");
}

TEST_F(Look, OfPersonsPromisesToPersons) {
  for (const char* file : {"train.csv", "others.csv"}) {
    std::ofstream out(root() + "/persons-" + file);
    std::ifstream in(root() + "/" + file);
    std::string line;
    for (int i = -1; std::getline(in, line); ++i)
      out << (i < 0 ? "who" : fmt::format("P{}", i % 400)) << ',' << line << '\n';
  }
  train_to("persons", {"data.train=" + root() + "/persons-train.csv", "data.person=who"});
  fs::copy(root() + "/persons-others.csv", here_ + "/persons.csv");
  const dpmpi::Look taken = look({.epsilon = 3}, root() + "/persons", here_ + "/persons.csv");
  EXPECT_EQ(taken.document["n"], 400);
  EXPECT_EQ(taken.document["unit"], "person");
  EXPECT_MENTIONS(taken.document["statement"].get<std::string>(), "one person");
  EXPECT_EQ(first_bad(verify_looks(root() + "/persons")), "");
  EXPECT_MENTIONS(refusal({.epsilon = 1, .ledger = here_ + "/persons.csv.looks.jsonl"}), "it protects persons");
}

TEST_F(Look, OfClassesHasAConfusionMatrix) {
  GenerateOptions options;
  options.kind = "blobs", options.records = 1000, options.eval_records = 900, options.features = 5;
  options.output = root() + "/blobs.csv", options.eval_output = here_ + "/blobs.csv";
  generate(options);
  train_to("classes", {"data.train=" + root() + "/blobs.csv", "objective.name=softmax", "objective.classes=5"});
  const dpmpi::Look taken = look({.epsilon = 2}, root() + "/classes", here_ + "/blobs.csv");
  EXPECT_EQ(taken.results["confusion"].size(), 5U);
  EXPECT_EQ(first_bad(verify_looks(root() + "/classes")), "");
}

std::vector<double> counts_of(const dpmpi::Look& taken) {
  std::vector<double> counts;
  for (const auto& bin : taken.results["bins"])
    for (const auto& count : bin["counts"]) counts.push_back(count.get<double>());
  return counts;
}

// With the noise of one seed all that differs is what the records do, to the last bit.
TEST_F(Look, OneRecordMovesOneCountByOne) {
  const std::string text = dpmpi::read_file(people_);
  const auto taken = [&](std::size_t without) {
    std::istringstream in(text);
    std::ofstream out(people_, std::ios::trunc);
    std::string line;
    for (std::size_t i = 0; std::getline(in, line); ++i)
      if (i == 0 || i != without) out << line << '\n';
    out.close();
    fs::remove(ledger_);
    return look({.epsilon = 4, .delta = 1e-5, .records = 800, .seed = 11});
  };
  const dpmpi::Look all = taken(0);
  int compared = 0;
  for (std::size_t row = 1; row <= 800; row += 53) {
    const dpmpi::Look less = taken(row);
    const double loss = all.results["loss"].get<double>() - less.results["loss"].get<double>();
    EXPECT_GE(loss, 0);
    EXPECT_LE(loss, CountedScores::largest_loss);
    const auto with = counts_of(all), without = counts_of(less);
    bool same_bins = true;
    for (std::size_t i = 1; i < all.results["bins"].size(); ++i)
      same_bins = same_bins && all.results["bins"][i]["from"] == less.results["bins"][i]["from"];
    if (!same_bins) continue;  // they follow from the release before
    ++compared;
    double moved = 0, most = 0;
    for (std::size_t i = 0; i < with.size(); ++i) {
      moved += std::abs(with[i] - without[i]);
      most = std::max(most, std::abs(with[i] - without[i]));
    }
    EXPECT_DOUBLE_EQ(moved, 1);
    EXPECT_DOUBLE_EQ(most, 1);
  }
  EXPECT_GE(compared, 2) << "else this tests nothing";
}

// All counts of a look add up to the records and noise of a known deviation.
TEST_F(Look, HasTheNoiseOfItsPlan) {
  constexpr int looks = 60;
  double mean = 0, square = 0;
  for (int i = 0; i < looks; ++i) {
    const dpmpi::Look taken = look({.epsilon = 2, .delta = 1e-5});  // fresh noise, of one ledger
    const auto counts = counts_of(taken);
    double sum = -800;
    for (const double count : counts) sum += count;
    const double std = taken.results["noise_std"]["counts"].get<double>();
    const double normal = sum / (std * std::sqrt(static_cast<double>(counts.size())));
    mean += normal / looks, square += normal * normal / looks;
  }
  EXPECT_NEAR(mean, 0, 4.5 / std::sqrt(1.0 * looks));
  EXPECT_NEAR(square, 1, 4.5 * std::sqrt(2.0 / looks));
  EXPECT_EQ(ahead_.terms.look, static_cast<std::uint64_t>(looks));
}

TEST_F(Look, HasAPageThatSaysWhatItCostAndWhatItFound) {
  look({.epsilon = 1, .budget = 3});
  const dpmpi::Look second = look({.epsilon = 1});
  const std::string page = dpmpi::read_file(second.folder + "/report.html");
  EXPECT_EQ(page, look_page(second.folder)) << "made again from the folder";
  for (const std::string& part :
       {html::escape(second.document["statement"].get<std::string>()), std::string("The budget is 3."),
        second.document["model_digest"].get<std::string>(), second.document["ledger_head"].get<std::string>(),
        measured(second.results["metrics"]["accuracy"]["value"].get<double>()), std::string("Of the 2 at these"),
        std::string("ROC curve"), std::string("for 800 records.")})
    EXPECT_NE(page.find(part), std::string::npos) << part;
  EXPECT_EQ(page, look_page(second.folder + "/")) << "however the folder is typed";
  for (const char* wrong : {"Not private.", "not trained on", "eld-out"}) EXPECT_EQ(page.find(wrong), page.npos);
  EXPECT_NE(page.find("<title>run: look 2"), page.npos);
  EXPECT_EQ(first_bad(verify_look(second.folder)), "");
  auto other = second.document;
  other["n"] = "many";
  std::ofstream(second.folder + "/look.json", std::ios::trunc) << other.dump(2) << '\n';
  EXPECT_THROW(look_page(second.folder), DataError);
}

TEST_F(Look, WithASeedPromisesNothing) {
  const dpmpi::Look one = look({.epsilon = 1, .seed = 5});
  EXPECT_EQ(one.document["epsilon"], "infinity");
  EXPECT_EQ(one.document["all_looks"]["epsilon"], "infinity");
  EXPECT_MENTIONS(one.document["statement"].get<std::string>(), "NOT PRIVATE");
  EXPECT_MENTIONS(dpmpi::read_file(one.folder + "/report.html"), "Not private.");
  EXPECT_EQ(first_bad(verify_look(one.folder)), "");
  fs::remove(ledger_);
  EXPECT_EQ(look({.epsilon = 1, .seed = 5}).results, one.results);
}

TEST_F(Look, IsVerifiedByTheRulesOfItsTime) {
  std::string folder;
  {
    const EarlierRules earlier(EarlierRules::of_other_bins);
    const dpmpi::Look taken = look({.epsilon = 10});
    folder = taken.folder;
    EXPECT_EQ(taken.results["rules"], 2);
    EXPECT_EQ(taken.results["bins"].size(), 16U);
  }
  const std::string text = dpmpi::read_file(folder + "/evaluation.json");
  EXPECT_EQ(first_bad(verify_look(folder)), "");
  auto forged = nlohmann::ordered_json::parse(text);
  forged["rules"] = EarlierRules::today;
  std::ofstream(folder + "/evaluation.json", std::ios::trunc) << forged.dump(2) << "\n";
  EXPECT_NE(first_bad(verify_look(folder)), "") << "today's bins are fewer";
  EXPECT_EQ(look({.epsilon = 10}).results["bins"].size(), 14U);
}

// What somebody changes who makes all digests fit.
TEST_F(Look, ForgedNumbersAndLinesAreFound) {
  look({.epsilon = 1, .delta = 1e-5, .budget = 5});
  const std::string folder = look({.epsilon = 2}).folder;
  const auto document = nlohmann::ordered_json::parse(dpmpi::read_file(folder + "/look.json"));
  const auto results = nlohmann::ordered_json::parse(dpmpi::read_file(folder + "/evaluation.json"));
  const auto lines = lines_in(folder + "/ledger.jsonl");
  const auto write = [&](const char* name, const nlohmann::ordered_json& value) {
    std::ofstream(folder + "/" + name, std::ios::trunc) << value.dump(2) << "\n";
  };
  const auto restore = [&] {
    write("look.json", document), write("evaluation.json", results);
    write_chained(folder + "/ledger.jsonl", lines);
    ASSERT_EQ(first_bad(verify_looks(run_)), "");
  };
  restore();
  for (const auto& [member, value] : document.items()) {
    auto forged = document;
    if (value.is_number_float())
      forged[member] = value.get<double>() * 0.9;
    else if (value.is_number_unsigned())
      forged[member] = value.get<std::uint64_t>() + 1;
    else if (value.is_boolean())
      forged[member] = !value.get<bool>();
    else if (value.is_string())
      forged[member] = std::string(64, 'a');
    else
      forged[member] = nlohmann::ordered_json::array();
    if (member == "version" || member == "trust") continue;  // named as taken as stated
    write("look.json", forged);
    EXPECT_NE(first_bad(verify_looks(run_)), "") << member;
  }
  auto cheaper = document;
  cheaper["all_looks"]["epsilon"] = 1.0;
  write("look.json", cheaper);
  EXPECT_MENTIONS(first_bad(verify_looks(run_)), "look.json: all_looks.epsilon");
  restore();
  for (const char* member :
       {"/metrics/accuracy/value", "/metrics/auc/low", "/bins/3/counts/1", "/noise_std/counts", "/loss"}) {
    auto forged = results;
    auto& number = forged.at(nlohmann::ordered_json::json_pointer(member));
    if (!number.is_number()) continue;
    number = number.get<double>() + 0.5;
    write("evaluation.json", forged);
    auto fitting = document;
    fitting["results_digest"] = sha256(forged.dump(2) + "\n");
    write("look.json", fitting);
    EXPECT_MENTIONS(first_bad(verify_looks(run_)), "evaluation.json");
  }
  restore();
  const auto with_head = [&](const std::vector<std::string>& forged) {
    write_chained(folder + "/ledger.jsonl", forged);
    auto fitting = document;
    fitting["ledger_head"] = sha256(lines_in(folder + "/ledger.jsonl").back());
    write("look.json", fitting);
    return first_bad(verify_looks(run_));
  };
  auto forgotten = lines;
  forgotten.erase(forgotten.begin() + 1, forgotten.begin() + 4);  // the first look
  EXPECT_NE(with_head(forgotten), "");
  auto dearer = lines;
  const std::size_t at = dearer.back().find("\"noise_multiplier\":") + 19;
  dearer.back().insert(at, "1");
  EXPECT_MENTIONS(with_head(dearer), "ledger.jsonl");
  auto other_budget = lines;
  other_budget[0].replace(other_budget[0].find("\"budget\":5"), 10, "\"budget\":4");
  EXPECT_NE(with_head(other_budget), "");
  restore();
}

// Somebody puts an old copy of the ledger back, and looks again.
TEST_F(Look, ALedgerThatForgotALookIsFound) {
  look({.epsilon = 1, .delta = 1e-5});
  const std::string old = dpmpi::read_file(ledger_);
  look({.epsilon = 1});
  std::ofstream(ledger_, std::ios::trunc) << old;
  look({.epsilon = 1});
  EXPECT_EQ(first_bad(verify_look(run_ + "/looks/3")), "") << "by itself it is a second look";
  EXPECT_MENTIONS(first_bad(verify_looks(run_)), "looks were forgotten");
}

TEST_F(Look, AtAnotherModelThanTheRunsIsFound) {
  look({.epsilon = 1, .delta = 1e-5});
  fs::create_directories(root() + "/other/looks");
  fs::copy(run_ + "/looks/1", root() + "/other/looks/1");
  EXPECT_MENTIONS(first_bad(verify_looks(root() + "/other")), "another model");
}

}  // namespace
}  // namespace dpmpi::test::look_test
