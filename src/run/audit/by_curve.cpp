#include "run/audit/by_curve.hpp"

#include <algorithm>
#include <cmath>

#include "core/numbers/random.hpp"
#include "core/numbers/real.hpp"
#include "privacy/accountants/accountant.hpp"
#include "privacy/curves/gaussian_curve.hpp"
#include "privacy/events/with_noise.hpp"
#include "run/audit/statistics.hpp"

namespace dpmpi {
namespace {

constexpr std::size_t fewest_for_bets = 16;  // of fewer runs no capital grows enough
constexpr std::size_t few_guess = 4;         // for one of so many canaries of few runs
constexpr double curve_epsilons[] = {0, 0.25, 0.5, 1, 1.5, 2, 3, 4, 6};
constexpr double least_noise = 0.25, most_noise = 64;

/// Games with normal laws that are mu apart, in place of the real ones.
std::vector<Guesses> rehearse(std::size_t canaries, std::size_t made, double mu, std::uint64_t seed) {
  constexpr std::uint64_t rehearsals = 200;
  std::vector<Guesses> all;
  std::vector<double> evidence(canaries);
  std::vector<char> second(canaries);
  for (std::uint64_t r = 0; r < rehearsals; ++r) {
    const PublicStream coins(seed, "rehearsed coins", r);
    PublicStream(seed, "rehearsal", r).normals(0, evidence);
    for (std::size_t i = 0; i < canaries; ++i) {
      second[i] = coins.word(i) % 2 == 1;
      evidence[i] += second[i] ? mu / 2 : -mu / 2;
    }
    all.push_back(guess_surest(evidence, second, made));
  }
  return all;
}

/// The bet by which capital grows fastest in rehearsals, against a curve that leaks a quarter less.
Bet best_bet(std::size_t canaries, double mu, std::uint64_t seed) {
  constexpr double share_of_mu = 0.75;
  Bet best;
  double most = -infinity;
  for (const std::size_t part : {1, 2, 4}) {
    const auto games = rehearse(canaries, canaries / part, mu, seed);
    const std::uint64_t made = games.front().made;
    for (const double odds : {1.0, 1.5, 2.5, 4.0, 8.0}) {
      const double delta = gdp_delta(share_of_mu * mu, std::log(odds));
      for (const double least : {0.0, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8})
        for (const double stake : {0.5, 0.9}) {
          const Bet bet{made, static_cast<std::uint64_t>(least * real(made)), odds, stake};
          double growth = 0;
          for (const Guesses& game : games) growth += std::log(gain(bet, game, delta));
          if (growth > most) most = growth, best = bet;
        }
    }
  }
  return best;
}

}  // namespace

CurveTest::CurveTest(std::size_t runs, std::size_t canaries, double mu, std::uint64_t seed) {
  if (runs >= fewest_for_bets) bet_ = best_bet(canaries, mu, seed);
}

bool CurveTest::refutes(const CurveAt& curve, const CanaryRuns& runs, double error) const {
  if (!bet_) {
    std::vector<CurvePoint> points;
    for (const double epsilon : curve_epsilons) points.push_back({std::exp(epsilon), curve(std::exp(epsilon))});
    const auto all = guess_surest(runs.evidence, runs.second, runs.evidence.size() / few_guess);
    return guessing_p_value(all, points) <= error;
  }
  const double delta = curve(bet_->odds);
  double log_capital = 0;
  for (std::size_t at = 0; at < runs.evidence.size(); at += runs.canaries)
    log_capital += std::log(gain(
        *bet_,
        guess_surest(runs.evidence.subspan(at, runs.canaries), runs.second.subspan(at, runs.canaries), bet_->made),
        delta));
  return log_capital >= -std::log(error);
}

std::optional<RefutedNoise> refuted_noise(const Plan& plan, const CanaryRuns& runs, std::uint64_t seed,
                                          double error) {
  const std::vector<Event> events = plan.events();
  const auto accounted = [&](double noise) {
    auto accountant = make_accountant("best", plan.adjacency);
    accountant->compose(with_noise(events, noise));
    return accountant;
  };
  // Guesses are as often right as total variation lets them, so normal laws as far apart stand in for the
  // mechanism.
  const double distance = std::clamp(accounted(1)->delta(0), 1e-6, 1 - 1e-6);
  const CurveTest test(runs.count(), runs.canaries, gdp_mu(0, distance), seed);
  const auto refuted_at = [&](double noise) {
    const auto accountant = accounted(noise);
    return test.refutes([&](double odds) { return accountant->delta(std::log(odds)); }, runs, error);
  };
  if (!test.refutes([](double) { return 0.0; }, runs, error)) return {};  // spares accounting
  const bool broken = refuted_at(1);
  double kept = broken ? least_noise : 1, refuted = broken ? 1 : most_noise;
  if (broken && refuted_at(kept)) refuted = kept;
  if (!broken && !refuted_at(refuted)) return {};
  while (refuted > kept * 1.02) {
    const double middle = std::sqrt(kept * refuted);
    (refuted_at(middle) ? refuted : kept) = middle;
  }
  return RefutedNoise{refuted,
                      epsilon_guarantee(with_noise(events, refuted), plan.adjacency, plan.delta(), "best").epsilon};
}

}  // namespace dpmpi
