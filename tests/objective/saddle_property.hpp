#pragma once
// The contract of saddle.hpp as property tests for any SaddleObjective.

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "objective/minimax/saddle.hpp"
#include "objective/objective_property.hpp"

namespace dpmpi::test {

/// A kernel of a SaddleObjective with its bound: prepared for the points of the case by make().
struct SaddleKernel {
  std::string name;
  std::size_t dim;
  double clip;
  Kernel kernel;
  NumericSlack slack;
};

/// The kernels of f at w, and of differences between w and v. Each prepares the objective again when asked for, so
/// use one at a time.
inline std::vector<std::function<SaddleKernel()>> saddle_kernels(SaddleObjective& f, const std::vector<float>& w,
                                                                 const std::vector<float>& v, double clip) {
  const SaddleClip joint{.primal = clip, .dual = 2 * clip, .weight = 0.7};
  std::vector<std::function<SaddleKernel()>> all{[&f, &w, clip] {
    return SaddleKernel{"dual", f.dual_dim(), clip, clipped_dual_gradients(f, w), f.dual_gradient_slack()};
  }};
  if (!f.primal()) return all;
  all.push_back([&f, &w, clip] {
    return SaddleKernel{"primal", f.primal_dim(), clip, clipped_primal_gradients(f, w),
                        f.primal()->primal_gradient_slack()};
  });
  all.push_back([&f, &w, joint] {
    return SaddleKernel{"joint", f.dim(), joint.norm(), clipped_saddle_gradients(f, w, joint),
                        f.primal()->saddle_gradient_slack()};
  });
  all.push_back([&f, &w, &v, clip] {
    return SaddleKernel{"difference", f.primal_dim(), clip, clipped_primal_differences(f, w, v),
                        f.primal()->primal_difference_slack()};
  });
  return all;
}

inline std::vector<std::int64_t> sum_of(const SaddleKernel& k, const Records& records,
                                        std::span<const std::uint32_t> index, std::size_t rows, int bits = 21) {
  LatticeAccumulator sum(k.dim, test_lattice(k.clip, bits), k.clip * 1.01);
  sum.clear();
  const std::size_t step = std::min(rows, sum.rows_at_once());
  for (std::size_t i = 0; i < index.size(); i += step)
    k.kernel({records, index.subspan(i, std::min(step, index.size() - i))}, {k.clip}, sum);
  const auto total = sum.totals();
  return {total.begin(), total.end()};
}

/// One record's contribution as real numbers, unclipped: by a clip that cannot bind.
inline std::vector<double> unclipped(SaddleObjective& f, const std::vector<float>& w, const std::vector<float>& v,
                                     std::size_t kernel, const Records& records, std::size_t record) {
  const std::uint32_t one[] = {static_cast<std::uint32_t>(record)};
  std::vector<double> values;
  double clip = 1;
  do {
    clip *= 8;
    const SaddleKernel k = saddle_kernels(f, w, v, clip)[kernel]();
    values.clear();
    for (const std::int64_t x : sum_of(k, records, one, 1, 28))
      values.push_back(static_cast<double>(x) * test_lattice(k.clip, 28).quantum());
  } while (norm_of(values) > clip / 4);
  return values;
}

/// Removing one record moves the sum by no more than the bound and its slack, in exact integers, and sums are the
/// same in every order of micro-batches as far as the slack says.
inline void check_sensitivity(SaddleObjective& f, const Records& records, const std::vector<float>& w,
                              const std::vector<float>& v, double clip) {
  const auto index = all_rows(records);
  for (const auto& make : saddle_kernels(f, w, v, clip)) {
    const SaddleKernel k = make();
    const Lattice lattice = test_lattice(k.clip);
    const double rows = static_cast<double>(f.micro_batch_rows());
    const double eta = k.slack.clip + 2 * k.slack.magnification * rows * (rows + 2) * 0x1p-24;
    long double largest = 0;
    for (std::size_t removed = 0; removed < records.count; ++removed) {
      // The micro-batches are of fixed ranges: the others do not move (N4).
      const std::size_t first = removed / f.micro_batch_rows() * f.micro_batch_rows();
      const std::size_t n = std::min(f.micro_batch_rows(), records.count - first);
      const auto range = std::span(index).subspan(first, n);
      std::vector<std::uint32_t> others(range.begin(), range.end());
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(removed - first));
      auto change = sum_of(k, records, range, n);
      const auto without = sum_of(k, records, others, n);
      for (std::size_t j = 0; j < change.size(); ++j) change[j] -= without[j];
      const auto square = square_norm(change);
      EXPECT_LE(square, largest_square(k.clip, eta, lattice, 4 * k.dim)) << k.name << ", record " << removed;
      largest = std::max(largest, sqrtl(static_cast<long double>(square)));
    }
    EXPECT_GT(largest, 0.5L * k.clip * lattice.scale()) << k.name << ": the clip never bound";
  }
}

