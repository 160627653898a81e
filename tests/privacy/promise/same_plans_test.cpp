// Searches that were made faster find what they found before, to the last digit: a plan is a promise that is made
// once, and a run that goes on makes it again.
#include <cstdint>
#include <ostream>
#include <vector>

#include <gtest/gtest.h>

#include "privacy/promise/attacker_power.hpp"
#include "privacy/promise/calibrate.hpp"
#include "privacy/promise/guarantee.hpp"

namespace dpmpi::same_plans_test {
namespace {

struct Found {
  double rate;
  std::uint64_t steps;
  PrivacyTarget target;
  double noise, epsilon, least, power;  // power: what an attacker finds at a tenth of false alarms, at most
};
std::ostream& operator<<(std::ostream& out, const Found& found) {
  return out << found.steps << " steps at rate " << found.rate;
}

class SamePlans : public testing::TestWithParam<Found> {};

TEST_P(SamePlans, HaveEveryDigitOfTheVersionBefore) {
  const Found& found = GetParam();
  const auto events = [&](double z) { return std::vector<Event>{{PoissonGaussian{found.rate, z}, found.steps}}; };
  const double delta = found.target.delta;
  const Adjacency adjacency = found.target.adjacency;
  const Calibration noise = calibrate_noise(events, found.target, "best");
  EXPECT_EQ(noise.value, found.noise);
  const Guarantee g = epsilon_guarantee(events(noise.value), adjacency, delta, "best", noise.answered.get());
  EXPECT_EQ(g.epsilon, found.epsilon);
  EXPECT_EQ(g.least, found.least);
  EXPECT_DOUBLE_EQ(attacker_table(events(noise.value), adjacency, g, {0.1}).front().second, found.power);
}

constexpr auto add_remove = Adjacency::add_remove, replace_one = Adjacency::replace_one;
const Found before[] = {
    {2048.0 / 60000, 2344, {1, 5.5e-6, add_remove}, 6.458047, 0.99999989, 0.999926244, 0.15558923811538203},
    {1024.0 / 60000, 1200, {1, 5.5e-6, add_remove}, 2.437453, 0.999999733, 0.999958811, 0.15470897129473646},
    {1024.0 / 60000, 1200, {1, 5.5e-6, replace_one}, 2.283746, 0.999999728, 0.99996285, 0.15586810645777158},
    {0.03, 1000, {1, 1e-5, add_remove}, 3.65913, 0.999999989, 0.999967054, 0.15782540626522792},
    {1024.0 / 60000, 5000, {8, 1e-5, add_remove}, 0.9866925, 7.99999912, 7.99943742, 0.85831051186084484},
    {64.0 / 60000, 20000, {8, 1e-5, add_remove}, 0.481968, 7.9994634, 7.99882192, 0.5553713345462655},
    {0.1, 100, {1, 1e-5, add_remove}, 3.941784, 0.999999711, 0.999940063, 0.15651422225559394},
    {0.1, 100, {1, 1e-5, replace_one}, 3.728839, 0.999999995, 0.999950319, 0.15859732934087928},
    {9.25e-6, 6, {.189, 8.84e-10, replace_one}, 0.2451784, 0.188992846, 0.188930996, 0.10010000000000097},
    {1e-6, 100, {.1, 1e-7, replace_one}, 0.1824055, 0.0999994771, 0.0999741377, 0.10010000000000097},
};
INSTANTIATE_TEST_SUITE_P(Steps, SamePlans, testing::ValuesIn(before));

}  // namespace
}  // namespace dpmpi::same_plans_test
