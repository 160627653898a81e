// The norm of the mean gradient over public records: that of the mean loss, however they are shared.
#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "objective/minimax/saddle.hpp"
#include "run/evaluate/evaluate.hpp"
#include "run/evaluate/mean_gradient.hpp"
#include "support/mpi_harness.hpp"
#include "support/shards.hpp"

namespace dpmpi::mean_gradient_mpi_test {
namespace {

struct Case {
  std::string objective;
  std::vector<std::pair<std::string, std::string>> options;
};
const Case cases[] = {
    {"logistic", {}},
    {"mlp", {{"objective.hidden", "4"}, {"objective.head", "logistic"}, {"objective.activation", "tanh"}}},
    {"auc", {{"objective.prior", "0.4"}, {"objective.scorer", "mlp"}, {"objective.hidden", "3"}}}};

Shard shard_of(const Communicator& comm) {
  Shard shard = test::random_shard({Storage::dense_f32, 300, 3, 1, LabelKind::sign}, 8, comm.rank(), comm.size());
  for (auto& block : shard.blocks)
    for (std::size_t i = 0; i < block.records.count; ++i)
      if (i % 17 == 3) test::remove_record(block.records, i);
  return shard;
}

std::unique_ptr<Objective> objective_of(const Case& c) {
  auto objective = test::make_objective(c.objective, {3, Storage::dense_f32, 1}, c.options);
  objective->l2 = 0.1;
  return objective;
}

double mean_loss(Objective& objective, std::span<const float> w, const Shard& shard) {
  const AtPoint at = objective.at(w);
  double sum = 0, records = 0;
  std::vector<double> losses;
  for_each_micro_batch(objective, shard, "", [&](const Block&, const Rows& rows) {
    losses.resize(rows.size());
    at.losses(rows, losses);
    for (const double loss : losses) sum += loss, ++records;
  });
  return sum / records + objective.regularizer(w);
}

double norm_by_differences(Objective& objective, std::vector<float> w, const Shard& shard) {
  const std::size_t dim = objective.saddle() ? objective.saddle()->primal_dim() : objective.dim();
  constexpr float step = 0x1p-7F;
  double square = 0;
  for (std::size_t j = 0; j < dim; ++j) {
    const float there = w[j];
    w[j] = there + step;
    const double up = mean_loss(objective, w, shard), span = static_cast<double>(w[j]);
    w[j] = there - step;
    square += std::pow((up - mean_loss(objective, w, shard)) / (span - static_cast<double>(w[j])), 2);
    w[j] = there;
  }
  return std::sqrt(square);
}

TEST(MeanGradient, IsThatOfTheMeanLossOnAnyNumberOfRanks) {
  for (const Case& c : cases) {
    double expected = 0;
    test::for_each_size({1, 2, 3, 5, 8}, [&](const Communicator& comm) {
      const Shard shard = shard_of(comm);
      const auto objective = objective_of(c);
      std::vector<float> w(objective->dim());
      for (std::size_t j = 0; j < w.size(); ++j) w[j] = 0.3F * std::sin(1.0F + static_cast<float>(j));
      const double norm = mean_gradient_norm(comm, *objective, w, shard);
      if (comm.size() == 1) {
        expected = norm;
        EXPECT_NEAR(norm, norm_by_differences(*objective, w, shard), 1e-3 * norm) << c.objective;
        EXPECT_GT(norm, 0.05);
      }
      EXPECT_EQ(norm, comm.is_root() ? expected : norm) << c.objective << " at " << comm.size() << " ranks";
    });
  }
}

TEST(MeanGradient, IsNotAskedOfLossesAlone) {
  const auto logistic = objective_of(cases[0]);
  EXPECT_NO_THROW(check_mean_gradient("logistic", *logistic, true));
  EXPECT_THROW(check_mean_gradient("logistic", *logistic, false), ConfigError);
  const auto wgan = test::make_objective("wgan", {12, Storage::dense_f32, 1},
                                         {{"objective.image_rows", "3"},
                                          {"objective.image_columns", "4"},
                                          {"objective.generator", "5"},
                                          {"objective.critic", "4"}});
  EXPECT_THROW(check_mean_gradient("wgan", *wgan, true), ConfigError) << "a generator meets no record";
}

}  // namespace
}  // namespace dpmpi::mean_gradient_mpi_test
