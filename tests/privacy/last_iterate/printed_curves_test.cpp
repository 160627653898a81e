#include "problems/printed_last_iterate.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "support/close.hpp"

namespace dpmpi::paper {
namespace {

using test::expect_close;

constexpr double delta = 1e-5;
constexpr Setting large{
    .records = 1e4, .dimension = 1e5, .directions = 200, .step = 200, .noise = 0.05, .convexity = 0.9};

TEST(Paper, LiteralTheorem) {
  const auto expect = [](Setting p, double steps, double rho, double window, double epsilon) {
    p.steps = static_cast<std::uint64_t>(steps);
    p.probe = 1e-8;
    const Curve curve = theorem(p, delta);
    expect_close(curve.rho, rho);
    expect_close(static_cast<double>(curve.window), window, 1e-3);
    expect_close(curve.epsilon, epsilon);
  };
  expect(large, 1e6, 0.22148307, 10264, 3.5099103);
  expect({.records = 1e3, .dimension = 2000, .directions = 64, .step = 64, .noise = 0.3, .convexity = 0.1}, 1e5,
         1.6485569, 65, 10.620158);
  expect({.records = 1e3, .dimension = 5000, .directions = 16, .step = 16, .noise = 0.3}, 5e5, 22.151338, 5e5,
         55.03786);
}

}  // namespace
}  // namespace dpmpi::paper
