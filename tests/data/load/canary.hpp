#pragma once
// Files with a fault, each in two versions that differ in private values alone: what is said of one must be said of
// the other. Where a value is left out, data.show_values must bring it back, or a test would look for something
// that is never said.

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "data/load/convert.hpp"
#include "support/data_files.hpp"

namespace dpmpi::test::canaries {

/// The canary, and what stands in its place in the other version: words, numbers, numbers beyond float32.
struct Values {
  std::string word, number, huge, index, other_index;
};
inline constexpr std::string_view places_of_canary[] = {"qzcanaryxv", "7316529041", "7.316529041"};
inline const Values canary{"qzcanaryxv", "7316529041", "7.316529041e+38", "17", "19"};
inline const Values other{"ab", "85300000", "8.53e+38", "12", "18"};

/// Files by name; data.train is all of them, with a comma between.
using Files = std::vector<std::pair<std::string, std::string>>;

struct Case {
  std::string what;
  std::function<Files(const Values&)> files;
  LabelKind kind = LabelKind::real;
};

inline std::string said(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

class Canary : public ::testing::Test {
 protected:
  using Read = std::function<void(const DataOptions&)>;

  Canary() { options_.eval = folder_.write("public.csv", "label,x,colour,note\n0,1,red,free\n"); }

  /// Both versions, as training file, as a file that a command line gives, and converted.
  void check(const Case& c, bool gzipped = false) {
    SCOPED_TRACE(c.what + (gzipped ? ", gzipped" : ""));
    check_training(c, gzipped);
    const Read given = [&](DataOptions o) {
      const std::string file = std::exchange(o.train, "");
      load_all(Communicator::alone(), DataFiles(o, {}, file).given, c.kind, 10, 2);
    };
    const Read converted = [&](const DataOptions& o) { convert({o.train, folder_.file("out.bin")}, o); };
    for (const Read& read : {given, converted}) compare(c, read, gzipped);
    const Read of_public = [&](DataOptions o) {
      o.eval = std::exchange(o.train, "");
      load_all(Communicator::alone(), DataFiles(o).evaluation, c.kind, 10, 2);
    };
    const std::string text = message(c, canary, of_public, gzipped, false);
    EXPECT_EQ(text.find("not shown"), text.npos) << "data.eval is public: " << text;
  }

  /// Both versions as training file alone.
  void check_training(const Case& c, bool gzipped = false) {
    compare(
        c, [&](const DataOptions& o) { load_all(Communicator::alone(), o, c.kind, 10, 2); }, gzipped);
  }

  /// At least so many messages, and of these so many that would quote a value.
  void expect_faults(std::size_t messages, std::size_t quoted) const {
    EXPECT_GE(messages_, messages);
    EXPECT_GE(quoted_, quoted);
  }

  const Folder folder_;
  DataOptions options_;

 private:
  std::string message(const Case& c, const Values& values, const Read& read, bool gzipped, bool show) const {
    DataOptions o = options_;
    o.show_values = show;
    for (const auto& [name, bytes] : c.files(values)) {
      const std::string path = gzipped ? folder_.write_gzip(name + ".gz", bytes) : folder_.write(name, bytes);
      o.train += (o.train.empty() ? "" : ",") + path;
    }
    return said([&] { read(o); });
  }

  void compare(const Case& c, const Read& read, bool gzipped) {
    const std::string text = message(c, canary, read, gzipped, false);
    EXPECT_EQ(text, message(c, other, read, gzipped, false));
    for (const std::string_view place : places_of_canary) EXPECT_EQ(text.find(place), text.npos) << text;
    if (text.empty()) return;
    ++messages_;
    if (text.find("not shown") == text.npos) return;
    const std::string shown = message(c, canary, read, gzipped, true);
    EXPECT_EQ(shown.find("not shown"), shown.npos) << shown;
    if (shown != message(c, other, read, gzipped, true)) ++quoted_;
  }

  std::size_t messages_ = 0, quoted_ = 0;
};

}  // namespace dpmpi::test::canaries
