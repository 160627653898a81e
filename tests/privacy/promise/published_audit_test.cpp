// What printed noise formulas of a published minimax method really guarantee, recomputed; and what every accountant
// must say about groups of records.

#include <cmath>
#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "privacy/accountants/accountant.hpp"
#include "privacy/accountants/pld.hpp"
#include "privacy/mnist_run.hpp"

namespace dpmpi::published_audit_test {
namespace {

constexpr double records = 60000, gan_rate = 256 / records;
using test::mnist_rate;
const double delta = std::pow(records, -1.1);

double epsilon(const std::vector<Event>& events, Adjacency adjacency) {
  PldAccountant accountant(adjacency);
  accountant.compose(events);
  return accountant.epsilon(delta);
}

// The published values come from a grid that is coarse for small epsilons: up to 4e-3 too large.
void expect_published(double ours, double published) {
  EXPECT_LE(ours, published * (1 + 2.5e-4));
  EXPECT_GE(ours, published * (1 - 4e-3));
}

// One sample serves the primal and the dual query, so the two are one mechanism. Multipliers are relative to C:
// half of them under replace_one.
TEST(PublishedAudit, DescentAscent) {
  const struct {
    double z, add_remove, replace_one;
  } rows[] = {{91.983858, 0.080762, 0.170998},
              {45.991929, 0.171229, 0.362088},
              {9.198386, 0.991573, 2.099340},
              {4.599193, 2.182626, 4.593292}};
  for (const auto& row : rows) {
    const double joint = row.z / std::sqrt(2.0);
    expect_published(epsilon({{PoissonGaussian{mnist_rate, joint}, 2344}}, Adjacency::add_remove), row.add_remove);
    expect_published(epsilon({{PoissonGaussian{mnist_rate, joint / 2}, 2344}}, Adjacency::replace_one),
                     row.replace_one);
  }
}

TEST(PublishedAudit, PrivateDiff) {
  const struct {
    double restart, difference, add_remove, replace_one;
  } rows[] = {{32.521205, 45.991929, 0.146521, 0.309879},
              {16.260602, 22.995965, 0.310821, 0.656783},
              {3.252120, 4.599193, 1.851763, 3.894740},
              {1.626060, 2.299596, 4.389914, 8.814541}};
  for (const auto& row : rows) {
    const auto events = [&](double unit) {
      return std::vector<Event>{{PoissonGaussian{mnist_rate, row.restart * unit}, 1172},
                                {PoissonGaussian{mnist_rate, row.difference * unit}, 1172}};
    };
    expect_published(epsilon(events(1), Adjacency::add_remove), row.add_remove);
    expect_published(epsilon(events(0.5), Adjacency::replace_one), row.replace_one);
  }
}

// The formula promises 8, 16 and 32.
TEST(PublishedAudit, GenerativeNetworks) {
  const struct {
    double z, joint, critic;
  } rows[] = {{1.608947, 2.11351, 1.26768}, {0.804474, 12.28740, 4.22033}, {0.402237, 183.93, 46.87}};
  for (const auto& row : rows) {
    const double joint = row.z / std::sqrt(2.0);
    expect_published(epsilon({{PoissonGaussian{gan_rate, joint}, 11750}}, Adjacency::add_remove), row.joint);
    expect_published(epsilon({{PoissonGaussian{gan_rate, row.z}, 11750}}, Adjacency::add_remove), row.critic);
  }
  const auto private_diff = [](double restart, double difference) {
    return epsilon({{PoissonGaussian{gan_rate, restart}, 5875}, {PoissonGaussian{gan_rate, difference}, 5875}},
                   Adjacency::add_remove);
  };
  expect_published(private_diff(0.568849, 0.804474), 9.4557);
  expect_published(private_diff(0.284424, 0.402237), 127.42);
  EXPECT_GT(private_diff(0.142212, 0.201118), 800);
}

// k records at once shift whole-data queries k times as far: a multiplier of z / k. An (epsilon, delta) guarantee
// for one record implies (k epsilon, delta (e^{k epsilon} - 1) / (e^epsilon - 1)) for k, which no valid curve
// exceeds by more than the accountant's own width.
TEST(GroupPrivacy, FollowsFromTheGuaranteeOfOneRecord) {
  const auto gaussian = [](double k) { return Event{Gaussian{4 / k}, 3}; };
  const auto laplace = [](double k) { return Event{Laplace{8 / k}, 3}; };
  const auto tree = [](double k) { return Event{Tree{Strategy::fenwick, 100, 9 / k}, 1}; };
  int followed = 0;
  for (const char* name : {"rdp", "pld", "gdp", "optimal"})
    for (const auto& event : std::vector<std::function<Event(double)>>{gaussian, laplace, tree}) {
      std::vector<std::unique_ptr<Accountant>> by_size;
      try {
        for (const double k : {1.0, 2.0, 5.0}) {
          by_size.push_back(make_accountant(name, Adjacency::add_remove));
          by_size.back()->compose(event(k));
        }
      } catch (const PrivacyError&) {
        continue;  // no bound for this event
      }
      ++followed;
      // Renyi bounds of a group are not those of one record, converted: they lose more for larger groups.
      const double slack = std::string_view(name) == "rdp" ? 1.35 : 1.002;
      for (const double d : {1e-8, 1e-3}) {
        const double one = by_size[0]->epsilon(d);
        for (std::size_t i : {1u, 2u}) {
          const double k = i == 1 ? 2 : 5, group_delta = d * std::expm1(k * one) / std::expm1(one);
          if (one == 0 || group_delta >= 1) continue;
          EXPECT_LE(by_size[i]->epsilon(group_delta), k * one * slack)
              << name << " " << to_json(event(1)) << " " << d;
          EXPECT_GT(by_size[i]->epsilon(d), one) << "a group is easier to find";
        }
      }
    }
  EXPECT_EQ(followed, 9) << "rdp and pld know all three, gdp all but Laplace noise, optimal nothing else";
}

}  // namespace
}  // namespace dpmpi::published_audit_test
