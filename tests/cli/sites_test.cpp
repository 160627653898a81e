// `dpmpi site` and `dpmpi round` as they are typed: what is missing, and what belongs to the other action.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cli/cli_folder.hpp"
#include "support/text.hpp"

namespace dpmpi::sites_cli_test {
namespace {

using test::contains;

class SitesTyped : public test::Cli {};

struct Typed {
  std::string words, said;
};

TEST_F(SitesTyped, EveryActionSaysWhatItNeedsAndWhatIsNotItsOwn) {
  const std::string site = "--config c --key k --output o";
  const std::vector<Typed> all{
      {"site", "dpmpi site needs --action: dpmpi site join"},
      {"site leave " + site, "dpmpi site leave: allowed are join and step"},
      {"site join " + site, "dpmpi site join needs --site"},
      {"site join --site 0 " + site, "--site 0 is not allowed; it must be a whole number >= 1"},
      {"site join --site 1 --round r " + site, "--round is an option of dpmpi site step"},
      {"site step " + site, "dpmpi site step needs --round"},
      {"site step --site 1 --round r " + site, "--site is an option of dpmpi site join"},
      {"site step --round r --config c --key k", "dpmpi site needs --output"},
      {"round close", "dpmpi round close: allowed are open, combine and repeat"},
      {"round open a.join", "dpmpi round open needs --config"},
      {"round open --config c", "dpmpi round open needs the files"},
      {"round open --config c --run r a.join", "takes the run directory from run.dir"},
      {"round combine a.part", "dpmpi round combine needs --run"},
      {"round combine --run r", "dpmpi round combine needs the files"},
      {"round combine --run r --without 2 a.part", "--without is an option of dpmpi round repeat"},
      {"round combine --run r --set method.rate=1 a.part", "takes the settings from the run"},
      {"round repeat --run r a.part", "dpmpi round repeat takes no files"},
      {"round repeat --run r --without 0", "--without 0 is not allowed"}};
  for (const auto& [words, said] : all) {
    const test::Outcome outcome = dpmpi(words);
    EXPECT_EQ(outcome.code, 2) << words;
    EXPECT_TRUE(contains(outcome.output, said)) << words << "\n" << outcome.output;
  }
}

TEST_F(SitesTyped, AConfigOfOneFileIsNotForSites) {
  const test::Outcome outcome =
      dpmpi("site join --site 1 --key " + folder() + "/k --output " + folder() + "/j " + config());
  EXPECT_EQ(outcome.code, 2);
  EXPECT_TRUE(contains(outcome.output, "data.shards: name the file of each site")) << outcome.output;
  EXPECT_FALSE(std::filesystem::exists(folder() + "/k"));
}

}  // namespace
}  // namespace dpmpi::sites_cli_test
