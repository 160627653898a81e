// Ledgers, calibrated noise and audits of the min-max methods against an independent reference: MNIST-sized AUC
// runs (n = 60000, expected batch 2048, 2344 rounds, delta = n^-1.1) and others. Noise is written over the clip
// here, as in the reference; under replace_one an event's multiplier is half of that.
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "privacy/accountants/accountant.hpp"
#include "privacy/accountants/earlier.hpp"
#include "privacy/accountants/rdp_accountant.hpp"
#include "privacy/promise/calibrate.hpp"
#include "problems/printed_noise.hpp"
#include "problems/small_saddles.hpp"
#include "problems/trial.hpp"

namespace dpmpi::ledger_test {
namespace {

using test::with;
using Given = std::map<std::string, std::string>;

struct Problem {
  std::uint64_t n = 60000;
  Given size{{"batch", "2048"}, {"steps", "2344"}};
  Adjacency adjacency = Adjacency::add_remove;
  double delta() const { return std::pow(static_cast<double>(n), -1.1); }
};
const Problem mnist;
const Given thirds{
    {"restart", "2"}, {"dual_steps", "3"}, {"restart_share", "1"}, {"difference_share", "1"}, {"dual_share", "1"}};
const Given eighth{{"restart", "8"}};
const Given equal{{"dual_share", "0.5"}};

test::ToySaddle& toy() {
  static test::ToySaddle f(3, 1, [](double, auto, auto, auto, auto) {});
  f.largest_dual = 1, f.curvature = 1;
  return f;
}

// The plan of a method, without its data.
struct Planned {
  PublicFacts facts;
  std::unique_ptr<const MethodPlan> plan;

