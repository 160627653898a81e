#pragma once
// Runs on several numbers of ranks, whose files must be the same bytes, and the data that they are trained on.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/files/digest.hpp"
#include "core/numbers/random.hpp"
#include "data/synthetic/generate.hpp"
#include "run/directory/files.hpp"
#include "run/short_runs.hpp"
#include "run/train/train.hpp"
#include "support/mpi_harness.hpp"

namespace dpmpi::test::invariance {

namespace fs = std::filesystem;

inline const std::string& folder() {
  static const std::string path = ::testing::TempDir() + "dpmpi_invariance";
  return path;
}

// Losses of models that are trained at every point, and too slow for methods that ask for a point of each record.
inline bool tunes(const std::string& objective) { return objective.starts_with("tune_"); }

// By another config, on a private set of its own, and without an evaluation.
inline bool trains_privately(const std::string& objective) { return objective == "tune_private"; }

// Options without which an objective does not run. A new objective must be named here or need none.
inline Settings needs(const std::string& objective, Storage storage) {
  const std::map<std::string, Settings> special{
      {"mlp", {"objective.hidden=9,5", "objective.classes=5", "objective.activation=softplus"}},
      {"softmax", {"objective.classes=5"}},
      {"network",
       {"objective.input=1x3x4", "objective.layers=conv 4 2x3, softplus, flatten, dense 5", "objective.classes=5"}},
      {"plugin", {"objective.library=" DPMPI_PINBALL_PLUGIN}},
      {"python", {"objective.module=" DPMPI_SOURCE_DIR "/examples/python/pinball.py"}},
      {"tune_mlp", {"objective.epochs=10", "objective.width=1,4"}},
      {"tune_private",
       {"objective.trainer=trainer.ini",
        "objective.search=method.rate:0.1:10,method.batch:20|50,objective.hidden:2|5|3"}},
      {"auc", {"objective.prior=0.3", "objective.scorer=mlp", "objective.hidden=6"}},
      {"wgan",
       {"objective.image_rows=3", "objective.image_columns=4", "objective.latent=3", "objective.generator=5,6",
        "objective.critic=7,4", "objective.fakes=20", "objective.dual_radius=2"}},
      {"worst_group",
       {"objective.group_sizes=200,100", "objective.head=logistic", "objective.input=1x3x4",
        "objective.layers=conv 2 2x2, tanh, flatten, dense 1"}},
  };
  Settings settings;
  if (const auto found = special.find(objective); found != special.end()) settings = found->second;
  const bool classes = objective == "mlp" || objective == "network" || objective == "softmax" ||
                       objective == "poisson";  // or counts
  const bool sign = objective == "logistic" || objective == "hinge" || objective == "smoothed_hinge" ||
                    objective == "sigmoid" || objective == "ramp" || objective == "auc" ||
                    objective == "worst_group" || objective == "tune_svm" || objective == "tune_logistic" ||
                    trains_privately(objective);
  const bool transitions = objective == "td";
  const char* kind = classes ? "blobs" : sign ? "heavy-tailed" : transitions ? "cartpole" : "regression";
  const auto file = [&](const char* part) {
    const std::string name = fmt::format("{}/{}{}", folder(), kind, part);
    if (storage == Storage::dense_u8) return name + ".images," + name + ".labels";
    return name + (storage == Storage::sparse_f32 ? ".libsvm" : ".csv");
  };
  settings.push_back("data.train=" + file(""));
  settings.emplace_back("data.header=yes");
  if (!trains_privately(objective)) settings.push_back("data.eval=" + file("-eval"));
  if (tunes(objective) && !trains_privately(objective)) settings.push_back("objective.train=" + file("-eval"));
  if (storage == Storage::dense_u8) settings.emplace_back("data.scale=0.004");
  if (storage != Storage::dense_u8) settings.push_back(fmt::format("data.features={}", transitions ? 9 : 12));
  return settings;
}

// An IDX file of bytes: `columns` random pixels per record, or labels below `classes` where columns is 0.
inline void write_idx(const std::string& path, unsigned count, unsigned columns, unsigned classes) {
  const PublicStream stream(count + columns, "idx test");
  const auto big_endian = [](unsigned x) {
    return std::string{static_cast<char>(x >> 24), static_cast<char>(x >> 16), static_cast<char>(x >> 8),
                       static_cast<char>(x)};
  };
  std::string bytes{0, 0, 8, static_cast<char>(columns ? 3 : 1)};
  bytes += big_endian(count);
  if (columns) bytes += big_endian(3) + big_endian(columns / 3);
  for (unsigned i = 0; i < count * std::max(1u, columns); ++i)
    bytes += static_cast<char>(columns ? stream.word(i) : stream.word(i) % classes);
  std::ofstream(path, std::ios::binary) << bytes;
}

// The records of heavy-tailed.csv, each of one of 307 persons.
inline void write_persons() {
  std::ifstream in(folder() + "/heavy-tailed.csv");
  std::ofstream out(folder() + "/persons.csv");
  std::string line;
  for (std::size_t i = 0; std::getline(in, line); ++i)
    out << (i == 0 ? "who" : std::to_string(i * i % 613)) << ',' << line << '\n';
}

// Records with weights and exposures, of some 50 persons; a sign, a class and a count.
inline void write_weighted(const std::string& name, std::uint64_t seed) {
  const PublicStream stream(seed, "weighted records");
  std::ofstream out(folder() + "/" + name);
  out << "who,w,e,a,b,c,sign,class,count\n";
  for (std::uint64_t i = 0; i < 500; ++i)
    out << fmt::format("P{},{},{:.3f},{:.4f},{:.4f},{},{},{},{}\n", i * i % 97, stream.below(8 * i, 25),
                       stream.uniform(8 * i + 1), stream.uniform(8 * i + 2) - 0.5, stream.uniform(8 * i + 3) - 0.5,
                       stream.below(8 * i + 4, 40), stream.below(8 * i + 5, 2) == 0 ? -1 : 1,
                       stream.below(8 * i + 6, 3), stream.below(8 * i + 7, 6));
}

// The columns file for one of the labels; without the column of the persons, or with it.
inline void write_columns_of_weighted(const std::string& label, const char* who) {
  std::string words;
  for (int i = 0; i < 40; ++i) words += fmt::format("{}{}", i > 0 ? "," : "", i);
  std::ofstream out(fmt::format("{}/{}-{}.txt", folder(), label, who));
  out << "who " << who << "\nw weight range=0..20\ne " << (label == "count" ? "exposure range=0.05..1" : "ignore")
      << "\na number\nb number\nc category words=" << words << "\n";
  for (const char* other : {"sign", "class", "count"}) out << other << (other == label ? " label\n" : " ignore\n");
}

inline void make_data() {
  fs::remove_all(folder());
  fs::create_directories(folder());
  for (const char* kind : {"blobs", "heavy-tailed", "regression", "cartpole"})
    for (const char* extension : {"csv", "libsvm"}) {
      GenerateOptions options;
      options.kind = kind;
      options.records = 611, options.eval_records = 203, options.features = 12;
      options.output = fmt::format("{}/{}.{}", folder(), kind, extension);
      generate(options);
    }
  for (const char* kind : {"blobs", "heavy-tailed", "regression", "cartpole"})
    for (const auto& [part, count] : {std::pair{"", 611u}, std::pair{"-eval", 203u}}) {
      const unsigned columns = std::string(kind) == "cartpole" ? 9 : 12;
      write_idx(fmt::format("{}/{}{}.images", folder(), kind, part), count, columns, 1);
      write_idx(fmt::format("{}/{}{}.labels", folder(), kind, part), count, 0,
                std::string(kind) == "heavy-tailed" ? 2 : 5);
    }
  write_persons();
  write_weighted("weighted.csv", 1), write_weighted("weighted-eval.csv", 2);
  for (const char* label : {"sign", "class", "count"})
    for (const char* who : {"ignore", "person"}) write_columns_of_weighted(label, who);
  std::ofstream(folder() + "/base.ini")
      << "[data]\nblocks = 11\n[privacy]\n"
         "noise_multiplier = 1\ndelta = 1e-5\nseed = 42\n[report]\neval_every = 3\nprogress = none\n";
  std::ofstream(folder() + "/trainer.ini")
      << "[data]\ntrain = heavy-tailed-eval.csv\nheader = yes\nfeatures = "
         "12\n[objective]\nname = mlp\nhead = logistic\n[method]\nbatch = 50\nsteps = 3\n[privacy]\n"
         "noise_multiplier = 1\ndelta = 1e-5\ntrust = cluster\n";
}

// Digests of everything a run leaves that must not depend on ranks.
inline std::map<std::string, std::string> run(const Communicator& comm, Settings settings) {
  const std::string dir = folder() + "/run";
  if (comm.is_root()) fs::remove_all(dir);
  comm.barrier();
  if (std::none_of(settings.begin(), settings.end(), [](const auto& s) { return s.starts_with("method.name="); })) {
    const Settings defaults = options_of("dp-sgd", "");
    settings.insert(settings.begin(), defaults.begin(), defaults.end());
  }
  settings.emplace_back("run.dir=" + dir);
  const RunConfig config(folder() + "/base.ini", settings);
  EXPECT_EQ(train(comm, config, {.quiet = true}), ExitCode::done);
  std::map<std::string, std::string> digests;
  if (comm.is_root())
    for (const char* file : {"model.safetensors", "ledger.jsonl", "metrics.jsonl", "plan.json", "certificate.json",
                             "samples.png", "roc.json", "assessment.json", "training_ledger.jsonl"})
      if (fs::exists(dir + "/" + file)) digests[file] = sha256(read_file(dir + "/" + file));
  return digests;
}

inline void expect_same(std::initializer_list<int> sizes, const Settings& settings, const std::string& what) {
  std::map<std::string, std::string> reference;
  test::for_each_size(sizes, [&](const Communicator& comm) {
    const auto digests = run(comm, settings);
    if (comm.size() == 1) reference = digests;
    EXPECT_EQ(digests, comm.is_root() ? reference : digests) << what << " at " << comm.size() << " ranks";
  });
  if (test::world().is_root()) {
    EXPECT_EQ(reference.size(), 5u + reference.count("samples.png") + reference.count("roc.json") +
                                    reference.count("assessment.json") + reference.count("training_ledger.jsonl"))
        << what;
  }
}

inline void expect_same_at_all_sizes(const Settings& settings, const std::string& what) {
  expect_same({1, 2, 3, 4, 5, 8}, settings, what);
}

class Invariance : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (test::world().is_root()) make_data();
    test::world().barrier();
  }
};

}  // namespace dpmpi::test::invariance
