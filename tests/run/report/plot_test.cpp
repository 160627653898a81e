// Plots: what is drawn, where, and that no numbers of anybody's file make a drawing that is not one.
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "run/report/axis.hpp"
#include "run/report/numbers.hpp"
#include "run/report/plot.hpp"
#include "support/text.hpp"

namespace dpmpi::plot_test {
namespace {

using test::contains;

std::vector<std::string> names(const Axis& axis) {
  std::vector<std::string> all;
  for (const auto& [place, name] : axis.marks) all.push_back(name);
  return all;
}

TEST(Plots, DrawLinesDotsAndTheirKey) {
  const std::string drawn =
      figure({"x", "a < b", {{"a \"b\"", {{1, 2}, {2, 3}, {3, NAN}}}, {"dot", {{1, 1}}, true, 1}}});
  EXPECT_TRUE(drawn.starts_with("<figure><figcaption>a &lt; b</figcaption>"));
  EXPECT_TRUE(contains(drawn, "</svg>a &quot;b&quot;</span>"));
  EXPECT_TRUE(contains(drawn, "<polyline class=\"k0 d0\" points=\""));
  EXPECT_TRUE(contains(drawn, "<circle class=\"k1 d0\""));
  EXPECT_FALSE(contains(drawn, "nan"));
}

TEST(Plots, DrawNothingOfWhatIsNoNumber) {
  EXPECT_EQ(figure({"x", "y", {{"", {{NAN, 1}, {1, INFINITY}}}}}), "");
  EXPECT_EQ(figure({"x", "y", {{"", {{1, 0}, {2, -1}}, true}}, false, true}), "") << "no logarithm";
  EXPECT_TRUE(contains(figure({"x", "y", {{"", {{1, 0.5}, {10, 0}, {20, 0.1}}, true}}, true, true}), "<circle"));
  Gallery gallery;
  gallery.add({"x", "y", {{"", {{1, 1}}}}});
  EXPECT_EQ(gallery.markup(), "") << "of a single point a table says more";
}

TEST(Plots, StayInTheirFrameWhateverTheNumbers) {
  for (const double size : {1e-320, 1e-9, 1.0, 1e12, 1e308})
    for (const double shift : {0.0, 1.0, -1e3, 1e15}) {
      const std::string drawn =
          figure({"x", "y", {{"", {{0, shift - size}, {1, shift + size}, {2, shift}, {3, shift + size / 7}}}}});
      EXPECT_FALSE(contains(drawn, "nan")) << size << " " << shift;
      EXPECT_FALSE(contains(drawn, "inf")) << size << " " << shift;
      const std::size_t at = drawn.find("points=\"") + 8;
      double x = 0, y = 0;
      int used = 0;
      for (const char* p = drawn.c_str() + at; std::sscanf(p, "%lf,%lf%n", &x, &y, &used) == 2; p += used) {
        EXPECT_TRUE(x >= 0 && x <= 420 && y >= 0 && y <= 250) << x << " " << y;
      }
    }
}

TEST(Plots, AreNoLargerThanAScreen) {
  Plot plot{"x", "y", {{"", {}}}};
  for (int i = 0; i < 500000; ++i) plot.lines[0].points.emplace_back(i, std::sin(i));
  EXPECT_LT(figure(plot).size(), 40000u);
}

TEST(Axes, HaveRoundMarksThatDiffer) {
  EXPECT_EQ(names(axis_over({0, 40}, false, false)), (std::vector<std::string>{"0", "10", "20", "30", "40"}));
  EXPECT_EQ(names(axis_over({0.3051, 0.3069}, false, false)),
            (std::vector<std::string>{"0.3055", "0.3060", "0.3065"}));
  EXPECT_EQ(names(axis_over({1e-4, 1}, true, false)),
            (std::vector<std::string>{"0.0001", "0.001", "0.01", "0.1", "1"}));
  EXPECT_EQ(names(axis_over({500, 4000}, true, false)), (std::vector<std::string>{"500", "1000", "2000"}));
  for (const auto& values : std::vector<std::vector<double>>{{3, 3}, {0, 0}, {-5, -5}, {1e-12, 2e-12}, {-1e9, 1e9}})
    EXPECT_GE(axis_over(values, false, true).marks.size(), 2u) << values[0];
  EXPECT_GE(axis_over({3.1, 3.9}, true, false).marks.size(), 2u);
}

TEST(Numbers, HaveThreeDigitsAndBoundsAreRoundedOutward) {
  EXPECT_EQ(shown(0.92345), "0.923");
  EXPECT_EQ(shown(1e-5), "1e-5");
  EXPECT_EQ(shown(20000.0), "20000");
  EXPECT_EQ(shown(-0.0), "0");
  EXPECT_EQ(shown(1234.5), "1230");
  EXPECT_EQ(shown(1.5e9 + 0.5), "1.5e9");
  EXPECT_EQ(shown(INFINITY), "infinity");
  EXPECT_EQ(shown_above(0.99986), "1");
  EXPECT_EQ(shown_above(1.0001), "1.01");
  EXPECT_EQ(shown_above(1.8594e-5), "1.86e-5");
  EXPECT_EQ(shown_above(1.8514e-5), "1.86e-5");
  EXPECT_EQ(shown_below(0.99986), "0.999");
  EXPECT_EQ(shown_below(1.0001), "1");
  EXPECT_EQ(shown_share(0.9234), "92.3 %");
  EXPECT_EQ(shown_share(0.92), "92.0 %");
  EXPECT_EQ(shown_share(1), "100 %");
  EXPECT_EQ(shown_share(0.02), "2.00 %");
  EXPECT_EQ(measured(0.92), "0.920");
  EXPECT_EQ(measured(123.4), "123");
  EXPECT_EQ(measured(99.97), "100");
  EXPECT_EQ(measured(-0.99986), "-1.00");
  EXPECT_EQ(measured(0.5), "0.500");
  EXPECT_EQ(with_short_exponents("(1, 1e-05) in file-01e-x, 2e-10"), "(1, 1e-5) in file-01e-x, 2e-10");
  EXPECT_EQ(shown_count(20000), "20,000");
  EXPECT_EQ(shown_count(1234567), "1,234,567");
  EXPECT_EQ(shown_count(999), "999");
  for (double x = 1e-12; x < 1e7; x *= 1.0037) {
    EXPECT_GE(std::stod(shown_above(x)), x * (1 - 1e-15));
    EXPECT_LE(std::stod(shown_below(x)), x * (1 + 1e-15));
    EXPECT_NEAR(std::stod(shown_above(x)), x, 0.0101 * x);
    EXPECT_NEAR(std::stod(shown_below(x)), x, 0.0101 * x);
  }
}

}  // namespace
}  // namespace dpmpi::plot_test