  Planned(const std::string& name, const Problem& p, const Given& options) {
    facts.data.records = p.n, facts.data.features = 1;
    facts.objective = &toy();
    facts.adjacency = p.adjacency;
    facts.delta = p.delta();
    // Not every run has noise that a rate could follow, and no rate is in a ledger.
    plan = test::make_settings(name, with(with({{"rate", "0.5"}}, p.size), options))->plan(facts);
  }
  std::vector<Query> queries(double multiplier) const { return test::queries_of(*plan, facts, multiplier); }
  /// Of the queries whose names are not in `without`.
  std::vector<Event> events(double multiplier, const std::string& without = "") const {
    std::vector<Event> all;
    for (const Query& query : queries(multiplier))
      for (const Event& event : query.events(0, query.steps))
        if (query.name != without) all.push_back(event);
    return all;
  }
  /// Noise of a family over its clip.
  double noise(const std::string& name, double multiplier) const {
    for (const Query& query : queries(multiplier))
      if (query.name == name) return query.noise_multiplier * (facts.adjacency == Adjacency::replace_one ? 2 : 1);
    return 0;
  }
};

// The reference's orders.
std::vector<double> integer_orders() {
  std::vector<double> orders;
  for (int a = 2; a <= 256; ++a) orders.push_back(a);
  for (const int a : {320, 384, 448, 512, 640, 768, 1024}) orders.push_back(a);
  return orders;
}

double epsilon(const std::string& by, Adjacency adjacency, double delta, const std::vector<Event>& events) {
  const auto bound = [&] {
    std::unique_ptr<Accountant> accountant =
        by == "rdp" ? std::make_unique<RdpAccountant>(adjacency, integer_orders()) : make_accountant(by, adjacency);
    accountant->compose(events);
    return accountant->epsilon(delta);
  };
  if (by != "rdp") return bound();
  const double now = bound();
  const EarlierAccounting at_the_references_orders;
  const double then = bound();
  EXPECT_LE(now, then) << "orders between these can only help";
  return then;
}

// The multiplier at which a family has this noise over its clip keeps the target, and one that is smaller by
// `relative` does not; for privacy loss distributions, where the reference's bound is above ours by its grid, by a
// little more.
void expect_calibrated(const Problem& p, const std::string& name, const Given& options, const std::string& family,
                       double noise, double target, const std::string& by, double relative) {
  const Planned plan(name, p, options);
  const double multiplier = noise / plan.noise(family, 1);
  const auto at = [&](double factor) {
    return epsilon(by, p.adjacency, p.delta(), plan.events(multiplier * factor));
  };
  EXPECT_LE(at(1 + relative), target) << name << " " << family << " " << noise << " " << by;
  EXPECT_GT(at(1 - (by == "pld" ? 5 : 1) * relative), target) << name << " " << family << " " << noise << " " << by;
}

struct Calibrated {
  double epsilon, sgda, thirds, thirds_dual, restart, difference, dual;
};
const Calibrated by_rdp[] = {{0.5, 18.629145, 16.095733, 39.426334, 6.067947, 22.704180, 42.039972},
                             {1, 9.863244, 8.493328, 20.804320, 3.257319, 12.187771, 22.567367},
                             {5, 2.534026, 2.092103, 5.124585, 1.005735, 3.763114, 6.967934},
                             {10, 1.622094, 1.278362, 3.131335, 0.731563, 2.737257, 5.068414}};
const Calibrated by_pld[] = {{0.5, 17.149432, 14.821616, 36.305396, 5.586633, 20.903267, 38.705329},
                             {1, 9.128582, 7.859889, 19.252719, 3.016350, 11.286150, 20.897888},
                             {5, 2.389678, 1.964512, 4.812053, 0.948054, 3.547291, 6.568307},
                             {10, 1.541178, 1.204580, 2.950606, 0.692562, 2.591331, 4.798212}};

void expect_row(const Calibrated& row, const std::string& by, double relative) {
  // dp-sgda: z_x = z_y, and the joint event has 1 / sqrt(2) of it.
  const double joint = row.sgda / std::sqrt(2.0);
  expect_calibrated(mnist, "dp-sgda", equal, "gradients", joint, row.epsilon, by, relative);
  expect_calibrated(mnist, "private-diff", thirds, "restart", row.thirds, row.epsilon, by, relative);
  expect_calibrated(mnist, "private-diff", eighth, "restart", row.restart, row.epsilon, by, relative);
  const Planned third("private-diff", mnist, thirds), eight("private-diff", mnist, eighth);
  const double a = row.thirds / third.noise("restart", 1), b = row.restart / eight.noise("restart", 1);
  EXPECT_NEAR(third.noise("difference", a) / row.thirds, 1, 1e-6);
  EXPECT_NEAR(third.noise("dual", a) / row.thirds_dual, 1, 1e-6);
  EXPECT_NEAR(eight.noise("difference", b) / row.difference, 1, 1e-6);
  EXPECT_NEAR(eight.noise("dual", b) / row.dual, 1, 1e-6);
}

// A5 of min-max methods.
TEST(MinimaxLedger, CalibratedByRdp) {
  for (const auto& row : by_rdp) expect_row(row, "rdp", 1e-5);
}

TEST(MinimaxLedger, CalibratedByPld) { expect_row(by_pld[1], "pld", 1e-4); }

TEST(MinimaxLedger, SlowCalibratedByPldForAllTargets) {
  for (const auto& row : by_pld) expect_row(row, "pld", 1e-4);
}

TEST(MinimaxLedger, OtherSizesByRdp) {
  const Problem fashion{33333, {{"batch", "2048"}, {"steps", "1302"}}};
  struct Row {
    double epsilon, sgda, restart, dual;
  };
  for (const Row row : {Row{0.5, 24.050926, 20.787299, 50.918276}, Row{1, 12.757082, 10.997691, 26.938731},
                        Row{5, 3.198951, 2.677083, 6.557487}, Row{10, 1.966510, 1.587032, 3.887419}}) {
    expect_calibrated(fashion, "dp-sgda", equal, "gradients", row.sgda / std::sqrt(2.0), row.epsilon, "rdp", 1e-5);
    expect_calibrated(fashion, "private-diff", thirds, "dual", row.dual, row.epsilon, "rdp", 1e-5);
    expect_calibrated(fashion, "private-diff", thirds, "restart", row.restart, row.epsilon, "rdp", 1e-5);
  }
  const Problem transitions{10000, {{"batch", "256"}, {"steps", "3906"}}};
  for (const Row row :
       {Row{1, 0, 7.351926, 18.008467}, Row{5, 0, 1.876987, 4.597660}, Row{10, 0, 1.161937, 2.846152}}) {
    expect_calibrated(transitions, "private-diff", thirds, "restart", row.restart, row.epsilon, "rdp", 1e-5);
    expect_calibrated(transitions, "private-diff", thirds, "dual", row.dual, row.epsilon, "rdp", 1e-5);
  }
}

// A critic whose generator sees no record: the dual alone is released.
TEST(MinimaxLedger, CriticOnly) {
  const Problem images{60000, {{"batch", "256"}, {"steps", "11750"}}};
  toy().private_primal = false;
  const double targets[] = {8, 16, 32}, rdp[] = {0.673984, 0.554972, 0.465691},
               pld[] = {0.644342, 0.529407, 0.442587};
  for (int i = 0; i < 3; ++i) {
    expect_calibrated(images, "dp-sgda", {}, "dual", rdp[i], targets[i], "rdp", 1e-5);
    expect_calibrated(images, "dp-sgda", {}, "dual", pld[i], targets[i], "pld", 1e-4);
  }
  toy().private_primal = true;
}

TEST(MinimaxLedger, ReplaceOne) {
  Problem p;
  p.adjacency = Adjacency::replace_one;
  expect_calibrated(p, "private-diff", thirds, "restart", 15.631937, 1, "pld", 1e-4);
  expect_calibrated(p, "private-diff", thirds, "dual", 38.290270, 1, "pld", 1e-4);
}

// The reference's grid is coarser than ours: its bound lies above the exact value by up to 1e-4 of it.
void expect_pld(const std::vector<Event>& events, double reference, Adjacency adjacency = Adjacency::add_remove) {
  const auto pld = make_accountant("pld", adjacency);
  pld->compose(events);
  EXPECT_LE(pld->least_epsilon(mnist.delta()), reference);
  EXPECT_LE(pld->epsilon(mnist.delta()), reference + 2e-5 * std::max(1.0, reference));
  EXPECT_GE(pld->epsilon(mnist.delta()), reference * (1 - 1.5e-4));
}

// The two reference ledgers, and the first with a private prior.
// A4 of min-max methods.
TEST(MinimaxLedger, ReferenceLedgers) {
  const Planned first("private-diff", mnist, eighth), second("private-diff", mnist, thirds);
  const double a = 3.257319 / first.noise("restart", 1), b = 8.493328 / second.noise("restart", 1);
  const auto add_remove = Adjacency::add_remove;
  EXPECT_NEAR(epsilon("rdp", add_remove, mnist.delta(), first.events(a)), 0.999999948, 2e-5);
  expect_pld(first.events(a), 0.915510208);
  EXPECT_NEAR(epsilon("rdp", add_remove, mnist.delta(), second.events(b)), 0.999999996, 2e-5);
  expect_pld(second.events(b), 0.918288550);

  const Planned prior("private-diff", mnist, with(eighth, {{"prior", "private"}, {"prior_noise", "200"}}));
  EXPECT_EQ(prior.events(a).front(), (Event{Gaussian{200}, 1}));
  EXPECT_NEAR(epsilon("rdp", add_remove, mnist.delta(), prior.events(a)), 1.000237448, 2e-5);
  expect_pld(prior.events(a), 0.915725454);

  Problem replace;
  replace.adjacency = Adjacency::replace_one;
  const Planned replaced("private-diff", replace, thirds);
  const double c = 8.493328 / replaced.noise("restart", 1);
  expect_pld(replaced.events(c), 1.955530989, Adjacency::replace_one);
}

// T4: had the two gradients of one batch been two samples, the ledger would promise 8.51 where 10 is true.
TEST(MinimaxLedger, TrapTwoSamplesWouldUnderReport) {
  const Planned plan("dp-sgda", mnist, equal);
  const double joint = 1.541178 / std::sqrt(2.0);
  EXPECT_NEAR(epsilon("pld", Adjacency::add_remove, mnist.delta(), plan.events(joint)), 10, 1e-3);
  const std::vector<Event> apart{{PoissonGaussian{2048.0 / 60000, 1.541178}, 2 * 2344}};
  EXPECT_NEAR(epsilon("pld", Adjacency::add_remove, mnist.delta(), apart), 8.508494, 1e-3);
}

// What a method releases with the noise that the paper prints for an epsilon.
struct Printed {
  const Problem& p;
  double stated;
  double steps = std::stod(p.size.at("steps")), batch = std::stod(p.size.at("batch"));
  test::PrintedNoise noise{static_cast<double>(p.n), batch, stated, p.delta()};

