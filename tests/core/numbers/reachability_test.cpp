// The law of a pair of normals on the finest lattice, 2^-36 of a standard deviation: every point up to
// resolved_radius comes from some words, next to 0 and far out too, and comes as often as it should. A point that
// no word gives would tell an observer who knows the rest of a sum that a neighbour made it.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numbers>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/numbers/random.hpp"

namespace dpmpi::reachability_test {
namespace {

using Real = long double;
constexpr double finest = 0x1p-36;

struct Words {
  std::uint64_t radius, finer, angle;
};

struct Point {
  std::int64_t x, y;  // in quanta
  friend bool operator==(const Point&, const Point&) = default;
};

// The words whose exact pair is next to (x, y): U = exp(-r^2 / 2), or its complement where that is smaller.
Words words_for(Real x, Real y) {
  const Real half_square = (x * x + y * y) / 2;
  const bool near_one = half_square < std::numbers::ln2_v<Real>;
  const Real u = std::ldexp(near_one ? -std::expm1(-half_square) : std::exp(-half_square), 64);
  const auto high = static_cast<std::uint64_t>(u);
  const auto low = static_cast<std::uint64_t>(std::ldexp(u - static_cast<Real>(high), 64));
  const auto turn = std::llround(std::ldexp(std::atan2(y, x) / (2 * std::numbers::pi_v<Real>), 53));
  return {near_one ? ~high : high, near_one ? ~low : low, static_cast<std::uint64_t>(turn) << 11};
}

std::array<double, 2> pair_of(const Words& w, bool with_finer_bits) {
  const std::array<std::uint64_t, 2> words{w.radius, w.angle};
  std::array<double, 2> pair{};
  const auto finer = [&](std::size_t) { return w.finer; };
  box_muller(words, pair, with_finer_bits ? FinerBits(std::cref(finer)) : FinerBits());
  return pair;
}

// As the curator rounds them.
Point rounded(const std::array<double, 2>& pair, double quantum) {
  const double scale = 1 / quantum;
  return {nearest_point(scale * pair[0]), nearest_point(scale * pair[1])};
}

// Without finer bits a double holds the 64-bit word at steps of up to 2^10: the words around are tried as well.
bool reached(Point to, double quantum, bool with_finer_bits = true) {
  const Real unit = quantum;
  Words words = words_for(unit * static_cast<Real>(to.x), unit * static_cast<Real>(to.y));
  if (with_finer_bits) return rounded(pair_of(words, true), quantum) == to;
  const std::uint64_t step = words.radius >> 63 != 0 ? 1 << 10 : 1;
  const std::uint64_t centre = words.radius;
  for (std::uint64_t k = 0; k < 9; ++k) {
    words.radius = centre + (k - 4) * step;
    if (rounded(pair_of(words, false), quantum) == to) return true;
  }
  return false;
}

std::size_t count_reached(const std::vector<Point>& points, double quantum, bool with_finer_bits = true) {
  std::size_t count = 0;
  for (const Point& p : points) count += reached(p, quantum, with_finer_bits) ? 1 : 0;
  return count;
}

std::vector<Point> points_around_zero(std::int64_t edge) {
  std::vector<Point> points;
  for (std::int64_t x = -edge; x <= edge; ++x)
    for (std::int64_t y = -edge; y <= edge; ++y) points.push_back({x, y});
  return points;
}

// Points whose radius, in standard deviations, the function draws; every eighth on an axis or a diagonal, where the
// angle is a whole number of eighths of a turn.
std::vector<Point> points_at(const std::function<double(double uniform)>& radius, double quantum, std::size_t count,
                             std::uint64_t seed) {
  std::vector<Point> points;
  const PublicStream uniform(seed, "lattice points");
  for (std::size_t i = 0; i < count; ++i) {
    const double r = radius(uniform.uniform(2 * i)) / quantum;
    const double turn = i % 8 == 0 ? static_cast<double>(i / 8 % 8) / 8 : uniform.uniform(2 * i + 1);
    points.push_back({std::llrint(r * std::cos(2 * std::numbers::pi * turn)),
                      std::llrint(r * std::sin(2 * std::numbers::pi * turn))});
  }
  return points;
}

TEST(NormalPairs, ReachEveryLatticePointNextToZero) {
  const auto points = points_around_zero(100);
  for (const double quantum : {finest, 1.37 * finest, 0x1p-34})
    EXPECT_EQ(count_reached(points, quantum), points.size()) << quantum;
  EXPECT_LT(count_reached(points, finest, false), points.size() / 20) << "the count sees holes";
}

TEST(NormalPairs, ReachEveryLatticePointUpToTheResolvedRadius) {
  constexpr std::size_t count = 40000;
  const auto expect_all = [](const auto& radius, std::uint64_t seed) {
    for (const double quantum : {finest, 1.83 * finest}) {
      const auto points = points_at(radius, quantum, count, seed);
      EXPECT_EQ(count_reached(points, quantum), points.size()) << "seed " << seed << ", quantum " << quantum;
    }
  };
  expect_all([](double u) { return resolved_radius * u; }, 1);
  expect_all([](double u) { return std::exp2(-36 * u); }, 2);
  // Where 128 bits take over from 64: U = 2^-16 and 1 - U = 2^-16.
  expect_all([](double u) { return std::sqrt(32 * std::numbers::ln2) + 1e-6 * (u - 0.5); }, 3);
  expect_all([](double u) { return std::exp2(-7.5) * (1 + 1e-4 * (u - 0.5)); }, 4);

  const auto far = points_at([](double u) { return 7.5 + 2 * u; }, finest, count, 5);
  EXPECT_LT(count_reached(far, finest, false), far.size() / 2) << "the count sees holes";
}

// How far the pair made in double may be from the exact one of its words (random.hpp).
double largest_error(double radius) { return 0x1p-49 * radius + (radius > 0x1p-8 ? 0x1p-54 / radius : 0); }

TEST(NormalPairs, AgreeWithTheFormulaAtEveryRadius) {
  const PublicStream stream(12, "angles");
  const auto square_of = [](const Words& w) {
    const bool near_one = w.radius >> 63 != 0;
    const bool has_finer = w.radius + (std::uint64_t{1} << 48) < std::uint64_t{1} << 49;
    const Real high = static_cast<Real>(near_one ? ~w.radius : w.radius), low = near_one ? ~w.finer : w.finer;
    const Real u = std::ldexp(high + (has_finer ? std::ldexp(low + 0.5L, -64) : 0.5L), -64);
    return -2 * (near_one ? std::log1p(-u) : std::log(u));
  };
  for (std::uint64_t i = 0; i < 400000; ++i) {
    const double size =
        i % 2 == 0 ? resolved_radius * stream.uniform(3 * i) : std::exp2(-64 * stream.uniform(3 * i));
    Words words = words_for(size, 0);
    words.angle = stream.word(3 * i + 1);
    if (i % 16 == 0) words.angle = (i / 16 % 8) << 61;
    const Real r = std::sqrt(square_of(words));
    const Real turn = 2 * std::numbers::pi_v<Real> * static_cast<Real>(words.angle >> 11) * 0x1p-53L;
    const auto pair = pair_of(words, true);
    const Real error = std::hypot(pair[0] - r * std::cos(turn), pair[1] - r * std::sin(turn));
    ASSERT_LE(static_cast<double>(error), largest_error(static_cast<double>(r))) << i << " at " << size;
  }
}

TEST(NormalPairs, EndAtTheirLargestRadius) {
  const auto last = pair_of({0, 0, 0}, true);
  EXPECT_NEAR(last[0], std::sqrt(2 * 129 * std::numbers::ln2), 1e-14);
  EXPECT_EQ(last[1], 0);
  EXPECT_NEAR(pair_of({~std::uint64_t{0}, ~std::uint64_t{0}, 0}, true)[0], 0x1p-64, 1e-30);
}

// Exactly how often the words give one point: for each angle that crosses its cell, the words of radius between the
// two at which the rounded point changes.
class Cell {
 public:
  explicit Cell(Point centre) : centre_(centre) {}

