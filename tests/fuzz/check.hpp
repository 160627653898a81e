#pragma once
// What must hold of records whatever bytes they were parsed from.

#include <cmath>
#include <cstdlib>

#include "data/records/records.hpp"

namespace dpmpi::fuzzing {

inline void require(bool condition) {
  if (!condition) std::abort();
}

/// Finite features, norms that bound them, ascending columns, zero empty slots.
inline void check_records(const Records& r) {
  for (std::size_t i = 0; i < r.count; ++i) {
    double sum = static_cast<double>(r.bias) * static_cast<double>(r.bias);
    const auto add = [&](float x) {
      require(std::isfinite(x));
      sum += static_cast<double>(x) * static_cast<double>(x);
    };
    if (r.storage == Storage::dense_f32)
      for (std::size_t j = 0; j < r.stride; ++j) add(r.row_f32(i)[j]);
    if (r.storage == Storage::sparse_f32)
      for (auto e = r.row_begin[i]; e < r.row_begin[i + 1]; ++e) {
        require(r.column[e] < r.features && (e == r.row_begin[i] || r.column[e] > r.column[e - 1]));
        add(r.value[e]);
      }
    if (std::isnan(r.label[i]))
      require(r.norm[i] == 0);
    else
      require(static_cast<double>(r.norm[i]) >= std::sqrt(sum) * (1 - 1e-13));
  }
}

}  // namespace dpmpi::fuzzing
