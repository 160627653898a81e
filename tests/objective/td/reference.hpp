#pragma once
// The saddle form of the projected Bellman error record by record in plain double loops.

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <vector>

#include "data/synthetic/environments.hpp"
#include "objective/random_records.hpp"
#include "objective/td/factory.hpp"

namespace dpmpi::test {

/// Transitions of random states, about one in four of them terminal.
inline Records random_transitions(std::size_t count, std::size_t state, unsigned seed = 1, float bias = 1) {
  Records r =
      random_records({.count = count, .features = 2 * state + 1, .bias = bias, .labels = LabelKind::real}, seed);
  for (std::size_t i = 0; i < count; ++i) {
    float& terminal = r.f32[i * r.stride + 2 * state];
    terminal = terminal > 0.7F ? 1.0F : 0.0F;
    update_norm(r, i);
  }
  return r;
}

/// Records of `steps` transitions of `one`, record e those from e * steps on; each says that it has fewer, one for
/// the first, two for the second, and so on around.
inline Records episodes_of(const Records& one, std::size_t steps) {
  const std::size_t width = one.features + 1;
  Records r;
  r.count = one.count / steps, r.features = steps * width, r.stride = round_up(r.features, 16), r.bias = one.bias;
  r.f32.assign(r.count * r.stride, 0.0F), r.label.assign(r.count, 0.0F), r.norm.assign(r.count, 0.0F);
  for (std::size_t e = 0; e < r.count; ++e) {
    for (std::size_t t = 0; t < steps; ++t) {
      float* to = r.f32.data() + e * r.stride + t * width;
      std::copy_n(one.row_f32(e * steps + t), one.features, to);
      to[one.features] = one.label[e * steps + t];
    }
    r.label[e] = static_cast<float>(e % steps + 1);
    update_norm(r, e);
  }
  return r;
}

class TdReference {
 public:
  TdReference(const TdSettings& settings, const Records& records) : settings_(settings), records_(records) {}

  std::size_t dim() const {
    const std::size_t in = settings_.state + (settings_.bias != 0 ? 1 : 0), H = settings_.hidden;
    return H == 0 ? in : H * in + H + 1;
  }

  double value(std::size_t i, bool next, std::span<const double> theta) const {
    return value(state(i, next), theta);
  }
  double error(std::size_t i, std::span<const double> theta) const {
    const double terminal = feature(records_, i, 2 * settings_.state);
    return static_cast<double>(records_.label[i]) + settings_.discount * (1 - terminal) * value(i, true, theta) -
           value(i, false, theta);
  }

  /// Psi: the gradient of V(s), written out.
  std::vector<double> features(std::size_t i, std::span<const double> theta) const {
    const std::vector<double> s = state(i, false);
    const std::size_t n = settings_.state, H = settings_.hidden;
    if (H == 0) return s;
    std::vector<double> psi(dim());
    for (std::size_t u = 0; u < H; ++u) {
      const double h = std::tanh(sum(u, s, theta)), w2 = theta[second() + u];
      for (std::size_t j = 0; j < n; ++j) psi[u * n + j] = w2 * (1 - h * h) * s[j];
      if (settings_.bias != 0) psi[H * n + u] = w2 * (1 - h * h) * s[n];
      psi[second() + u] = h;
    }
    psi.back() = 1;
    return psi;
  }

  /// l at w = (theta, omega).
  double loss(std::size_t i, std::span<const double> w) const {
    const auto psi = features(i, w.first(dim()));
    double e = 0;
    for (std::size_t j = 0; j < dim(); ++j) e += psi[j] * w[dim() + j];
    return error(i, w.first(dim())) * e - 0.5 * e * e;
  }

  /// 1/2 b^T (G + mu I)^-1 b over all records, by elimination.
  double projected_error(std::span<const double> theta) const {
    const std::size_t d = dim();
    std::vector<double> b(d), G(d * d);
    const auto n = static_cast<double>(records_.count);
    for (std::size_t i = 0; i < records_.count; ++i) {
      const auto psi = features(i, theta);
      for (std::size_t j = 0; j < d; ++j) {
        b[j] += error(i, theta) * psi[j] / n;
        for (std::size_t k = 0; k < d; ++k) G[j * d + k] += psi[j] * psi[k] / n;
      }
    }
    for (std::size_t j = 0; j < d; ++j) G[j * d + j] += settings_.dual_l2;
    const std::vector<double> omega = solve_linear(G, b);
    return std::inner_product(b.begin(), b.end(), omega.begin(), 0.0) / 2;
  }

  /// By central differences of l.
  std::vector<double> gradient(std::size_t i, std::span<const double> w, double step = 1e-5) const {
    std::vector<double> at(w.begin(), w.end()), g(w.size());
    for (std::size_t j = 0; j < w.size(); ++j) {
      at[j] = w[j] + step;
      const double up = loss(i, at);
      at[j] = w[j] - step;
      g[j] = (up - loss(i, at)) / (2 * step);
      at[j] = w[j];
    }
    return g;
  }

 private:
  std::vector<double> state(std::size_t i, bool next) const {
    std::vector<double> s;
    for (std::size_t j = 0; j < settings_.state; ++j)
      s.push_back(feature(records_, i, j + (next ? settings_.state : 0)));
    if (settings_.bias != 0) s.push_back(static_cast<double>(settings_.bias));
    return s;
  }
  std::size_t second() const { return dim() - settings_.hidden - 1; }
  double sum(std::size_t unit, const std::vector<double>& s, std::span<const double> theta) const {
    const std::size_t n = settings_.state;
    double total = settings_.bias != 0 ? theta[settings_.hidden * n + unit] * s[n] : 0;
    for (std::size_t j = 0; j < n; ++j) total += theta[unit * n + j] * s[j];
    return total;
  }
  double value(const std::vector<double>& s, std::span<const double> theta) const {
    double total = 0;
    if (settings_.hidden == 0) {
      for (std::size_t j = 0; j < s.size(); ++j) total += theta[j] * s[j];
      return total;
    }
    total = theta[dim() - 1];
    for (std::size_t u = 0; u < settings_.hidden; ++u) total += theta[second() + u] * std::tanh(sum(u, s, theta));
    return total;
  }

  const TdSettings settings_;
  const Records& records_;
};

}  // namespace dpmpi::test
