// A model of what is computed of images is used by whoever has images, and the model.
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "run/directory/files.hpp"
#include "support/images.hpp"
#include "support/process.hpp"
#include "support/programs.hpp"
#include "support/text.hpp"

namespace dpmpi::transform_test {
namespace {

namespace fs = std::filesystem;
using test::contains;
using test::Outcome;

class TransformedImages : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    write("x", test::striped_images(240, 12, 12)), write("y", test::striped_labels(240));
    write("ex", test::striped_images(60, 12, 12)), write("ey", test::striped_labels(60));
    write("a.ini",
          "[data]\ntrain = x,y\neval = ex,ey\nimage = 1x12x12\ntransform = scattering J=2 L=4, groupnorm 5\n"
          "scale = 0.004\nblocks = 4\n[objective]\nname = softmax\nclasses = 2\n[method]\nbatch = 60\nsteps = 20\n"
          "rate = 0.1\n[run]\ndir = run\n[privacy]\nnoise = none\n");
  }
  void TearDown() override { fs::remove_all(folder_); }
  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_ + "/" + name, std::ios::binary) << bytes;
  }
  Outcome dpmpi(const std::string& words, int ranks = 1) const {
    const std::string launcher = ranks > 1 ? fmt::format("mpirun -n {} ", ranks) : "";
    return test::run_command(fmt::format("cd {} && {}{} {}", folder_, launcher, test::program(), words), 120);
  }
  /// Share of the records of a file of predictions that have the labels of the images.
  double accuracy(const std::string& file) const {
    std::istringstream in(read_file(folder_ + "/" + file));
    std::string line;
    std::getline(in, line);
    int right = 0, all = 0;
    for (; std::getline(in, line); ++all) {
      const std::size_t comma = line.find(',');
      right += line.substr(comma + 1, line.find(',', comma + 1) - comma - 1) == (all % 2 == 0 ? "0" : "1");
    }
    EXPECT_EQ(all, 60);
    return static_cast<double>(right) / all;
  }

  const std::string folder_ = ::testing::TempDir() + "dpmpi_TransformedImages";
};

TEST_F(TransformedImages, AreScoredByTheModelAloneAsInTraining) {
  const Outcome trained = dpmpi("--config a.ini");
  ASSERT_EQ(trained.code, 0) << trained.output;
  EXPECT_TRUE(contains(trained.output, "1x12x12, scattering J=2 L=4, groupnorm 5: 25x3x3")) << trained.output;
  std::string last, line;
  for (std::istringstream in(read_file(folder_ + "/run/metrics.jsonl")); std::getline(in, line);) last = line;
  const nlohmann::json metrics = nlohmann::json::parse(last);
  const double in_training = metrics.at("eval.accuracy");
  EXPECT_GT(in_training, 0.9);

  EXPECT_EQ(dpmpi("verify run").code, 0);
  const Outcome evaluated = dpmpi("evaluate run");
  EXPECT_TRUE(contains(evaluated.output, fmt::format("{:.6g}", metrics.at("eval.loss").get<double>())))
      << evaluated.output;
  const Outcome refused = dpmpi("export run --output m.onnx");
  EXPECT_EQ(refused.code, 2);
  EXPECT_TRUE(contains(refused.output, "data.transform cannot be written as ONNX")) << refused.output;

  fs::copy(folder_ + "/run/model.safetensors", folder_ + "/m.safetensors");
  for (const char* const gone : {"run", "x", "y", "a.ini"}) fs::remove_all(folder_ + "/" + gone);
  for (const int ranks : {1, 3}) {
    const Outcome outcome = dpmpi("predict m.safetensors --data ex --set data.label=none --output out.csv", ranks);
    ASSERT_EQ(outcome.code, 0) << outcome.output;
    EXPECT_EQ(accuracy("out.csv"), in_training);
  }
  write("small", test::striped_images(3, 12, 11));
  const Outcome other = dpmpi("predict m.safetensors --data small --set data.label=none --output o.csv");
  EXPECT_EQ(other.code, 2);
  EXPECT_TRUE(contains(other.output, "images of data.image = 1x12x12 have 144 pixels")) << other.output;
}

TEST_F(TransformedImages, AreCheckedBeforeTheTraining) {
  EXPECT_EQ(dpmpi("check a.ini").code, 0);
  const Outcome both = dpmpi("check a.ini --set data.image=1x12x13 --set \"data.transform=scattering J=9 L=4\"");
  EXPECT_EQ(both.code, 2);
  EXPECT_TRUE(contains(both.output, "data.transform: step 1 (scattering J=9 L=4)")) << both.output;
  EXPECT_TRUE(
      contains(dpmpi("convert x,y t.bin --set \"data.transform=groupnorm 1\" --set data.image=1x12x12").output,
               "convert writes the values of the file"));
}

}  // namespace
}  // namespace dpmpi::transform_test
