// Runs that keep records out of training end with the same bytes on any number of ranks.
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "data/synthetic/generate.hpp"
#include "run/config/config.hpp"
#include "run/directory/files.hpp"
#include "run/train/train.hpp"
#include "support/mpi_harness.hpp"
#include "support/shared_folder.hpp"

namespace dpmpi::test::held_out_mpi_test {
namespace {

void write_data(const Folder& folder) {
  for (const char* kind : {"heavy-tailed", "blobs"}) {
    GenerateOptions options;
    options.kind = kind, options.records = 611, options.features = 7, options.eval_records = 0;
    options.output = folder.file(std::string(kind) + ".csv");
    generate(options);
  }
  std::string persons, text = read_file(folder.file("heavy-tailed.csv"));
  std::size_t at = 0;
  for (std::size_t i = 0; at < text.size(); ++i) {
    const std::size_t end = text.find('\n', at) + 1;
    persons += (i == 0 ? "who" : std::to_string(i * i % 307)) + "," + text.substr(at, end - at);
    at = end;
  }
  folder.write("persons.csv", persons);
  folder.write("run.ini",
               "[data]\nblocks = 11\nheader = yes\ntest_share = 0.25\n[method]\nbatch = 50\nsteps = 5\n[privacy]\n"
               "epsilon = 20\ndelta = 1e-4\nseed = 3\n[report]\nprogress = none\n");
}

TEST(HeldOutOnRanks, TheSameBytes) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> cases{
      {"logistic", {"data.train=heavy-tailed.csv"}},
      {"sparse", {"data.train=heavy-tailed.csv", "data.storage=sparse"}},
      {"softmax", {"data.train=blobs.csv", "objective.name=softmax", "objective.classes=5"}},
      {"persons", {"data.train=persons.csv", "data.person=who", "data.drop=", "data.person_records=3"}},
      {"declared", {"data.train=heavy-tailed.csv", "data.records=700"}},
      {"masked_mlp",
       {"data.train=heavy-tailed.csv", "objective.name=mlp", "objective.hidden=4", "objective.head=logistic"}}};
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
      for (const char* name : {"model.safetensors", "evaluation.json", "evaluation_ledger.jsonl", "ledger.jsonl",
                               "metrics.jsonl", "plan.json", "certificate.json"})
        bytes += read_file(run + "/" + name);
      if (comm.size() == 1) expected[c] = bytes;
      EXPECT_EQ(bytes, expected[c]) << cases[c].first << " on " << comm.size() << " ranks";
    }
  });
}

}  // namespace
}  // namespace dpmpi::test::held_out_mpi_test
