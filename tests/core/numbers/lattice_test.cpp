#include "core/numbers/lattice.hpp"

#include <cmath>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "core/numbers/random.hpp"

namespace dpmpi::lattice_test {
namespace {

TEST(Lattice, ChoiceKeepsItsPromises) {
  for (const double dim : {1.0, 785.0, 203530.0, 1e7, 1e8})
    for (const double bound : {1e-3, 0.5, 1.0, 3.0, 1e4})
      for (const double multiplier : {0.0, 0.3, 1.0, 50.0, 1e5}) {
        const double noise = multiplier * bound;
        const Lattice l = Lattice::choose(static_cast<std::size_t>(dim), bound, noise, 60000);
        const LatticeAccumulator probe(16, l, bound);
        EXPECT_GE(probe.rows_at_once(), 256u);
        if (noise > 0) {
          EXPECT_GE(l.quantum(), std::ldexp(noise, -36));
        }
        if (multiplier < 100 && dim < 1e6) {
          EXPECT_LE(2 * std::sqrt(dim) * l.quantum() / bound, std::ldexp(1.0, -11));
        }
      }
}

TEST(Lattice, RefusesSumsThatCouldOverflow) {
  EXPECT_THROW(Lattice::choose(1'000'000, 1.0, 0.0, std::uint64_t{1} << 60), ConfigError);
  EXPECT_NO_THROW(Lattice::choose(1'000'000, 1.0, 0.0, std::uint64_t{1} << 38));
}

// Also where the bound is so large that the exponent is no longer finite: as an int it would pass for any size.
TEST(Lattice, RefusesBoundsFarFromOne) {
  for (const double bound : {1e-40, 1e40, 1e300, 1e307, 1.7e308, HUGE_VAL})
    for (const double noise : {0.0, bound, 1e300})
      EXPECT_THROW(Lattice::choose(16, bound, noise, 100), ConfigError) << bound;
}

// The order of additions and the moments of spilling leave no trace in the sum.
TEST(LatticeAccumulator, SumIsExactInAnyOrderAndAcrossSpills) {
  constexpr std::size_t dim = 37, rows = 5000;
  const PublicStream stream(1, "lattice test");
  std::vector<double> raw(dim * rows);
  stream.normals(0, std::span<double>(raw));
  std::vector<float> values(raw.begin(), raw.end());
  const Lattice lattice{20};
  LatticeAccumulator forward(dim, lattice, 8.0), backward(dim, lattice, 8.0);
  ASSERT_LT(forward.rows_at_once(), rows / 4) << "the test must spill";
  std::vector<std::int64_t> expected(dim, 0);
  for (std::size_t i = 0; i < rows; ++i) {
    const std::span<const float> a(values.data() + i * dim, dim), b(values.data() + (rows - 1 - i) * dim, dim);
    forward.begin(1), forward.add(0, a);
    backward.begin(1), backward.add(0, b);
    for (std::size_t j = 0; j < dim; ++j) expected[j] += std::llrint(std::ldexp(static_cast<double>(a[j]), 20));
  }
  const auto f = forward.totals(), b = backward.totals();
  for (std::size_t j = 0; j < dim; ++j) {
    EXPECT_EQ(f[j], expected[j]);
    EXPECT_EQ(b[j], expected[j]);
  }
}

TEST(LatticeAccumulator, RefusesMoreRowsThanItHolds) {
  LatticeAccumulator sum(4, Lattice{20}, 1.0);
  EXPECT_THROW(sum.begin(sum.rows_at_once() + 1), BugError);
}

}  // namespace
}  // namespace dpmpi::lattice_test
