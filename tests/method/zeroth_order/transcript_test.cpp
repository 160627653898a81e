// What an observer of all releases of zo-o2nc can learn about one record: the shift of the transcript in the metric
// of its noise, and the law of the privacy loss. The nodes of the tree are read off the running sums.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/files/archive.hpp"
#include "privacy/curves/strategy.hpp"
#include "problems/trial.hpp"

namespace dpmpi::transcript_test {
namespace {

using test::Trial;
using Vector = std::vector<double>;
constexpr std::uint64_t leaves = 8;

const std::map<std::string, std::string> one_record_a_leaf{
    {"inner", "8"}, {"outer", "1"},          {"batch", "1"},    {"first_batch", "1"},  {"gradient_clip", "1"},
    {"kappa", "1"}, {"step_radius", "0.05"}, {"radius", "0.1"}, {"directions", "iid"}, {"count", "3"}};

/// The newest release, from the lattice.
Vector release(Trial& trial) {
  Archive written;
  trial.curator->archive(written);
  Archive read(written.bytes());
  std::vector<std::int64_t> running;
  read.field("gradient.running", running);
  Vector out(running.begin(), running.end());
  for (double& v : out) v *= trial.queries[0].lattice.quantum();
  return out;
}

/// The releases of the nodes (b - lowbit(b), b], b = 1..8: prefix b less prefix b - lowbit(b).
std::vector<Vector> nodes(Trial& trial) {
  std::vector<Vector> prefix{Vector(trial.objective->dim())}, out;
  for (std::uint64_t b = 1; b <= leaves; ++b) {
    trial.run(1);
    prefix.push_back(release(trial));
    out.push_back(prefix[b]);
    for (std::size_t j = 0; j < out.back().size(); ++j) out.back()[j] -= prefix[b & (b - 1)][j];
  }
  return out;
}

/// The record whose slot is that of leaf i + 1, by the public shuffle.
std::uint64_t record_of_leaf(std::uint64_t i) {
  const auto slots = shuffle_slots({.seed = 1, .first = 1, .batch = 1, .leaves = leaves, .runs = 1}, {leaves, 1});
  return static_cast<std::uint64_t>(std::find(slots.begin(), slots.end(), i) - slots.begin());
}

// A record's loss is as steep as a double allows, up or down; the others' are 0. Its estimate is then clipped on
// the way, and all nodes on its path, and no others, move by the same 2 C.
TEST(ZoTranscript, ARecordMovesItByRhoAtMost) {
  constexpr double rho = 2;
  double largest = 0;
  for (std::uint64_t leaf = 0; leaf < leaves; ++leaf) {
    const auto transcript = [&](double sign) {
      auto loss = [sign, mine = record_of_leaf(leaf)](std::size_t i, std::span<const double> w) {
        return i == mine ? sign * 1e12 * (w[0] - 2 * w[1]) : 0.0;
      };
      Trial trial("zo-o2nc", one_record_a_leaf, 1 / rho, std::make_unique<test::BlackBox>(3, loss),
                  test::numbered_shard(leaves, 1));
      return std::pair{nodes(trial), trial.queries[0]};
    };
    const auto [up, query] = transcript(1);
    const auto down = transcript(-1).first;
    double squared = 0;
    int moved = 0;
    for (std::uint64_t b = 1; b <= leaves; ++b) {
      double shift = 0;
      for (std::size_t j = 0; j < 3; ++j) shift += std::pow(up[b - 1][j] - down[b - 1][j], 2);
      const bool on_path = b > leaf && (b & (b - 1)) <= leaf;
      EXPECT_NEAR(std::sqrt(shift), on_path ? 2 * query.clip_at(leaf) : 0, 4 * query.lattice.quantum()) << b;
      moved += on_path;
      squared += shift / (query.noise_std * query.noise_std);
    }
    EXPECT_EQ(moved, (std::vector{4, 3, 3, 2, 3, 2, 2, 1})[leaf]) << leaf;
    EXPECT_LE(std::sqrt(squared), rho);
    largest = std::max(largest, std::sqrt(squared));
  }
  EXPECT_GT(largest, 0.98 * rho) << "and some record attains it, up to the slack of rounding";
}

// The privacy loss of leaf 2 is N(mu^2 / 2, mu^2), mu = sqrt(3) s / sigma: every coordinate is a run of its own.
TEST(ZoTranscript, LossIsThatOfTheGaussian) {
  constexpr std::size_t runs = 20000;
  auto options = one_record_a_leaf;
  options["count"] = "1";
  Trial trial("zo-o2nc", options, 1,
              std::make_unique<test::BlackBox>(runs, [](std::size_t, std::span<const double>) { return 0.0; }),
              test::numbered_shard(leaves, 1));
  const auto y = nodes(trial);
  const Query& query = trial.queries[0];
  const double shift = query.sensitivity / query.noise_std, mu = std::sqrt(3.0) * shift;
  EXPECT_LE(mu, 1);
  double sum = 0, squares = 0;
  for (std::size_t j = 0; j < runs; ++j) {
    double loss = 0;
    for (const std::uint64_t b : {2u, 4u, 8u}) {
      const double z = y[b - 1][j] / query.noise_std;
      loss += (std::pow(z - shift, 2) - z * z) / 2;  // log density without the shift over that with it
    }
    sum += loss, squares += loss * loss;
  }
  const double mean = sum / runs;
  EXPECT_NEAR(mean, mu * mu / 2, 0.03);
  EXPECT_NEAR(squares / runs - mean * mean, mu * mu, 0.05);
}

}  // namespace
}  // namespace dpmpi::transcript_test
