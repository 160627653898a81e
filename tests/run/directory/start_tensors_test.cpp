// Model files of other programs: types of numbers, order of tensors, and all that may be wrong with them.
#include "run/directory/start_tensors.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "run/directory/files.hpp"
#include "support/text.hpp"

namespace dpmpi::start_tensors_test {
namespace {

using test::contains;

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

class StartTensors : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }
  void write(const std::string& header, const std::string& data) const {
    const std::uint64_t size = header.size();
    write_file(path_, std::string(reinterpret_cast<const char*>(&size), sizeof size) + header + data);
  }
  std::string refusal() const {
    try {
      read_start_tensors(path_, groups_);
    } catch (const DataError& error) {
      return error.what();
    }
    return "accepted";
  }
  const std::string path_ = ::testing::TempDir() + "dpmpi_start_tensors.safetensors";
  const std::vector<ParameterGroup> groups_{{"1.weight", 0, 2, 2}, {"1.bias", 4, 2, 1}, {"2.weight", 6, 1, 3}};
};

// bfloat16 and binary16 by the bits of their standards.
TEST_F(StartTensors, EveryTypeInAnyOrder) {
  const std::string bias = bytes_of(std::vector<std::uint16_t>{0x3f80, 0xc049}),
                    last = bytes_of(std::vector<std::uint16_t>{0x3c00, 0x0001, 0xfbff}),
                    first = bytes_of(std::vector<double>{0.1, -2, 3e30, 4});
  write(R"({"2.weight":{"dtype":"F16","shape":[3],"data_offsets":[4,10]},"__metadata__":{"format":"pt"},)"
        R"("1.bias":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]},)"
        R"("1.weight":{"dtype":"F64","shape":[2,2],"data_offsets":[10,42]}})",
        bias + last + first);
  EXPECT_EQ(read_start_tensors(path_, groups_),
            (std::vector<float>{0.1F, -2, 3e30F, 4, 1, -3.140625F, 1, 0x1p-24F, -65504}));
}

TEST_F(StartTensors, AllThatDoesNotFitIsTold) {
  const std::string numbers = bytes_of(std::vector<float>{1, 2, INFINITY, 4, 5, 6});
  write(R"({"1.weight":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},)"
        R"("1.bias":{"dtype":"I64","shape":[2,1],"data_offsets":[16,24]},)"
        R"("3.weight":{"dtype":"F32","shape":[1],"data_offsets":[16,20]}})",
        numbers);
  const std::string all = refusal();
  for (const char* const said :
       {"does not fit:", "tensor \"1.weight\" has numbers that are not finite, or beyond float32",
        "tensor \"1.bias\" has the type \"I64\"; F64, F32, F16 and BF16 are read",
        "tensor \"2.weight\" is not there; its shape is [3]", "tensor \"3.weight\" is none of the model's",
        "the model's tensors are 1.weight, 1.bias, 2.weight: name them so, and take others out"})
    EXPECT_TRUE(contains(all, said)) << said << "\n" << all;
  write(R"({"1.weight":{"dtype":"F32","shape":[4],"data_offsets":[0,16]},)"
        R"("1.bias":{"dtype":"F32","shape":[2,1],"data_offsets":[20,28]},)"
        R"("2.weight":{"dtype":"F32","shape":"3","data_offsets":[0,12]}})",
        numbers);
  const std::string more = refusal();
  for (const char* const said :
       {"tensor \"1.weight\" has the shape [4], where the model has [2,2]",
        "tensor \"1.bias\" is not where the header says: the file is cut", "tensor \"2.weight\" is described as "})
    EXPECT_TRUE(contains(more, said)) << said << "\n" << more;
  write(R"({"1.weight":{"dtype":"F32","shape":[2,2],"data_offsets":[0.5,16]},)"
        R"("1.bias":{"dtype":"F32","shape":[2,1],"data_offsets":[0,12]},)"
        R"("2.weight":{"dtype":"F32","shape":[3],"data_offsets":[12,-4]}})",
        numbers);
  const std::string places = refusal();
  for (const char* const said : {"tensor \"1.weight\" stands at [0.5,16], which is no place",
                                 "tensor \"1.bias\" has 12 bytes, where 2 numbers of type F32 have 8",
                                 "tensor \"2.weight\" stands at [12,-4], which is no place"})
    EXPECT_TRUE(contains(places, said)) << said << "\n" << places;
  write_file(path_, "no such file");
  EXPECT_TRUE(contains(refusal(), "is no model file"));
}

// The layout has tensors one behind the other, and nothing else. A name that stands twice leaves a gap.
TEST_F(StartTensors, StandOneBehindTheOther) {
  const std::string numbers = bytes_of(std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9});
  const auto header = [](const char* weight, const char* bias, const char* last, const char* more = "") {
    return fmt::format(R"({{{}"1.weight":{{"dtype":"F32","shape":[2,2],"data_offsets":{}}},)"
                       R"("1.bias":{{"dtype":"F32","shape":[2],"data_offsets":{}}},)"
                       R"("2.weight":{{"dtype":"F32","shape":[3],"data_offsets":{}}}}})",
                       more, weight, bias, last);
  };
  write(header("[0,16]", "[16,24]", "[24,36]"), numbers);
  EXPECT_EQ(refusal(), "accepted");
  const char* const said = "its tensors overlap, leave gaps, or do not fill the file";
  write(header("[0,16]", "[8,16]", "[16,28]"), numbers.substr(0, 28));
  EXPECT_TRUE(contains(refusal(), said)) << refusal();
  write(header("[0,16]", "[16,24]", "[24,36]"), numbers + "more");
  EXPECT_TRUE(contains(refusal(), said)) << refusal();
  write(header("[4,20]", "[20,28]", "[28,40]"), "more" + numbers);
  EXPECT_TRUE(contains(refusal(), said)) << refusal();
  write(
      header("[16,32]", "[32,40]", "[40,52]", R"("1.weight":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},)"),
      numbers.substr(0, 16) + numbers);
  EXPECT_TRUE(contains(refusal(), said)) << refusal();
}

}  // namespace
}  // namespace dpmpi::start_tensors_test
