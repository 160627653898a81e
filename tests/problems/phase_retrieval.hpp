#pragma once
// How good points of amplitude phase retrieval are, on records of their own: the exact gradient of the smoothed
// loss, and the loss.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "data/synthetic/generate.hpp"
#include "problems/phase_smoothing.hpp"

namespace dpmpi::test {

inline GenerateOptions phase_data(std::size_t dim) {
  GenerateOptions o;
  o.kind = "phase", o.features = static_cast<std::int64_t>(dim);
  return o;
}

/// c(v, b) = 1 - 2 F((b - v) / delta) + 2 F(-v / delta) - 2 F((-b - v) / delta), with F from a table. F(p) is read
/// off the slope for b so large that only its middle term is left: c = 2 F(-v / delta) - 1.
class SlopeTable {
 public:
  SlopeTable(std::size_t dim, double radius) : radius_(radius) {
    for (int i = 0; i <= cells; ++i)
      F_[static_cast<std::size_t>(i)] = (1 + smoothed_phase_slope(-at(i) * radius, 100, radius, dim)) / 2;
    F_.back() = 1;
  }
  double operator()(double v, double b) const {
    return 1 - 2 * F((b - v) / radius_) + 2 * F(-v / radius_) - 2 * F((-b - v) / radius_);
  }

 private:
  static constexpr int cells = 8192;
  static double at(int i) { return 2.0 * i / cells - 1; }
  double F(double p) const {
    p = p > -1 ? p : -1;
    p = p < 1 ? p : 1;
    const double place = (p + 1) * (cells / 2);
    const auto i = static_cast<int>(place);
    const double* below = F_.data() + i;
    return below[0] + (place - i) * (below[1] - below[0]);
  }
  double radius_;
  std::array<double, cells + 2> F_{};
};

class PhaseJudge {
 public:
  static constexpr std::size_t records = 16384;

  PhaseJudge(std::size_t dim, double radius)
      : dim_(dim), slope_(dim, radius), features_(dim * records), measured_(records) {
    const Records held_out = generate_records(phase_data(dim), 1u << 22, records);
    for (std::size_t i = 0; i < records; ++i) {
      measured_[i] = static_cast<double>(held_out.label[i]);
      for (std::size_t j = 0; j < dim; ++j)
        feature(i / block, j)[i % block] = static_cast<double>(held_out.row_f32(i)[j]);
    }
  }

  /// |mean over the points of the gradient of the smoothed loss|; points: count x dim.
  double stationarity(std::span<const double> points) const {
    std::vector<double> gradient(dim_);
    std::array<double, block> v, c;
    for (std::size_t group = 0; group < records / block; ++group) {
      c.fill(0);
      for (std::size_t p = 0; p < points.size(); p += dim_) {
        products(group, points.subspan(p, dim_), v);
        for (std::size_t i = 0; i < block; ++i) c[i] += slope_(v[i], measured_[group * block + i]);
      }
      for (std::size_t j = 0; j < dim_; ++j)
        for (std::size_t i = 0; i < block; ++i) gradient[j] += c[i] * feature(group, j)[i];
    }
    double square = 0;
    for (const double g : gradient) square += g * g;
    return std::sqrt(square) / static_cast<double>(records * (points.size() / dim_));
  }

  double loss(std::span<const double> w) const {
    double sum = 0;
    std::array<double, block> v;
    for (std::size_t group = 0; group < records / block; ++group) {
      products(group, w, v);
      for (std::size_t i = 0; i < block; ++i) sum += std::abs(std::abs(v[i]) - measured_[group * block + i]);
    }
    return sum / records;
  }

 private:
  static constexpr std::size_t block = 128;  // records of one product: a feature of a block is contiguous

  double* feature(std::size_t group, std::size_t j) { return &features_[(group * dim_ + j) * block]; }
  const double* feature(std::size_t group, std::size_t j) const { return &features_[(group * dim_ + j) * block]; }

  /// v[i] = <a_i, w> for the records of a block.
  void products(std::size_t group, std::span<const double> w, std::array<double, block>& v) const {
    v.fill(0);
    for (std::size_t j = 0; j < dim_; ++j) {
      const double* a = feature(group, j);
      for (std::size_t i = 0; i < block; ++i) v[i] += w[j] * a[i];
    }
  }

  std::size_t dim_;
  SlopeTable slope_;
  std::vector<double> features_;  // blocks x dim x block
  std::vector<double> measured_;
};

}  // namespace dpmpi::test
