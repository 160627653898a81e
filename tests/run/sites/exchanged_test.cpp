// The files between sites and coordinator, on their way through anybody's hands.
#include "run/sites/exchanged.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "support/data_files.hpp"
#include "support/text.hpp"

namespace dpmpi::exchanged_test {
namespace {

using test::contains;
using test::Folder;

template <class Read>
std::string refusal(Read read) {
  try {
    read();
  } catch (const Error& e) {
    return e.what();
  }
  return "accepted";
}

class Exchanged : public ::testing::Test {
 protected:
  Exchanged() {
    round.round = 3, round.rounds = 7;
    round.config = std::string(64, 'a'), round.plan = std::string(64, 'b');
    round.run_salt = std::string(64, 'c'), round.salt = std::string(64, 'd');
    round.blocks = 6, round.words = 5;
    round.facts.shards = {10, 20, 30}, round.facts.records = 60, round.facts.features = 4;
    round.coordinator = public_key_of(coordinator);
    for (const SecretKey& key : own) round.sites.push_back(public_key_of(key));
    round.present = {0, 2};
    round.state = std::string("the iterate\0of all steps\n", 24);
    for (const std::uint32_t site : round.present) round.put_seal(coordinator, site, keys(site));
  }
  static std::string keys(std::uint32_t site) { return std::string(96, static_cast<char>('0' + site)); }
  std::string read_round(const std::string& text) {
    return refusal([&] { RoundFile::read(folder.write("round", text)); });
  }
  std::string read_part(const std::string& text) {
    return refusal([&] { PartFile::read(folder.write("part", text), round, coordinator); });
  }
  std::string part_of(std::uint32_t site, const SecretKey& key) const {
    return PartFile{round.digest(), site, std::string(128, 'f'), {1, -2, 3, -4, 5}}.text(key, round.coordinator);
  }

  Folder folder;
  SecretKey coordinator = SecretKey::from_system();
  std::vector<SecretKey> own{SecretKey::from_system(), SecretKey::from_system(), SecretKey::from_system()};
  RoundFile round;
};

TEST_F(Exchanged, ARoundComesBackAsItWasWritten) {
  const RoundFile again = RoundFile::read(folder.write("round", round.text()));
  EXPECT_EQ(again.text(), round.text());
  EXPECT_EQ(again.digest(), round.digest());
  EXPECT_EQ(again.run(), round.run());
  EXPECT_EQ(again.state, round.state);
  EXPECT_EQ(again.present, round.present);
  EXPECT_EQ(again.facts.records, 60u);
  for (const std::uint32_t site : round.present) EXPECT_EQ(again.open_seal(own[site], site), keys(site));
}

// Of two sites with one key a third would add a mask and take it off again.
TEST_F(Exchanged, TwoSitesWithOneKeyAreRefused) {
  RoundFile forged = round;
  forged.sites[2] = forged.sites[0];
  EXPECT_TRUE(contains(read_round(forged.text()), "sites is not a list of different keys"));
}

TEST_F(Exchanged, SealsAreForOneSiteEach) {
  EXPECT_TRUE(contains(refusal([&] { round.open_seal(own[2], 0); }), "not written for this site"));
  EXPECT_TRUE(contains(refusal([&] { round.open_seal(coordinator, 2); }), "not written for this site"));
}

TEST_F(Exchanged, AChangedByteOfARoundIsSeenByItsSites) {
  const std::string text = round.text();
  int refused = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    const std::string path = folder.write("round", changed);
    std::string why;
    for (const std::uint32_t site : round.present) {
      const std::string said = refusal([&] { RoundFile::read(path).open_seal(own[site], site); });
      if (said != "accepted") why = said;
    }
    EXPECT_NE(why, "") << i << ": " << changed;
    ++refused;
  }
  EXPECT_EQ(refused, static_cast<int>(text.size()));
}

TEST_F(Exchanged, ARoundThatWasCutOffOrIsNoneIsRefused) {
  const std::string text = round.text();
  EXPECT_TRUE(contains(read_round(""), "is not the file of a round"));
  EXPECT_TRUE(contains(read_round("dpmpi round 2\n{}\n"), "is not the file of a round"));
  EXPECT_TRUE(contains(read_round("dpmpi round 1\n{}\n"), "has no round"));
  EXPECT_TRUE(contains(read_round("dpmpi round 1\n[]\n"), "is not an object"));
  EXPECT_TRUE(contains(read_round(text.substr(0, text.size() - round.state.size() - 1)), "was cut off"));
  round.present = {1};
  EXPECT_TRUE(contains(read_round(round.text()), "present is not a list of two sites or more"));
  round.present = {2, 1};
  EXPECT_TRUE(contains(read_round(round.text()), "present is not an ascending list"));
  round.present = {1, 2}, round.round = 8;
  EXPECT_TRUE(contains(read_round(round.text()), "round is not one of the rounds"));
  round.round = 1, round.blocks = 5;
  EXPECT_TRUE(contains(read_round(round.text()), "blocks is not the same number for each site"));
}

TEST_F(Exchanged, APartComesBackAsItWasWritten) {
  const PartFile part = PartFile::read(folder.write("part", part_of(2, own[2])), round, coordinator);
  EXPECT_EQ(part.site, 2u);
  EXPECT_EQ(part.part, (std::vector<std::int64_t>{1, -2, 3, -4, 5}));
  EXPECT_EQ(part.tags, std::string(128, 'f'));
}

TEST_F(Exchanged, AForgedOrChangedPartIsRefused) {
  EXPECT_TRUE(contains(read_part(part_of(2, own[1])), "was not written by site 3"));
  EXPECT_TRUE(contains(read_part(part_of(1, own[1])), "site 2 does not take part in this round"));
  const std::string text = part_of(0, own[0]);
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_NE(read_part(changed), "accepted") << i;
  }
  EXPECT_TRUE(contains(read_part(text.substr(0, text.size() - 1)), "it was cut off or changed"));
  EXPECT_TRUE(contains(read_part(text + "x"), "it was cut off or changed"));
  EXPECT_TRUE(contains(read_part(round.text()), "is not a site's part"));
}

TEST_F(Exchanged, APartOfAnotherRoundIsRefused) {
  const std::string part = part_of(0, own[0]);
  EXPECT_EQ(read_part(part), "accepted");
  round.round = 4;
  EXPECT_TRUE(contains(read_part(part), "is for another round than the one that is open (round 4 of 7)"));
  round.round = 3, round.salt = std::string(64, 'e');
  EXPECT_TRUE(contains(read_part(part), "or for an earlier file of it"));
}

TEST_F(Exchanged, AJoinFileComesBackAsItWasWritten) {
  JoinFile join{.config = round.config, .site = 1, .key = round.sites[1], .facts = round.facts};
  join.facts.feature_names = "age\nname \"x\"\n";
  const JoinFile again = JoinFile::read(folder.write("join", join.text()));
  EXPECT_EQ(again.text(), join.text());
  EXPECT_EQ(again.site, 1u);
  EXPECT_EQ(again.facts.feature_names, join.facts.feature_names);
  for (const char* wrong : {"", "[]", "{\"dpmpi_join\": 1}", "{\"dpmpi_join\": 2}"})
    EXPECT_NE(refusal([&] { JoinFile::read(folder.write("join", wrong)); }), "accepted") << wrong;
}

}  // namespace
}  // namespace dpmpi::exchanged_test