/// A record contributes the same bits in a micro-batch of its own as anywhere among others; the others are empty
/// slots here, which contribute zero. (T20: so no layer takes statistics of its batch.)
inline void check_rows_apart(SaddleObjective& f, const Records& records, const std::vector<float>& w,
                             const std::vector<float>& v, double clip) {
  const auto index = all_rows(records);
  for (const auto& make : saddle_kernels(f, w, v, clip)) {
    const SaddleKernel k = make();
    for (std::size_t kept = 0; kept < records.count; kept += 3) {
      Records lonely = records;
      for (std::size_t i = 0; i < records.count; ++i) {
        if (i == kept) continue;
        empty_slot(lonely, i);
      }
      const std::uint32_t one[] = {static_cast<std::uint32_t>(kept)};
      const auto own = sum_of(k, records, one, 1);
      EXPECT_EQ(sum_of(k, lonely, index, f.micro_batch_rows()), own) << k.name << ", record " << kept;
      EXPECT_FALSE(all_zero(own)) << k.name << ", record " << kept;
    }
  }
}

/// The joint sum of one record is its two clipped parts side by side, the second times the weight.
inline void check_joint_parts(SaddleObjective& f, const Records& records, const std::vector<float>& w,
                              double clip) {
  const SaddleClip joint{.primal = clip, .dual = 2 * clip, .weight = 0.7};
  for (std::uint32_t i = 0; i < std::min<std::size_t>(records.count, 12); ++i) {
    const std::uint32_t one[] = {i};
    const Lattice lattice = test_lattice(joint.norm());
    const auto sum = [&](std::size_t dim, double bound, const Kernel& kernel) {
      LatticeAccumulator total(dim, lattice, 2 * joint.norm());
      total.clear();
      kernel({records, one}, {bound}, total);
      std::vector<double> values;
      for (const std::int64_t x : total.totals()) values.push_back(static_cast<double>(x));
      return values;
    };
    const auto both = sum(f.dim(), joint.norm(), clipped_saddle_gradients(f, w, joint));
    const auto x = sum(f.primal_dim(), joint.primal, clipped_primal_gradients(f, w));
    const auto y = sum(f.dual_dim(), joint.dual, clipped_dual_gradients(f, w));
    for (std::size_t j = 0; j < x.size(); ++j) EXPECT_NEAR(both[j], x[j], 1);
    for (std::size_t j = 0; j < y.size(); ++j) EXPECT_NEAR(both[x.size() + j], joint.weight * y[j], 1.5);
  }
}

/// Two runs over the kernels; the second allocates nothing.
inline void check_no_allocation(SaddleObjective& f, const Records& records, const std::vector<float>& w,
                                const std::vector<float>& v) {
  const auto index = all_rows(records);
  const Rows rows{records, std::span(index).first(std::min(index.size(), f.micro_batch_rows()))};
  LatticeAccumulator primal(f.primal_dim(), test_lattice(1), 1.01), dual(f.dual_dim(), test_lattice(1), 1.01),
      both(f.dim(), test_lattice(1), 1.5);
  std::vector<double> losses(rows.size());
  std::vector<float> scores(rows.size() * f.outputs());
  const auto round = [&] {
    const AtSaddlePoint at = f.at(w);
    at.losses(rows, losses);
    at.scores(rows, scores);
    at.add_clipped_dual_gradients(rows, {1}, dual);
    if (!f.primal()) return;
    at.add_clipped_primal_gradients(rows, {1}, primal);
    at.add_clipped_saddle_gradients(rows, {.primal = 1, .dual = 1, .weight = 0.5}, 1, both);
    f.at_pair(w, v).add_clipped_primal_differences(rows, {1}, primal);
  };
  round();
  const std::size_t before = allocation_count();
  round();
  EXPECT_EQ(allocation_count() - before, 0U);
}

}  // namespace dpmpi::test
