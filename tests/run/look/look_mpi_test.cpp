// A look with a seed ends with the same bytes on any number of ranks.
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "data/synthetic/generate.hpp"
#include "run/config/config.hpp"
#include "run/directory/files.hpp"
#include "run/look/look.hpp"
#include "run/train/train.hpp"
#include "support/mpi_harness.hpp"
#include "support/shared_folder.hpp"

namespace dpmpi::test::look_mpi_test {
namespace {

void write_data(const Folder& folder) {
  for (const char* kind : {"heavy-tailed", "blobs"}) {
    GenerateOptions options;
    options.kind = kind, options.records = 311, options.features = 7, options.eval_records = 611;
    options.output = folder.file(std::string(kind) + ".csv");
    options.eval_output = folder.file(std::string(kind) + "-people.csv");
    generate(options);
  }
  for (const std::string suffix : {"", "-people"}) {
    std::string persons, text = read_file(folder.file("heavy-tailed" + suffix + ".csv"));
    std::size_t at = 0;
    for (std::size_t i = 0; at < text.size(); ++i) {
      const std::size_t end = text.find('\n', at) + 1;
      persons += (i == 0 ? "who" : std::to_string(i * i % 307)) + "," + text.substr(at, end - at);
      at = end;
    }
    folder.write("persons" + suffix + ".csv", persons);
  }
  folder.write("run.ini",
               "[data]\nblocks = 11\nheader = yes\n[method]\nbatch = 50\nsteps = 5\n[privacy]\nepsilon = 20\n"
               "delta = 1e-4\nseed = 3\n[report]\nprogress = none\n");
}

/// Without the digest of the run's certificate, in which paths of this run's files have a part.
std::string without_certificate(std::string text) {
  const std::size_t begin = text.find("  \"run_certificate\""), end = text.find('\n', begin);
  if (begin != text.npos) text.erase(begin, end + 1 - begin);
  return text;
}

TEST(LookOnRanks, TheSameBytes) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> cases{
      {"heavy-tailed", {}},
      {"blobs", {"objective.name=softmax", "objective.classes=5"}},
      {"persons", {"data.person=who", "data.person_records=3"}}};
  std::vector<std::string> expected(cases.size());
  for_each_size({1, 2, 3, 5, 8}, [&](const Communicator& comm) {
    SharedFolder folder(comm);
    folder.fill([](const Folder& f) { write_data(f); });
    for (std::size_t c = 0; c < cases.size(); ++c) {
      const auto& [name, more] = cases[c];
      auto settings = more;
      const std::string run = folder.file("run_" + name), people = folder.file(name + "-people.csv");
      settings.push_back("run.dir=" + run), settings.push_back("data.train=" + folder.file(name + ".csv"));
      ASSERT_EQ(train(comm, RunConfig(folder.file("run.ini"), settings), {.quiet = true}), ExitCode::done);
      comm.barrier();  // the root is the last to leave a run, with its certificate
      std::string bytes;
      for (int number = 1; number <= 2; ++number) {
        const LookRequest request{.epsilon = 6, .delta = 1e-4, .seed = 7};
        const Look taken = take_look(comm, model_to_look_at(run, people, {}, request), request, [](const auto&) {});
        if (!comm.is_root()) continue;
        for (const char* file : {"look.json", "evaluation.json", "ledger.jsonl"})
          bytes += without_certificate(read_file(taken.folder + "/" + file));
      }
      if (!comm.is_root()) continue;
      bytes += read_file(people + ".looks.jsonl");
      if (comm.size() == 1) expected[c] = bytes;
      EXPECT_EQ(bytes, expected[c]) << name << " on " << comm.size() << " ranks";
    }
  });
}

}  // namespace
}  // namespace dpmpi::test::look_mpi_test
