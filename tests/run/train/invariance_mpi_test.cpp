// P1: model, ledger, metrics, plan and certificate are byte-identical at 1, 2, 3, 4, 5 and 8 ranks, for every
// registered method and objective, every storage, every sampling rule and both adjacencies.
#include <set>
#include <string>
#include <tuple>

#include "run/train/invariance.hpp"
#include "support/python_host.hpp"

namespace dpmpi::test::invariance {
namespace {

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

// Also check A25 of min-max methods. Sizes do not know who is trained by whom: all of them are played where a
// method or an objective comes for the first time.
TEST_F(Invariance, EveryObjectiveAndMethod) {
  std::set<std::string> met;
  for (const auto& method : methods())
    for (const auto& objective : objectives()) {
      if (objective.name == "python" && !has_python_host()) continue;
      if (is_code(objective.name) && needs_gradients(method.name)) continue;
      if (tunes(objective.name) && method.name != "gibo") continue;
      if (searches(method.name) && objective.name != "mlp" && !is_code(objective.name))
        continue;  // any loss is one
      if (min_max(objective.name) != min_max(method.name)) continue;
      if ((method.name == "ht-glm" || method.name == "ht-known-lipschitz") && !clampable(objective.name)) continue;
      if (method.name == "ht-smooth" && objective.name != "mean" && objective.name != "softmax") continue;
      for (const Storage storage : {Storage::dense_f32, Storage::dense_u8, Storage::sparse_f32}) {
        Settings settings = needs(objective.name, storage);
        if (storage != Storage::dense_f32 &&
            (method.name == "zo-naive" || is_code(objective.name) || tunes(objective.name)))
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
}  // namespace dpmpi::test::invariance
