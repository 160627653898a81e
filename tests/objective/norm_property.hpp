#pragma once
// Contributions obey their bound, in exact integers.

#include "objective/property_case.hpp"

namespace dpmpi::test {

__extension__ using Square = unsigned __int128;

/// Sum of squares, exact.
inline Square square_norm(std::span<const std::int64_t> v) {
  Square sum = 0;
  for (std::int64_t x : v) sum += static_cast<Square>(x < 0 ? -x : x) * static_cast<Square>(x < 0 ? -x : x);
  return sum;
}

/// The same of coordinates [begin, end): of one layer.
inline Square square_norm(std::span<const std::int64_t> v, std::size_t begin, std::size_t end) {
  return square_norm(v.subspan(begin, end - begin));
}

/// (2^k clip (1 + eta) + sqrt(coordinates) / 2)^2, rounded down: what the squared integer norm may not exceed.
inline Square largest_square(double clip, double eta, Lattice lattice, std::size_t coordinates) {
  const long double norm = static_cast<long double>(clip) * (1 + static_cast<long double>(eta)) * lattice.scale() +
                           sqrtl(static_cast<long double>(coordinates)) / 2;
  return static_cast<Square>(norm * norm);
}

/// Every record's contribution obeys its bound in exact integers; some contribution is close to it. `norms_bind`:
/// some record's gradient exceeds the clip.
inline void check_norm_bound(const Objective& objective, const Kernel& kernel, const Records& records, double clip,
                             Clipping clipping, double eta, bool norms_bind) {
  const Lattice lattice = test_lattice(clip);
  const auto bound = largest_square(clip, eta, lattice, objective.dim());
  long double largest = 0;
  for (std::size_t i = 0; i < records.count; ++i) {
    const auto v = contribution(objective, kernel, records, i, {clip, clipping}, lattice);
    const auto square = square_norm(v);
    EXPECT_TRUE(square <= bound) << "record " << i << ": norm " << sqrtl(static_cast<long double>(square))
                                 << ", bound " << sqrtl(static_cast<long double>(bound));
    largest = std::max(largest, static_cast<long double>(square));
  }
  const long double share =
      clipping == Clipping::flat ? 0.9L : 0.1L;  // one layer alone may be the one that is clipped
  EXPECT_TRUE(!norms_bind || sqrtl(largest) >= share * clip * lattice.scale()) << "the clip never bound";
}

inline void check_norm_bounds(const PropertyCase& c) {
  using Point = std::span<const float>;
  const auto check_gradients = [&](Point w, double clip, Clipping clipping, bool norms_bind) {
    check_norm_bound(c.objective, clipped_gradients(c.objective, w), c.records, clip, clipping,
                     c.objective.gradients()->gradient_slack().clip, norms_bind);
  };
  const auto check_differences = [&](Point w, Point v, double clip, Clipping clipping, bool norms_bind) {
    if (!c.differences) return;
    check_norm_bound(c.objective, c.differences->at(w, v), c.records, clip, clipping, c.differences->slack.clip,
                     norms_bind);
  };
  const std::vector<float> far = moved(c.w, 1);
  for (Clipping clipping : c.clippings) {
    for (double clip : {1e-4, 0.03, 1.0, 1e4}) check_gradients(c.w, clip, clipping, clip < 1e-3);
    for (double clip : {1e-5, 0.03, 1.0}) check_differences(c.w, far, clip, clipping, clip < 1e-3 && c.smooth);
    for (float size : {1e-30F, 1e10F, 1e30F, 3e38F}) {  // far out, where products overflow
      const std::vector<float> outside(c.w.size(), size);
      check_gradients(outside, 0.5, clipping, false);
      check_differences(outside, c.w, 0.5, clipping, false);
    }
  }
}

}  // namespace dpmpi::test
