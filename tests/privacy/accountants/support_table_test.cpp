// The table of docs/reference/support_table.md says what the accountants accept, cell by cell.
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "privacy/accountants/accountant.hpp"
#include "privacy/events/event.hpp"

namespace dpmpi::support_table_test {
namespace {

using Names = std::set<std::string>;

// Two events of every kind in an accountant's eyes: not sampled at rate 1, and at rate 1 where there is a rate.
const std::map<std::string, std::string> members{
    {"gaussian", R"("noise_multiplier":2)"},
    {"poisson_gaussian", R"("sampling_rate":RATE,"noise_multiplier":2)"},
    {"poisson_gaussian_group", R"("sampling_rate":RATE,"noise_multiplier":6,"records":3)"},
    {"cyclic_poisson_gaussian", R"("steps":50,"groups":4,"band":4,"sampling_rate":RATE,"noise_multiplier":2)"},
    {"random_allocation_gaussian", R"("steps":50,"noise_multiplier":2)"},
    {"wor_gaussian", R"("population":100,"batch":10,"noise_multiplier":2)"},
    {"discrete_gaussian", R"("noise_multiplier":2)"},
    {"poisson_discrete_gaussian", R"("sampling_rate":RATE,"noise_multiplier":2)"},
    {"wor_discrete_gaussian", R"("population":100,"batch":10,"noise_multiplier":2)"},
    {"laplace", R"("scale":2)"},
    {"poisson_laplace", R"("sampling_rate":RATE,"scale":2)"},
    {"tree", R"("strategy":"fenwick","leaves":8,"noise_multiplier":5)"},
    {"hidden_state",
     R"("steps":8,"hybrid":8,"directional_multiplier":5,"isotropic_multiplier":5,"diameter":9,"drift":9,)"
     R"("contraction":1,"directions":2,"dimension":9,"population":9,"batch":9)"},
    {"zcdp", R"("rho":0.1)"},
    {"gdp", R"("mu":0.5)"},
    {"exponential", R"("epsilon":0.5)"},
    {"approx_dp", R"("epsilon":0.5,"delta":1e-7)"},
    {"repeat_and_select",
     R"("distribution":"truncated_negative_binomial","shape":1,"gamma":0.1,"noise_multiplier":3)"},
    {"non_private", ""}};

Event example(const std::string& kind, const std::string& rate) {
  std::string fields = members.at(kind);
  if (const auto at = fields.find("RATE"); at != fields.npos) fields.replace(at, 4, rate);
  const std::string line = fmt::format(R"({{"event":"{}",{}"count":2}})", kind, fields.empty() ? "" : fields + ",");
  return std::get<Event>(parse_event_line(line, kind).content);
}

// The accountants that account for the event.
Names accepted(const Event& event, Adjacency adjacency) {
  Names names;
  for (const std::string& name : accountant_names()) {
    if (name == "best") continue;
    try {
      const auto accountant = make_accountant(name, adjacency);
      accountant->compose(std::vector<Event>{event});
      EXPECT_GE(accountant->epsilon(1e-5), 0);
      names.insert(name);
    } catch (const PrivacyError&) {
    }
  }
  return names;
}

// "rdp, pld; gdp at rate 1" at a rate.
Names documented(const std::string& cell, bool at_rate_1) {
  if (cell.starts_with("refused")) return {};
  if (cell == "epsilon = infinity") return {"rdp", "pld", "gdp", "optimal"};
  Names names;
  std::istringstream parts(cell);
  for (std::string part; std::getline(parts, part, ';');) {
    const auto condition = part.find(" at rate 1");
    if (condition != part.npos && !at_rate_1) continue;
    std::istringstream words(part.substr(0, condition));
    for (std::string word; std::getline(words, word, ',');) names.insert(word.substr(word.find_first_not_of(' ')));
  }
  return names;
}

std::vector<std::string> cells(const std::string& row) {
  std::vector<std::string> result;
  std::istringstream in(row.substr(1));
  for (std::string cell; std::getline(in, cell, '|');) {
    const auto first = cell.find_first_not_of(' '), last = cell.find_last_not_of(' ');
    result.push_back(first == cell.npos ? "" : cell.substr(first, last - first + 1));
  }
  return result;
}

TEST(SupportTable, SaysWhatEveryAccountantAccepts) {
  std::ifstream page(DPMPI_SOURCE_DIR "/docs/reference/support_table.md");
  std::string line;
  while (std::getline(page, line) && !line.starts_with("| event | fields |")) {
  }
  ASSERT_TRUE(page) << "the table is gone";
  std::getline(page, line);  // the rule under the head
  Names seen;
  while (std::getline(page, line) && line.starts_with("|")) {
    const auto row = cells(line);
    ASSERT_EQ(row.size(), 4u) << line;
    std::istringstream kinds(row[0]);
    for (std::string kind; std::getline(kinds, kind, ',');) {
      kind = kind.substr(kind.find('`') + 1);
      kind = kind.substr(0, kind.find('`'));
      seen.insert(kind);
      for (const bool at_rate_1 : {false, true})
        for (const auto adjacency : {Adjacency::add_remove, Adjacency::replace_one})
          EXPECT_EQ(accepted(example(kind, at_rate_1 ? "1" : "0.1"), adjacency),
                    documented(row[adjacency == Adjacency::add_remove ? 2 : 3], at_rate_1))
              << kind << (at_rate_1 ? " at rate 1" : "") << " under " << name(adjacency);
    }
  }
  for (const auto& [kind, fields] : members) EXPECT_TRUE(seen.contains(kind)) << kind << " has no row";
  EXPECT_EQ(seen.size(), std::variant_size_v<Mechanism>);
}

}  // namespace
}  // namespace dpmpi::support_table_test
