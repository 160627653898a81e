// Models that are trained on a second private set: by the trainer's own method, with noise of their own, and paid
// for before.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "data/load/load.hpp"
#include "data/synthetic/generate.hpp"
#include "run/search/tune_private_run.hpp"

namespace dpmpi::tune_private_trainings_test {
namespace {

namespace fs = std::filesystem;
using test::TunePrivateRun;

class Trainings : public TunePrivateRun {
 protected:
  /// A search that is ready to be asked for losses, paid for in memory.
  struct Ready : Search {
    Ready(const test::TuningFolder& here, const SecretKey& key, const Settings& settings = {})
        : Search(here, settings), scratch(Ledger::in_memory({Adjacency::add_remove, 240, true})) {
      tuning().read_records(comm, files);
      tuning().begin(plan.training, key);
      fs::remove(path);
      books.emplace(Ledger::create(path, {Adjacency::add_remove, 240}), plan.training->plan);
      tuning().pay_in(*books);
      records = load(comm, files.training, BlockLayout::of(facts.data, 1), Ownership::even(1, 1),
                     objective->label_kind(), objective->classes());
    }
    /// Of all records to score, at point p of those that models were trained at.
    std::vector<double> losses(const AtPoints& models, std::size_t p) {
      const Records& all = records.blocks.front().records;
      std::vector<std::uint32_t> index(all.count);
      std::iota(index.begin(), index.end(), 0U);
      std::vector<double> out(all.count);
      models.losses(p, {all, index}, out);
      return out;
    }
    Communicator comm = Communicator::alone();
    Ledger scratch;
    std::string path = ::testing::TempDir() + "dpmpi_tune_private_books.jsonl";
    std::optional<TrainingLedger> books;
    Shard records;
  };
  /// The losses of model p of the trainer's method, made by hand through a curator with the training's own key,
  /// from the config that a user would train with.
  std::vector<double> by_hand(Ready& search, const Settings& settings, std::uint64_t p) {
    RunConfig config(here_.trainer(), settings);
    const Dataset training = config.find_files().training;
    const DatasetFacts data = inspect(alone_, training);
    const auto objective = make_objective(config, data);
    const PublicFacts facts = public_facts(config, data, *objective);
    const Plan plan = make_plan(config, facts);
    const BlockLayout layout = BlockLayout::of(data, 2);
    const Shard shard = load(alone_, training, layout, Ownership::even(2, 1), objective->label_kind());
    Curator curator(alone_, shard, plan.queries, objective->micro_batch_rows(),
                    key_.derive("trainings").derive("training", p));
    curator.record_in(search.scratch);
    const auto algorithm = plan.method->start(*objective, plan.queries);
    for (std::uint64_t t = 0; t < plan.steps; ++t) algorithm->step(curator, t);
    const Records& all = search.records.blocks.front().records;
    std::vector<std::uint32_t> index(all.count);
    std::iota(index.begin(), index.end(), 0U);
    std::vector<double> losses(all.count);
    objective->at(algorithm->iterate()).losses({all, index}, losses);
    return losses;
  }
  /// Trains at these points, and expects these models.
  void expect_models_by_hand(Ready& search, const std::vector<double>& points) {
    const AtPoints models = search.objective->at_points(points);
    const std::size_t dim = search.objective->dim();
    for (std::size_t p = 0; p < points.size() / dim; ++p) {
      const Settings settings = search.tuning().search().settings(std::span(points).subspan(dim * p, dim));
      const std::vector<double> losses = search.losses(models, p), expected = by_hand(search, settings, p);
      EXPECT_EQ(0, std::memcmp(losses.data(), expected.data(), losses.size() * sizeof(double))) << p;
      EXPECT_TRUE(std::isfinite(losses[0]));
    }
  }
  const SecretKey key_ = SecretKey::from_seed(11);
};

TEST_F(Trainings, ModelsAreThoseOfTheTrainersMethod) {
  Ready search(here_, key_);
  const std::vector<double> points{-0.7, 1.1, 0.4, -2};
  const Settings settings = search.tuning().search().settings(std::span(points).first(2));
  ASSERT_TRUE(settings[0].starts_with("method.rate=") && settings[1].starts_with("method.clip="));
  expect_models_by_hand(search, points);
}

// Whole numbers between bounds, and a list that is not in order: a quarter of the records and eight steps are
// dearest.
TEST_F(Trainings, OfDifferentCostAreAllPaidForAsTheDearest) {
  Ready search(here_, key_, {"objective.search=method.batch:20|60|40,method.steps:2:8"});
  const std::uint64_t trainings = search.plan.training->plan.runs;
  const std::vector<Event> dearest{{PoissonGaussian{.25, 2}, 8}};
  EXPECT_TRUE(same_events(search.plan.training->plan.events(), {{PoissonGaussian{.25, 2}, 8 * trainings}}));
  expect_models_by_hand(search, {-2, -2, 0, 0, 2, 2, 0, 2});
  EXPECT_EQ(search.tuning().search().settings(std::vector<double>{-2, -2}),
            (Settings{"method.batch=20", "method.steps=2"}));
  EXPECT_EQ(search.tuning().search().settings(std::vector<double>{2, 2}),
            (Settings{"method.batch=40", "method.steps=8"}));
  ASSERT_EQ(search.books->ledger().events().size(), 4u);
  for (const Event& event : search.books->ledger().events()) EXPECT_TRUE(same_events({event}, dearest));
}

// The dearest decides on the noise of all.
TEST_F(Trainings, OfDifferentCostShareTheBudget) {
  here_.write_trainer("epsilon = 3\ntrust = cluster\n");
  const Search both(here_, {"objective.search=method.batch:20|60|40,method.rate:0.1:1"});
  const Search alone(here_, {"objective.search=method.clip:0.1:2,method.rate:0.1:1"});  // at 60
  const Plan& plan = both.plan.training->plan;
  EXPECT_EQ(plan.promise.noise_multiplier, alone.plan.training->plan.promise.noise_multiplier);
  EXPECT_EQ(plan.epsilon(), alone.plan.training->plan.epsilon());
  PrivateTuning& tuning = *dynamic_cast<PrivateTuning*>(both.objective.get());
  const PlannedTraining small = tuning.plan_training({"method.batch=20", "method.rate=1"}, *both.plan.training);
  EXPECT_EQ(small.plan.promise.noise_multiplier, plan.promise.noise_multiplier);
  EXPECT_TRUE(same_events(small.plan.events(),
                          {{PoissonGaussian{20.0 / 240, plan.promise.noise_multiplier}, 4 * plan.runs}}));
}

// Each with its own size, in one batch of points; a point that fits nowhere has the shape in the middle.
TEST_F(Trainings, OfListedShapesAreScoredByTheirOwn) {
  std::ofstream(here_.trainer())
      << "[data]\ntrain = search-eval.csv\nheader = yes\nblocks = 2\n[objective]\nname = mlp\n"
         "head = logistic\nhidden = 2\n[method]\nname = dp-sgd\nbatch = 60\nsteps = 4\n"
         "[privacy]\ndelta = 1e-4\naccountant = rdp\nnoise_multiplier = 2\ntrust = cluster\n";
  Ready search(here_, key_, {"objective.search=method.rate:0.1:1,objective.hidden:3|7|4"});
  expect_models_by_hand(search, {0, -2, 0, 0, 0, 2, 1, -2});
  const auto parameters = [&](const char* hidden) {
    return search.tuning().plan_training({"method.rate=1", hidden}, *search.plan.training).objective->dim();
  };
  EXPECT_EQ(parameters("objective.hidden=7"), 7 * (4 + 1) + 7 + 1u);
  const AtPoints models =
      search.objective->at_points(std::vector<double>{std::numeric_limits<double>::quiet_NaN(), 0, 0, 2});
  EXPECT_TRUE(std::isnan(search.losses(models, 0)[0]));
  EXPECT_TRUE(std::isfinite(search.losses(models, 1)[0]));
}

// Settings that change nothing but their text: the two models differ by noise alone, and they do. The same settings
// are the same training, whenever they are asked for.
TEST_F(Trainings, ShareNoNoise) {
  const Settings without_effect{"objective.search=objective.l2:1e-30:1e-29", "method.b=2"};
  Ready search(here_, key_, without_effect);
  const AtPoints three = search.objective->at_points(std::vector<double>{-1, 0, 1});
  const auto first = search.losses(three, 0), second = search.losses(three, 1), third = search.losses(three, 2);
  EXPECT_NE(first, second);
  EXPECT_NE(second, third);
  EXPECT_NE(first, third);
  const AtPoints two = search.objective->at_points(std::vector<double>{1, -1});
  EXPECT_EQ(search.losses(two, 0), third);
  EXPECT_EQ(search.losses(two, 1), first);
  EXPECT_EQ(search.books->ledger().events().size(), 3u);
  Ready other(here_, SecretKey::from_seed(12), without_effect);
  EXPECT_NE(other.losses(other.objective->at_points(std::vector<double>{-1}), 0), first)
      << "another run has another key";
}

// Before any model is trained: the lines are there, or the error is.
TEST_F(Trainings, ArePaidForFirst) {
  Ready search(here_, key_);
  std::vector<double> points(26);
  for (std::size_t i = 0; i < points.size(); ++i) points[i] = -2 + 0.15 * static_cast<double>(i);
  EXPECT_THROW(search.objective->at_points(points), PrivacyError);
  EXPECT_EQ(search.books->ledger().events().size(), 0u);
  search.objective->at_points(std::span(points).first(24));
  EXPECT_EQ(search.books->ledger().events().size(), 12u);
  points[0] = std::numeric_limits<double>::quiet_NaN();
  const AtPoints models = search.objective->at_points(std::span(points).first(2));
  EXPECT_TRUE(std::isnan(search.losses(models, 0)[0])) << "no model, and no line";
  EXPECT_EQ(search.books->ledger().events().size(), 12u);
}

// And nobody pays for it. Here no training costs what the plan says.
TEST_F(Trainings, PointsThatDoNotFitKeepTheModelAsItStarts) {
  Ready search(here_, key_);
  auto other = std::make_shared<TrainingPlan>(*search.plan.training);
  other->plan.queries.at(0).noise_multiplier *= 2;
  search.tuning().begin(other, key_);
  const std::vector<double> points{0.1, 0.2};
  const AtPoints models = search.objective->at_points(points);
  for (const double loss : search.losses(models, 0)) EXPECT_NEAR(loss, std::log(2.0), 1e-6) << "of logistic at 0";
  EXPECT_EQ(search.books->ledger().events().size(), 0U);
}

// Nor where two settings that fit by themselves break the trainer's promise together, which the plan may miss.
TEST_F(Trainings, PointsThatMayNotBePromisedKeepTheModelAsItStarts) {
  std::ofstream(here_.trainer())
      << "[data]\ntrain = search-eval.csv\nheader = yes\nblocks = 2\n[objective]\nname = logistic\nl2 = 0.01\n"
         "[method]\nname = zo-hidden\nsteps = 8\nball = 1\nclip = 100\nrate = 0.1\ndirections = 2\nbatch = 60\n"
         "sampling = shuffle_once\nfeature_bound = 0.1\n[privacy]\nnoise_multiplier = 20\nadjacency = replace_one\n"
         "delta = 1e-4\ntrust = cluster\n";
  Ready search(here_, key_,
               {"privacy.adjacency=replace_one",
                "objective.search=method.clip:10|11|12|0.5|13|14|15|16,"
                "method.feature_bound:0.11|0.12|0.13|1|0.15|0.16|0.17|0.18"});
  const AtPoints models = search.objective->at_points(std::vector<double>{-0.25, -0.25, -0.25, 0.25});
  for (const double loss : search.losses(models, 0)) EXPECT_NEAR(loss, std::log(2.0), 1e-6) << "of logistic at 0";
  EXPECT_EQ(search.books->ledger().events().size(), search.plan.training->plan.events().size())
      << "one was paid for";
}

TEST_F(Trainings, LossesAreACapabilityOnceTrainingsCanBegin) {
  Search search(here_, {});
  EXPECT_EQ(search.objective->points(), nullptr);
  search.tuning().read_records(Communicator::alone(), search.files);
  EXPECT_EQ(search.objective->points(), nullptr) << "there is no key for their noise";
  search.tuning().begin(search.plan.training, key_);
  EXPECT_NE(search.objective->points(), nullptr);
}

// The record that is scored has no part in the models, and another file of records to train on has.
TEST_F(Trainings, CommitToTheirData) {
  Ready search(here_, key_);
  const std::string before = search.tuning().begin(search.plan.training, key_);
  Ready again(here_, key_);
  EXPECT_EQ(again.tuning().begin(again.plan.training, key_), before);
  EXPECT_NE(again.tuning().begin(again.plan.training, SecretKey::from_seed(12)), before) << "keyed";
  GenerateOptions options;
  options.records = 240, options.eval_records = 0, options.features = 4, options.seed = 8;
  options.output = here_.path + "/search-eval.csv";
  generate(options);
  Ready changed(here_, key_);
  EXPECT_NE(changed.tuning().begin(changed.plan.training, key_), before);
}

}  // namespace
}  // namespace dpmpi::tune_private_trainings_test
