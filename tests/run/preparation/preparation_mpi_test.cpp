// Runs that prepare their columns end with the same bytes on any number of ranks.
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "run/config/config.hpp"
#include "run/directory/files.hpp"
#include "run/preparation/prepared_runs.hpp"
#include "run/train/train.hpp"
#include "support/mpi_harness.hpp"
#include "support/shared_folder.hpp"

namespace dpmpi::test::preparation_mpi_test {
namespace {

void write_data(const Folder& folder) {
  std::string table = "who,size,const,gap,kind,y\n";
  for (int i = 0; i < 611; ++i) {
    const double x = std::sin(0.7 * i);
    table += fmt::format("{},{},3,{},{},{}\n", i * i % 307, 1e6 + 2e5 * x, i % 3 == 0 ? "NA" : fmt::format("{}", x),
                         i % 2 == 0 ? "a" : "b", x > 0 ? 1 : -1);
  }
  folder.write("table.csv", table);
  const std::string columns = "size number\nconst number\ngap number\nkind category words=a,b\ny label\n";
  folder.write("records.txt", "who ignore\n" + columns);
  folder.write("persons.txt", "who person\n" + columns);
  folder.write(
      "run.ini",
      "[data]\nblocks = 11\ntrain = table.csv\ncolumns = records.txt\nprepare = private\n[method]\nbatch = 50\n"
      "[privacy]\nepsilon = 20\ndelta = 1e-4\nseed = 3\n[report]\nprogress = none\n");
}

TEST(PreparationOnRanks, TheSameBytes) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> cases{
      {"dense", {"method.steps=5"}},
      {"sparse", {"method.steps=5", "data.storage=sparse"}},
      {"persons", {"method.steps=5", "data.columns=persons.txt"}},
      {"held_out", {"method.steps=5", "data.test_share=0.25"}},
      {"exact", {"method.steps=5", "privacy.noise=discrete_gaussian", "data.normalize=l2"}},
      {"words", {"method.steps=5", "data.prepare_rare=0.1"}},
      {"words_sparse", {"method.steps=5", "data.prepare_rare=0.1", "data.storage=sparse"}},
      {"words_of_persons", {"method.steps=5", "data.prepare_rare=0.1", "data.columns=persons.txt"}},
      {"ftrl", {"method.name=dp-ftrl", "method.passes=1"}}};
  std::vector<std::string> expected(cases.size());
  for_each_size({1, 2, 3, 5, 8}, [&](const Communicator& comm) {
    SharedFolder folder(comm);
    folder.fill([](const Folder& f) { write_data(f); });
    for (std::size_t c = 0; c < cases.size(); ++c) {
      auto settings = cases[c].second;
      const std::string run = folder.file("run_" + cases[c].first);
      settings.push_back("run.dir=" + run);
      ASSERT_EQ(train(comm, RunConfig(folder.file("run.ini"), settings), {.quiet = true}), ExitCode::done);
      if (!comm.is_root()) continue;
      std::string bytes;
      for (const char* name : {"model.safetensors", "preparation.json", "ledger.jsonl", "metrics.jsonl",
                               "plan.json", "certificate.json"})
        bytes += read_file(run + "/" + name);
      if (comm.size() == 1) expected[c] = bytes;
      EXPECT_EQ(bytes, expected[c]) << cases[c].first << " on " << comm.size() << " ranks";
    }
  });
}

// Of every method, after the first reading and after the second.
TEST(PreparationOnRanks, TheSameBytesWhateverTheMethod) {
  const std::vector<PreparedRun> runs = prepared_runs();
  std::vector<std::string> expected(runs.size());
  for_each_size({1, 3, 5}, [&](const Communicator& comm) {
    SharedFolder folder(comm);
    folder.fill([](const Folder& f) { write_prepared_data(f.path()); });
    for (std::size_t r = 0; r < runs.size(); ++r) {
      auto settings = runs[r].settings;
      const std::string run = folder.file(fmt::format("run_{}", r));
      settings.push_back("run.dir=" + run);
      ASSERT_EQ(train(comm, RunConfig(folder.file("prepared.ini"), settings), {.quiet = true}), ExitCode::done)
          << runs[r].method;
      if (!comm.is_root()) continue;
      std::string bytes;
      for (const char* name :
           {"model.safetensors", "preparation.json", "ledger.jsonl", "metrics.jsonl", "certificate.json"})
        bytes += read_file(run + "/" + name);
      if (comm.size() == 1) expected[r] = bytes;
      EXPECT_EQ(bytes, expected[r]) << runs[r].method << " on " << comm.size() << " ranks";
    }
  });
}

}  // namespace
}  // namespace dpmpi::test::preparation_mpi_test
