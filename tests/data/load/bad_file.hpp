#pragma once
// A file that is bad, and the one message that is expected of it.

#include <initializer_list>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "support/data_files.hpp"

namespace dpmpi::test {

class BadFile : public ::testing::Test {
 protected:
  /// Of public records, whose names are known: what stands in the files may be quoted.
  BadFile() {
    options_.show_values = true;
    options_.eval = folder_.write("public.csv", "x,y,x2,x3\n1,2,3,4\n");
  }
  /// Loads `bytes` under a name and expects a DataError that names the file and every one of `parts`.
  void expect(const std::string& name, std::string_view bytes, std::initializer_list<std::string> parts) {
    options_.train = folder_.write(name, bytes);
    expect_message({options_.train}, parts);
  }
  void expect_pair(std::string_view records, std::string_view labels, std::initializer_list<std::string> parts) {
    options_.train = folder_.write("x", records) + "," + folder_.write("y", labels);
    expect_message({}, parts);
  }
  void expect_message(std::initializer_list<std::string> file, std::initializer_list<std::string> parts) {
    const std::string message = message_of([&] { load_one(options_, kind_, 10); });
    for (const auto& part : file) EXPECT_MENTIONS(message, part);
    for (const auto& part : parts) EXPECT_MENTIONS(message, part);
  }
  const Folder folder_;
  DataOptions options_;
  LabelKind kind_ = LabelKind::real;
};

}  // namespace dpmpi::test
