// Ledgers that say the same in other words: verify finds them, though every value is what it was and the chain
// holds.
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/files/digest.hpp"
#include "run/certify/forged_run.hpp"
#include "run/certify/verify.hpp"
#include "run/directory/files.hpp"

namespace dpmpi::forged_ledger_test {
namespace {

using test::ForgedRun;
using test::overwrite;

class RewrittenLedger : public ForgedRun {
 protected:
  void SetUp() override {
    ForgedRun::SetUp();
    begin_with_dp_sgd();
    files_->write(damaged_);
    std::istringstream in(read_file(finished_ + "/ledger.jsonl"));
    for (std::string line; std::getline(in, line);) lines_.push_back(line);
  }

  // Where verify finds fault after that change of one line, with everything behind it settled.
  std::string bad_after(std::size_t line, const std::string& from, const std::string& to) {
    auto lines = lines_;
    const std::size_t at = lines[line].find(from);
    EXPECT_NE(at, std::string::npos) << from;
    if (at == std::string::npos) return "";
    lines[line].replace(at, from.size(), to);
    std::string text = lines[0] + "\n";
    for (std::size_t i = 1; i < lines.size(); ++i) {
      const std::size_t link = lines[i].find(R"("prev":")");
      if (i > line)
        lines[i].replace(link, lines[i].size() - link, fmt::format(R"("prev":"{}"}})", sha256(lines[i - 1])));
      text += lines[i] + "\n";
    }
    Files forged = *files_;
    forged.certificate["ledger_head"] = sha256(lines.back());
    forged.header["__metadata__"]["certificate"] = sha256(forged.certificate.dump(2) + "\n");
    forged.write(damaged_);
    overwrite(damaged_ + "/ledger.jsonl", text);
    return bad(verify_run(damaged_, *derived_));
  }

  std::vector<std::string> lines_;
};

// Every value is what it was, and the chain holds: but the program writes nothing like that.
TEST_F(RewrittenLedger, NumbersBlanksAndEscapesHaveOneWayEach) {
  EXPECT_EQ(bad_after(1, "a", "a"), "") << "the forger's tools change nothing by themselves";
  const std::vector<std::pair<std::string, std::string>> changes = {
      {R"("sampling_rate":0.1)", R"("sampling_rate":1e-1)"},
      {R"("sampling_rate":0.1)", R"("sampling_rate":0.10)"},
      {R"("sampling_rate":0.1)", R"("sampling_rate":0.1000000000000000055)"},
      {R"("count":100)", R"("count":1e2)"},
      {R"("count":100)", R"("count": 100)"},
      {R"("clip":1,)", R"("clip":1.0,)"},
      {R"("steps":[0,99])", R"("steps":[0, 99])"},
      {R"("site":"g)", R"("site":"\u0067)"},
      {R"({"event":)", R"({"\u0065vent":)"},
      {R"("prev":)", R"( "prev":)"},
      {R"({"event":)", R"( {"event":)"},
      {R"(,"prev")", R"(,"site":"x","prev")"}};
  const auto line_of = [](const std::string& place) {
    return place.substr(0, std::string("ledger.jsonl:0").size());
  };
  for (const auto& [from, to] : changes) EXPECT_EQ(line_of(bad_after(1, from, to)), "ledger.jsonl:2") << to;
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{R"("n":500)", R"("n": 500)"},
                                                        {R"("n":500)", R"("n":5e2)"},
                                                        {R"("n":500)", R"("n":500.0)"},
                                                        {R"("ledger":1,)", R"("ledger":1.0,)"},
                                                        {R"("config")", R"("\u0063onfig")"}})
    EXPECT_EQ(line_of(bad_after(0, from, to)), "ledger.jsonl:1") << to;
}

}  // namespace
}  // namespace dpmpi::forged_ledger_test
