// What a run's files say of its config: enough to know it again, and nothing that a later version adds.
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/files/digest.hpp"
#include "run/config/config.hpp"
#include "support/data_files.hpp"

namespace dpmpi::test::config_digest_test {
namespace {

class ConfigDigest : public ::testing::Test {
 protected:
  ConfigDigest() {
    std::ofstream(path_) << "[data]\ntrain = a.csv\n[method]\nname = dp-sgd\nclip = 2\n[privacy]\nepsilon = 1\n";
  }
  RunConfig with(const std::vector<std::string>& settings = {}) const { return RunConfig(path_, settings); }

  const Folder folder_;
  const std::string path_ = folder_.file("config.ini");
};

TEST_F(ConfigDigest, IsOfWhatDiffersFromTheDefaults) {
  const std::string digest = with().digest();
  EXPECT_EQ(with({"method.batch=256", "objective.name=logistic"}).digest(), digest) << "the defaults";
  EXPECT_EQ(with({"run.dir=elsewhere", "report.progress=none"}).digest(), digest);
  for (const char* other : {"method.batch=255", "method.clip=1", "objective.name=hinge", "privacy.epsilon=1.5"})
    EXPECT_NE(with({other}).digest(), digest) << other;
  const std::string essentials = with().essentials();
  EXPECT_NE(essentials.find("method.batch = 256\n"), essentials.npos) << "checkpoints say everything";
}

TEST_F(ConfigDigest, ThatEarlierVersionsTookIsKnown) {
  const RunConfig config = with();
  EXPECT_TRUE(config.has_digest(config.digest()));
  EXPECT_TRUE(config.has_digest(sha256(config.essentials())));
  EXPECT_FALSE(config.has_digest(""));
  EXPECT_FALSE(with({"method.clip=1"}).has_digest(sha256(config.essentials())));
}

// A checkpoint of an earlier version lacks the lines of options that are new, as long as these say nothing.
TEST_F(ConfigDigest, LinesOfLaterOptionsMayBeMissing) {
  const RunConfig config = with(), other = with({"method.batch=255"});
  const auto without = [](std::string lines, const std::string& line) {
    return lines.erase(lines.find(line), line.size());
  };
  EXPECT_TRUE(config.has_essentials(config.essentials()));
  EXPECT_TRUE(config.has_essentials(without(config.essentials(), "method.batch = 256\n")));
  EXPECT_FALSE(other.has_essentials(without(config.essentials(), "method.batch = 256\n"))) << "it is no default";
  EXPECT_FALSE(other.has_essentials(config.essentials()));
  EXPECT_FALSE(config.has_essentials(other.essentials()));
  EXPECT_FALSE(config.has_essentials(config.essentials() + "method.gone = 1\n"));
  EXPECT_FALSE(config.has_essentials(""));
}

}  // namespace
}  // namespace dpmpi::test::config_digest_test
