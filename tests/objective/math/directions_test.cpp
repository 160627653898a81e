#include "objective/math/directions.hpp"

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "core/files/digest.hpp"
#include "objective/eigen.hpp"

namespace dpmpi::directions_test {
namespace {

constexpr std::uint64_t seed = 0x0123456789abcdef;
using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// All directions of a slot as rows.
Matrix all(Directions& directions, std::size_t dim, std::uint32_t step, std::uint32_t slot) {
  Matrix u(directions.count(), dim);
  for (std::size_t first = 0; first < directions.count();) {
    const DirectionTile tile = directions.tile(step, slot, first);
    EXPECT_EQ(tile.first, first);
    for (std::size_t j = 0; j < tile.count; ++j) {
      for (std::size_t k = 0; k < dim; ++k)
        u(static_cast<Eigen::Index>(first + j), static_cast<Eigen::Index>(k)) = tile.row(j)[k];
      for (std::size_t k = dim; k < tile.stride; ++k) EXPECT_EQ(tile.row(j)[k], 0.0) << "padding";
    }
    first += tile.count;
  }
  return u;
}

double operator_norm(const Matrix& u) {
  const Matrix gram = u.rows() < u.cols() ? Matrix(u * u.transpose()) : Matrix(u.transpose() * u);
  return std::sqrt(
      Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(gram, Eigen::EigenvaluesOnly).eigenvalues().maxCoeff());
}

TEST(Directions, HaveTheirPublishedValues) {
  Directions three(DirectionScheme::iid, 3, 3, 1, seed), six(DirectionScheme::iid, 6, 6, 1, seed);
  const double first[] = {-0.829113771, 0.457147287, -0.321848897};
  const double sixth[] = {0.398484601, 0.355706013, 0.080382361, 0.658297152, -0.446643321, 0.274547873};
  const Matrix a = all(three, 3, 0, 0), b = all(six, 6, 7, 2);
  for (int k = 0; k < 3; ++k) EXPECT_NEAR(a(0, k), first[k], 1e-9);
  for (int k = 0; k < 6; ++k) EXPECT_NEAR(b(5, k), sixth[k], 1e-9);
}

// A direction does not know how many others there are, where its tile begins or what was asked for before.
TEST(Directions, DependOnStepSlotAndNumberAlone) {
  Directions many(DirectionScheme::iid, 20, 150, 1, seed), few(DirectionScheme::iid, 20, 70, 1, seed);
  const Matrix u = all(many, 20, 3, 5);
  (void)all(few, 20, 9, 9);
  EXPECT_EQ(all(few, 20, 3, 5), u.topRows(70));
  EXPECT_NE(all(few, 20, 3, 6), u.topRows(70));
  EXPECT_NE(all(few, 20, 4, 5), u.topRows(70));
}

TEST(Directions, HaarIsOneBlockOfAllAndSinglesAreIndependent) {
  Directions haar(DirectionScheme::haar, 12, 12, 1, seed), block(DirectionScheme::block, 12, 12, 12, seed);
  EXPECT_EQ(all(haar, 12, 1, 2), all(block, 12, 1, 2));
  Directions iid(DirectionScheme::iid, 12, 30, 1, seed), single(DirectionScheme::block, 12, 30, 1, seed);
  EXPECT_EQ(all(iid, 12, 1, 2), all(single, 12, 1, 2));
}

TEST(Directions, AreOrthonormalInTheirGroups) {
  struct Case {
    DirectionScheme scheme;
    std::size_t dim, count, block;
  };
  for (const Case& c : {Case{DirectionScheme::haar, 1, 1, 1},
                        {DirectionScheme::haar, 2, 2, 1},
                        {DirectionScheme::haar, 17, 17, 1},
                        {DirectionScheme::haar, 128, 128, 1},
                        {DirectionScheme::haar, 257, 257, 1},
                        {DirectionScheme::block, 32, 32, 8},
                        {DirectionScheme::block, 100, 150, 50},
                        {DirectionScheme::block, 200, 300, 100}}) {
    Directions directions(c.scheme, c.dim, c.count, c.block, seed);
    const auto group = static_cast<Eigen::Index>(directions.group());
    for (std::uint32_t slot = 0; slot < 5; ++slot) {
      const Matrix u = all(directions, c.dim, 2, slot);
      for (Eigen::Index first = 0; first < u.rows(); first += group) {
        const Matrix rows = u.middleRows(first, group);
        EXPECT_LT((rows * rows.transpose() - Matrix::Identity(group, group)).cwiseAbs().maxCoeff(), 1e-13);
      }
    }
  }
}

// The columns of Q in A = Q R with a positive diagonal of R: Householder's way gives the same matrix.
TEST(Directions, HaarIsTheFactorQWithPositiveDiagonal) {
  constexpr Eigen::Index d = 9;
  Directions haar(DirectionScheme::haar, d, d, 1, seed);
  Eigen::MatrixXd normals(d, d);
  const PublicCounter stream(seed, 1);
  for (Eigen::Index j = 0; j < d; ++j) {
    std::vector<double> column(12);
    stream.normals({.blocks = 3, .first_row = static_cast<std::uint32_t>(j), .rows = 1, .c2 = 4, .c3 = 6}, column);
    for (Eigen::Index k = 0; k < d; ++k) normals(k, j) = column[static_cast<std::size_t>(k)];
  }
  const Eigen::HouseholderQR<Eigen::MatrixXd> qr(normals);
  Eigen::MatrixXd q = qr.householderQ();
  for (Eigen::Index j = 0; j < d; ++j)
    if (qr.matrixQR()(j, j) < 0) q.col(j) *= -1;
  EXPECT_LT((all(haar, d, 6, 4).transpose() - q).cwiseAbs().maxCoeff(), 1e-12);
}

TEST(Directions, AreUniformOnTheSphere) {
  constexpr std::size_t d = 8, count = 1000, slots = 100;
  for (const DirectionScheme scheme : {DirectionScheme::iid, DirectionScheme::block}) {
    Directions directions(scheme, d, count, 4, seed);
    Matrix second = Matrix::Zero(d, d);
    for (std::uint32_t slot = 0; slot < slots; ++slot) {
      const Matrix u = all(directions, d, 0, slot);
      EXPECT_LT((u.rowwise().norm().array() - 1).abs().maxCoeff(), 1e-14);
      second += u.transpose() * u;
    }
    second /= static_cast<double>(count * slots);
    for (Eigen::Index i = 0; i < static_cast<Eigen::Index>(d); ++i)
      for (Eigen::Index j = 0; j < static_cast<Eigen::Index>(d); ++j)
        EXPECT_NEAR(second(i, j), i == j ? 0.125 : 0.0, i == j ? 2.4e-3 : 2e-3);
  }
}

TEST(Directions, FillTheSpaceEvenly) {
  Directions block(DirectionScheme::block, 32, 32, 8, seed);
  for (std::uint32_t slot = 0; slot < 300; ++slot) EXPECT_LE(operator_norm(all(block, 32, 0, slot)), 2 + 1e-12);
  for (const std::size_t d : {8U, 16U, 32U, 64U}) {
    Directions iid(DirectionScheme::iid, d, d, 1, seed);
    for (std::uint32_t slot = 0; slot < 300; ++slot) EXPECT_LT(operator_norm(all(iid, d, 0, slot)), 2.2);
  }
}

TEST(DirectionsSlow, FillLargeSpacesEvenly) {
  Directions iid(DirectionScheme::iid, 128, 128, 1, seed);
  for (std::uint32_t slot = 0; slot < 300; ++slot) EXPECT_LT(operator_norm(all(iid, 128, 0, slot)), 2.2);
}

// Every rank forms the directions for itself, whatever its processor: the bits are part of the contract.
TEST(Directions, HaveTheSameBitsEverywhere) {
  Directions directions(DirectionScheme::block, 37, 74, 37, seed);
  std::string bytes;
  for (std::size_t first = 0; first < 74;) {
    const DirectionTile tile = directions.tile(11, 3, first);
    for (std::size_t j = 0; j < tile.count; ++j)
      bytes.append(reinterpret_cast<const char*>(tile.row(j)), 37 * sizeof(double));
    first += tile.count;
  }
  EXPECT_EQ(sha256(bytes), "f2593e79f41cf942414548e7050e4aeb7c8e551f4e450c4fcf40eba064bd1691");
}

TEST(Directions, RefuseWhatDoesNotFit) {
  EXPECT_THROW(Directions(DirectionScheme::haar, 8, 7, 1, seed), ConfigError);
  EXPECT_THROW(Directions(DirectionScheme::block, 8, 12, 5, seed), ConfigError);
  EXPECT_THROW(Directions(DirectionScheme::block, 8, 18, 9, seed), ConfigError);
  EXPECT_THROW(Directions(DirectionScheme::block, 8, 8, 0, seed), ConfigError);
  EXPECT_THROW(Directions(DirectionScheme::iid, 8, 0, 1, seed), ConfigError);
  EXPECT_THROW(Directions(DirectionScheme::haar, 5000, 5000, 1, seed), ConfigError);
}

}  // namespace
}  // namespace dpmpi::directions_test
