// The building blocks of the networks' kernels, bit by bit or against the C library.
#include "objective/network/products.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "objective/network/activation.hpp"
#include "objective/network/gradient.hpp"

namespace dpmpi::test::products_test {
namespace {

template <class T>
std::vector<T> random_values(std::size_t n, unsigned seed) {
  std::mt19937 bits(seed);
  std::normal_distribution<double> normal;
  std::vector<T> values(n);
  for (T& v : values) v = static_cast<T>(static_cast<float>(normal(bits)));
  return values;
}

/// Rows whose first `whole` columns stand elsewhere, in no order, and the others in a scratch.
template <class T>
struct Split {
  std::size_t whole;
  Scratch<T> first, others;
  std::vector<const T*> places;
  Split(const T* values, std::size_t rows, std::size_t width, std::size_t columns)
      : whole(columns), first(rows, columns), others(rows, width - columns) {
    for (std::size_t r = 0; r < rows; ++r, values += width) {
      T* place = first.row((r * 5 + 3) % rows);
      std::copy_n(values, whole, place);
      std::copy_n(values + whole, width - whole, others.row(r));
      places.push_back(place);
    }
  }
  LevelRows<T> rows() const { return {others, places, whole}; }
};

template <class T>
class Products : public testing::Test {};
using Precisions = testing::Types<float, double>;
TYPED_TEST_SUITE(Products, Precisions);

// One chain of fused multiply-adds an entry: so bits depend on nothing but its row and column, with any vector
// width.
TYPED_TEST(Products, AreChainsOfFusedMultiplyAdds) {
  using T = TypeParam;
  for (std::size_t inner : {1, 16, 33, 100})
    for (std::size_t outputs : {1, 7, 16, 48, 75, 130}) {
      const std::size_t rows = 32, cols = round_up(outputs, 16);
      const std::vector<float> weights = random_values<float>(outputs * inner, 1);
      const std::vector<T> a = random_values<T>(rows * inner, 2);
      PackedMatrix<T> transposed(inner, cols), plain(inner, cols), in_parts(inner, cols);
      transposed.set_transposed(weights.data(), inner, outputs);
      for (std::size_t first = 0, size = 1; first < weights.size(); first += size, size = 3 * size + 1)
        in_parts.set_transposed_part(
            first, std::span(weights).subspan(first, std::min(size, weights.size() - first)), inner);
      for (std::size_t k = 0; k < inner; ++k) {
        std::vector<float> row;
        for (std::size_t j = 0; j < outputs; ++j) row.push_back(weights[j * inner + k]);
        const std::size_t half = outputs / 2;
        plain.set_row(k, row.data(), half);
        plain.set_row(k, row.data() + half, outputs - half, half);
      }
      for (const PackedMatrix<T>* matrix : {&transposed, &plain, &in_parts}) {
        std::vector<T> product(rows * cols, T{7});
        matrix->multiply(a.data(), inner, rows, product.data(), cols);
        for (std::size_t r = 0; r < rows; ++r)
          for (std::size_t j = 0; j < cols; ++j) {
            T expected = 0;
            for (std::size_t k = 0; k < inner && j < outputs; ++k)
              expected = std::fma(a[r * inner + k], static_cast<T>(weights[j * inner + k]), expected);
            ASSERT_EQ(product[r * cols + j], expected) << inner << " x " << outputs << ": " << r << ", " << j;
          }
        const Split<T> split(a.data(), rows, inner, inner / 16 * 16);
        Scratch<T> of_split(rows, cols);
        matrix->multiply(split.rows(), rows, of_split);
        ASSERT_TRUE(std::ranges::equal(of_split.values, product)) << inner << " x " << outputs << ", split";
      }
    }
}

// Two terms are one chain: first the rows of the first, then those of the second; one rounding to the lattice at
// the end.
TYPED_TEST(Products, LayerGradientsAreRoundedChains) {
  using T = TypeParam;
  const MlpShape shape{.units = {50, 19, 3}, .input_bias = 0.5F};
  const std::size_t rows = 32;
  for (std::size_t layer : {0, 1}) {
    const std::size_t in = shape.inputs(layer), out = shape.outputs(layer);
    std::vector<Scratch<T>> parts;
    for (std::size_t t = 0; t < 2; ++t) {
      const auto fill = [&](std::size_t width, std::size_t used, unsigned seed) {
        Scratch<T>& part = parts.emplace_back(rows, width);
        const std::vector<T> values = random_values<T>(rows * used, seed);
        for (std::size_t r = 0; r < rows; ++r) std::copy_n(values.data() + r * used, used, part.row(r));
      };
      fill(shape.width(layer + 1), out, static_cast<unsigned>(3 + t));
      fill(shape.width(layer), in + 1, static_cast<unsigned>(5 + t));
    }
    const OuterProducts<T> terms[] = {{parts[0], parts[1]}, {parts[2], parts[3]}};
    LatticeAccumulator sum(shape.dim(), {16}, 10);
    LayerGradient<T> gradient(shape, 2 * rows);
    sum.clear();
    sum.begin(rows);
    gradient.add(layer, terms, rows, sum);
    const auto totals = sum.totals();
    std::vector<std::int64_t> expected(shape.dim(), 0);
    for (std::size_t u = 0; u < out; ++u)
      for (std::size_t j = 0; j <= in; ++j) {
        T entry = 0;
        for (const auto& term : terms) {  // a chain each
          T chain = 0;
          for (std::size_t r = 0; r < rows; ++r)
            chain = std::fma(term.delta.row(r)[u], *term.level.at(r, j), chain);
          entry += chain;
        }
        const std::size_t at = j < in ? shape.weight_offset(layer) + u * in + j : shape.bias_offset(layer) + u;
        expected[at] = static_cast<std::int64_t>(std::rint(entry * T(65536)));
      }
    EXPECT_EQ(std::vector<std::int64_t>(totals.begin(), totals.end()), expected) << "layer " << layer;
  }
}

// Of few units and of many, whose rows are packed; panels within the first columns, beyond them and across.
TYPED_TEST(Products, LayerGradientsOfRowsThatStandElsewhereHaveTheSameBits) {
  using T = TypeParam;
  const std::size_t rows = 32;
  for (std::size_t units : {1, 2, 3, 7, 10, 16, 19, 40})
    for (std::size_t inputs : {16, 47, 50, 95, 96, 200}) {
      const MlpShape shape{.units = {inputs, units}, .input_bias = 0.5F};
      const std::size_t width = shape.width(0);
      Scratch<T> delta(rows, shape.width(1)), level(rows, width);
      const std::vector<T> deltas = random_values<T>(rows * units, 7), levels = random_values<T>(rows * inputs, 8);
      for (std::size_t r = 0; r < rows; ++r) {
        std::copy_n(deltas.data() + r * units, units, delta.row(r));
        std::copy_n(levels.data() + r * inputs, inputs, level.row(r));
        level.row(r)[inputs] = T{0.5};
      }
      const Split<T> split(level.row(0), rows, width, inputs / 16 * 16);
      const auto totals = [&](const LevelRows<T>& level_rows) {
        const OuterProducts<T> term{delta, level_rows};
        LatticeAccumulator sum(shape.dim(), {16}, 10);
        LayerGradient<T> gradient(shape, rows);
        sum.clear();
        sum.begin(rows);
        gradient.add(0, {&term, 1}, rows, sum);
        const auto all = sum.totals();
        return std::vector<std::int64_t>(all.begin(), all.end());
      };
      EXPECT_EQ(totals(split.rows()), totals(level)) << inputs << " inputs, " << units << " units";
    }
}

template <class T>
class Elementary : public testing::Test {};
TYPED_TEST_SUITE(Elementary, Precisions);

/// |value - exact| in units of the last place of `exact`, and at least of the smallest normal number.
template <class T>
double ulps(T value, long double exact) {
  const T nearest = std::max(static_cast<T>(std::fabs(exact)), std::numeric_limits<T>::min());
  const T ulp = std::nextafter(nearest, std::numeric_limits<T>::infinity()) - nearest;
  return static_cast<double>(std::fabs(value - exact) / static_cast<long double>(ulp));
}

TYPED_TEST(Elementary, FunctionsAreAccurate) {
  using T = TypeParam;
  std::mt19937 bits(4);
  for (int i = 0; i < 20000; ++i) {
    const double size = std::exp(std::uniform_real_distribution<double>(-12, 4)(bits));
    const auto x = static_cast<T>(bits() % 2 == 0 ? size : -size);
    const auto exact = static_cast<long double>(x);
    EXPECT_LE(ulps(elementary::tanh(x), std::tanh(exact)), 4) << x;
    EXPECT_LE(ulps(elementary::exp_nonpositive(-std::fabs(x)), std::exp(-std::fabs(exact))), 3) << x;
    EXPECT_LE(ulps(elementary::expm1_nonpositive(-std::fabs(x)), std::expm1(-std::fabs(exact))), 4) << x;
    EXPECT_LE(ulps(elementary::sigmoid(x), 1 / (1 + std::exp(-exact))), 5) << x;
    EXPECT_LE(ulps(elementary::softplus(x), std::log1p(std::exp(exact))), 5) << x;
  }
}

TYPED_TEST(Elementary, LimitsAndNaN) {
  using T = TypeParam;
  const T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  EXPECT_EQ(elementary::tanh(T{0}), T{0});
  EXPECT_EQ(elementary::tanh(inf), T{1});
  EXPECT_EQ(elementary::tanh(-inf), T{-1});
  EXPECT_EQ(elementary::sigmoid(inf), T{1});
  EXPECT_LT(elementary::sigmoid(-inf), T(2e-38));
  EXPECT_EQ(elementary::softplus(inf), inf);
  EXPECT_LT(elementary::softplus(-inf), T(2e-38));
  for (T value : {elementary::tanh(nan), elementary::sigmoid(nan), elementary::softplus(nan),
                  elementary::exp_nonpositive(nan), elementary::expm1_nonpositive(nan)})
    EXPECT_TRUE(std::isnan(value));
}

}  // namespace
}  // namespace dpmpi::test::products_test