  // Over the probability that N(0, 1)^2 gives the cell; the density is flat to 2^-70 across it.
  double relative_probability() const {
    const Real x = finest * static_cast<Real>(centre_.x), y = finest * static_cast<Real>(centre_.y);
    const Real half_turns = std::ldexp(std::numbers::inv_pi_v<Real>, 52);
    Real least = 10, most = -10;
    for (const Real dx : {-0.5L, 0.5L})
      for (const Real dy : {-0.5L, 0.5L}) {
        const Real angle = std::atan2(y + dy * finest, x + dx * finest);
        least = std::min(least, angle), most = std::max(most, angle);
      }
    Real words = 0;
    for (auto p = std::llrint(least * half_turns) - 2; p <= std::llrint(most * half_turns) + 2; ++p)
      words += words_at(static_cast<std::uint64_t>(p));
    const Real density = std::exp(-(x * x + y * y) / 2) / (2 * std::numbers::pi_v<Real>);
    return static_cast<double>(std::ldexp(words, -64 - 53) / (density * finest * finest));
  }

 private:
  bool holds(std::uint64_t radius, std::uint64_t position) const {
    return rounded(pair_of({radius, 0, position << 11}, false), finest) == centre_;
  }

  Real words_at(std::uint64_t position) const {
    const Real angle = 2 * std::numbers::pi_v<Real> * static_cast<Real>(position) * 0x1p-53L;
    Real nearest = 0, farthest = 100;
    const auto cut = [&](std::int64_t coordinate, Real along) {
      const Real a = (static_cast<Real>(coordinate) - 0.5L) * finest / along;
      const Real b = (static_cast<Real>(coordinate) + 0.5L) * finest / along;
      nearest = std::max(nearest, std::min(a, b)), farthest = std::min(farthest, std::max(a, b));
    };
    cut(centre_.x, std::cos(angle)), cut(centre_.y, std::sin(angle));
    if (!(farthest > nearest)) return 0;
    const auto word = [](Real r) { return static_cast<std::uint64_t>(std::ldexp(std::exp(-r * r / 2), 64)); };
    const std::uint64_t first = word(farthest), last = word(nearest), inside = first + (last - first) / 2;
    if (!holds(inside, position)) return static_cast<Real>(last - first);  // a corner
    return static_cast<Real>(end(inside, last, 1, position) - end(inside, first, -1, position));
  }

