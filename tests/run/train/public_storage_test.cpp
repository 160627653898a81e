// Public records that stand in a file of another kind than those of the training, and in another layout in memory.
#include <filesystem>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "run/directory/files.hpp"
#include "support/data_files.hpp"
#include "support/process.hpp"
#include "support/programs.hpp"

namespace dpmpi::public_storage_test {
namespace {

class PublicStorage : public ::testing::Test {
 protected:
  /// The same records with a header, and as LIBSVM has them: `count` of them, with two classes.
  void write_both(const std::string& name, int count) const {
    std::string table = "label,x1,x2,x3\n", pairs;
    for (int i = 0; i < count; ++i) {
      const int label = i % 3 == 0, a = i % 7 - 3 + 2 * label, b = i % 5 - 2, c = i % 2;
      table += fmt::format("{},{},{},{}\n", label, a, b, c);
      pairs += fmt::format("{} 1:{} 2:{} 3:{}\n", label, a, b, c);
    }
    folder_.write(name + ".csv", table);
    folder_.write(name + ".svm", pairs);
  }

  /// The metrics of a run, or what it said.
  std::string metrics(const std::string& train, const std::string& eval, const std::string& objective,
                      int ranks) const {
    std::filesystem::remove_all(folder_.file("run"));
    const test::Outcome run = test::run_command(
        fmt::format("cd {} && mpirun -n {} {} --config c.ini --set data.train={} --set data.eval={} {}",
                    folder_.path(), ranks, test::program(), train, eval, objective));
    return run.code == 0 ? read_file(folder_.file("run/metrics.jsonl")) : run.output;
  }

  test::Folder folder_;
};

TEST_F(PublicStorage, NeedNotBeThatOfTheTraining) {
  write_both("train", 200);
  write_both("eval", 40);
  folder_.write("c.ini",
                "[data]\nfeatures = 3\nblocks = 4\n[method]\nbatch = 50\nepochs = 1\n"
                "[privacy]\nepsilon = 2\ndelta = 1e-3\nseed = 3\n[run]\ndir = run\n");
  for (const char* objective : {"", "--set objective.name=softmax --set objective.classes=2",
                                "--set objective.name=mlp --set objective.classes=2 --set objective.hidden=5"}) {
    const std::string same = metrics("train.svm", "eval.svm", objective, 1);
    EXPECT_NE(same.find("eval.loss"), std::string::npos) << same;
    for (const int ranks : {1, 3}) EXPECT_EQ(metrics("train.svm", "eval.csv", objective, ranks), same) << objective;
  }
}

}  // namespace
}  // namespace dpmpi::public_storage_test
