// gibo on the lengthscales of a Gaussian process: how many evaluations a tolerance costs, what noisy evaluations
// and a wrong idea of their noise do. 15 features of which 5 matter; losses are half the squared error, so that a
// clip of B/2 and noise of lambda/2 are those of B and lambda for the squared error.
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "data/formats/write.hpp"
#include "data/load/data_files.hpp"
#include "data/synthetic/generate.hpp"
#include "problems/numbered_losses.hpp"
#include "problems/trial.hpp"
#include "run/objective/on_ranks.hpp"

namespace dpmpi::tuning_test {
namespace {

using test::Trial;
using Settings = std::map<std::string, std::string>;

constexpr std::size_t d = 15, n = 1000;

struct Ended {
  double first_loss = 0, last_loss = 0;  ///< mean squared error of all records at the start and at the end
  std::vector<std::size_t> batches;      ///< points of each step
  double clipped = 0;                    ///< fraction of records whose first estimate is longer than the clip
  std::size_t evaluations() const {
    std::size_t sum = 0;
    for (const std::size_t b : batches) sum += b;
    return sum;
  }
};

struct Tuned {
  Tuned(const Settings& more, double mu, std::size_t models, std::uint64_t seed) {
    GenerateOptions options;
    options.kind = "smooth", options.features = static_cast<std::int64_t>(d);
    options.seed = static_cast<std::int64_t>(seed);
    const std::string file = ::testing::TempDir() + "gibo_models.dpmpi";
    write_records(file, "native", generate_records(options, n, models));
    objective_ = test::make_objective("tune_gp", {d, Storage::dense_f32, 0},
                                      {{"objective.train", file}, {"objective.start", "random"}});
    give_public_records(comm_, *objective_, DataFiles({}, file));
    shard_.facts = {n, d, Storage::dense_f32};
    shard_.layout = BlockLayout::of(shard_.facts, 1);
    shard_.blocks.push_back({0, 0, generate_records(options, 0, n)});
    settings_ = {{"box_lo", "-2"},
                 {"box_hi", "2"},
                 {"eta", "0.3"},
                 {"step", "adagrad"},
                 {"obs_noise_std", "0.05"},
                 {"seed", std::to_string(seed)},
                 {"design_seed", std::to_string(seed)}};
    for (const auto& [key, value] : more) settings_[key] = value;
    multiplier_ = 1 / mu;
    seed_ = seed;
  }

  double loss(Objective& objective, std::span<const float> theta) const {
    const std::vector<double> point(theta.begin(), theta.end());
    const auto values = losses(objective, point);
    return 2 * std::accumulate(values[0].begin(), values[0].end(), 0.0) / n;
  }

  std::vector<std::vector<double>> losses(Objective& objective, const std::vector<double>& points) const {
    std::vector<std::vector<double>> all;
    std::vector<std::uint32_t> rows(n);
    std::iota(rows.begin(), rows.end(), 0U);
    const AtPoints models = objective.at_points(points);
    for (std::size_t p = 0; p < points.size() / d; ++p) {
      all.emplace_back(n);
      models.losses(p, {shard_.blocks[0].records, rows}, all.back());
    }
    return all;
  }

  /// Of the estimates from the points that the first step left, with the coins that all records share.
  double clipped(Objective& objective, const Trial& t, const Eigen::VectorXd& theta) {
    Archive written;
    t.algorithm->archive(written);
    Archive read(written.bytes());
    std::vector<double> skipped, points;
    read.field("gibo.theta", skipped), read.field("gibo.squares", skipped), read.field("gibo.points", points);
    const auto dim = static_cast<Eigen::Index>(d), N = std::ssize(points) / dim;
    GradientPosterior posterior({Covariance::Kind::rbf, Eigen::VectorXd::Ones(dim), 1},
                                std::pow(std::stod(settings_["obs_noise_std"]), 2));
    posterior.append(Eigen::Map<const Eigen::MatrixXd>(points.data(), dim, N));
    posterior.move_to(theta);
    const auto table = losses(objective, points);
    Eigen::MatrixXd Y(n, N);
    for (Eigen::Index q = 0; q < N; ++q) {
      std::array<double, 2> coin;
      PublicStream(seed_, "evaluation noise", static_cast<std::uint64_t>(q)).normals(0, coin);
      const double noise = settings_.contains("eval_noise") ? std::stod(settings_["eval_noise_std"]) * coin[0] : 0;
      for (std::size_t i = 0; i < n; ++i)
        Y(static_cast<Eigen::Index>(i), q) = table[static_cast<std::size_t>(q)][i] + noise;
    }
    const Eigen::VectorXd norms = (Y * posterior.weights().transpose()).rowwise().norm();
    return static_cast<double>((norms.array() > std::stod(settings_["clip"])).count()) / n;
  }

