// A training file is not taken for a public one by `dpmpi evaluate`, whatever it is called by now.
#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "run/directory/files.hpp"
#include "support/process.hpp"
#include "support/programs.hpp"

namespace dpmpi::training_files_test {
namespace {

namespace fs = std::filesystem;
using test::Outcome;

class TrainingFiles : public ::testing::Test {
 protected:
  TrainingFiles() {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  Outcome dpmpi(const std::string& arguments, int ranks = 1) const {
    const std::string launcher = ranks > 1 ? fmt::format("mpirun -n {} ", ranks) : "";
    return test::run_command(fmt::format("cd {} && {}{} {}", folder_, launcher, test::program(), arguments));
  }

 private:
  const std::string folder_ = ::testing::TempDir() + "dpmpi_TrainingFiles";
};

TEST_F(TrainingFiles, ATrainingFileOfAPatternIsKnownUnderAnotherName) {
  const std::string names = "y,a,b\n";
  for (const char* const name : {"part-1.csv", "part-2.csv", "public.csv"})
    std::ofstream(path(name)) << names << "1,2," << int{name[5]} << "\n-1,-1,1\n1,1,3\n-1,-2,0\n";
  std::ofstream(path("parts.ini"))
      << "[run]\ndir = parts\n[data]\ntrain = part-*.csv\nheader = yes\n[objective]\nname = logistic\n"
         "[method]\nname = dp-sgd\nsteps = 2\nbatch = 2\n[privacy]\nnoise_multiplier = 3\ndelta = 0.01\n";
  const Outcome trained = dpmpi("-q --config parts.ini");
  ASSERT_EQ(trained.code, 0) << trained.output;
  EXPECT_EQ(dpmpi("evaluate parts --data public.csv").code, 0);
  EXPECT_EQ(dpmpi("evaluate parts --data part-2.csv").code, 4);
  const Outcome verified = dpmpi("verify parts");
  EXPECT_EQ(verified.code, 0) << verified.output;
  EXPECT_NE(verified.output.find("training_files"), std::string::npos) << verified.output;
  fs::rename(path("part-2.csv"), path("renamed.csv"));
  for (const char* const data : {"renamed.csv", "public.csv"})
    for (const int ranks : {1, 3}) {
      const Outcome refused = dpmpi(fmt::format("evaluate parts --data {}", data), ranks);
      EXPECT_EQ(refused.code, 4) << refused.output;
      EXPECT_NE(refused.output.find("data.train = part-*.csv no longer matches the files of this run"),
                std::string::npos)
          << refused.output;
    }
  fs::rename(path("renamed.csv"), path("part-2.csv"));
  EXPECT_EQ(dpmpi("evaluate parts --data public.csv").code, 0);
  // Whatever stands elsewhere under these names, and whatever the certificate says by now.
  fs::create_directories(path("elsewhere"));
  for (const char* const name : {"part-1.csv", "part-2.csv"})
    fs::copy_file(path("public.csv"), path("elsewhere/") + name, fs::copy_options::overwrite_existing);
  std::ofstream(path("elsewhere/part-2.csv"), std::ios::app) << "1,2,2\n";
  const std::string root = fmt::format(" --set data.root={}", path("elsewhere"));
  EXPECT_EQ(dpmpi(fmt::format("evaluate parts --data {}", path("part-1.csv")) + root).code, 4);
  std::string certificate = read_file(path("parts/certificate.json"));
  const std::size_t line = certificate.find("\n  \"training_files\"");
  certificate.erase(line, certificate.find('\n', line + 1) - line);
  std::ofstream(path("parts/certificate.json")) << certificate;
  const Outcome edited = dpmpi("evaluate parts --data public.csv");
  EXPECT_EQ(edited.code, 4);
  EXPECT_NE(edited.output.find("is not the model of"), std::string::npos) << edited.output;
}

TEST_F(TrainingFiles, FoldersOfAPatternAreKnownToo) {
  for (const char* const folder : {"site1", "site2", "site3"}) {
    fs::create_directories(path(folder));
    std::ofstream(path(folder) + "/v.csv") << "y,a,b\n1,2," << int{folder[4]} << "\n-1,-1,1\n1,1,3\n-1,-2,0\n";
  }
  fs::rename(path("site3"), path("later"));
  std::ofstream(path("folders.ini"))
      << "[run]\ndir = folders\n[data]\ntrain = site*/v.csv\nheader = yes\n[objective]\nname = logistic\n"
         "[method]\nname = dp-sgd\nsteps = 2\nbatch = 2\n[privacy]\nnoise_multiplier = 3\ndelta = 0.01\n";
  ASSERT_EQ(dpmpi("-q --config folders.ini").code, 0);
  fs::rename(path("site2"), path("old"));
  fs::rename(path("later"), path("site3"));
  const Outcome refused = dpmpi("evaluate folders --data old/v.csv");
  EXPECT_EQ(refused.code, 4);
  EXPECT_NE(refused.output.find("no longer matches"), std::string::npos) << refused.output;
}

}  // namespace
}  // namespace dpmpi::training_files_test
