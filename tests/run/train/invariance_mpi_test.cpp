// P1: model, ledger, metrics, plan and certificate are byte-identical at 1, 2, 3, 4, 5 and 8 ranks, for every
// registered method and objective, every storage, every sampling rule and both adjacencies.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "core/files/digest.hpp"
#include "core/numbers/random.hpp"
#include "data/synthetic/generate.hpp"
#include "run/directory/files.hpp"
#include "run/short_runs.hpp"
#include "run/train/train.hpp"
#include "support/mpi_harness.hpp"

namespace dpmpi::invariance_mpi_test {
namespace {

namespace fs = std::filesystem;
using test::min_max, test::options_of, test::searches, test::Settings;

const std::string& folder() {
  static const std::string path = ::testing::TempDir() + "dpmpi_invariance";
  return path;
}

// Losses of models that are trained at every point, and too slow for methods that ask for a point of each record.
bool tunes(const std::string& objective) { return objective.starts_with("tune_"); }

// By another config, on a private set of its own, and without an evaluation.
bool trains_privately(const std::string& objective) { return objective == "tune_private"; }

// Options without which an objective does not run. A new objective must be named here or need none.
Settings needs(const std::string& objective, Storage storage) {
  const std::map<std::string, Settings> special{
      {"mlp", {"objective.hidden=9,5", "objective.classes=5", "objective.activation=softplus"}},
      {"softmax", {"objective.classes=5"}},
      {"network",
       {"objective.input=1x3x4", "objective.layers=conv 4 2x3, softplus, flatten, dense 5", "objective.classes=5",
        "objective.augment=shift 1, flip", "objective.augmentations=2"}},
      {"plugin", {"objective.library=" DPMPI_PINBALL_PLUGIN}},
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

// Convex losses of one linear score.
bool clampable(const std::string& objective) {
  for (const char* name :
       {"absolute", "hinge", "huber", "logistic", "pinball", "poisson", "smoothed_hinge", "squared"})
    if (objective == name) return true;
  return false;
}

bool needs_gradients(const std::string& method) {
  for (const char* name : {"zo-hidden", "zo-naive", "zo-o2nc", "gibo"})
    if (method == name) return false;
  return !searches(method);
}

// An IDX file of bytes: `columns` random pixels per record, or labels below `classes` where columns is 0.
void write_idx(const std::string& path, unsigned count, unsigned columns, unsigned classes) {
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
void write_persons() {
  std::ifstream in(folder() + "/heavy-tailed.csv");
  std::ofstream out(folder() + "/persons.csv");
  std::string line;
  for (std::size_t i = 0; std::getline(in, line); ++i)
    out << (i == 0 ? "who" : std::to_string(i * i % 613)) << ',' << line << '\n';
}

// Records with weights and exposures, of some 50 persons; a sign, a class and a count.
void write_weighted(const std::string& name, std::uint64_t seed) {
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
void write_columns_of_weighted(const std::string& label, const char* who) {
  std::string words;
  for (int i = 0; i < 40; ++i) words += fmt::format("{}{}", i > 0 ? "," : "", i);
  std::ofstream out(fmt::format("{}/{}-{}.txt", folder(), label, who));
  out << "who " << who << "\nw weight range=0..20\ne " << (label == "count" ? "exposure range=0.05..1" : "ignore")
      << "\na number\nb number\nc category words=" << words << "\n";
  for (const char* other : {"sign", "class", "count"}) out << other << (other == label ? " label\n" : " ignore\n");
}

void make_data() {
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
std::map<std::string, std::string> run(const Communicator& comm, Settings settings) {
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

void expect_same(std::initializer_list<int> sizes, const Settings& settings, const std::string& what) {
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

void expect_same_at_all_sizes(const Settings& settings, const std::string& what) {
  expect_same({1, 2, 3, 4, 5, 8}, settings, what);
}

class Invariance : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (test::world().is_root()) make_data();
    test::world().barrier();
  }
};

// Also check A25 of min-max methods. Sizes do not know who is trained by whom: all of them are played where a
// method or an objective comes for the first time.
TEST_F(Invariance, EveryObjectiveAndMethod) {
  std::set<std::string> met;
  for (const auto& method : methods())
    for (const auto& objective : objectives()) {
      if (objective.name == "plugin" && needs_gradients(method.name)) continue;
      if (tunes(objective.name) && method.name != "gibo") continue;
      if (searches(method.name) && objective.name != "mlp" && objective.name != "plugin")
        continue;  // any loss is one
      if (min_max(objective.name) != min_max(method.name)) continue;
      if ((method.name == "ht-glm" || method.name == "ht-known-lipschitz") && !clampable(objective.name)) continue;
      if (method.name == "ht-smooth" && objective.name != "mean" && objective.name != "softmax") continue;
      for (const Storage storage : {Storage::dense_f32, Storage::dense_u8, Storage::sparse_f32}) {
        Settings settings = needs(objective.name, storage);
        if (storage != Storage::dense_f32 &&
            (method.name == "zo-naive" || objective.name == "plugin" || tunes(objective.name)))
          continue;  // the same kernels
        const Settings short_run = options_of(method.name, objective.name);
        settings.insert(settings.end(), short_run.begin(), short_run.end());
        settings.emplace_back("method.name=" + method.name);
        settings.emplace_back("objective.name=" + objective.name);
        settings.emplace_back("privacy.accountant=rdp");  // the fast one; the root accounts, whatever the size
        const std::string what = method.name + " " + objective.name;
        const bool new_method = met.insert(method.name).second, new_objective = met.insert(objective.name).second;
        if (storage == Storage::dense_f32 && (new_method || new_objective))
          expect_same_at_all_sizes(settings, what);
        else if (storage == Storage::dense_f32)
          expect_same({1, 3, 8}, settings, what);
        else
          expect_same({1, 8}, settings, what);
      }
    }
}

// Records of a person come from other ranks' parts of the file.
TEST_F(Invariance, EveryMethodThatBoundsPersons) {
  for (const auto& method : methods()) {
    if (method.name.starts_with("ht-") && method.name != "ht-localize") continue;  // refused
    const std::string objective = min_max(method.name) ? "auc" : "logistic";
    Settings settings = needs(objective, Storage::dense_f32);
    const Settings short_run = options_of(method.name, objective);
    settings.insert(settings.end(), short_run.begin(), short_run.end());
    settings.insert(settings.end(),
                    {"data.train=" + folder() + "/persons.csv", "data.person=who", "data.records=350",
                     "data.person_records=3", "method.name=" + method.name, "objective.name=" + objective});
    expect_same({1, 3, 8}, settings, method.name);
    if (method.name != "dp-sgd" && method.name != "zo-o2nc") continue;
    settings.emplace_back("data.person_sampling=records");
    expect_same({1, 3, 8}, settings, method.name + ", records drawn one by one");
  }
}

// privacy.noise = none: the same sums, with nothing added.
TEST_F(Invariance, EveryMethodWithoutNoise) {
  for (const auto& method : methods()) {
    if (method.name.starts_with("ht-")) continue;  // refused
    const std::string objective = min_max(method.name) ? "auc" : searches(method.name) ? "mlp" : "logistic";
    Settings settings = needs(objective, Storage::dense_f32);
    for (const std::string& option : options_of(method.name, objective))
      if (!option.starts_with("privacy.trust")) settings.push_back(option);
    settings.emplace_back("method.name=" + method.name);
    settings.emplace_back("objective.name=" + objective);
    settings.emplace_back("privacy.noise=none");
    expect_same({1, 3, 8}, settings, method.name);
  }
}

TEST_F(Invariance, EverySamplingRuleAndAdjacency) {
  for (const char* adjacency : {"add_remove", "replace_one"})
    for (const char* sampling : {"poisson", "full", "cyclic", "wor"}) {
      if (std::string(sampling) == "wor" && std::string(adjacency) == "add_remove")
        continue;  // refused: no analysis
      for (const char* objective : {"logistic", "mlp"}) {
        Settings settings = needs(objective, Storage::dense_f32);
        settings.push_back(fmt::format("objective.name={}", objective));
        settings.push_back(fmt::format("method.sampling={}", sampling));
        settings.push_back(fmt::format("privacy.adjacency={}", adjacency));
        expect_same_at_all_sizes(settings, fmt::format("{} {} {}", objective, sampling, adjacency));
      }
    }
}

TEST_F(Invariance, ClassWeights) {
  for (const auto& [method, objective, weights] : {std::tuple{"dp-sgd", "logistic", "-1:0.5,1:13"},
                                                   {"dp-sgd", "softmax", "2:13,4:0.5"},
                                                   {"dp-ftrl", "mlp", "2:13,4:0.5"},
                                                   {"gibo", "logistic", "1:13"},
                                                   {"zo-o2nc", "hinge", "1:13"}}) {
    Settings settings = needs(objective, Storage::dense_f32);
    for (const std::string& option : options_of(method, objective)) settings.push_back(option);
    settings.insert(settings.end(),
                    {fmt::format("method.name={}", method), fmt::format("objective.name={}", objective),
                     fmt::format("objective.class_weights={}", weights)});
    expect_same({1, 3, 8}, settings, fmt::format("{} {} weighted", method, objective));
  }
}

// Clips that follow the norms, of records and of persons.
TEST_F(Invariance, ClipsThatFollow) {
  for (const auto& [method, objective, persons, more] :
       {std::tuple{"dp-sgd", "logistic", false, "privacy.adjacency=replace_one"},
        {"dp-sgd", "mlp", false, "method.optimizer=adam_bc"},
        {"dp-sgd", "softmax", false, "privacy.noise=discrete_gaussian"},
        {"dp-sgd", "logistic", true, "objective.l2=0.1"},
        {"dp-ftrl", "mlp", false, "method.strategy=sqrt_toeplitz"},
        {"dp-ftrl", "logistic", true, "method.momentum=0.5"}}) {
    Settings settings = needs(objective, Storage::dense_f32);
    for (const std::string& option : options_of(method, objective)) settings.push_back(option);
    settings.insert(settings.end(), {fmt::format("method.name={}", method), "method.clip_quantile=0.5",
                                     "method.clip_rate=1", fmt::format("objective.name={}", objective), more});
    if (persons)
      settings.insert(settings.end(), {"data.train=" + folder() + "/persons.csv", "data.person=who",
                                       "data.records=350", "data.person_records=3"});
    expect_same({1, 2, 3, 5, 8}, settings, fmt::format("{} {} following", method, objective));
  }
}

// Of records that are brought together by person, too, dense and sparse.
TEST_F(Invariance, WeightsAndExposures) {
  for (const auto& [method, objective, label, who, storage] :
       {std::tuple{"dp-sgd", "logistic", "sign", "ignore", "dense"},
        {"dp-sgd", "logistic", "sign", "person", "sparse"},
        {"dp-sgd", "poisson", "count", "person", "dense"},
        {"dp-sgd", "poisson", "count", "ignore", "sparse"},
        {"dp-ftrl", "mlp", "class", "person", "sparse"},
        {"clipped-gd", "softmax", "class", "ignore", "sparse"},
        {"gibo", "logistic", "sign", "ignore", "dense"},
        {"zo-o2nc", "hinge", "sign", "person", "dense"},
        {"dp-sgda", "auc", "sign", "ignore", "sparse"},
        {"private-diff", "auc", "sign", "person", "dense"},
        {"dp-sgda", "worst_group", "class", "ignore", "dense"}}) {
    Settings settings = options_of(method, objective);
    settings.insert(settings.end(),
                    {fmt::format("data.train={}/weighted.csv", folder()),
                     fmt::format("data.eval={}/weighted-eval.csv", folder()),
                     fmt::format("data.columns={}/{}-{}.txt", folder(), label, who), "data.header=yes",
                     fmt::format("data.storage={}", storage), fmt::format("method.name={}", method),
                     fmt::format("objective.name={}", objective)});
    if (std::string(label) == "class") settings.emplace_back("objective.classes=3");
    if (min_max(method)) settings.emplace_back("objective.mean_weight=0.6");
    if (std::string(objective) == "auc") settings.emplace_back("objective.prior=0.5");
    if (std::string(objective) == "worst_group") settings.emplace_back("objective.group_sizes=5,4,6");
    if (std::string(who) == "person") settings.emplace_back("data.records=350");
    expect_same({1, 2, 3, 5, 8}, settings, fmt::format("{} {} by {}, {}", method, objective, who, storage));
  }
}

// Running sums: every strategy, restarts, and clips that follow the iterate.
TEST_F(Invariance, EveryRunningSum) {
  for (const char* more :
       {"method.strategy=full_honaker", "method.strategy=sqrt_toeplitz", "method.strategy=banded",
        "method.adaptive_clip=true", "method.restart=4", "method.skip_last=true", "method.passes=2",
        "method.directions=iid", "method.fast=false", "objective.l2=0.1", "privacy.adjacency=replace_one"}) {
    Settings settings = needs("absolute", Storage::dense_f32);
    for (const auto& option : options_of("zo-o2nc", "absolute")) settings.push_back(option);
    settings.insert(settings.end(), {"method.name=zo-o2nc", "objective.name=absolute", "method.band=3", more});
    expect_same_at_all_sizes(settings, more);
  }
}

// Iterates that stay hidden: every way to draw batches, noise along and across the directions, released or not.
TEST_F(Invariance, EveryHiddenRun) {
  for (const auto& more : {Settings{"method.sampling=full"},
                           {"method.sampling=wor", "method.batch=150"},
                           {"method.sampling=cyclic", "method.batch=150"},
                           {"method.sampling=reshuffle", "method.batch=100", "method.steps=15"},
                           {"method.release=4", "objective.l2=0.01"},
                           {"method.clipping=coordinate", "method.clip_failure=1e-7", "data.bias=0"}}) {
    Settings settings = needs("logistic", Storage::dense_f32);
    settings.insert(settings.end(),
                    {"method.name=zo-hidden", "objective.name=logistic", "method.directions=4", "method.steps=9",
                     "method.ball=0.2", "method.feature_bound=1", "method.window=5", "method.share=0.5",
                     "privacy.adjacency=replace_one", "privacy.trust=cluster", "privacy.noise_multiplier=20"});
    settings.insert(settings.end(), more.begin(), more.end());
    expect_same_at_all_sizes(settings, more.front());
  }
}

// T16, T18: coins of records, points that the root alone chooses, maps of fewer points than parameters, and every
// way to remember points.
TEST_F(Invariance, EveryPosteriorGradient) {
  for (const auto& more : {Settings{"method.trace_tol=6", "method.step=adagrad"},
                           {"method.eval_noise=per_sample", "method.eval_noise_std=0.1", "method.memory=window:9"},
                           {"method.design=refined", "method.batch=fixed", "method.b=3", "method.eta=1"},
                           {"method.kernel=poly2", "method.design=random", "method.batch=fixed",
                            "method.center=per_sample", "privacy.adjacency=replace_one"}}) {
    Settings settings = needs("logistic", Storage::dense_f32);
    settings.insert(settings.end(), {"method.name=gibo", "objective.name=logistic", "method.steps=5"});
    settings.insert(settings.end(), more.begin(), more.end());
    expect_same({1, 3, 8}, settings, more.front());
  }
}

TEST_F(Invariance, EveryClipRule) {
  for (const auto& more : {Settings{"method.clip_rule=median", "privacy.adjacency=replace_one"},
                           {"method.clip_rule=fixed", "method.clip=0.3", "method.average=weighted"},
                           {"method.sampling=poisson", "method.batch=150", "method.average=none"},
                           {"method.lambda=0.1", "method.rate=0", "method.radius=2", "objective.l2=0.1"},
                           {"privacy.noise=discrete_gaussian", "privacy.accountant=rdp"}}) {
    Settings settings = needs("logistic", Storage::dense_f32);
    settings.insert(settings.end(), {"method.name=clipped-gd", "objective.name=logistic", "method.steps=7"});
    settings.insert(settings.end(), more.begin(), more.end());
    expect_same_at_all_sizes(settings, more.front());
  }
}

TEST_F(Invariance, EverySearchInABox) {
  for (const auto& more :
       {Settings{"method.name=random-search", "method.candidates=6", "method.block=2", "objective.l2=1"},
        {"method.name=random-search", "method.candidates=6", "method.block=6", "privacy.adjacency=replace_one"},
        {"method.name=random-search", "method.block=5", "privacy.noise=discrete_gaussian"},
        {"method.name=ucb-bo", "method.steps=6", "method.candidates=20", "method.kernel=rbf"},
        {"method.name=ucb-bo", "method.steps=6", "method.beta=0", "privacy.adjacency=replace_one"},
        {"method.name=random-stopping", "method.shape=-0.5", "privacy.trust=cluster"},
        {"method.name=random-stopping", "method.distribution=poisson", "method.mean=9", "privacy.trust=cluster",
         "objective.l2=1"}}) {
    Settings settings = needs("logistic", Storage::dense_f32);
    settings.emplace_back("objective.name=logistic");
    settings.insert(settings.end(), more.begin(), more.end());
    expect_same_at_all_sizes(settings, more.front() + " " + more.back());
  }
}

// Trainings of several kinds that are repeated in secret.
TEST_F(Invariance, EveryTunedTraining) {
  for (const auto& more :
       {Settings{"method.steps=4", "method.batch=150", "method.clip=0.3", "tune.search=method.rate=0.1,0.5,2"},
        {"method.name=clipped-gd", "method.steps=3", "tune.search=method.clip=0.2,1", "method.clip_rule=fixed"},
        {"method.name=dp-ftrl", "method.batch=60", "method.clip=0.3", "tune.search=method.rate=0.5,1",
         "tune.distribution=poisson", "tune.mean=3"}}) {
    Settings settings = needs("logistic", Storage::dense_f32);
    settings.insert(settings.end(), {"objective.name=logistic", "privacy.trust=cluster", "tune.gamma=0.3"});
    settings.insert(settings.end(), more.begin(), more.end());
    expect_same_at_all_sizes(settings, more.front() + " " + more.back());
  }
}

// A28: state that goes from rank to rank, record by record, and sums of batches.
TEST_F(Invariance, EveryOnePassRun) {
  for (const char* more : {"method.batch=1", "method.batch=16", "method.batch=0", "method.mode=proximal",
                           "privacy.adjacency=replace_one", "data.blocks=8"}) {
    Settings settings = needs("logistic", Storage::dense_f32);
    settings.insert(settings.end(), {"method.name=ht-glm", "objective.name=logistic", "method.batch=1",
                                     "privacy.trust=cluster", more});
    expect_same_at_all_sizes(settings, more);
  }
  for (const char* more : {"method.mode=guarded", "method.mode=auto"}) {
    Settings settings = needs("mean", Storage::dense_f32);
    for (const auto& option : options_of("ht-smooth", "mean")) settings.push_back(option);
    settings.insert(settings.end(), {"method.name=ht-smooth", "objective.name=mean", "method.batch=1", more});
    expect_same_at_all_sizes(settings, more);
  }
}

TEST_F(Invariance, EveryMinMaxVariant) {
  for (const char* more : {"method.prior=private", "method.sampling=full", "method.output=uniform",
                           "method.dual_schedule=inverse", "method.restart=1", "privacy.adjacency=replace_one",
                           "privacy.noise=discrete_gaussian", "objective.l2=0.1", "method.average=0.9"}) {
    Settings settings = needs("auc", Storage::dense_f32);
    for (const auto& option : options_of("private-diff", "auc")) settings.push_back(option);
    settings.insert(settings.end(), {"method.name=private-diff", "objective.name=auc", more});
    expect_same_at_all_sizes(settings, more);
  }
}

TEST_F(Invariance, Episodes) {
  const auto file = [](const char* part) { return fmt::format("{}/episodes{}.csv", folder(), part); };
  if (test::world().is_root()) {
    GenerateOptions options;
    options.kind = "cartpole";
    options.records = 301, options.eval_records = 103, options.episode_steps = 8;
    options.output = file("");
    generate(options);
  }
  test::world().barrier();
  Settings settings = options_of("private-diff", "td");
  settings.insert(settings.end(),
                  {"data.train=" + file(""), "data.eval=" + file("-eval"), "data.features=80", "objective.name=td",
                   "objective.unit=episode", "objective.episode_steps=8", "method.name=private-diff"});
  expect_same({1, 3, 8}, settings, "episodes");
}

TEST_F(Invariance, EveryUpdateRule) {
  for (const char* update :
       {"method.momentum=0.9", "method.optimizer=adam", "method.optimizer=adam_bc", "method.average=0.9",
        "method.schedule=cosine", "method.clipping=per_layer", "objective.l2=0.1"}) {
    Settings settings = needs("mlp", Storage::dense_f32);
    settings.emplace_back("objective.name=mlp");
    settings.push_back(update);
    expect_same_at_all_sizes(settings, update);
  }
}

TEST_F(Invariance, ExactDiscreteNoise) {
  for (const char* sampling : {"full", "poisson"}) {
    Settings settings = needs("mlp", Storage::dense_f32);
    settings.emplace_back("objective.name=mlp");
    settings.emplace_back("privacy.noise=discrete_gaussian");
    settings.push_back(fmt::format("method.sampling={}", sampling));
    expect_same_at_all_sizes(settings, fmt::format("discrete Gaussian, {}", sampling));
  }
}

// Data that may not leave its site: each of two ranks sees a folder with its own file and no other, however the
// root's noise weighs on the balance of blocks; and the result is that of the same sites on one machine.
TEST_F(Invariance, SitesKeepTheirFiles) {
  if (test::world().is_root())
    for (const auto& [site, kind] : {std::pair{"site0", "heavy-tailed"}, std::pair{"site1", "heavy-tailed-eval"}}) {
      fs::create_directories(folder() + "/" + site);
      fs::create_directories(folder() + "/together");
      const std::string name = std::string(site) == "site0" ? "a.csv" : "b.csv";
      fs::copy_file(fmt::format("{}/{}.csv", folder(), kind), fmt::format("{}/{}/{}", folder(), site, name));
      fs::copy_file(fmt::format("{}/{}.csv", folder(), kind), fmt::format("{}/together/{}", folder(), name));
    }
  test::world().barrier();
  const auto sites = [](const std::string& root) {
    return Settings{"data.root=" + root, "data.shards=a.csv,b.csv", "data.header=yes",
                    "data.blocks=8",     "method.batch=40",         "method.steps=3"};
  };
  std::map<std::string, std::string> together;
  test::for_each_size({1}, [&](const Communicator& comm) { together = run(comm, sites(folder() + "/together")); });
  test::for_each_size({2}, [&](const Communicator& comm) {
    const auto apart = run(comm, sites(fmt::format("{}/site{}", folder(), comm.rank())));
    if (comm.is_root()) {
      EXPECT_EQ(apart, together);
    }
  });
}

}  // namespace
}  // namespace dpmpi::invariance_mpi_test
