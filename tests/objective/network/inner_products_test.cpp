// Inner products of rows: the stated error, and bits that depend on two rows alone.
#include "objective/network/inner_products.hpp"

#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace dpmpi::inner_products_test {
namespace {

Scratch<float> random_rows(std::size_t rows, std::size_t width, double scale, std::mt19937& bits) {
  std::normal_distribution<double> normal;
  Scratch<float> all(rows, width);
  for (float& x : all.values) x = static_cast<float>(scale * normal(bits));
  return all;
}

std::vector<float> products(const LevelRows<float>& rows, std::size_t width, std::size_t first, std::size_t count) {
  std::vector<float> out(count * count);
  inner_products(rows, width, first, count, out);
  return out;
}

long double exact(const float* a, const float* b, std::size_t width) {
  long double sum = 0;
  for (std::size_t j = 0; j < width; ++j) sum += static_cast<long double>(a[j]) * b[j];
  return sum;
}

TEST(InnerProducts, KeepToTheirError) {
  std::mt19937 bits(1);
  for (const std::size_t width : {std::size_t{16}, std::size_t{48}, std::size_t{272}, std::size_t{1600}})
    for (const double scale : {1.0, 1e12, 1e-18, 1e-21}) {
      Scratch<float> rows = random_rows(9, width, scale, bits);
      for (std::size_t j = 0; j < width; ++j) rows.row(1)[j] = -rows.row(0)[j] * (j % 2 == 0 ? 1.0F : -1.0F);
      const auto out = products(rows, width, 0, 9);
      const double least = std::ldexp(static_cast<double>(width + 8), -149);
      for (std::size_t i = 0; i < 9; ++i)
        for (std::size_t j = 0; j <= i; ++j) {
          const long double norms =
              std::sqrt(exact(rows.row(i), rows.row(i), width)) * std::sqrt(exact(rows.row(j), rows.row(j), width));
          EXPECT_LE(std::abs(static_cast<long double>(out[i * 9 + j]) - exact(rows.row(i), rows.row(j), width)),
                    inner_product_error(width) * norms + least)
              << width << " " << scale << " " << i << " " << j;
        }
    }
}

TEST(InnerProducts, KnowOfTwoRowsAlone) {
  std::mt19937 bits(2);
  constexpr std::size_t width = 80, all = 21;
  const Scratch<float> rows = random_rows(all, width, 1, bits);
  const auto whole = products(rows, width, 0, all);
  for (std::size_t first = 0; first < all; ++first)
    for (std::size_t count = 1; first + count <= all; ++count) {
      const auto part = products(rows, width, first, count);
      for (std::size_t i = 0; i < count; ++i)
        for (std::size_t j = 0; j <= i; ++j)
          ASSERT_EQ(part[i * count + j], whole[(first + i) * all + first + j]) << first << " " << count;
    }
  // In another order: <i, j> and <j, i> are one.
  Scratch<float> turned(all, width);
  for (std::size_t r = 0; r < all; ++r) std::copy_n(rows.row(r), width, turned.row(all - 1 - r));
  const auto other = products(turned, width, 0, all);
  for (std::size_t i = 0; i < all; ++i)
    for (std::size_t j = 0; j <= i; ++j) ASSERT_EQ(other[(all - 1 - j) * all + all - 1 - i], whole[i * all + j]);
}

// Rows whose first columns stand elsewhere are the same rows in pieces.
TEST(InnerProducts, ReadRowsWhereTheyStand) {
  std::mt19937 bits(3);
  constexpr std::size_t width = 64, whole = 48, count = 7;
  const Scratch<float> rows = random_rows(count, width, 1, bits);
  Scratch<float> rest(count, width - whole);
  std::vector<const float*> in_place;
  for (std::size_t r = 0; r < count; ++r) {
    in_place.push_back(rows.row(r));
    std::copy_n(rows.row(r) + whole, width - whole, rest.row(r));
  }
  const auto together = products(rows, width, 0, count),
             apart = products(LevelRows<float>(rest, in_place, whole), width, 0, count);
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t j = 0; j <= i; ++j) EXPECT_EQ(together[i * count + j], apart[i * count + j]);
}

}  // namespace
}  // namespace dpmpi::inner_products_test