  Ended run() {
    Objective& objective = *objective_;
    Shard records = shard_;
    Trial t("gibo", settings_, multiplier_, std::move(objective_), std::move(records), Adjacency::replace_one,
            seed_);
    Ended ended;
    ended.first_loss = loss(objective, t.algorithm->iterate());
    const Eigen::VectorXd start =
        Eigen::Map<const Eigen::VectorXf>(t.algorithm->iterate().data(), static_cast<Eigen::Index>(d))
            .cast<double>();
    for (std::uint64_t step = 0; step < t.steps; ++step) {
      t.run(1);
      ended.batches.push_back(static_cast<std::uint64_t>(t.algorithm->measures().at(0).value) -
                              ended.evaluations());
      if (step == 0) ended.clipped = clipped(objective, t, start);
    }
    ended.last_loss = loss(objective, t.algorithm->iterate());
    return ended;
  }

 private:
  Communicator comm_ = Communicator::alone();  // which the objective goes on using
  std::unique_ptr<Objective> objective_;
  Shard shard_;
  Settings settings_;
  double multiplier_ = 0;
  std::uint64_t seed_ = 0;
};

// A20: a larger tolerance costs fewer evaluations; the first batch is the closed form's, later ones are smaller.
TEST(GiboTuning, SlowEvaluationsFollowTheTolerance) {
  std::size_t before = 1000;
  for (const auto& [tolerance, first] : {std::pair{0.3, 29}, {0.5, 25}, {1.0, 16}, {3.0, 14}, {6.0, 11}}) {
    const Ended e = Tuned({{"trace_tol", fmt::format("{}", tolerance)},
                           {"steps", "25"},
                           {"clip", "1.5"},
                           {"box_lo", "-2.5"},  // stencils around the start are whole
                           {"box_hi", "2.5"},
                           {"memory", "window:400"}},
                          1, 300, 1)
                        .run();
    fmt::print("tolerance {}: {} evaluations, loss {:.3f} to {:.3f}\n", tolerance, e.evaluations(), e.first_loss,
               e.last_loss);
    EXPECT_EQ(e.batches.front(), static_cast<std::size_t>(first));
    EXPECT_LT(e.batches.back(), e.batches.front());
    EXPECT_LT(e.evaluations(), before);
    before = e.evaluations();
    if (tolerance <= 1) {
      EXPECT_LT(e.last_loss, e.first_loss / 3);
    }
  }
}

// Noise that all records share at a point does not average out: with little of it a run ends as without, with much
// of it hardly below where it began.
TEST(GiboTuning, SlowSharedEvaluationNoiseIsPaidFor) {
  std::vector<double> ends;
  for (const double lambda : {0.0, 0.01, 0.1, 0.5}) {
    double first = 0, last = 0;
    for (const std::uint64_t seed : {1, 2}) {
      Settings settings{{"batch", "fixed"},       {"b", "16"},
                        {"steps", "45"},          {"clip", "0.5"},
                        {"memory", "window:320"}, {"obs_noise_std", fmt::format("{}", std::max(lambda, 0.01))}};
      if (lambda > 0) settings["eval_noise"] = "shared", settings["eval_noise_std"] = fmt::format("{}", lambda / 2);
      const Ended e = Tuned(settings, 0.1, 200, seed).run();
      first += e.first_loss / 2, last += e.last_loss / 2;
    }
    fmt::print("shared noise {}: loss {:.3f} to {:.3f}\n", lambda, first, last);
    ends.push_back(last / first);
  }
  EXPECT_LT(ends[0], ends[2]);
  EXPECT_LT(ends[1], ends[2]);
  EXPECT_LT(ends[0], 0.8 * ends[3]);
}

// A21: a process that believes in less noise than there is asks for slopes between points that are too close.
TEST(GiboTuning, SlowTooLittleAssumedNoiseEndsWorst) {
  std::vector<double> ends;
  for (const char* sigma : {"0.01", "0.0001"}) {
    double last = 0, clipped = 0;
    for (const std::uint64_t seed : {1, 2, 3, 4}) {
      const Ended e = Tuned({{"batch", "fixed"},
                             {"b", "16"},
                             {"steps", "25"},
                             {"clip", "0.5"},
                             {"memory", "window:320"},
                             {"eval_noise", "shared"},
                             {"eval_noise_std", "0.005"},
                             {"obs_noise_std", sigma}},
                            1, 200, seed)
                          .run();
      last += e.last_loss / 4, clipped += e.clipped / 4;
    }
    fmt::print("assumed {}: loss {:.3f}, {:.3f} of the records clipped\n", sigma, last, clipped);
    ends.push_back(last);
    if (std::string(sigma) == "0.0001") {
      EXPECT_GT(clipped, 0.95);
    }
  }
  EXPECT_LT(ends[0], ends[1]);
}

}  // namespace
}  // namespace dpmpi::tuning_test