  // The last word of the cell on the way from one inside to one that is, but for rounding, its last.
  std::uint64_t end(std::uint64_t inside, std::uint64_t guess, std::int64_t way, std::uint64_t position) const {
    constexpr std::uint64_t around = std::uint64_t{1} << 18;
    const std::uint64_t span = way > 0 ? guess - inside : inside - guess;
    std::uint64_t in = span > around ? span - around : 0, out = span + around;
    const auto at = [&](std::uint64_t steps) { return way > 0 ? inside + steps : inside - steps; };
    while (out - in > 1) {
      const std::uint64_t middle = in + (out - in) / 2;
      (holds(at(middle), position) ? in : out) = middle;
    }
    return at(in);
  }

  Point centre_;
};

// What is proven (docs/theory/noise.md), and what is found: far less where no row of angles runs along a cell's
// edge.
TEST(NormalPairs, GiveLatticePointsTheirProbability) {
  const auto points = points_at([](double u) { return 0.3 + 3 * u; }, finest, 24, 6);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double r = finest * std::hypot(static_cast<double>(points[i].x), static_cast<double>(points[i].y));
    const double arc = std::numbers::pi * 0x1p-53 * r;  // half the way to the next angle
    const double proven = 4.01 / finest * (largest_error(r) + arc);
    const bool along_an_edge = i % 8 == 0;
    EXPECT_NEAR(Cell(points[i]).relative_probability(), 1, along_an_edge ? proven : 2e-6) << "at radius " << r;
    EXPECT_GT(proven, 2e-6);
  }
}

// The stream hands over the finer bits, wherever a request begins: they are words of sites of their own.
TEST(SecretStream, NormalsNearAnEndTakeFinerBits) {
  SecretStream stream(SecretKey::from_seed(3));
  constexpr std::size_t count = std::size_t{1} << 19;
  constexpr std::uint64_t step = 5, width = std::uint64_t{1} << 48;
  constexpr std::uint32_t site = 2;
  std::vector<std::uint64_t> words(count);
  std::vector<double> normals(count);
  stream.words(step, site, 0, words);
  stream.normals(step, site, 0, normals);
  std::size_t found = 0, differ = 0;
  for (std::size_t i = 0; i < count; i += 2) {
    if (words[i] + width >= 2 * width) continue;
    std::array<std::uint64_t, 8> finer;
    stream.words(step, SecretStream::finer_site + site, i / 8 * 8, finer);
    const Words own{words[i], finer[i % 8], words[i + 1]};
    const auto pair = pair_of(own, true);
    differ += pair != pair_of(own, false) ? 1 : 0;
    EXPECT_EQ(normals[i], pair[0]);
    EXPECT_EQ(normals[i + 1], pair[1]);
    std::array<double, 7> part;  // an odd tail
    stream.normals(step, site, i / 8 * 8, std::span(part).first(i % 8 + 1));
    EXPECT_EQ(part[i % 8], pair[0]);
    ++found;
  }
  EXPECT_GT(differ, 0U);
  EXPECT_LT(found, 26U) << "8 are expected";
}

// The uniform number behind a radius is uniform next to its ends: below 2^-16 and 2^-60, above 1 - 2^-16 and 1 -
// 2^-60.
TEST(NormalPairs, AreRayleighNextToTheEnds) {
  SecretStream stream(SecretKey::from_seed(8));
  constexpr std::size_t count = 100000;
  std::vector<std::uint64_t> words(3 * count);
  stream.words(0, 0, 0, words);
  std::vector<double> u(count);
  for (const int zeros : {16, 60})
    for (const bool near_one : {false, true}) {
      for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t high = words[3 * i] >> zeros;
        const auto pair = pair_of({near_one ? ~high : high, words[3 * i + 1], words[3 * i + 2]}, true);
        const double half_square = (pair[0] * pair[0] + pair[1] * pair[1]) / 2;
        u[i] = std::ldexp(near_one ? -std::expm1(-half_square) : std::exp(-half_square), zeros);
      }
      std::ranges::sort(u);
      double distance = 0;
      for (std::size_t i = 0; i < count; ++i) {
        const double share = static_cast<double>(i) / count;
        distance = std::max({distance, u[i] - share, share + 1.0 / count - u[i]});
      }
      EXPECT_LT(distance * std::sqrt(1.0 * count), 2.2) << zeros << ": Kolmogorov, beyond it once in 8000";
    }
}

}  // namespace
}  // namespace dpmpi::reachability_test
