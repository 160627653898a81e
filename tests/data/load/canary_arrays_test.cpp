// No message quotes what stands in a private array: pairs of arrays, and the native format, with a fault at every
// place, and cut or longer than they announce.
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "data/load/canary.hpp"
#include "data/load/convert.hpp"
#include "support/binary_files.hpp"
#include "support/data_files.hpp"
#include "support/hdf5_files.hpp"

namespace dpmpi::test::canary_arrays_test {
namespace {

using namespace canaries;

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

/// (good, canary or other, good) as doubles in a .npy file of `rows` records.
std::string npy_of(double at_1, std::uint64_t width = 1) {
  std::vector<double> values(3 * width, 1);
  values[width] = at_1;
  return npy_file("<f8", width == 1 ? "(3,)" : fmt::format("(3, {})", width), bytes_of(values));
}

TEST_F(Canary, NumpyPairs) {
  for (const LabelKind kind : {LabelKind::real, LabelKind::sign, LabelKind::class_, LabelKind::count}) {
    check({"a label",
           [](const Values& v) {
             return Files{{"x.npy", npy_of(1, 2)}, {"y.npy", npy_of(std::stod(v.number) + 0.5)}};
           },
           kind});
    check({"a label beyond float32",
           [](const Values& v) {
             return Files{{"x.npy", npy_of(1, 2)}, {"y.npy", npy_of(std::stod(v.huge))}};
           },
           kind});
  }
  check({"a feature", [](const Values& v) {
           return Files{{"x.npy", npy_of(std::stod(v.huge), 2)}, {"y.npy", npy_of(1)}};
         }});
  const auto shaped = [](const std::string& shape) { return npy_file("<f8", shape, std::string(16, '\0')); };
  for (const char* shape : {"({}, 2)", "(1{}, x)", "({} x)", "(9999999999999999, {})", "({})"})
    check({"shape " + std::string(shape),
           [&](const Values& v) {
             return Files{{"x.npy", shaped(fmt::format(fmt::runtime(shape), v.number))}, {"y.npy", npy_of(1)}};
           }},
          true);
  for (const char* shape : {"({},)", "(1{}, 2)"})
    check({"labels of shape " + std::string(shape), [&](const Values& v) {
             return Files{{"x.npy", npy_of(1, 2)}, {"y.npy", shaped(fmt::format(fmt::runtime(shape), v.number))}};
           }});
  check({"columns with names", [](const Values& v) {
           return Files{{"x.npy", npy_file(fmt::format("[('{}', '<f8')]", v.word), "(1, 1)", std::string(8, '\0'))},
                        {"y.npy", npy_of(1)}};
         }});
  for (const char* format : {"idx", "npy", "native"}) {
    options_.format = format;
    check({fmt::format("text as {}", format), [&](const Values& v) {
             return Files{{"x", v.word + v.word + std::string(100, ' ')}, {"y", v.word + std::string(99, ' ')}};
           }});
    check({fmt::format("text alone as {}", format), [&](const Values& v) {
             return Files{{"x", v.word + std::string(100, ' ')}};
           }});
  }
  expect_faults(45, 35);
}

TEST_F(Canary, Hdf5) {
  // (1, canary) as features or labels, and as many records as the canary has letters.
  const auto file = [&](double feature, double label, std::uint64_t records) {
    const std::string path = folder_.file("made.h5");
    {
      NewHdf5 made(path);
      made.add("x", "f8", {2, 1}, {1, feature});
      made.add("y", "f8", {records}, numbers(records, [&](std::size_t i) { return i == 1 ? label : 1; }));
    }
    return Files{{"a.h5", read_file(path)}};
  };
  for (const LabelKind kind : {LabelKind::sign, LabelKind::class_, LabelKind::count})
    check({"a label", [&](const Values& v) { return file(1, std::stod(v.number) + 0.5, 2); }, kind});
  check({"a label beyond float32", [&](const Values& v) { return file(1, std::stod(v.huge), 2); }});
  check({"a feature", [&](const Values& v) { return file(std::stod(v.huge), 1, 2); }});
  check({"labels of others", [&](const Values& v) { return file(1, 1, v.word.size() + 1); }});
  check({"no file of the library", [](const Values& v) { return Files{{"a.h5", v.word + "\n" + v.word + "\n"}}; }});
  expect_faults(12, 10);
}

TEST_F(Canary, IdxPairs) {
  const auto labels = [](const Values& v) {
    const auto x = static_cast<std::uint32_t>(std::stoull(v.number) % 4000000000U);
    std::string bytes;
    for (const std::uint32_t y : {1U, x})
      for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>((y >> shift) & 0xff);
    return idx_file(0x0c, {2}, bytes);
  };
  for (const bool gzipped : {false, true})
    for (const LabelKind kind : {LabelKind::sign, LabelKind::class_, LabelKind::count})
      check({"a label",
             [&](const Values& v) {
               return Files{{"x", idx_file(8, {2, 2}, "abcd")}, {"y", labels(v)}};
             },
             kind},
            gzipped);
  expect_faults(12, 12);
}

/// A file of `records` records is cut, or has more bytes than it announces, or more records than are declared: how
/// many it has is not said, whether the number is declared or not.
TEST_F(Canary, NumbersOfRecords) {
  const auto count = [](const Values& v) { return static_cast<std::uint32_t>(v.word.size() + 1); };  // 11 or 3
  const auto images = [=](const Values& v, int bytes) {
    const std::uint32_t n = count(v);
    const std::string data(static_cast<std::size_t>(2 * static_cast<int>(n) + bytes), 'a');
    return Files{{"x", idx_file(8, {n, 2}, data)}, {"y", idx_file(8, {n}, std::string(n, '\1'))}};
  };
  const auto text = [=](const Values& v, const std::string& line) {
    std::string all;
    for (std::uint32_t i = 0; i < count(v); ++i) all += line;
    return all;
  };
  options_.label = "first", options_.header = "no", options_.features = 2;
  for (const int records : {0, 2})
    for (const bool gzipped : {false, true}) {
      options_.records = records;
      for (const int bytes : {-1, 0, 1})
        check({fmt::format("{} bytes more", bytes), [&](const Values& v) { return images(v, bytes); }}, gzipped);
      check({"labels of others",
             [&](const Values& v) {
               return Files{images(v, 0)[0], {"y", idx_file(8, {5}, "abcde")}};
             }},
            gzipped);
      check({"lines", [&](const Values& v) { return Files{{"a.csv", text(v, "1,2,3\n")}}; }}, gzipped);
      check({"lines", [&](const Values& v) { return Files{{"a.svm", text(v, "1 2:1\n")}}; }}, gzipped);
    }
  expect_faults(30, 15);
}

std::string native_file(const Folder& folder, const DataOptions& options, const std::string& name,
                        const std::string& text) {
  convert({folder.write(name, text), folder.file("native.bin")}, options);
  return read_file(folder.file("native.bin"));
}

template <class T>
void put(std::string& bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

TEST_F(Canary, Native) {
  DataOptions table;
  table.header = "no", table.label = "first";
  const std::string dense = native_file(folder_, table, "good.csv", "1,0,0\n4,0,0\n");
  table.features = 20;
  const std::string sparse = native_file(folder_, table, "good.svm", "1 1:1e-20 3:1e-20\n2 2:1e-20\n");
  ASSERT_EQ(dense.size(), 64U + 8 + 16);
  ASSERT_EQ(sparse.size(), 64U + 8 + 24 + 12 + 12);
  const auto one = [](std::string bytes, std::size_t at, auto value) {
    put(bytes, at, value);
    return Files{{"a.bin", bytes}};
  };
  for (const std::string& good : {dense, sparse})
    for (const LabelKind kind : {LabelKind::sign, LabelKind::class_, LabelKind::count})
      check({"a label", [&](const Values& v) { return one(good, 68, std::stof(v.number)); }, kind});
  options_.scale = 1e30, options_.deviation = {"1e-9"};  // any number but a tiny one is beyond float32 then
  for (const std::size_t at : {72U, 84U})
    check({"a feature", [&](const Values& v) { return one(dense, at, std::stof(v.number)); }});
  for (const std::size_t at : {108U, 116U})
    check({"a value", [&](const Values& v) { return one(sparse, at, std::stof(v.number)); }});
  options_.scale = 1, options_.deviation.clear();
  for (const std::size_t at : {72U, 80U, 88U})
    check({"a row's offset", [&](const Values& v) { return one(sparse, at, std::stoull(v.number)); }});
  for (const std::size_t at : {96U, 100U, 104U}) {
    check({"a column out of range",
           [&](const Values& v) { return one(sparse, at, static_cast<std::uint32_t>(std::stoull(v.number))); }});
    check({"a column in disorder", [&](const Values& v) {
             return one(one(sparse, 96, static_cast<std::uint32_t>(19))[0].second, at == 96U ? 100 : at,
                        static_cast<std::uint32_t>(std::stoul(v.index)));
           }});
  }
  const auto cut = [](const std::string& good, std::size_t bytes) {
    return Files{{"a.bin", good.substr(0, bytes)}};
  };
  for (const std::string& good : {dense, sparse})
    check({"cut", [&](const Values& v) { return cut(good, good.size() - v.word.size()); }});
  for (const std::string& good : {dense, sparse})
    check({"more", [&](const Values& v) { return Files{{"a.bin", good + v.word}}; }});
  expect_faults(40, 35);
}

}  // namespace
}  // namespace dpmpi::test::canary_arrays_test
