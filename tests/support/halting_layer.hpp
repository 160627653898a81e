#pragma once
// The layer of a published one-pass method that halts after about c hits, with the noisy threshold that it shares
// among its tests of records, and with fresh noise for every test.

#include <cmath>
#include <random>

namespace dpmpi::test {

// Of a phase: 2m borderline records, half of them before and half after the differing one, which is a sure hit in D
// and never one in D'. room: hits left in the budget, before noise.
struct HaltingCase {
  double epsilon;
  int m;
  double room;
  double alive, other_alive;  // chance not to halt with D and with D', of the published layer
};
inline constexpr HaltingCase halting_cases[] = {{0.5, 80, 26, 0.0093569847, 0.02218131},
                                                {0.9, 60, 16.5, 0.0034388448, 0.015002109}};

// The threshold's noise is Laplace of scale 1, a query's of scale 2; both are cut off, at the cut and twice that.
inline const double halting_cut = std::log(30.0 * 0x1p19 / 1e-6);

class HaltingLayer {
 public:
  explicit HaltingLayer(bool fresh_noise, std::uint64_t seed = 11)
      : fresh_noise_(fresh_noise), random_(seed), threshold_(cut_off(1, halting_cut)) {}

  bool alive(const HaltingCase& c, bool differing_record_hits) {
    refresh();
    int count = borderline_hits(c.m);
    if (differing_record_hits) ++count, refresh();
    count += borderline_hits(c.m);
    return count < c.room + laplace(3 / c.epsilon);
  }

 private:
  double laplace(double scale) {
    const double e = exponential_(random_);
    return random_() & 1 ? scale * e : -scale * e;
  }
  double cut_off(double scale, double cut) {
    for (;;)
      if (const double x = laplace(scale); std::abs(x) <= cut) return x;
  }
  void refresh() { threshold_ = fresh_noise_ ? 0 : cut_off(1, halting_cut); }
  int borderline_hits(int queries) {
    int count = 0;
    for (int i = 0; i < queries; ++i)
      if (cut_off(2, 2 * halting_cut) >= threshold_) ++count, refresh();
    return count;
  }

  bool fresh_noise_;
  std::mt19937_64 random_;
  std::exponential_distribution<double> exponential_{1};
  double threshold_;
};

}  // namespace dpmpi::test
