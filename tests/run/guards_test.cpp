// What makes two programs the same, for a step that is replayed under the same noise.
#include "dpmpi/run/guards.hpp"

#include <filesystem>
#include <fstream>

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "dpmpi/core/errors.hpp"

namespace dpmpi {
namespace {

// A plugin computes the losses: another one under the same name gives other sums.
TEST(ProgramIdentity, KnowsThePluginByItsBytes) {
  Dl_info library{};
  ASSERT_NE(dladdr(dlsym(RTLD_DEFAULT, "zlibVersion"), &library), 0);
  const std::string copy = testing::TempDir() + "dpmpi_guards_plugin.so";
  std::filesystem::copy_file(library.dli_fname, copy, std::filesystem::copy_options::overwrite_existing);
  const ProgramIdentity none = program_identity(), before = program_identity(copy);
  EXPECT_EQ(before.digest, program_identity(copy).digest);
  EXPECT_NE(before.digest, none.digest);
  std::ofstream(copy, std::ios::app) << '\n';
  const ProgramIdentity after = program_identity(copy);
  EXPECT_NE(before.digest, after.digest);
  EXPECT_NE(before.text, after.text) << "the message must show what differs";
  EXPECT_THROW(program_identity(copy + "-absent"), ConfigError);
  std::filesystem::remove(copy);
}

}  // namespace
}  // namespace dpmpi
