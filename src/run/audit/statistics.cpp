#include "run/audit/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "core/errors.hpp"
#include "privacy/promise/audit_bounds.hpp"

namespace dpmpi {
namespace {

using Vector = std::vector<double>;
using Features = std::function<Vector(const Transcript&)>;

/// A normal law fitted to some vectors.
class FittedNormal {
 public:
  FittedNormal(std::span<const Transcript> runs, const Features& features) {
    for (const auto& run : runs) {
      const Vector x = features(run);
      mean_.resize(x.size());
      for (std::size_t i = 0; i < x.size(); ++i) mean_[i] += x[i] / static_cast<double>(runs.size());
    }
    const std::size_t d = mean_.size();
    root_.assign(d * d, 0);
    for (const auto& run : runs) {
      const Vector x = features(run);
      for (std::size_t i = 0; i < d; ++i)
        for (std::size_t j = 0; j <= i; ++j)
          root_[i * d + j] += (x[i] - mean_[i]) * (x[j] - mean_[j]) / static_cast<double>(runs.size());
    }
    factor();
  }

  double log_density(const Vector& x) const {
    const std::size_t d = mean_.size();
    Vector z(d);
    double sum = 0;
    for (std::size_t i = 0; i < d; ++i) {
      z[i] = x[i] - mean_[i];
      for (std::size_t j = 0; j < i; ++j) z[i] -= root_[i * d + j] * z[j];
      z[i] /= root_[i * d + i];
      sum -= z[i] * z[i] / 2 + std::log(root_[i * d + i]);
    }
    return sum;
  }

 private:
  // Cholesky. A direction without variance, which a mechanism without enough noise has, keeps a little.
  void factor() {
    constexpr double least_share = 1e-6;
    const std::size_t d = mean_.size();
    double trace = 0;
    for (std::size_t i = 0; i < d; ++i) trace += root_[i * d + i];
    const double least = least_share * (trace > 0 ? trace / static_cast<double>(d) : 1);
    for (std::size_t j = 0; j < d; ++j) {
      double square = root_[j * d + j] + least;
      for (std::size_t k = 0; k < j; ++k) square -= root_[j * d + k] * root_[j * d + k];
      const double diagonal = root_[j * d + j] = std::sqrt(std::max(square, least / 2));
      for (std::size_t i = j + 1; i < d; ++i) {
        double sum = root_[i * d + j];
        for (std::size_t k = 0; k < j; ++k) sum -= root_[i * d + k] * root_[j * d + k];
        root_[i * d + j] = sum / diagonal;
      }
    }
  }

  Vector mean_, root_;  // root: the lower triangle of the covariance's root, d x d
};

/// One number of a run, larger where the second dataset is likelier.
struct Test {
  const char* name;
  std::function<double(const Transcript&)> value;
};

Test learned(const char* name, std::span<const Transcript> first, std::span<const Transcript> second,
             Features features) {
  return {name, [a = FittedNormal(first, features), b = FittedNormal(second, features), features](const auto& run) {
            const Vector x = features(run);
            return b.log_density(x) - a.log_density(x);
          }};
}

std::vector<Test> tests_of(std::span<const Transcript> first, std::span<const Transcript> second) {
  const Features steps = [](const Transcript& run) {
    Vector x(run.steps.begin(), run.steps.end());
    x.push_back(run.releases);
    return x;
  };
  const Features coordinates = [](const Transcript& run) {
    return Vector(run.coordinates.begin(), run.coordinates.end());
  };
  return {{"likelihood ratio of the releases", [](const Transcript& run) { return run.likelihood; }},
          {"the model", [](const Transcript& run) { return run.model; }},
          learned("learned from the order of releases", first, second, steps),
          learned("learned from the coordinates of a release", first, second, coordinates)};
}

Vector values(const Test& test, std::span<const Transcript> runs) {
  Vector all;
  for (const auto& run : runs) {
    const double value = test.value(run);
    all.push_back(std::isfinite(value) ? value : 0);
  }
  return all;
}

/// What the rates of a cut prove: by the event, and by its complement.
double epsilon_of(const std::pair<double, double>& rates, double delta) {
  const auto [found, alarms] = rates;
  const auto bound = [&](double often, double rarely) {
    return often - delta > rarely ? std::log((often - delta) / rarely) : 0;
  };
  return std::max(bound(found, alarms), bound(1 - alarms, 1 - found));
}

}  // namespace

Proof prove(std::span<const Transcript> first, std::span<const Transcript> second, double delta, double error) {
  // The best of many cuts looks better than it is, the more so the rarer its event: the choice is made as if it had
  // to be much surer.
  constexpr double caution = 100;
  const std::size_t quarter = std::min(first.size(), second.size()) / 4;
  verify(quarter >= 2, "runs to fit, to choose and to prove by");
  const auto fit = [&](auto runs) { return runs.first(quarter); };
  const auto choice = [&](auto runs) { return runs.subspan(quarter, quarter); };
  const auto proof = [&](auto runs) { return runs.subspan(2 * quarter); };

  const auto tests = tests_of(fit(first), fit(second));
  const Test* best = nullptr;
  Cut sharp, wide;
  double most = -2;
  for (const Test& test : tests) {
    const Vector a = values(test, choice(first)), b = values(test, choice(second));
    const Cut own = best_cut(a, b, delta, error / caution), widest = widest_cut(a, b);
    const auto [found, alarms] = rates_at(widest, a, b, error);
    const double worth = least_epsilon(own, a, b, delta, error / caution) + found - alarms;
    if (worth > most) best = &test, sharp = own, wide = widest, most = worth;
  }
  const Vector a = values(*best, proof(first)), b = values(*best, proof(second));
  const auto rates = rates_at(wide, a, b, error / 2);
  const double epsilon = std::max(epsilon_of(rates_at(sharp, a, b, error / 2), delta), epsilon_of(rates, delta));
  return {best->name, epsilon, rates.first, rates.second};
}

Guesses guess_surest(std::span<const double> evidence, std::span<const char> second, std::size_t made) {
  const std::size_t count = evidence.size(), each = made / 2;
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t i) { return evidence[i]; });
  Guesses guesses{count, 2 * each, 0};
  for (std::size_t i = 0; i < each; ++i)
    guesses.right += (second[order[i]] ? 1U : 0U) + (second[order[count - 1 - i]] ? 0U : 1U);
  return guesses;
}

double prove_by_guessing(std::span<const double> evidence, std::span<const char> second, double delta,
                         double error) {
  constexpr std::size_t shares[] = {1, 2, 4, 8, 16, 32};
  double bound = 0;
  for (const std::size_t share : shares)
    bound = std::max(bound, least_epsilon(guess_surest(evidence, second, evidence.size() / share), delta,
                                          error / std::size(shares)));
  return bound;
}

}  // namespace dpmpi
