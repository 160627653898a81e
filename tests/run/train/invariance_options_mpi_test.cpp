// P1 for what single methods and objectives can be told: the same bytes on any number of ranks, option by option.
#include <string>
#include <tuple>

#include "run/train/invariance.hpp"

namespace dpmpi::test::invariance {
namespace {

// Clips that follow the norms, of records and of persons.
TEST_F(Invariance, ClipsThatFollow) {
  for (const auto& [method, objective, persons, more] :
       {std::tuple{"dp-sgd", "logistic", false, "privacy.adjacency=replace_one"},
        {"dp-sgd", "mlp", false, "method.optimizer=adam_bc"},
        {"dp-sgd", "softmax", false, "privacy.noise=discrete_gaussian"},
        {"dp-sgd", "logistic", true, "objective.l2=0.1"},
        {"clipped-gd", "logistic", false, "method.sampling=poisson"},
        {"clipped-gd", "logistic", true, "objective.l2=0.1"},
        {"dp-ftrl", "mlp", false, "method.strategy=sqrt_toeplitz"},
        {"dp-ftrl", "logistic", true, "method.momentum=0.5"}}) {
    Settings settings = needs(objective, Storage::dense_f32);
    for (const std::string& option : options_of(method, objective)) settings.push_back(option);
    settings.insert(settings.end(), {fmt::format("method.name={}", method), "method.clip_quantile=0.5",
                                     "method.clip_rate=1", fmt::format("objective.name={}", objective), more});
    if (std::string(method) == "clipped-gd")
      settings.insert(settings.end(), {"method.clip_rule=fixed", "method.clip=1", "method.batch=40"});
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
        "method.strategy=blt", "method.strategy=normalized_blt", "method.strategy=lambda", "method.strategy=auto",
        "method.adaptive_clip=true", "method.restart=4", "method.skip_last=true", "method.passes=2",
        "method.directions=iid", "method.fast=false", "objective.l2=0.1", "privacy.adjacency=replace_one"}) {
    Settings settings = needs("absolute", Storage::dense_f32);
    for (const auto& option : options_of("zo-o2nc", "absolute")) settings.push_back(option);
    settings.insert(settings.end(), {"method.name=zo-o2nc", "objective.name=absolute", "method.band=3", more});
    expect_same_at_all_sizes(settings, more);
  }
}

// Noise that continues over the passes of dp-ftrl.
TEST_F(Invariance, EveryNoiseThatContinues) {
  for (const char* strategy : {"sqrt_toeplitz", "banded", "blt", "lambda", "identity", "auto"}) {
    Settings settings = needs("logistic", Storage::dense_f32);
    for (const auto& option : options_of("dp-ftrl", "logistic")) settings.push_back(option);
    settings.insert(settings.end(), {"method.name=dp-ftrl", "objective.name=logistic", "method.passes=3",
                                     "method.participation=continue", fmt::format("method.strategy={}", strategy)});
    expect_same({1, 2, 3, 5, 8}, settings, strategy);
  }
}

// Secret samples of groups that take turns: whose places count over all blocks.
TEST_F(Invariance, EveryBandOnCyclicSamples) {
  for (const char* strategy : {"banded", "banded_blt", "auto"}) {
    Settings settings = needs("logistic", Storage::dense_f32);
    for (const auto& option : options_of("dp-ftrl", "logistic")) settings.push_back(option);
    settings.insert(settings.end(), {"method.name=dp-ftrl", "objective.name=logistic", "method.passes=3",
                                     "method.sampling=cyclic_poisson", "method.groups=3",
                                     fmt::format("method.strategy={}", strategy)});
    expect_same({1, 2, 3, 5, 8}, settings, strategy);
  }
}

// Secret steps of records, in whose epochs ranks draw for their own blocks alone.
TEST_F(Invariance, BallsInBins) {
  Settings settings = needs("logistic", Storage::dense_f32);
  for (const auto& option : options_of("dp-sgd", "logistic")) settings.push_back(option);
  settings.insert(settings.end(),
                  {"method.name=dp-sgd", "objective.name=logistic", "method.sampling=balls_in_bins"});
  expect_same_at_all_sizes(settings, "balls in bins");
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

// Of networks by themselves, and in both blocks of min-max problems.
TEST_F(Invariance, CopiesOfImages) {
  for (const auto& [method, objective] : {std::pair{"dp-sgd", "network"},
                                          {"dp-ftrl", "network"},
                                          {"dp-sgda", "auc"},
                                          {"private-diff", "auc"},
                                          {"private-diff", "worst_group"}}) {
    Settings settings = needs(objective, Storage::dense_f32);
    for (const std::string& option : options_of(method, objective)) settings.push_back(option);
    settings.insert(settings.end(),
                    {fmt::format("method.name={}", method), fmt::format("objective.name={}", objective),
                     "objective.augment=shift 1, flip", "objective.augmentations=2"});
    if (objective == std::string("auc"))
      settings.insert(settings.end(), {"objective.scorer=network", "objective.input=1x3x4",
                                       "objective.layers=conv 2 2x2, tanh, flatten, dense 1"});
    expect_same({1, 2, 3, 5, 8}, settings, fmt::format("{} {} with copies", method, objective));
  }
}

// Critics that see images, with a class each and without.
TEST_F(Invariance, CriticsOfLayers) {
  for (const auto& [method, classes] : {std::pair{"private-diff", 0}, {"dp-sgda", 5}}) {
    Settings settings{fmt::format("data.train={}/blobs.csv", folder()),
                      fmt::format("data.eval={}/blobs-eval.csv", folder()), "data.header=yes", "data.features=12"};
    for (const auto& option : options_of(method, "wgan")) settings.push_back(option);
    settings.insert(
        settings.end(),
        {fmt::format("method.name={}", method), "objective.name=wgan", "objective.image_rows=3",
         "objective.image_columns=4", "objective.latent=3", "objective.generator=5", "objective.fakes=20",
         "objective.dual_radius=2", fmt::format("objective.classes={}", classes),
         fmt::format(
             "objective.layers=conv 3 2x2 pad 1, leaky_relu, maxpool 2, residual(conv 3 1), flatten, dense {}",
             std::max(1, classes))});
    expect_same({1, 2, 3, 5, 8}, settings, fmt::format("{} wgan with layers", method));
  }
}

// Of images of a list of latents, with a class each and without.
TEST_F(Invariance, GeneratorsOfLayers) {
  for (const auto& [method, classes] : {std::pair{"private-diff", 5}, {"dp-sgda", 0}}) {
    Settings settings{fmt::format("data.train={}/blobs.csv", folder()),
                      fmt::format("data.eval={}/blobs-eval.csv", folder()), "data.header=yes", "data.features=12"};
    for (const auto& option : options_of(method, "wgan")) settings.push_back(option);
    settings.insert(
        settings.end(),
        {fmt::format("method.name={}", method), "objective.name=wgan", "objective.image_rows=3",
         "objective.image_columns=4", "objective.latent=3", "objective.fakes=20",
         "objective.generator_layers=dense 6, unflatten 1x3x2, relu, upsample 2, conv 2 4x1, leaky_relu, "
         "conv 1 1, flatten, dense 12",
         "objective.dual_radius=2", "objective.critic=7", fmt::format("objective.classes={}", classes)});
    expect_same({1, 2, 3, 5, 8}, settings, fmt::format("{} wgan with a generator of layers", method));
  }
}

// Value functions that see images of a state: of transitions, and of several of them in a row.
TEST_F(Invariance, ValuesOfLayers) {
  const auto episode_file = [](const char* part) { return fmt::format("{}/value-episodes{}.csv", folder(), part); };
  if (test::world().is_root()) {
    GenerateOptions options;
    options.kind = "cartpole";
    options.records = 301, options.eval_records = 103, options.episode_steps = 4;
    options.output = episode_file("");
    generate(options);
  }
  test::world().barrier();
  for (const auto& [method, unit] : {std::pair{"private-diff", "transition"},
                                     {"dp-sgda", "transition"},
                                     {"dptd", "transition"},
                                     {"private-diff", "episode"}}) {
    const bool episodes = std::string(unit) == "episode";
    const auto file = [&](const char* part) {
      return episodes ? episode_file(part) : fmt::format("{}/cartpole{}.csv", folder(), part);
    };
    Settings settings{"data.train=" + file(""), "data.eval=" + file("-eval"),
                      fmt::format("data.features={}", episodes ? 40 : 9)};
    for (const auto& option : options_of(method, "td")) settings.push_back(option);
    settings.insert(settings.end(),
                    {fmt::format("method.name={}", method), "objective.name=td", "objective.value=network",
                     fmt::format("objective.unit={}", unit), "objective.episode_steps=4",
                     episodes ? "objective.layers=dense 5, layernorm, softplus, dense 1"
                              : "objective.layers=conv 3 2x1, tanh, flatten, dense 1",
                     episodes ? "objective.input=4" : "objective.input=1x2x2"});
    expect_same({1, 2, 3, 5, 8}, settings, fmt::format("{} td with layers, {}", method, unit));
  }
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

}  // namespace
}  // namespace dpmpi::test::invariance
