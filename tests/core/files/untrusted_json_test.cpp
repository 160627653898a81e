// Files and JSON that may come from anybody: what is no regular file, too large or too deep is refused at once.
#include <filesystem>
#include <fstream>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "core/files/durable.hpp"
#include "core/files/untrusted_json.hpp"

namespace dpmpi::untrusted_json_test {
namespace {

namespace fs = std::filesystem;

class Untrusted : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string refusal(const std::string& path, std::uint64_t most = file_limit::document) const {
    try {
      read_file(path, most);
    } catch (const DataError& e) {
      return e.what();
    }
    return "no error";
  }
  std::string text(const std::string& bytes) const {
    std::ofstream(path_, std::ios::binary) << bytes;
    return path_;
  }
  const std::string folder_ = ::testing::TempDir() + "dpmpi_untrusted", path_ = folder_ + "/x";
};

TEST_F(Untrusted, OnlyRegularFilesAreRead) {
  EXPECT_EQ(refusal(folder_), folder_ + " is a folder; only regular files are read");
  for (const char* device : {"/dev/zero", "/dev/null"})
    EXPECT_EQ(refusal(device), std::string(device) + " is a pipe, socket or device; only regular files are read");
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(refusal(path_), path_ + " is a pipe, socket or device; only regular files are read");
  EXPECT_THROW(DurableFile(path_, O_WRONLY, 0600), DataError) << "a writer does not wait for a reader either";
  EXPECT_THROW(DurableFile(path_, O_RDWR, 0600), DataError);
  fs::create_symlink("/nowhere/at/all", folder_ + "/dangling");
  EXPECT_EQ(refusal(folder_ + "/dangling"), "cannot read " + folder_ + "/dangling: No such file or directory");
  fs::create_symlink("loop", folder_ + "/loop");
  EXPECT_NE(refusal(folder_ + "/loop").find("cannot read"), std::string::npos);
}

TEST_F(Untrusted, LargeFilesAreRefusedByTheirSize) {
  text("");
  fs::resize_file(path_, std::uint64_t{1} << 40);
  EXPECT_EQ(refusal(path_), path_ + " has 1099511627776 bytes; at most 16777216 are allowed");
  fs::resize_file(path_, 7);
  EXPECT_EQ(read_file(path_, 7), std::string(7, '\0'));
  EXPECT_EQ(refusal(path_, 6), path_ + " has 7 bytes; at most 6 are allowed");
  EXPECT_EQ(read_file("/proc/self/status", 10), "") << "files without a size are empty, however much they say";
}

TEST_F(Untrusted, JsonSaysWhereItEnds) {
  const auto refused = [](const std::string& text) -> std::string {
    try {
      parse_untrusted_json(text, "x.json");
    } catch (const DataError& e) {
      return e.what();
    }
    return "no error";
  };
  EXPECT_EQ(refused(R"({"a": [1, 2]})"), "no error");
  EXPECT_EQ(refused(std::string(16, '[') + std::string(16, ']')), "no error");
  EXPECT_EQ(refused(std::string(17, '[') + "1" + std::string(17, ']')), "x.json: nested more than 16 deep");
  EXPECT_EQ(refused(std::string(1000000, '[')), "x.json: nested more than 16 deep");
  std::string objects;
  for (int i = 0; i < 100000; ++i) objects += "{\"a\":";
  EXPECT_EQ(refused(objects), "x.json: nested more than 16 deep");
  const auto object = [](int members) {
    std::string text;
    for (int i = 0; i < members; ++i) text += fmt::format("{}\"m{}\": {{\"a\": 0}}", i > 0 ? "," : "", i);
    return "{" + text + "}";
  };
  EXPECT_EQ(refused("[" + object(1000) + "," + object(1000) + "]"), "no error");
  EXPECT_EQ(refused("{\"a\": " + object(1001) + "}"), "x.json: an object with more than 1000 members");
  EXPECT_EQ(refused("{\"secret\" 1}"), "x.json: is not JSON (at byte 11)");
  EXPECT_EQ(refused(""), "x.json: is not JSON (at byte 1)");
  EXPECT_EQ(refused("\"\xff\""), "x.json: is not JSON (at byte 2)");
  EXPECT_EQ(refused("1e999"), "x.json: holds a number that is not finite");
  EXPECT_EQ(refused(std::string(file_limit::document, ' ') + "1"),
            "x.json: 16777217 bytes of JSON; at most 16777216 are allowed");
  EXPECT_EQ(read_untrusted_json(text("[1]")), nlohmann::json({1}));
}

TEST_F(Untrusted, MessagesShowValuesEscapedAndShort) {
  EXPECT_EQ(shown_json(nlohmann::json("\x1b[1m")), "\"\\u001b[1m\"");
  EXPECT_EQ(shown_json(nlohmann::json(std::string(500, 'x'))).size(), 63u);
}

}  // namespace
}  // namespace dpmpi::untrusted_json_test