  double multiplier(double over_clip) const { return test::per_sensitivity(over_clip, p.adjacency); }
  /// Each of the two gradients has it, and one event covers both.
  std::vector<Event> dp_sgda() const {
    return Planned("dp-sgda", p, equal).events(multiplier(noise.dp_sgda(steps)) / std::sqrt(2.0));
  }
  /// Where no record touches the primal.
  std::vector<Event> dp_sgda_dual() const {
    return Planned("dp-sgda", p, equal).events(multiplier(noise.dp_sgda(steps)));
  }
  /// Of T = 2: the primal queries alone, for the dual's noise has no valid formula.
  std::vector<Event> private_diff() const {
    const double rate = batch / noise.records;
    const auto half = static_cast<std::uint64_t>(steps) / 2;
    return {{PoissonGaussian{rate, multiplier(noise.private_diff(steps / 2))}, half},
            {PoissonGaussian{rate, multiplier(noise.private_diff(steps))}, half}};
  }
};

// What the printed noise really costs.
struct Audit {
  double stated, sgda, sgda_replaced, primal, primal_replaced;
};
void expect_audit(const Audit& row) {
  Problem replaced;
  replaced.adjacency = Adjacency::replace_one;
  const auto near = [](double expected) { return expected > 100 ? 1e-2 * expected : 1e-3; };
  for (const auto* p : {&mnist, static_cast<const Problem*>(&replaced)}) {
    const bool add_remove = p == &mnist;
    const Printed printed{*p, row.stated};
    const auto sgda = printed.dp_sgda(), primal = printed.private_diff();
    const double a = add_remove ? row.sgda : row.sgda_replaced, b = add_remove ? row.primal : row.primal_replaced;
    EXPECT_NEAR(epsilon("pld", p->adjacency, p->delta(), sgda), a, near(a)) << row.stated;
    EXPECT_NEAR(epsilon("pld", p->adjacency, p->delta(), primal), b, near(b)) << row.stated;
  }
}
const Audit audits[] = {{0.5, 0.080762, 0.170998, 0.146521, 0.309879},
                        {1, 0.171229, 0.362088, 0.310821, 0.656783},
                        {5, 0.991573, 2.099340, 1.851763, 3.894740},
                        {10, 2.182626, 4.593292, 4.389914, 8.814541}};

// A6 of min-max methods.
TEST(MinimaxLedger, AuditOfThePrintedNoise) { expect_audit(audits[2]); }
TEST(MinimaxLedger, SlowAuditOfThePrintedNoise) {
  for (const auto& row : audits) expect_audit(row);
}

// Where the printed formula is outside its range: up to four times the stated epsilon, and beyond any bound.
// A6 of min-max methods.
TEST(MinimaxLedger, AuditOfTheGanBudgets) {
  const Problem images{60000, {{"batch", "256"}, {"steps", "11750"}}};
  struct Row {
    double stated, joint, critic, primal;
  };
  for (const Row row :
       {Row{8, 2.11351, 1.26768, 9.4557}, Row{16, 12.28740, 4.22033, 127.42}, Row{32, 183.93, 46.87, 800}}) {
    const Printed printed{images, row.stated};
    const auto of = [&](const std::vector<Event>& events) {
      return epsilon("pld", Adjacency::add_remove, images.delta(), events);
    };
    const double joint = of(printed.dp_sgda()), primal = of(printed.private_diff());
    toy().private_primal = false;
    const double critic = of(printed.dp_sgda_dual());
    toy().private_primal = true;
    EXPECT_NEAR(joint, row.joint, row.joint > 100 ? 1e-2 * row.joint : 1e-3);
    EXPECT_NEAR(critic, row.critic, 1e-2);
    if (row.stated < 32) {
      EXPECT_NEAR(primal, row.primal, row.primal > 100 ? 1e-2 * row.primal : 1e-3);
    } else {
      EXPECT_GT(primal, 800);
    }
  }
}

// T9: a method has no way to favour a class. Every record has the same rate, and the event states it.
TEST(MinimaxLedger, TrapEveryRecordHasTheRateOfTheLedger) {
  for (const char* name : {"dp-sgda", "private-diff", "dptd"})
    for (const Query& query : Planned(name, mnist, {}).queries(1)) {
      const auto* rule = std::get_if<Poisson>(&query.sampling);
      ASSERT_NE(rule, nullptr);
      EXPECT_EQ(rule->rate, 2048.0 / 60000);
      for (const Event& event : query.events(0, 1))
        EXPECT_EQ(std::get<PoissonGaussian>(event.mechanism).sampling_rate, rule->rate);
    }
}

}  // namespace
}  // namespace dpmpi::ledger_test
