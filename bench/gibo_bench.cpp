// The product of a gibo step in one rank: clipped W y_i of n = 9000 records with N = 5200 losses each, d = 103,
// beside Eigen's products in double of the same shape and of a square one, and the root's own work. Compare only
// numbers of one session.

#include <benchmark/benchmark.h>

#include <numeric>

#include "method/black_box/gradient_posterior.hpp"
#include "objective/values/loss_table.hpp"
#include "problems/numbered_losses.hpp"

namespace {

using namespace dpmpi;
using Eigen::Index;
using Eigen::MatrixXd;

constexpr std::size_t all_records = 9000, points = 5200, dim = 103;

void set_flops(benchmark::State& state, double flops) {
  state.counters["GFLOP/s"] = benchmark::Counter(flops * 1e-9, benchmark::Counter::kIsRate);
}

/// A step looks at one new point (all else is the product) and at all old ones.
void clipped_products(benchmark::State& state, std::size_t records) {
  const Shard shard = test::labelled_shard({0, records});
  test::NumberedLoss objective(
      dim, [](std::size_t i, std::span<const double> w) { return w[0] + static_cast<double>(i % 7); });
  LossTable table(objective, {});
  std::vector<double> at(points * dim, 0.5), map(points * dim);
  for (std::size_t i = 0; i < map.size(); ++i) map[i] = 1e-3 * static_cast<double>(i % 11);
  std::vector<std::uint32_t> rows(records);
  std::iota(rows.begin(), rows.end(), 0U);
  LatticeAccumulator sum(dim, Lattice{40}, 1, 0, Width::int64);
  const auto step = [&] {
    sum.clear();
    table.kernel(at, 0, [&map] { return std::span<const double>(map); }).run({1}, sum, [&](const auto& visit) {
      for (std::size_t i = 0; i < records; i += 128)
        visit(Rows{shard.blocks[0].records, std::span(rows).subspan(i, std::min<std::size_t>(128, records - i))});
    });
  };
  at.reserve(2 * at.size()), map.reserve(2 * map.size());
  const auto one_more = [&] {
    at.insert(at.end(), dim, 0.5), map.insert(map.end(), dim, 1e-3);
    step();
  };
  step();
  one_more();  // the table makes room for many more
  double flops = 0;
  for (auto _ : state) {
    one_more();
    flops += 2.0 * static_cast<double>(records * map.size());
  }
  set_flops(state, flops);
}
BENCHMARK_CAPTURE(clipped_products, one_rank, all_records)->Iterations(5)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(clipped_products, one_of_two, all_records / 2)->Iterations(5)->Unit(benchmark::kMillisecond);

void eigen_product(benchmark::State& state, Index rows, Index inner, Index cols) {
  const MatrixXd a = MatrixXd::Constant(rows, inner, 0.5), b = MatrixXd::Constant(inner, cols, 0.25);
  MatrixXd c(rows, cols);
  for (auto _ : state) {
    c.noalias() = a * b;
    benchmark::DoNotOptimize(c.data());
  }
  set_flops(state, 2.0 * static_cast<double>(rows * inner * cols) * static_cast<double>(state.iterations()));
}
BENCHMARK_CAPTURE(eigen_product, same_shape, all_records, points, dim)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(eigen_product, square, 1024, 1024, 1024)->Unit(benchmark::kMillisecond);

/// The root's part: 16 more points for 400, and the weights of all.
void posterior_step(benchmark::State& state) {
  constexpr Index d = 15, known = 400, more = 16;
  const Covariance k(Covariance::Kind::rbf, Eigen::VectorXd::Ones(d), 1);
  MatrixXd X(d, known + more);
  for (Index i = 0; i < X.size(); ++i) X.data()[i] = std::sin(1.7 * static_cast<double>(i));
  for (auto _ : state) {
    state.PauseTiming();
    GradientPosterior posterior(k, 0.0025);
    posterior.append(X.leftCols(known));
    state.ResumeTiming();
    posterior.append(X.rightCols(more));
    posterior.move_to(Eigen::VectorXd::Zero(d));
    benchmark::DoNotOptimize(posterior.weights().norm());
  }
}
BENCHMARK(posterior_step)->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
