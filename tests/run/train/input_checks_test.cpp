// What makes two programs the same, for a step that is replayed under the same noise.
#include "run/train/input_checks.hpp"

#include <filesystem>
#include <fstream>

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "data/records/options.hpp"

namespace dpmpi::input_checks_test {
namespace {

// A plugin computes the losses: another one under the same name gives other sums.
TEST(ProgramIdentity, KnowsThePluginByItsBytes) {
  Dl_info library{};
  ASSERT_NE(dladdr(dlsym(RTLD_DEFAULT, "zlibVersion"), &library), 0);
  const std::string copy = testing::TempDir() + "dpmpi_guards_plugin.so";
  std::filesystem::copy_file(library.dli_fname, copy, std::filesystem::copy_options::overwrite_existing);
  const ProgramIdentity none = program_identity(), before = program_identity({copy});
  EXPECT_EQ(before.digest, program_identity({copy}).digest);
  EXPECT_NE(before.digest, none.digest);
  std::ofstream(copy, std::ios::app) << '\n';
  const ProgramIdentity after = program_identity({copy});
  EXPECT_NE(before.digest, after.digest);
  EXPECT_NE(before.text, after.text) << "the message must show what differs";
  EXPECT_THROW(program_identity({copy + "-absent"}), ConfigError);
  std::filesystem::remove(copy);
}

std::string file_with(const std::string& name, const std::string& bytes) {
  const std::string path = testing::TempDir() + name;
  std::ofstream(path) << bytes;
  return path;
}

// Models trained on other records have other losses.
TEST(ProgramIdentity, KnowsThePublicFilesOfLossesByTheirBytes) {
  const std::string file = file_with("dpmpi_guards_public.csv", "1,2\n");
  const ProgramIdentity none = program_identity(), before = program_identity({}, {file});
  EXPECT_NE(before.digest, none.digest);
  EXPECT_EQ(before.digest, program_identity({}, {file}).digest);
  file_with("dpmpi_guards_public.csv", "1,3\n");
  const ProgramIdentity after = program_identity({}, {file});
  EXPECT_NE(before.digest, after.digest);
  EXPECT_NE(before.text, after.text);
  DataOptions data;
  data.root = testing::TempDir();
  EXPECT_EQ(DataFiles(data, "dpmpi_guards_public.csv").models.paths(),
            std::vector<std::string>{std::filesystem::path(data.root) / "dpmpi_guards_public.csv"});
  EXPECT_TRUE(DataFiles(data).models.paths().empty());
  EXPECT_THROW(DataFiles(data, "dpmpi_guards_absent.csv").models.paths(), DataError);
}

// T17 of gibo: a record must not train the models that score the others, under whatever name its file goes, nor in
// a copy of it.
TEST(PublicFiles, AreNoPrivateOnes) {
  const std::string mine = file_with("dpmpi_guards_private.csv", "1,2\n"),
                    other = file_with("dpmpi_guards_public.csv", "1,3\n"),
                    copy = file_with("dpmpi_guards_copy.csv", "1,2\n"),
                    link = testing::TempDir() + "dpmpi_guards_link.csv";
  std::filesystem::remove(link);
  std::filesystem::create_symlink(mine, link);
  DataOptions data;
  data.train = mine;
  EXPECT_NO_THROW(refuse_private_models(DataFiles(data, other)));
  DataOptions trainer;
  trainer.train = other;
  EXPECT_NO_THROW(refuse_private_trainer(DataFiles(data), DataFiles(trainer).training));
  for (const std::string& file : {mine, link, copy, other + "," + mine, other + ", " + mine}) {
    EXPECT_THROW(refuse_private_models(DataFiles(data, file)), PrivacyError) << file;
    trainer.train = file;
    EXPECT_THROW(refuse_private_trainer(DataFiles(data), DataFiles(trainer).training), PrivacyError) << file;
    EXPECT_THROW(refuse_private_evaluation(DataFiles(data, {}, file)), PrivacyError) << file;
    data.eval = file;
    EXPECT_THROW(refuse_private_evaluation(DataFiles(data)), PrivacyError) << file;
  }
}

}  // namespace
}  // namespace dpmpi::input_checks_test
