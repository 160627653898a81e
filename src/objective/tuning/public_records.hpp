#pragma once
// A public dataset that whoever trains on it holds as a whole, in double: what models are trained on whose losses
// on private records are asked for.

#include <cstddef>

#include "core/aligned.hpp"
#include "data/records/records.hpp"

namespace dpmpi {

struct PublicSet {
  std::size_t count = 0, features = 0;
  std::size_t stride = 0;   ///< count, rounded up to a multiple of 8
  AlignedVector<double> x;  ///< features x stride: feature j of record i is x[j * stride + i]; 0 where i >= count
  AlignedVector<double> y;  ///< stride labels; 0 where i >= count

  static double bytes(std::size_t count, std::size_t features);

  /// The records that count, of one block.
  explicit PublicSet(const Records& records);
};

}  // namespace dpmpi
