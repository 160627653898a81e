// Where a run can be made, before anything is made.
#include "run/directory/directory.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include <gtest/gtest.h>

#include "support/data_files.hpp"

namespace dpmpi::test::directory_test {
namespace {

TEST(RunFolder, WhatCannotBeAFolderIsRefused) {
  const Folder folder;
  const std::string file = folder.write("file", "text");
  for (const std::string& wanted : {file, file + "/one", file + "/one/two"})
    EXPECT_EQ(message_of<ConfigError>([&] { refuse_impossible(wanted); }),
              "run.dir = " + wanted + ": " + file + " is no folder");
  for (const char* wanted : {"new", "new/", "new/below/it"})
    EXPECT_NO_THROW(refuse_impossible(folder.file(wanted)));
  EXPECT_NO_THROW(refuse_impossible(folder.path()));
  EXPECT_FALSE(std::filesystem::exists(folder.file("new"))) << "it is only looked at";
}

TEST(RunFolder, AFolderThatMayNotBeWrittenToIsRefused) {
  const Folder folder;
  const std::string closed = folder.file("closed");
  ASSERT_EQ(mkdir(closed.c_str(), 0555), 0);
  chmod(folder.path().c_str(), 0755);
  const uid_t user = geteuid(), nobody = 65534;
  if (user == 0) {
    ASSERT_EQ(seteuid(nobody), 0);  // root may write everywhere
  }
  const std::string message = message_of<ConfigError>([&] { refuse_impossible(closed + "/one"); });
  if (user == 0) {
    ASSERT_EQ(seteuid(user), 0);
  }
  EXPECT_EQ(message, "run.dir = " + closed + "/one: nothing can be made in " + closed + ": Permission denied");
}

}  // namespace
}  // namespace dpmpi::test::directory_test
