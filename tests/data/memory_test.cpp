// The memory that control groups leave, in copies of their files.
#include "data/memory.hpp"

#include <filesystem>
#include <fstream>
#include <limits>

#include <gtest/gtest.h>

namespace dpmpi::memory_test {
namespace {

class Cgroup : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::remove_all(root_); }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void write(const std::string& folder, const std::string& file, const std::string& text) const {
    std::filesystem::create_directories(root_ + folder);
    std::ofstream(root_ + folder + "/" + file) << text << '\n';
  }
  std::string root_ = testing::TempDir() + "dpmpi_cgroup";
};

// As under Slurm: the limit stands on the job, the process is in a task of one of its steps.
TEST_F(Cgroup, ALimitOnAnOuterGroupCounts) {
  const std::string membership = "0::/slurm/job_7/step_0/task_0\n";
  write("/slurm/job_7/step_0/task_0", "memory.max", "max");
  EXPECT_EQ(left_by_control_groups(membership, root_), std::numeric_limits<std::uint64_t>::max());
  write("/slurm/job_7", "memory.max", "1000000");
  write("/slurm/job_7", "memory.current", "300000");
  EXPECT_EQ(left_by_control_groups(membership, root_), 700000U);
  write("/slurm/job_7/step_0", "memory.max", "400000");
  write("/slurm/job_7/step_0", "memory.current", "500000");
  EXPECT_EQ(left_by_control_groups(membership, root_), 0U);
}

TEST_F(Cgroup, FilePagesThatTheKernelGivesUpAreFree) {
  write("", "memory.max", "1000000");
  write("", "memory.current", "900000");
  write("", "memory.stat", "anon 100000\nactive_file 50000\ninactive_file 600000");
  EXPECT_EQ(left_by_control_groups("0::/\n", root_), 700000U);
  EXPECT_EQ(left_by_control_groups("0::/a/path/of/the/host\n", root_), 700000U);
}

TEST_F(Cgroup, VersionOne) {
  const std::string membership = "5:devices:/x\n4:cpu,memory:/pbs/9\n0::/\n";
  write("/memory", "memory.limit_in_bytes", "9223372036854771712");
  write("/memory/pbs/9", "memory.limit_in_bytes", "1000000");
  write("/memory/pbs/9", "memory.usage_in_bytes", "500000");
  write("/memory/pbs/9", "memory.stat", "inactive_file 1\ntotal_inactive_file 200000");
  EXPECT_EQ(left_by_control_groups(membership, root_), 700000U);
}

}  // namespace
}  // namespace dpmpi::memory_test
