// Models are trained by one rank each and sent to all: the same bits on any number of ranks.
#include <cstring>
#include <numeric>

#include "core/files/digest.hpp"
#include "problems/tuning_objectives.hpp"
#include "support/mpi_harness.hpp"

namespace dpmpi::test::tuning_mpi_test {
namespace {

TEST(TuningRanks, LossesHaveTheSameBitsAndTrainingIsShared) {
  constexpr std::size_t count = 7;
  std::size_t number = 0;
  for (const TuningCase& c : tuning_cases()) {
    std::vector<double> expected;
    const std::string file = ::testing::TempDir() + "dpmpi_tuning_ranks_" + std::to_string(number++);
    test::for_each_size({1, 2, 3, 4, 8}, [&](const Communicator& comm) {
      const auto objective = make_tuning(c, file, comm);
      auto points = tuning_points(*objective, count);
      points.front() = std::numeric_limits<double>::quiet_NaN();  // no model comes of the first
      const AtPoints models = objective->at_points(points);
      const auto rank = static_cast<std::size_t>(comm.rank()), size = static_cast<std::size_t>(comm.size());
      EXPECT_EQ(objective->trained(), (count + size - 1 - rank) / size) << c.name;
      const Records records = tuning_records(c.labels, 23, 5);
      std::vector<std::uint32_t> index(records.count);
      std::iota(index.begin(), index.end(), 0U);
      std::vector<double> losses(count * records.count);
      for (std::size_t p = 0; p < count; ++p)
        models.losses(p, {records, index}, std::span(losses).subspan(p * records.count, records.count));
      if (expected.empty()) {
        // The first size is one rank, which is the root of all others.
        if (comm.size() == 1) expected = losses;
      } else {
        EXPECT_EQ(0, std::memcmp(expected.data(), losses.data(), losses.size() * sizeof(double)))
            << c.name << ", " << comm.size() << " ranks";
      }
      const std::string bytes(reinterpret_cast<const char*>(losses.data()), losses.size() * sizeof(double));
      comm.agree(sha256(bytes), "losses");
      EXPECT_TRUE(std::isnan(losses[0]));
      EXPECT_TRUE(std::isfinite(losses[records.count]));
    });
  }
}

}  // namespace
}  // namespace dpmpi::test::tuning_mpi_test
