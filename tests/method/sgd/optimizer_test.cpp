#include "method/sgd/optimizer.hpp"

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"

namespace dpmpi::optimizer_test {
namespace {

OptimizerSettings read(const Settings& settings) {
  OptimizerSettings optimizer;
  Options options("method");
  optimizer.declare(options);
  std::vector<std::string> problems;
  options.read(settings, problems);
  optimizer.validate(problems);
  EXPECT_TRUE(problems.empty());
  return optimizer;
}
Optimizer make(const Settings& settings, std::size_t dim, std::uint64_t steps) {
  return {read(settings), dim, steps};
}

Setting value(const char* text) { return {text, "test"}; }

// Gradients that change sign and size, and what each rule makes of them in plain double.
constexpr double gradients[] = {1.0, -0.5, 2.0, 0.25, -3.0};

TEST(Optimizer, SgdMomentumAndAdamFollowTheirFormulas) {
  for (const std::string rule : {"sgd", "momentum", "adam"}) {
    Optimizer optimizer = rule == "sgd" ? make({{"method.rate", value("0.1")}}, 1, 5)
                          : rule == "momentum"
                              ? make({{"method.rate", value("0.1")}, {"method.momentum", value("0.9")}}, 1, 5)
                              : make({{"method.rate", value("0.1")}, {"method.optimizer", value("adam")}}, 1, 5);
    std::vector<float> x{1.0f};
    double expected = 1, velocity = 0, m = 0, v = 0;
    for (std::uint64_t t = 0; t < 5; ++t) {
      const double g = gradients[t];
      const std::vector<float> gradient{static_cast<float>(4 * g)};
      optimizer.update(x, gradient, 0.25f, t);
      velocity = 0.9 * velocity + g;
      m = 0.9 * m + 0.1 * g, v = 0.999 * v + 0.001 * g * g;
      const auto step = static_cast<double>(t + 1);
      const double adam = m / (1 - std::pow(0.9, step)) / (std::sqrt(v / (1 - std::pow(0.999, step))) + 1e-8);
      expected -= 0.1 * (rule == "sgd" ? g : rule == "momentum" ? velocity : adam);
      EXPECT_NEAR(x[0], expected, 2e-5) << rule << " step " << t;
    }
  }
}

// Steps of a gradient that is as large as its noise: Adam takes sqrt(2) for its size, and with the noise's share
// taken out it is 1.
TEST(Optimizer, TheNoiseIsTakenOutOfTheSecondMoment) {
  constexpr double signal = 0.02, noise = 0.02;
  constexpr std::uint64_t warm = 4000, steps = 12000;
  const auto mean_step = [&](const char* rule, double mean) {
    const Settings settings{{"method.optimizer", value(rule)}, {"method.rate", value("1")}};
    Optimizer optimizer(read(settings).settled({.step_noise = noise}), 1, steps);
    std::mt19937_64 random(1);
    std::normal_distribution<double> normal(mean, noise);
    std::vector<float> x{0};
    double sum = 0;
    for (std::uint64_t t = 0; t < steps; ++t) {
      x[0] = 0;
      optimizer.update(x, std::vector<float>{static_cast<float>(50 * normal(random))}, 0.02f, t);
      if (t >= warm) sum -= x[0];
    }
    return sum / (steps - warm);
  };
  EXPECT_NEAR(mean_step("adam", signal), std::sqrt(0.5), 0.03);
  EXPECT_NEAR(mean_step("adam_bc", signal), 1, 0.05);
  EXPECT_NEAR(mean_step("adam", 4 * signal), 4 / std::sqrt(17.0), 0.02);
  EXPECT_NEAR(mean_step("adam_bc", 4 * signal), 1, 0.02);
}

// Where there is nothing but noise, what is left of the second moment is the floor.
TEST(Optimizer, NoStepIsLongerThanTheFloorLets) {
  constexpr double noise = 0.5, floor = 0.25;
  const Settings settings{{"method.optimizer", value("adam_bc")},
                          {"method.rate", value("1")},
                          {"method.beta1", value("0")},
                          {"method.noise_floor", value("0.25")}};
  Optimizer optimizer(read(settings).settled({.step_noise = noise}), 1, 10);
  for (std::uint64_t t = 0; t < 10; ++t) {
    std::vector<float> x{0};
    optimizer.update(x, std::vector<float>{0.1f}, 1, t);
    EXPECT_NEAR(-x[0], 0.1 / (noise * std::sqrt(floor)), 1e-6) << t;
  }
}

// Without noise it is Adam; methods whose steps share noise do not have it.
TEST(Optimizer, WhereThereIsNoNoiseToTakeOut) {
  const Settings bc{{"method.optimizer", value("adam_bc")}, {"method.rate", value("0.1")}},
      plain{{"method.optimizer", value("adam")}, {"method.rate", value("0.1")}};
  Optimizer a(read(bc).settled({.step_noise = 0}), 1, 5), b(read(plain).settled({}), 1, 5);
  std::vector<float> x{1}, y{1};
  for (std::uint64_t t = 0; t < 5; ++t) {
    const std::vector<float> gradient{static_cast<float>(gradients[t])};
    a.update(x, gradient, 1, t), b.update(y, gradient, 1, t);
  }
  EXPECT_EQ(x, y);
  EXPECT_THROW(read(bc).settled({}), ConfigError);
  EXPECT_DOUBLE_EQ(read({{"method.optimizer", value("adam_bc")}}).settled({100, 1, 0.2, {}, 0.02}).rate,
                   0.02 * std::sqrt(0.1));
  EXPECT_DOUBLE_EQ(read({{"method.optimizer", value("adam_bc")}}).settled({100, 1, 0.2, {}, 0}).rate,
                   read({{"method.optimizer", value("adam")}}).settled({100, 1, 0.2, {}, 0}).rate);
}

TEST(Optimizer, SchedulesBeginAndEndWhereTheySay) {
  const auto rates = [](const char* schedule) {
    Optimizer o = make(
        {{"method.rate", value("2")}, {"method.final_rate", value("0.5")}, {"method.schedule", value(schedule)}}, 1,
        100);
    return std::vector<double>{o.rate_at(0), o.rate_at(50), o.rate_at(100)};
  };
  EXPECT_EQ(rates("constant"), (std::vector<double>{2, 2, 2}));
  EXPECT_EQ(rates("linear"), (std::vector<double>{2, 1.25, 0.5}));
  const auto cosine = rates("cosine");
  EXPECT_DOUBLE_EQ(cosine[0], 2);
  EXPECT_NEAR(cosine[1], 1.25, 1e-12);
  EXPECT_NEAR(cosine[2], 0.5, 1e-12);
}

TEST(Optimizer, TheAverageForgetsTheStartAndLagsTheIterate) {
  Optimizer optimizer = make({{"method.rate", value("1")}, {"method.average", value("0.9")}}, 1, 200);
  std::vector<float> x{100.0f};
  for (std::uint64_t t = 0; t < 200; ++t) optimizer.update(x, std::vector<float>{0.5f * x[0]}, 1, t);  // x halves
  EXPECT_LT(std::abs(optimizer.published(x)[0]), 1e-3);
  EXPECT_GT(std::abs(optimizer.published(x)[0]), std::abs(x[0]));
}

TEST(Optimizer, StateGoesThroughTheArchive) {
  for (const char* rule : {"sgd", "adam", "adam_bc"}) {
    const Settings settings{
        {"method.optimizer", value(rule)}, {"method.rate", value("0.5")}, {"method.average", value("0.5")}};
    const OptimizerSettings settled = read(settings).settled({.step_noise = 0.2});
    Optimizer whole(settled, 2, 10), first(settled, 2, 10), second(settled, 2, 10);
    std::vector<float> a{1, 2}, b{1, 2};
    const std::vector<float> gradient{0.3f, -0.7f};
    for (std::uint64_t t = 0; t < 10; ++t) whole.update(a, gradient, 1, t);
    for (std::uint64_t t = 0; t < 4; ++t) first.update(b, gradient, 1, t);
    Archive out;
    first.archive(out);
    Archive in(out.bytes());
    second.archive(in);
    in.finish();
    for (std::uint64_t t = 4; t < 10; ++t) second.update(b, gradient, 1, t);
    EXPECT_EQ(a, b) << rule;
    EXPECT_EQ(whole.published(a)[0], second.published(b)[0]);
  }
}

// Noise moves a coordinate by 0.2 over the run, in deviations, and a gradient as long as the clip moves w by 4, or
// by 0.5 where labels are quantities. Large clips do not bound the rate below 0.5.
TEST(Optimizer, ARateThatIsNotSetFollowsFromClipNoiseAndSteps) {
  const auto rate = [](const Settings& settings, const PublicSteps& run) {
    return read(settings).settled(run).rate;
  };
  EXPECT_EQ(rate({}, {.steps = 100, .clip = 1, .noise = 0}), 4);
  for (const double clip : {8.0, 100.0}) EXPECT_EQ(rate({}, {.steps = 100, .clip = clip, .noise = 0.2}), 0.5);
  EXPECT_EQ(rate({}, {.steps = 100, .clip = 0.25, .noise = 0, .labels = LabelKind::real}), 2);
  EXPECT_EQ(rate({}, {.steps = 100, .clip = 4, .noise = 0, .labels = LabelKind::count}), 0.5);
  EXPECT_EQ(rate({}, {.steps = 100, .clip = 1, .noise = 0.2}), 1);
  EXPECT_DOUBLE_EQ(rate({{"method.momentum", value("0.75")}}, {100, 1, 0.2}), 0.25);
  EXPECT_DOUBLE_EQ(rate({{"method.schedule", value("linear")}}, {100, 1, 0.2}), std::sqrt(3.0));
  EXPECT_DOUBLE_EQ(rate({{"method.schedule", value("cosine")}}, {100, 1, 0}), 4 * std::sqrt(8.0 / 3));
}

// The noise of a run with the rate 1, over that of its first step: what the rule takes the schedules to have.
TEST(Optimizer, ARateThatIsNotSetCountsTheNoiseOfAllSteps) {
  constexpr std::uint64_t steps = 100000;
  for (const char* schedule : {"constant", "linear", "cosine"}) {
    const OptimizerSettings chosen =
        read({{"method.schedule", value(schedule)}}).settled({static_cast<double>(steps), 1, std::sqrt(1e5)});
    const Optimizer optimizer(chosen, 1, steps);
    double square = 0;
    for (std::uint64_t t = 0; t < steps; ++t) square += std::pow(optimizer.rate_at(t), 2);
    EXPECT_NEAR(std::sqrt(square), 0.2, 1e-5) << schedule;
  }
}

TEST(Optimizer, ARateThatIsSetStaysAndOneThatIsNotBoundsTheFinalOne) {
  const PublicSteps run{100, 1, 0.2};
  EXPECT_EQ(read({{"method.rate", value("7")}}).settled(run).rate, 7);
  EXPECT_EQ(read({{"method.final_rate", value("0.25")}}).settled(run).final_rate, 0.25);
  EXPECT_EQ(read({{"method.final_rate", value("9")}}).settled(run).rate, 1) << "a constant rate has no other end";
  for (const char* schedule : {"linear", "cosine"}) {
    const auto with = [&](const char* end) {
      return read({{"method.final_rate", value(end)}, {"method.schedule", value(schedule)}}).settled(run);
    };
    EXPECT_THROW(with("9"), ConfigError);
    EXPECT_EQ(with("0.9").final_rate, 0.9);
  }
}

// Near 0 steps of noise alone would have no bound, and above 1 they would be shorter than Adam's.
TEST(Optimizer, TheFloorLiesBetweenItsEnds) {
  const auto problems_of = [](const char* floor) {
    OptimizerSettings optimizer;
    Options options("method");
    optimizer.declare(options);
    std::vector<std::string> problems;
    options.read({{"method.noise_floor", value(floor)}}, problems);
    return problems;
  };
  for (const char* allowed : {"1e-4", "0.1", "1"}) EXPECT_TRUE(problems_of(allowed).empty()) << allowed;
  for (const char* refused : {"0.99e-4", "1.001", "0", "-0.1", "nan", "inf"}) {
    const auto problems = problems_of(refused);
    ASSERT_EQ(problems.size(), 1u) << refused;
    EXPECT_NE(problems[0].find("method.noise_floor"), std::string::npos) << problems[0];
    EXPECT_NE(problems[0].find("in [0.0001, 1]"), std::string::npos) << problems[0];
  }
}

TEST(Optimizer, ContradictionsAreNamed) {
  OptimizerSettings optimizer;
  Options options("method");
  optimizer.declare(options);
  std::vector<std::string> problems;
  options.read({{"method.optimizer", value("adam")},
                {"method.momentum", value("0.9")},
                {"method.schedule", value("linear")},
                {"method.rate", value("8")},
                {"method.final_rate", value("9")}},
               problems);
  optimizer.validate(problems);
  EXPECT_EQ(problems.size(), 2u);
}

}  // namespace
}  // namespace dpmpi::optimizer_test
